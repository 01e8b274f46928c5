//! Messages to a partition, which its owner reads one by one, whoever that is by then.

use crate::epoch::is_there;
use crate::key;
use recrawl_vault::{Store, StoreError, VaultError, create_or_find, framed, numbers, read_framed};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Range;

/// Numbers that are tried when others send at the same moment.
const MAX_TRIES: u64 = 1000;

/// Sends a message: it is there when this returns. Two that are equal are two, as long as others are between them.
///
/// # Errors
/// When the store does not take it.
pub(crate) fn send(store: &dyn Store, partition: u32, message: &impl Serialize) -> Result<(), VaultError> {
    let first = numbers(store, &key::inbox(partition))?.last().map_or(0, |last| last + 1);
    let key_of = |number| key::message(partition, number);
    match append(store, first..first.saturating_add(MAX_TRIES), key_of, message)? {
        Some(_) => Ok(()),
        None => {
            let folder = store.locate(&key::inbox(partition));
            Err(VaultError::Away(format!("{folder}: others send faster than this process; try again")))
        }
    }
}

/// Creates a record under the first of these numbers that is free, and gives that; none if others have created all.
pub(crate) fn append(
    store: &dyn Store,
    numbers: Range<u64>,
    key_of: impl Fn(u64) -> String,
    record: &impl Serialize,
) -> Result<Option<u64>, VaultError> {
    for number in numbers {
        let key = key_of(number);
        match create_or_find(store, &key, &framed(&key, record, b"")) {
            Err(StoreError::Exists(_)) => {}
            done => return Ok(done.map(|()| Some(number))?),
        }
    }
    Ok(None)
}

/// Removes messages before this number but the last of all, so that its number is not given again.
///
/// # Errors
/// When the store does not answer.
pub(crate) fn sweep(store: &dyn Store, partition: u32, next: u64) -> Result<(), VaultError> {
    let mut read = numbers(store, &key::inbox(partition))?;
    read.pop();
    read.into_iter()
        .filter(|number| *number < next)
        .try_for_each(|number| Ok(store.remove(&key::message(partition, number))?))
}

/// Has a partition a message of this number?
///
/// # Errors
/// When the store does not answer.
pub fn has_message(store: &dyn Store, partition: u32, number: u64) -> Result<bool, VaultError> {
    is_there(store, &key::message(partition, number))
}

/// A message; none if there is none of that number yet.
///
/// # Errors
/// When it is damaged, or the store does not answer.
pub(crate) fn message<T: DeserializeOwned>(
    store: &dyn Store,
    partition: u32,
    number: u64,
) -> Result<Option<T>, VaultError> {
    read_framed(store, &key::message(partition, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_vault::store::MemoryStore;

    #[test]
    fn messages_are_read_in_the_order_in_which_they_were_sent() {
        let store = MemoryStore::new();
        for text in ["one", "two", "two"] {
            send(&store, 4, &text).unwrap();
        }
        let read = |number| message::<String>(&store, 4, number).unwrap();
        let told: Vec<String> = (0..).map_while(read).collect();
        assert_eq!(told, ["one", "two", "two"]);
        assert!(message::<String>(&store, 5, 0).unwrap().is_none());
        sweep(&store, 4, 1).unwrap();
        assert_eq!(numbers(&store, &key::inbox(4)).unwrap(), [1, 2]);
        sweep(&store, 4, 3).unwrap();
        send(&store, 4, &"three").unwrap();
        assert_eq!(numbers(&store, &key::inbox(4)).unwrap(), [2, 3], "the last one keeps its number");
        send(&store, 4, &"four").unwrap();
        store.damage(&key::message(4, 3), |bytes| bytes.truncate(9));
        message::<String>(&store, 4, 3).unwrap_err();
    }
}
