//! Removing runs that every receiver has applied.

use crate::change::is_outdated;
use crate::epoch::{is_there, newest};
use crate::key;
use crate::map::FleetMap;
use crate::marks::{RunMark, RunMarks};
use recrawl_vault::{Store, VaultError, framed, numbers, read_framed};
use std::ops::RangeInclusive;

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
    /// The first epoch that must be looked at again: of those before it nothing is left that may go.
    pub next: u64,
}

/// Removes the runs of a sender, of these epochs, that the vaults of all receivers have. Of each epoch the last one stays: a process
/// that slept must not be able to create its number again.
///
/// # Errors
/// When the store does not answer.
pub fn sweep_runs(
    store: &dyn Store,
    map: &FleetMap,
    sender: u32,
    epochs: RangeInclusive<u64>,
) -> Result<SweptRuns, VaultError> {
    let mut swept = SweptRuns { next: *epochs.start(), ..SweptRuns::default() };
    if epochs.is_empty() {
        return Ok(swept);
    }
    let mut applied = RunMark { epoch: *epochs.end(), number: u64::MAX };
    for receiver in map.ranges().iter().map(|range| range.id).filter(|id| *id != sender) {
        applied = applied.min(told(store, receiver, sender)?);
    }
    // Behind what the receivers told: a partition that was divided off meanwhile begins with the marks from before that.
    if is_outdated(store, map)? {
        applied = RunMark::default();
    }
    for older in epochs {
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
        if end == u64::MAX && swept.next == older {
            swept.next = older + 1;
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
    use crate::map::{FormerPartition, PartitionRange};
    use crate::run::RunWriter;
    use crate::testing::{CountingStore, Nobody, first_map};
    use crate::{FleetWaits, Partition};
    use recrawl_types::UrlRules;
    use recrawl_vault::store::MemoryStore;
    use std::sync::Arc;
    use std::sync::atomic::Ordering::Relaxed;

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
            let swept = sweep_runs(&store, &map, 1, 1..=1).unwrap();
            (swept.removed, swept.untaken)
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

    /// Partitions that ended, and epochs that were swept, cost nothing in each round.
    #[test]
    fn what_was_swept_is_looked_at_once() {
        let store = Arc::new(CountingStore::default());
        let former = (3..6).map(|id| FormerPartition { id, epoch: 9, into: 1 }).collect();
        let map = first_map(&["h.test"]).with_former(former);
        for (id, after) in (1..=2).flat_map(|id| (0..4).map(move |after| (id, after))) {
            crate::begin(&*store, id, after, "a", 1).unwrap();
        }
        let waits = FleetWaits { plans: Box::new(Nobody), runs: Box::new(Nobody) };
        let partition = Partition::owned(store.clone(), map, 1, 4, waits).unwrap().unwrap();
        let end = |id, epoch| (id, RunMark { epoch, number: 0 });
        let marks = RunMarks::from([end(1, 4), end(2, 4), end(3, 9), end(4, 9), end(5, 9)]);
        tell_marks(&*store, 2, 4, &marks).unwrap();
        let url = UrlRules::default().canonicalize("http://z.test/").unwrap();
        for (sender, epoch, number) in [(1, 2, 0), (1, 2, 1), (4, 8, 0), (4, 8, 1)] {
            let mut run = RunWriter::new(&*store, sender, epoch, number, 7);
            run.push(url.key(), b"link").unwrap();
            run.finish().unwrap();
        }
        let sweep = || {
            let before = store.asked.load(Relaxed);
            (partition.sweep(&marks).unwrap(), store.asked.load(Relaxed) - before)
        };
        let ((removed, first), (nothing, second)) = (sweep(), sweep());
        assert_eq!((removed, nothing), (2, 0), "of each epoch all but the last run");
        assert!(second < 12 && first > 4 * second, "{first} requests, then {second}");
    }
}
