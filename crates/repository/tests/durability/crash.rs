//! A power cut, or an I/O error, at every write of a cycle.

use crate::cycle;
use recrawl_repository::storage::{FaultyStorage, Storage, StorageFault, Survivors};
use recrawl_repository::{Repository, VisitLog};
use recrawl_types::Round;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Opens what a disturbance left and checks all that was promised; then ends the cycle and checks that
/// nothing was lost and nothing counted twice.
fn check(storage: Arc<dyn Storage>, before: u32, committed: bool, synced: &BTreeSet<u64>, what: &str) {
    let repository = Repository::open(storage.clone()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let number = repository.current().number().0;
    assert!(number == before + 1 || number == before && !committed, "{what}: generation {number}");
    let undisturbed = Repository::open(Arc::new(cycle::after(number))).unwrap();
    assert_eq!(cycle::pages(&repository), cycle::pages(&undisturbed), "{what}");
    assert_eq!(cycle::reports(&repository), cycle::reports(&undisturbed), "{what}");
    // Never half, never twice; where the commit was durable and removing was not, one cycle too many.
    let (kept, expected) = (cycle::kept_visits(&repository), cycle::kept_visits(&undisturbed));
    assert!(kept.ends_with(&expected), "{what}: {kept:?}");
    let oldest = kept.first().map_or(number, |(cycle, _)| cycle.0);
    assert!(oldest + cycle::KEPT_CYCLES >= number, "{what}: visits of cycle {oldest}");
    assert_eq!(repository.verify(), [], "{what}");
    if number == before {
        let (log, recovered) =
            VisitLog::open(&*storage, Round(before + 1)).unwrap_or_else(|e| panic!("{what}: {e}"));
        drop(log);
        for &index in synced {
            assert!(recovered.done.contains(index), "{what}: visit {index} was synced and is lost");
        }
    }
    drop(repository);
    if number == before {
        cycle::run(&storage, &mut BTreeSet::new()).unwrap_or_else(|e| panic!("{what}: {e}"));
    }
    let ended = Repository::open(storage.clone()).unwrap();
    assert_eq!(
        cycle::pages(&ended),
        cycle::pages(&Repository::open(Arc::new(cycle::after(before + 1))).unwrap()),
        "{what}"
    );
    let undisturbed = Repository::open(Arc::new(cycle::after(before + 1))).unwrap();
    assert!(cycle::kept_visits(&ended).ends_with(&cycle::kept_visits(&undisturbed)), "{what}");
    let names = storage.list().unwrap();
    assert!(names.iter().all(|n| !n.starts_with("cycle-")), "{what}: left behind: {names:?}");
}

/// How many points a cycle from generation `before` has.
fn points(before: u32) -> u64 {
    let storage = Arc::new(FaultyStorage::with_files(cycle::after(before).image()));
    cycle::run(&(storage.clone() as Arc<dyn Storage>), &mut BTreeSet::new()).unwrap();
    storage.points()
}

fn disturbed(before: u32, fault: StorageFault) -> (Arc<FaultyStorage>, bool, BTreeSet<u64>) {
    let storage = Arc::new(FaultyStorage::with_files(cycle::after(before).image()));
    storage.set_fault(fault);
    let mut synced = BTreeSet::new();
    let committed = cycle::run(&(storage.clone() as Arc<dyn Storage>), &mut synced).is_ok();
    (storage, committed, synced)
}

#[test]
fn after_a_power_cut_at_any_write_it_is_one_generation_or_the_next() {
    let mut tried = 0;
    for before in [0, 1, 3] {
        for point in 1..=points(before) {
            let (storage, committed, synced) = disturbed(before, StorageFault::Stop(point));
            let chances = (0..20).map(|i| Survivors::Some(point * 1031 + i));
            for survivors in [Survivors::Synced, Survivors::All].into_iter().chain(chances) {
                let what = format!("generation {before}, power cut at point {point}, {survivors:?}");
                let left = Arc::new(storage.after_power_cut(survivors));
                check(left, before, committed, &synced, &what);
                tried += 1;
            }
        }
    }
    assert!(tried > 1000, "only {tried} crash points");
}

#[test]
fn after_an_error_of_any_write_the_process_can_start_again() {
    for before in [0, 3] {
        for point in 1..=points(before) {
            let (storage, committed, synced) = disturbed(before, StorageFault::Fail(point));
            let what = format!("generation {before}, I/O error at point {point}");
            storage.set_fault(StorageFault::None);
            // The machine runs on, or its power fails behind the error.
            let left = Arc::new(storage.after_power_cut(Survivors::Synced));
            check(left, before, committed, &synced, &format!("{what}, and a power cut"));
            check(storage.clone(), before, committed, &synced, &what);
            let left = Arc::new(storage.after_power_cut(Survivors::Synced));
            check(left, before, committed, &synced, &format!("{what}, the cycle ended, and a power cut"));
        }
    }
}

#[test]
fn a_full_disk_loses_nothing_and_the_cycle_goes_on_when_there_is_room() {
    let used = |files: std::collections::BTreeMap<String, Vec<u8>>| {
        files.values().map(Vec::len).sum::<usize>() as u64
    };
    let start = used(cycle::after(3).image());
    let mut refused = 0;
    for room in (0..).step_by(97) {
        let (storage, committed, synced) = disturbed(3, StorageFault::Full(start + room));
        let what = format!("room for {room} bytes");
        storage.set_fault(StorageFault::None);
        check(storage, 3, committed, &synced, &what);
        if committed {
            break;
        }
        refused += 1;
    }
    assert!(refused > 10, "the disk was full {refused} times only");
}

#[test]
fn a_failing_or_short_read_is_an_error_and_harms_nothing() {
    for fault in [StorageFault::FailRead as fn(u64) -> StorageFault, StorageFault::ShortRead] {
        for read in 1.. {
            let storage = Arc::new(FaultyStorage::with_files(cycle::after(3).image()));
            storage.set_fault(fault(read));
            let mut synced = BTreeSet::new();
            let result = cycle::run(&(storage.clone() as Arc<dyn Storage>), &mut synced);
            storage.set_fault(StorageFault::None);
            check(storage.clone(), 3, result.is_ok(), &synced, &format!("{:?}", fault(read)));
            match result {
                Ok(()) => break,
                Err(e) => assert!(e.to_string().contains("faulty:"), "names no file: {e}"),
            }
        }
    }
}
