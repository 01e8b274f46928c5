//! One suite over all back ends, and the fault model's own tests.

use super::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Checks a storage of each file of the folder.
fn over_all(check: impl Fn(&dyn Storage)) {
    let dir = tempfile::tempdir().unwrap();
    let back_ends = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/storage");
    let mut checked = 0;
    for entry in fs::read_dir(back_ends).unwrap() {
        let path = entry.unwrap().path();
        let storage: Box<dyn Storage> = match path.file_stem().unwrap().to_str().unwrap() {
            "faulty" => Box::new(FaultyStorage::new()),
            "file" => Box::new(FileStorage::create(&dir.path().join("made")).unwrap()),
            "memory" => Box::new(MemoryStorage::new()),
            "tests" => continue,
            unknown => panic!("make a storage of `{unknown}`, so that the suite checks it"),
        };
        check(&*storage);
        checked += 1;
    }
    assert!(checked > 2, "{checked}");
}

fn write(storage: &dyn Storage, name: &str, bytes: &[u8]) {
    let mut file = storage.create(name).unwrap();
    file.write(bytes).unwrap();
    file.sync().unwrap();
}

fn read(storage: &dyn Storage, name: &str) -> Vec<u8> {
    let file = storage.open(name).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

#[test]
fn what_is_written_is_read_at_any_offset() {
    over_all(|storage| {
        write(storage, "a", b"hello");
        storage.append("a").unwrap().write(b" world").unwrap();
        assert_eq!(read(storage, "a"), b"hello world");
        let mut part = [0; 3];
        storage.open("a").unwrap().read_at(&mut part, 4).unwrap();
        assert_eq!(&part, b"o w");
        let beyond = storage.open("a").unwrap().read_at(&mut part, 9).unwrap_err();
        assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof);
        let mut file = storage.append("a").unwrap();
        file.truncate(5).unwrap();
        file.write(b"!").unwrap();
        assert_eq!(read(storage, "a"), b"hello!");
        assert_eq!(storage.open("b").err().unwrap().kind(), io::ErrorKind::NotFound);
        assert_eq!(storage.append("b").err().unwrap().kind(), io::ErrorKind::NotFound);
    });
}

#[test]
fn an_open_file_outlives_its_name() {
    over_all(|storage| {
        write(storage, "a", b"old");
        let old = storage.open("a").unwrap();
        write(storage, "a", b"new, longer");
        write(storage, "b", b"b");
        storage.rename("b", "a").unwrap();
        storage.remove("a").unwrap();
        storage.sync_dir().unwrap();
        let mut bytes = [0; 3];
        old.read_at(&mut bytes, 0).unwrap();
        assert_eq!((&bytes, old.length().unwrap()), (b"old", 3));
        assert!(storage.list().unwrap().is_empty());
        assert_eq!(storage.remove("a").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(storage.rename("a", "b").unwrap_err().kind(), io::ErrorKind::NotFound);
    });
}

#[test]
fn another_file_of_a_name_has_another_identity() {
    over_all(|storage| {
        write(storage, "a", b"old");
        let identity = || storage.open("a").unwrap().identity().unwrap();
        let old = identity();
        storage.append("a").unwrap().write(b"er").unwrap();
        assert_eq!(identity(), old, "it is the same file");
        write(storage, "b", b"older");
        storage.rename("b", "a").unwrap();
        assert_ne!(identity(), old);
    });
}

#[test]
fn a_lock_is_held_once_and_given_back() {
    over_all(|storage| {
        let lock = storage.lock().unwrap();
        assert_eq!(storage.lock().err().unwrap().kind(), io::ErrorKind::WouldBlock);
        drop(lock);
        assert!(storage.lock().is_ok());
        assert!(storage.list().unwrap().is_empty(), "the lock is not a file of ours");
    });
}

#[test]
fn a_power_cut_keeps_what_was_synced_and_only_that_is_sure() {
    let storage = FaultyStorage::new();
    write(&storage, "synced", b"one");
    storage.sync_dir().unwrap();
    storage.append("synced").unwrap().write(b"two").unwrap();
    write(&storage, "unnamed", b"three");
    storage.rename("synced", "renamed").unwrap();
    let image = |s| storage.after_power_cut(s).image();
    assert_eq!(image(Survivors::Synced), BTreeMap::from([("synced".into(), b"one".to_vec())]));
    assert_eq!(image(Survivors::All), storage.image());
    let mut images = Vec::new();
    for seed in 0..100 {
        let files = image(Survivors::Some(seed));
        let kept = files.get("renamed").or(files.get("synced")).expect("a rename is never half done");
        assert!(kept.starts_with(b"one"));
        images.push(files);
    }
    images.sort();
    images.dedup();
    assert!(images.len() > 10, "only {} different outcomes", images.len());
}

#[test]
fn faults_strike_where_they_were_set() {
    let storage = FaultyStorage::new();
    storage.set_fault(StorageFault::Fail(2));
    let mut writer = storage.create("a").unwrap();
    assert!(writer.write(b"1234").is_err());
    writer.write(b"56").unwrap();
    assert_eq!(read(&storage, "a"), b"1256", "half of the failed write");
    storage.set_fault(StorageFault::Full(6));
    assert_eq!(writer.write(b"789").unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(read(&storage, "a"), b"125678");
    storage.set_fault(StorageFault::ReadOnly);
    assert_eq!(storage.remove("a").unwrap_err().kind(), io::ErrorKind::ReadOnlyFilesystem);
    storage.set_fault(StorageFault::FailRead(1));
    let mut byte = [0];
    assert!(storage.open("a").unwrap().read_at(&mut byte, 0).is_err());
    assert!(storage.open("a").unwrap().read_at(&mut byte, 0).is_ok());
    storage.set_fault(StorageFault::ShortRead(2));
    let file = storage.open("a").unwrap();
    let mut bytes = *b"....";
    file.read_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"1256");
    assert_eq!(file.read_at(&mut bytes, 2).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(
        (&bytes, file.length().unwrap()),
        (b"5656", 6),
        "half of the buffer, though the file is long enough"
    );
    file.read_at(&mut bytes, 2).unwrap();
    assert_eq!(&bytes, b"5678");
    storage.set_fault(StorageFault::Stop(1));
    assert!(storage.sync_dir().is_err());
    assert!(storage.list().is_err() && storage.open("a").is_err() && writer.sync().is_err());
}

#[test]
fn a_power_cut_tears_a_block_and_brings_a_later_one_without_an_earlier() {
    let storage = FaultyStorage::new();
    write(&storage, "a", b"synced");
    storage.sync_dir().unwrap();
    storage.set_fault(StorageFault::Stop(3));
    let mut file = storage.append("a").unwrap();
    file.write(&[7; 3 * 512]).unwrap();
    assert!(file.write(&[8; 100]).is_err());
    assert_eq!(
        storage.image()["a"].len(),
        6 + 3 * 512 + 50,
        "the write that the power failed in is half done"
    );
    let (mut torn, mut reordered) = (0, 0);
    for seed in 0..200 {
        let left = storage.after_power_cut(Survivors::Some(seed)).image().remove("a").unwrap();
        let sectors = left.strip_prefix(b"synced").expect("synced bytes stay").chunks(512);
        assert!(
            sectors.clone().all(|s| s.iter().all(|&b| b == 0) || s[0] == 7 || s[0] == 8),
            "zeros or what was written"
        );
        torn += usize::from(sectors.clone().last().is_some_and(|s| s.len() < 512 && s[0] == 7));
        let is_written: Vec<bool> = sectors.map(|s| s[0] != 0).collect();
        reordered += usize::from(is_written.windows(2).any(|pair| pair == [false, true]));
    }
    assert!(torn > 20 && reordered > 20, "{torn} torn, {reordered} reordered");
}

#[test]
fn what_a_failed_sync_has_lost_no_later_sync_brings_back() {
    let storage = FaultyStorage::new();
    write(&storage, "a", b"kept ");
    storage.sync_dir().unwrap();
    storage.set_fault(StorageFault::Fail(3));
    let mut file = storage.append("a").unwrap();
    file.write(b"lost ").unwrap();
    assert!(file.sync().is_err());
    file.write(b"later").unwrap();
    file.sync().unwrap();
    assert_eq!(read(&storage, "a"), b"kept lost later", "it can be read as long as the machine runs");
    let left = |survivors| storage.after_power_cut(survivors).image().remove("a").unwrap();
    assert_eq!(left(Survivors::Synced), b"kept \0\0\0\0\0later");
    assert_eq!(left(Survivors::Some(1)), b"kept \0\0\0\0\0later");
    file.truncate(5).unwrap();
    file.write(b"anew").unwrap();
    file.sync().unwrap();
    assert_eq!(left(Survivors::Synced), b"kept anew", "what is written again is not lost");
}
