//! The conformance test of a store: of many creates of one object at once, exactly one must succeed.
//!
//! Everything else follows from that. Stores that look like S3 have had such races (seaweedfs #8800, versitygw
//! #2288), and some ignore the condition, so each store is tried at each start.

use crate::error::VaultError;
use crate::object::{MAX_DATA, RACES};
use crate::store::{Store, StoreError};
use std::thread;

/// Creates that run at once.
const RACERS: usize = 32;

/// Races for an object of that name, which nobody has used before, and removes it.
///
/// # Errors
/// [`VaultError::Unfit`] if not exactly one creation succeeded, or another object is there than the winner's.
pub(crate) fn race(store: &dyn Store, name: &str) -> Result<(), VaultError> {
    let key = format!("{RACES}{name}");
    // The first alone: what is wrong with the store is told once, before 32 threads meet it.
    probe(store, &format!("{key}-probe"))?;
    let body = |racer: usize| format!("racer {racer} of {RACERS} of {name}\n");
    let answers: Vec<Result<(), StoreError>> = thread::scope(|scope| {
        let race = |racer| {
            let key = &key;
            scope.spawn(move || store.create(key, body(racer).as_bytes()))
        };
        let racing: Vec<_> = (0..RACERS).map(race).collect();
        racing.into_iter().map(|racer| racer.join().expect("a create does not panic")).collect()
    });
    let found = store.read(&key, MAX_DATA)?;
    let winners: Vec<usize> = (0..RACERS).filter(|racer| answers[*racer].is_ok()).collect();
    // Whoever got no answer may have won.
    let may_have: Vec<usize> =
        (0..RACERS).filter(|racer| matches!(answers[*racer], Ok(()) | Err(StoreError::Failed(_)))).collect();
    let is_fit = winners.len() <= 1 && may_have.iter().any(|racer| found == body(*racer).as_bytes());
    let has_lost = winners.iter().any(|racer| found != body(*racer).as_bytes());
    store.remove(&key)?;
    match is_fit && !has_lost {
        true => Ok(()),
        false => Err(VaultError::Unfit { place: store.locate(""), winners: winners.len(), racers: RACERS }),
    }
}

/// Creates, reads and removes an object, alone.
fn probe(store: &dyn Store, key: &str) -> Result<(), VaultError> {
    let body = b"may this be written?\n";
    match store.create(key, body) {
        Ok(()) => {}
        Err(StoreError::Failed(what)) => return Err(VaultError::Away(what)),
        Err(error) => return Err(error.into()),
    }
    let read = store.read(key, MAX_DATA);
    store.remove(key)?;
    match read {
        Ok(found) if found == body => Ok(()),
        Ok(_) => {
            Err(VaultError::Refused(format!("{}: read other bytes than were written", store.locate(key))))
        }
        Err(StoreError::Absent(object)) => Err(VaultError::Refused(format!(
            "{object}: the store said that it was written, and does not have it"
        ))),
        Err(error) => Err(error.into()),
    }
}
