//! Decisions about all partitions: one list, so that all owners make them in one order, whoever took them at the same moment.
//!
//! None is ever removed: an owner that was away for long reads on where it stopped.

use crate::epoch::is_there;
use crate::inbox::append;
use crate::key;
use recrawl_vault::{Store, VaultError, read_framed};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Numbers that are tried when others decide at the same moment, or since the caller looked.
const MAX_TRIES: u64 = 10_000;

/// Adds a decision behind all that are there, and gives its number: it is there when this returns. No later one has a lower
/// number. `next` is a number up to which all are there.
///
/// # Errors
/// When the store does not take it.
pub(crate) fn decide(store: &dyn Store, next: u64, decision: &impl Serialize) -> Result<u64, VaultError> {
    let number = append(store, next..next.saturating_add(MAX_TRIES), key::decision, decision)?;
    number.ok_or_else(|| {
        let folder = store.locate(key::DECISIONS);
        VaultError::Away(format!("{folder}: others decide faster than this process; try again"))
    })
}

/// Is there a decision of this number?
///
/// # Errors
/// When the store does not answer.
pub fn has_decision(store: &dyn Store, number: u64) -> Result<bool, VaultError> {
    is_there(store, &key::decision(number))
}

/// A decision; none if there is none of that number yet.
///
/// # Errors
/// When it is damaged, or the store does not answer.
pub(crate) fn decision<T: DeserializeOwned>(store: &dyn Store, number: u64) -> Result<Option<T>, VaultError> {
    read_framed(store, &key::decision(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_vault::store::MemoryStore;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn decisions_of_many_at_the_same_moment_have_one_order() {
        let store = Arc::new(MemoryStore::new());
        let deciders: Vec<_> = (0..4)
            .map(|who| {
                let store = store.clone();
                thread::spawn(move || -> Vec<u64> {
                    (0..20).map(|what| decide(&*store, 0, &(who, what)).unwrap()).collect()
                })
            })
            .collect();
        let numbers: Vec<Vec<u64>> = deciders.into_iter().map(|decider| decider.join().unwrap()).collect();
        for (who, of_one) in numbers.iter().enumerate() {
            assert!(of_one.is_sorted_by(|a, b| a < b), "{of_one:?}");
            for (what, number) in of_one.iter().enumerate() {
                assert_eq!(decision::<(usize, usize)>(&*store, *number).unwrap(), Some((who, what)));
            }
        }
        let mut all = numbers.concat();
        all.sort_unstable();
        assert_eq!(all, (0..80).collect::<Vec<_>>(), "without a gap, at which a reader would stop");
        assert_eq!(decision::<(usize, usize)>(&*store, 80).unwrap(), None);
        store.damage(&key::decision(3), |bytes| bytes.truncate(9));
        decision::<(usize, usize)>(&*store, 3).unwrap_err();
    }
}
