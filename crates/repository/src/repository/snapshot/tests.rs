//! A snapshot is what was committed, whatever the writer does meanwhile.

use super::*;
use crate::storage::{FaultyStorage, FileStorage, MemoryStorage};
use crate::testing::commit;
use std::sync::Arc;

/// It is one generation, whole, and can be crawled on.
fn is_whole(storage: Arc<dyn Storage>, made: Snapshot) {
    let mut repository = Repository::open(storage).unwrap().keeping_visits(3);
    let generation = repository.current();
    let number = generation.number();
    assert_eq!((number, generation.pages()), (made.generation, u64::from(number.0)));
    assert_eq!(repository.verify(), []);
    let mut reports = repository.reports().unwrap();
    let mut count = 0;
    while reports.next_report().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, number.0);
    commit(&mut repository).unwrap();
    assert_eq!((repository.current().number(), repository.verify()), (number.next(), vec![]));
}

#[test]
fn a_snapshot_beside_a_writer_is_one_generation_and_crawls_on() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| Arc::new(FileStorage::create(&dir.path().join(name)).unwrap());
    let mut writer = Repository::open(at("data")).unwrap().keeping_visits(3);
    commit(&mut writer).unwrap();
    let made = std::thread::scope(|scope| {
        let commits = scope.spawn(|| (0..15).for_each(|_| commit(&mut writer).unwrap()));
        let mut made = 0;
        while !commits.is_finished() || made < 2 {
            let (from, to) = (at("data"), at(&format!("snapshot-{made}")));
            let reader = Repository::open_read(from.clone()).unwrap();
            // Every second one as on another file system.
            let link = |name: &str| made % 2 == 0 && from.link(name, &to).is_ok();
            let copied = reader.snapshot(&*to, &link, crate::decisions::NOTHING);
            let snapshot = copied.and_then(|copy| copy.finish(&*to)).unwrap_or_else(|e| panic!("{e}"));
            assert!(made % 2 == 0 || snapshot.linked == 0);
            is_whole(to, snapshot);
            made += 1;
        }
        made
    });
    assert!(made >= 2);
    assert_eq!(
        (writer.current().number(), writer.verify()),
        (Round(16), vec![]),
        "links take nothing from it"
    );
}

/// The names are gone before anything is copied: what the reader has open is copied.
#[test]
fn what_a_commit_removed_meanwhile_is_copied_from_what_is_open() {
    let storage = Arc::new(MemoryStorage::new());
    let mut writer = Repository::open(storage.clone()).unwrap().keeping_visits(3);
    (0..3).for_each(|_| commit(&mut writer).unwrap());
    let reader = Repository::open_read(storage).unwrap();
    (0..4).for_each(|_| commit(&mut writer).unwrap());
    let to = Arc::new(MemoryStorage::new());
    let copied = reader.snapshot(&*to, &|_| false, crate::decisions::NOTHING).unwrap();
    let made = copied.finish(&*to).unwrap();
    assert_eq!((made.generation, made.linked), (Round(3), 0));
    assert!(to.image().keys().all(|name| !name.starts_with("visits")), "their time was over");
    is_whole(to, made);
}

#[test]
fn a_snapshot_that_is_cut_short_is_none_and_an_occupied_folder_is_refused() {
    let storage = Arc::new(MemoryStorage::new());
    let mut writer = Repository::open(storage.clone()).unwrap();
    (0..2).for_each(|_| commit(&mut writer).unwrap());
    let reader = Repository::open_read(storage).unwrap();
    for point in 1.. {
        let to = Arc::new(FaultyStorage::new());
        to.set_fault(crate::storage::StorageFault::Stop(point));
        let copied = reader.snapshot(&*to, &|_| false, crate::decisions::NOTHING);
        let made = copied.and_then(|copy| copy.finish(&*to));
        let left = Arc::new(to.after_power_cut(crate::storage::Survivors::Some(point)));
        match made {
            Ok(made) => {
                is_whole(Arc::new(to.after_power_cut(crate::storage::Survivors::Synced)), made);
                assert!(point > 10, "only {point} points");
                break;
            }
            // The last step may fail when all is there.
            Err(_) => match Repository::open_read(left.clone()) {
                Ok(read) => assert_eq!(read.verify(), [], "stopped at {point}"),
                Err(error) => assert!(matches!(error, OpenError::Absent(_)), "stopped at {point}: {error}"),
            },
        }
    }
    let occupied = MemoryStorage::new();
    occupied.create("notes.txt").unwrap();
    let refused = reader.snapshot(&occupied, &|_| false, crate::decisions::NOTHING);
    assert!(matches!(refused, Err(SnapshotError::Occupied(_))));
    assert_eq!(occupied.list().unwrap(), ["notes.txt"]);
}
