//! A flipped bit anywhere in what is committed.

use crate::cycle;
use recrawl_repository::storage::MemoryStorage;
use recrawl_repository::{Damage, OpenError, ReadError, Repository, VisitLog};
use recrawl_types::Round;
use std::sync::Arc;

fn damage_in(storage: MemoryStorage) -> Vec<Damage> {
    match Repository::open_read(Arc::new(storage)) {
        Ok(repository) => repository.verify(),
        Err(OpenError::Read(ReadError::Damaged(damage))) => vec![damage],
        Err(e) => panic!("not told as damage: {e}"),
    }
}

#[test]
fn a_flipped_bit_anywhere_is_found_and_its_place_is_told() {
    let image = cycle::after(3).image();
    assert_eq!(damage_in(MemoryStorage::with_files(image.clone())), []);
    assert!(image.len() >= 8, "files: {:?}", image.keys());
    for (name, bytes) in &image {
        for at in 0..bytes.len() {
            let mut flipped = image.clone();
            flipped.get_mut(name).unwrap()[at] ^= 1 << (at * 5 % 8);
            let found = damage_in(MemoryStorage::with_files(flipped));
            let place = found.first().unwrap_or_else(|| panic!("byte {at} of {name} is not missed"));
            assert!(place.file.ends_with(name), "byte {at} of {name} is told as {place}");
            assert!(place.offset <= at as u64, "byte {at} of {name} is told as {place}");
        }
    }
}

#[test]
fn a_file_cut_anywhere_or_gone_is_an_error() {
    let image = cycle::after(2).image();
    for (name, bytes) in &image {
        for length in (0..bytes.len()).step_by(3) {
            let mut cut = image.clone();
            cut.get_mut(name).unwrap().truncate(length);
            assert_ne!(damage_in(MemoryStorage::with_files(cut)), [], "{name} cut to {length} bytes");
        }
        let mut gone = image.clone();
        gone.remove(name);
        let storage = Arc::new(MemoryStorage::with_files(gone));
        let opened = Repository::open(storage.clone());
        if name.ends_with(".kept") {
            let kept = opened.unwrap().kept().list().unwrap();
            assert!(kept.len() < cycle::KEPT_CYCLES as usize, "kept visits are no part of a generation");
            continue;
        }
        let error = opened.err().unwrap_or_else(|| panic!("{name} is not missed")).to_string();
        assert!(error.contains(name.as_str()), "{name} is gone: {error}");
        assert_eq!(storage.image().len(), image.len() - 1, "nothing else may be touched");
    }
}

#[test]
fn a_torn_log_is_cut_where_it_is_torn() {
    let storage = MemoryStorage::new();
    let round = Round(5);
    let (mut log, _) = VisitLog::open(&storage, round).unwrap();
    let records: Vec<_> = (0..4).map(|_| recrawl_types::LogRecord::Seeds(vec![])).collect();
    let mut ends = vec![storage.image()["cycle-0000000005.visits"].len()];
    for record in &records {
        log.append(record).unwrap();
        ends.push(storage.image()["cycle-0000000005.visits"].len());
    }
    let whole = storage.image();
    for length in 0..=ends[4] {
        let mut torn = whole.clone();
        torn.values_mut().for_each(|bytes| bytes.truncate(length));
        let storage = MemoryStorage::with_files(torn);
        let (mut log, recovered) = VisitLog::open(&storage, round).unwrap();
        let sound = ends.iter().filter(|&&end| end <= length).count().saturating_sub(1);
        assert_eq!(recovered.records, sound as u64, "torn at {length}");
        log.append(&records[0]).unwrap();
        let (_, again) = VisitLog::open(&storage, round).unwrap();
        assert_eq!((again.records, again.cut), (sound as u64 + 1, 0), "torn at {length}");
    }
}
