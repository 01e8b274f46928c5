//! Storage that must not be touched, or cannot.

use crate::cycle;
use recrawl_repository::storage::{FaultyStorage, FileStorage, MemoryStorage, Storage, StorageFault};
use recrawl_repository::{FORMAT_VERSION, OpenError, Repository};
use std::collections::BTreeSet;
use std::sync::Arc;

#[test]
fn a_second_process_is_refused_and_a_reader_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(FileStorage::create(dir.path()).unwrap());
    let read = || Repository::open_read(Arc::new(FileStorage::existing(dir.path()).unwrap()));
    assert!(matches!(read(), Err(OpenError::Absent(_))));
    cycle::run(&storage, &mut BTreeSet::new()).unwrap();
    let writer = Repository::open(storage.clone()).unwrap();
    let other = Repository::open(Arc::new(FileStorage::create(dir.path()).unwrap())).err().unwrap();
    assert!(matches!(other, OpenError::InUse(_)), "{other}");
    assert!(other.to_string().contains("another process"));
    let reader = read().unwrap();
    let before = cycle::pages(&reader);
    drop(writer);
    for _ in 0..3 {
        cycle::run(&storage, &mut BTreeSet::new()).unwrap();
    }
    assert_eq!(cycle::pages(&reader), before, "a reader keeps its generation through commits");
    assert_eq!(read().unwrap().current().number().0, 4);
    assert_eq!(cycle::reports(&read().unwrap()).len(), 4);
}

#[test]
fn another_format_version_is_named_and_left_alone() {
    let mut image = cycle::after(2).image();
    let manifest = image.get_mut("MANIFEST").unwrap();
    manifest[8..12].copy_from_slice(&77u32.to_le_bytes());
    let crc = crc32fast::hash(&manifest[..20]);
    manifest[20..24].copy_from_slice(&crc.to_le_bytes());
    let storage = Arc::new(MemoryStorage::with_files(image.clone()));
    let error = Repository::open(storage.clone()).err().unwrap();
    assert!(matches!(error, OpenError::Version { found: 77, supported: FORMAT_VERSION, .. }), "{error}");
    assert!(error.to_string().contains("77") && error.to_string().contains(&FORMAT_VERSION.to_string()));
    assert_eq!(storage.image(), image);
}

#[test]
fn a_read_only_disk_is_refused_for_writing_and_can_be_read() {
    let image = cycle::after(2).image();
    let storage = Arc::new(FaultyStorage::with_files(image.clone()));
    storage.set_fault(StorageFault::ReadOnly);
    let error = Repository::open(storage.clone()).err().unwrap();
    assert!(error.to_string().contains("read-only"), "{error}");
    assert_eq!(Repository::open_read(storage.clone()).unwrap().current().number().0, 2);
    assert_eq!(storage.image(), image);
}
