//! Failures in the middle of a process's life: the repository in memory must stay usable.

use super::*;
use crate::repository::salvage::salvage;
use crate::storage::{FaultyStorage, FileStorage, MemoryStorage, StorageFault, Survivors};
use crate::testing::{commit, commit_in};
use std::io;

/// The generation is whole, has the pages of its number, and a report for each commit.
fn check(repository: &Repository, what: &str) {
    let generation = repository.current();
    assert_eq!(generation.pages(), u64::from(generation.number().0), "{what}");
    assert_eq!(repository.verify(), [], "{what}");
    let mut reports = repository.reports().unwrap();
    for number in 1..=generation.number().0 {
        let report = reports.next_report().unwrap().map(<[u8]>::to_vec);
        assert_eq!(report, Some(format!("report {number}").into_bytes()), "{what}");
    }
    assert_eq!(reports.next_report().unwrap(), None, "{what}");
}

fn after(commits: u32) -> Arc<FaultyStorage> {
    let storage = Arc::new(FaultyStorage::new());
    let mut repository = Repository::open(storage.clone()).unwrap();
    (0..commits).for_each(|_| commit(&mut repository).unwrap());
    Arc::new(FaultyStorage::with_files(storage.image()))
}

/// A commit fails at any point, is tried again, and that is cut short at any point: what a disk holds
/// then is still one generation or the next.
#[test]
fn a_failed_commit_can_be_tried_again_and_cut_short() {
    let mut tried = 0;
    for point in 1.. {
        let mut finished = false;
        for stop in 1.. {
            let storage = after(2);
            let mut repository = Repository::open(storage.clone()).unwrap();
            storage.set_fault(StorageFault::Fail(point));
            finished = commit(&mut repository).is_ok();
            if finished {
                break;
            }
            let what = format!("failed at {point}, stopped at {stop}");
            assert_eq!(repository.current().number(), Round(2), "{what}");
            check(&repository, &what);
            storage.set_fault(StorageFault::Stop(stop));
            let retried = commit(&mut repository).is_ok();
            drop(repository);
            for survivors in
                [Survivors::Synced, Survivors::All, Survivors::Some(stop), Survivors::Some(point)]
            {
                let left = Arc::new(storage.after_power_cut(survivors));
                let repository = Repository::open(left.clone()).unwrap_or_else(|e| panic!("{what}: {e}"));
                assert!([2, 3].contains(&repository.current().number().0), "{what}");
                assert!(!retried || repository.current().number() == Round(3), "{what}");
                check(&repository, &what);
                assert_eq!(left.image().len(), 9, "{what}: {:?}", left.image().keys());
                tried += 1;
            }
            if retried && storage.points() < stop {
                break;
            }
        }
        if finished {
            break;
        }
    }
    assert!(tried > 1000, "only {tried} ways tried");
}

#[test]
fn a_full_disk_and_a_read_only_one_say_what_to_do() {
    let storage = after(2);
    let used: usize = storage.image().values().map(Vec::len).sum();
    let mut repository = Repository::open(storage.clone()).unwrap();
    for (fault, kind, advice) in [
        (StorageFault::Full(used as u64 + 100), io::ErrorKind::StorageFull, "free disk space"),
        (StorageFault::ReadOnly, io::ErrorKind::ReadOnlyFilesystem, "mount the disk read-write"),
    ] {
        storage.set_fault(fault);
        let Err(CommitError::Write(error)) = commit(&mut repository) else {
            panic!("{fault:?} is not noticed")
        };
        assert_eq!(error.source.kind(), kind);
        let text = error.to_string();
        assert!(text.contains(advice) && text.contains("faulty:") && !text.contains('\n'), "{text}");
        storage.set_fault(StorageFault::None);
        check(&repository, &text);
    }
    commit(&mut repository).unwrap();
    check(&repository, "with room again");
    drop(repository);
    storage.set_fault(StorageFault::ReadOnly);
    let Err(OpenError::Write(error)) = Repository::open(storage) else { panic!("opened for writing") };
    assert_eq!(error.source.kind(), io::ErrorKind::ReadOnlyFilesystem);
}

/// Rounds of a cycle are generations of their own.
#[test]
fn a_cycle_may_have_several_rounds() {
    let storage = Arc::new(MemoryStorage::new());
    let mut repository = Repository::open(storage.clone()).unwrap().keeping_visits(2);
    for (round, cycle) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 3)] {
        commit_in(&mut repository, Cycle(cycle)).unwrap();
        let reader = Repository::open_read(storage.clone()).unwrap();
        let committed = DatedRound { round: Round(round), cycle: Cycle(cycle) };
        assert_eq!((reader.current().dated(), repository.current().dated()), (committed, committed));
        check(&reader, "rounds");
    }
    let kept: Vec<(u32, u32)> =
        repository.kept().list().unwrap().iter().map(|kept| (kept.round.0, kept.cycle.0)).collect();
    assert_eq!(kept, [(4, 2), (5, 3)], "visits of two cycles are kept");
    assert!(storage.image().contains_key("visits-0000000004.0000000002.kept"));
    let copy = Arc::new(MemoryStorage::new());
    let decided = decisions::read(&*storage).unwrap().unwrap();
    repository.snapshot(&*copy, &|_| false, &decided).unwrap().finish(&*copy).unwrap();
    let copied = Repository::open(copy.clone()).unwrap();
    assert_eq!(copied.current().dated(), repository.current().dated());
    assert_eq!(copied.kept().list().unwrap().len(), 2);
    // Without the manifest, the names of kept visits say the cycle.
    let mut image = storage.image();
    image.remove(MANIFEST);
    let saved: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let found = salvage(&MemoryStorage::with_files(image), &saved, &|| None, &|_, _| {}).unwrap();
    assert_eq!((found.generation, found.cycle), (Round(5), Cycle(3)));
}

/// A commit that failed may be tried again in the next cycle: its visits are then in one file.
#[test]
fn a_round_has_its_visits_once() {
    let mut image = after(2).image();
    image.insert("visits-0000000002.0000000001.kept".into(), b"of a failed commit".to_vec());
    let storage = Arc::new(MemoryStorage::with_files(image));
    let repository = Repository::open(storage.clone()).unwrap();
    assert_eq!(repository.verify(), []);
    assert!(!storage.image().contains_key("visits-0000000002.0000000001.kept"));
}

#[test]
#[should_panic(expected = "cycles follow each other")]
fn no_round_belongs_to_an_earlier_cycle() {
    let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
    commit_in(&mut repository, Cycle(4)).unwrap();
    let _ = commit_in(&mut repository, Cycle(3));
}

#[test]
fn pages_without_a_manifest_are_not_removed() {
    let mut image = after(2).image();
    image.remove(MANIFEST);
    let storage = Arc::new(MemoryStorage::with_files(image.clone()));
    let error = Repository::open(storage.clone()).err().expect("pages would be lost").to_string();
    assert!(error.contains("MANIFEST") && error.contains("generation-0000000002"), "{error}");
    assert_eq!(storage.image(), image);
}

#[test]
fn leftovers_are_removed_and_what_is_not_ours_stays() {
    let mut image = after(2).image();
    let ours = ["generation-0000000003.keys", "generation-0000000001.index", "cycle-0000000002.visits"];
    let parts = ["MANIFEST.next", "cycle-0000000003.queues.part", "cycle-0000000003.spill-000001"];
    let kept = ["notes.txt", "cycle-0000000003.visits", "generation-3.keys"];
    for name in ours.iter().chain(&parts).chain(&kept) {
        image.insert((*name).to_owned(), b"x".to_vec());
    }
    let storage = Arc::new(MemoryStorage::with_files(image));
    let repository = Repository::open(storage.clone()).unwrap();
    let names = storage.image();
    assert!(ours.iter().chain(&parts).all(|name| !names.contains_key(*name)), "{:?}", names.keys());
    assert!(kept.iter().all(|name| names.contains_key(*name)), "{:?}", names.keys());
    check(&repository, "leftovers removed");
}

#[test]
fn readers_open_while_commits_remove_files() {
    let dir = tempfile::tempdir().unwrap();
    let storage = || FileStorage::create(dir.path()).map(Arc::new).unwrap();
    let mut writer = Repository::open(storage()).unwrap();
    let opened = std::thread::scope(|scope| {
        let commits = scope.spawn(|| (0..15).for_each(|_| commit(&mut writer).unwrap()));
        let mut opened = 0;
        while !commits.is_finished() || opened == 0 {
            let reader = Repository::open_read(storage()).unwrap_or_else(|e| panic!("{e}"));
            check(&reader, "beside a writer");
            opened += 1;
        }
        opened
    });
    assert!(opened > 0);
    check(&writer, "after all commits");
}
