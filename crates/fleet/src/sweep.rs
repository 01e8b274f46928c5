//! Removing runs that every receiver has applied.

use crate::change::is_outdated;
use crate::epoch::{is_there, newest};
use crate::key;
use crate::map::FleetMap;
use crate::marks::{RunMark, RunMarks};
use recrawl_vault::{Store, VaultError, framed, numbers, read_framed};

/// Tells senders how far a receiver is: marks that its vault has. In the folder of the epoch, so that one whose work does not
/// count tells nothing.
///
/// # Errors
/// When the store does not answer.
pub fn tell_marks(store: &dyn Store, partition: u32, epoch: u64, marks: &RunMarks) -> Result<(), VaultError> {
    let key = key::marks(partition, epoch);
    Ok(store.replace(&key, &framed(&key, marks, b""))?)
}

/// The result of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweptRuns {
    /// Runs that are gone.
    pub removed: u64,
    /// Runs that the vaults of some receivers have not.
    pub untaken: u64,
}

/// Removes the runs of a sender that the vaults of all receivers have. Of each epoch the last one stays: a process that slept must
/// not be able to create its number again.
///
/// # Errors
/// When the store does not answer.
pub fn sweep_runs(
    store: &dyn Store,
    map: &FleetMap,
    sender: u32,
    epoch: u64,
) -> Result<SweptRuns, VaultError> {
    let mut applied = RunMark { epoch, number: u64::MAX };
    for receiver in map.ranges().iter().map(|range| range.id).filter(|id| *id != sender) {
        applied = applied.min(told(store, receiver, sender)?);
    }
    // Behind what the receivers told: a partition that was divided off meanwhile begins with the marks from before that.
    if is_outdated(store, map)? {
        applied = RunMark::default();
    }
    let mut swept = SweptRuns::default();
    for older in 1..=epoch {
        let runs = numbers(store, &key::runs(sender, older))?;
        let end = match older.cmp(&applied.epoch) {
            std::cmp::Ordering::Less => u64::MAX,
            std::cmp::Ordering::Equal => applied.number,
            std::cmp::Ordering::Greater => 0,
        };
        let last = runs.last().copied().unwrap_or_default();
        swept.untaken += runs.iter().filter(|number| **number >= end).count() as u64;
        for number in runs.into_iter().filter(|number| *number < end && *number != last) {
            // The head first: a run without some parts would be taken for a damaged one.
            store.remove(&key::run(sender, older, number))?;
            swept.removed += 1;
        }
        if end == 0 {
            continue;
        }
        let folder = key::runs(sender, older);
        for part in store.list(&folder)? {
            let number =
                part.key[folder.len()..].split_once('-').and_then(|(number, _)| number.parse::<u64>().ok());
            if number.is_some_and(|number| number < end) {
                store.remove(&part.key)?;
            }
        }
    }
    Ok(swept)
}

/// Has an owner of a partition merged a round, whose vault has it?
pub(crate) fn has_told(store: &dyn Store, partition: u32) -> Result<bool, VaultError> {
    let newest = newest(store, partition)?;
    for epoch in (1..=newest).rev() {
        if is_there(store, &key::marks(partition, epoch))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How far a receiver is in the runs of a sender, as its newest owner told; the first run if it told nothing.
fn told(store: &dyn Store, receiver: u32, sender: u32) -> Result<RunMark, VaultError> {
    let epoch = newest(store, receiver)?;
    let marks: Option<RunMarks> = read_framed(store, &key::marks(receiver, epoch))?;
    // The marks first: those of an owner without a successor are in its vault, and each later seal covers that.
    match is_there(store, &key::epoch(receiver, epoch + 1))? {
        true => Ok(RunMark::default()),
        false => Ok(marks.and_then(|marks| marks.get(&sender).copied()).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::PartitionRange;
    use crate::run::RunWriter;
    use recrawl_types::UrlRules;
    use recrawl_vault::store::MemoryStore;

    #[test]
    fn runs_go_when_all_have_them_and_the_last_of_an_epoch_stays() {
        let store = MemoryStore::new();
        let begins = [None, Some("h.test"), Some("p.test")];
        let range = |(id, begin): (u32, Option<&str>)| PartitionRange {
            id,
            begin: begin.map(str::to_owned),
            parent: None,
        };
        let map = FleetMap::new(1, (1..).zip(begins).map(range).collect()).unwrap();
        for id in 1..=3 {
            crate::begin(&store, id, 0, &format!("{id}"), 1).unwrap();
        }
        let url = UrlRules::default().canonicalize("http://z.test/").unwrap();
        for number in 0..3 {
            let mut run = RunWriter::new(&store, 1, 1, number, 7);
            run.push(url.key(), b"link").unwrap();
            run.finish().unwrap();
        }
        let mark = |number| RunMarks::from([(1, RunMark { epoch: 1, number })]);
        let runs = || numbers(&store, &key::runs(1, 1)).unwrap();
        let swept = || {
            let SweptRuns { removed, untaken } = sweep_runs(&store, &map, 1, 1).unwrap();
            (removed, untaken)
        };
        tell_marks(&store, 2, 1, &mark(3)).unwrap();
        assert_eq!(swept(), (0, 3), "one receiver has told nothing");
        tell_marks(&store, 3, 1, &mark(1)).unwrap();
        assert_eq!((swept(), runs()), ((1, 2), vec![1, 2]));
        tell_marks(&store, 3, 1, &mark(3)).unwrap();
        // Its successor may have begun before that.
        crate::begin(&store, 3, 1, "4", 1).unwrap();
        assert_eq!(swept(), (0, 2));
        tell_marks(&store, 3, 2, &mark(3)).unwrap();
        assert_eq!((swept(), runs()), ((1, 0), vec![2]));
        let parts: Vec<String> = store.list("").unwrap().into_iter().map(|object| object.key).collect();
        assert_eq!(parts.iter().filter(|key| key.contains("/links/")).count(), 1, "{parts:?}");
    }
}
