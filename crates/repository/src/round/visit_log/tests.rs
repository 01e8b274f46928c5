//! The log keeps what stands before a torn tail, exactly.

use super::*;
use crate::file::format::HEADER_BYTES;
use crate::storage::{FaultyStorage, MemoryStorage, StorageFault, Survivors};
use crate::testing::{link, put_back, visit};
use proptest::collection::vec;
use proptest::prelude::*;
use recrawl_types::{Skip, Skipped, Visit};
use std::collections::BTreeSet;
use std::io;

const ROUND: Round = Round(6);

fn records() -> impl Strategy<Value = Vec<LogRecord>> {
    let near = |mut visit: Visit| {
        visit.index = visit.index.map(|i| i % 500);
        LogRecord::Visit(Box::new(visit))
    };
    let seeds = vec(link(), 0..4).prop_map(LogRecord::Seeds);
    let skipped = (0u64..500, 1u64..100, any::<bool>()).prop_map(|(start, count, is_late)| {
        let why = if is_late { Skip::Deadline } else { Skip::ByteBudget };
        LogRecord::Skipped(Skipped { pages: start..start + count, why, at: 7 })
    });
    vec(prop_oneof![4 => visit().prop_map(near), 1 => seeds, 1 => skipped], 1..12)
}

fn length(storage: &MemoryStorage) -> usize {
    storage.image()[&file(ROUND)].len()
}

fn read(storage: &dyn Storage) -> Vec<LogRecord> {
    let mut reader = VisitLog::read(storage, ROUND).unwrap();
    std::iter::from_fn(|| reader.next_record().unwrap()).collect()
}

/// What an open must tell of these records.
fn check(recovered: &Recovered, records: &[LogRecord]) {
    let visits = || records.iter().filter_map(|r| if let LogRecord::Visit(v) = r { Some(v) } else { None });
    let ranges = || records.iter().filter_map(|r| if let LogRecord::Skipped(s) = r { Some(s) } else { None });
    let skipped = ranges().flat_map(|skipped| skipped.pages.clone());
    let done: BTreeSet<u64> = visits().filter_map(|v| v.index).chain(skipped).collect();
    assert_eq!(recovered.records, records.len() as u64);
    assert_eq!(recovered.done.count(), done.len() as u64);
    assert_eq!((0..600).filter(|&i| recovered.done.contains(i)).collect::<BTreeSet<_>>(), done);
    let followed: Vec<_> = visits().filter(|v| v.index.is_none()).map(|v| v.url.clone()).collect();
    assert_eq!(recovered.followed, followed);
    assert_eq!(recovered.skipped, ranges().cloned().collect::<Vec<_>>());
}

/// What is read by chunks, its links put back where they belong.
fn read_by_chunks(storage: &dyn Storage) -> Vec<LogRecord> {
    let mut reader = VisitLog::read(storage, ROUND).unwrap();
    let (mut chunk, mut records) = (LogChunk::default(), Vec::new());
    while reader.next_chunk(&mut chunk).unwrap() {
        for (mut record, found) in chunk.drain() {
            put_back(&mut record, found);
            records.push(record);
        }
    }
    records
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn chunks_hold_what_records_do(records in records(), times in 1usize..2000) {
        let storage = MemoryStorage::new();
        let (mut log, _) = VisitLog::open(&storage, ROUND).unwrap();
        for _ in 0..times {
            records.iter().for_each(|r| log.append(r).unwrap());
        }
        prop_assert_eq!(read_by_chunks(&storage), read(&storage));
    }

    #[test]
    fn a_torn_last_record_is_cut_off_at_every_byte(records in records(), more in visit()) {
        let storage = MemoryStorage::new();
        let (mut log, fresh) = VisitLog::open(&storage, ROUND).unwrap();
        check(&fresh, &[]);
        let (last, before) = records.split_last().unwrap();
        before.iter().for_each(|r| log.append(r).unwrap());
        let sound = length(&storage);
        log.append(last).unwrap();
        let image = storage.image();
        for torn in sound..length(&storage) {
            let mut cut = image.clone();
            cut.get_mut(&file(ROUND)).unwrap().truncate(torn);
            let storage = MemoryStorage::with_files(cut);
            let (_, recovered) = VisitLog::open(&storage, ROUND).unwrap();
            check(&recovered, before);
            prop_assert_eq!((recovered.cut, length(&storage)), ((torn - sound) as u64, sound));
        }
        let (mut log, recovered) = VisitLog::open(&storage, ROUND).unwrap();
        check(&recovered, &records);
        prop_assert_eq!(recovered.cut, 0);
        let more = LogRecord::Visit(Box::new(Visit { index: Some(501), ..more }));
        log.append(&more).unwrap();
        let all: Vec<_> = records.iter().cloned().chain([more]).collect();
        prop_assert_eq!(read(&storage), all);
    }
}

fn small(index: u64) -> LogRecord {
    LogRecord::Visit(Box::new(Visit {
        index: Some(index),
        share: recrawl_types::Share::Score,
        left_out: recrawl_types::LeftOut::default(),
        ..Visit::new(
            crate::testing::canonical(&format!("http://a.example/{index}")),
            recrawl_types::Outcome::NotModified,
        )
    }))
}

#[test]
fn after_a_failed_write_nothing_goes_in_before_the_log_is_opened_anew() {
    for (fault, sync) in
        [(StorageFault::Fail(2), false), (StorageFault::Full(60), false), (StorageFault::Fail(2), true)]
    {
        let storage = FaultyStorage::new();
        let (mut log, _) = VisitLog::open(&storage, ROUND).unwrap();
        log.append(&small(0)).unwrap();
        log.sync().unwrap();
        storage.set_fault(fault);
        let failed = match (sync, log.append(&small(1))) {
            (true, first) => first.and_then(|()| log.sync()),
            (false, first) => first.and_then(|()| log.append(&small(2))),
        };
        let error = failed.unwrap_err();
        let is_full = error.source.kind() == io::ErrorKind::StorageFull;
        assert_eq!(is_full, fault == StorageFault::Full(60));
        assert_eq!(is_full, error.to_string().contains("free disk space"), "{error}");
        storage.set_fault(StorageFault::None);
        assert!(log.append(&small(3)).is_err() && log.sync().is_err(), "what came behind would be lost");
        let (mut log, recovered) = VisitLog::open(&storage, ROUND).unwrap();
        assert!(recovered.done.contains(0) && !recovered.done.contains(3));
        assert!(!(sync && recovered.done.contains(1)), "nobody knows whether it is on the disk");
        log.append(&small(4)).unwrap();
        log.sync().unwrap();
        let left = storage.after_power_cut(Survivors::Synced);
        let (_, again) = VisitLog::open(&left, ROUND).unwrap();
        assert!(again.done.contains(4) && again.done.count() == recovered.done.count() + 1 && again.cut == 0);
    }
}

#[test]
fn a_damaged_header_is_damage_but_not_on_a_log_without_records() {
    let storage = MemoryStorage::new();
    drop(VisitLog::open(&storage, ROUND).unwrap());
    for bytes in [vec![0; 24], vec![1; 10], Vec::new()] {
        let storage = MemoryStorage::with_files([(file(ROUND), bytes)].into());
        let (_, recovered) = VisitLog::open(&storage, ROUND).unwrap();
        assert_eq!((recovered.records, length(&storage)), (0, HEADER_BYTES));
    }
    let (mut log, _) = VisitLog::open(&storage, ROUND).unwrap();
    log.append(&small(1)).unwrap();
    let mut image = storage.image();
    image.get_mut(&file(ROUND)).unwrap()[3] ^= 1;
    let opened = VisitLog::open(&MemoryStorage::with_files(image.clone()), ROUND);
    assert!(matches!(opened, Err(LogError::Read(ReadError::Damaged(_)))));
}

#[test]
fn an_index_beyond_all_schedules_and_a_record_beyond_all_frames_are_refused() {
    let storage = MemoryStorage::new();
    let (mut log, _) = VisitLog::open(&storage, ROUND).unwrap();
    let link = recrawl_types::Link::to(
        crate::testing::canonical(&format!("http://a.example/{}", "x".repeat(1900))),
        0,
    );
    let other = recrawl_types::Link {
        url: crate::testing::canonical(&format!("http://b.example/{}", "y".repeat(1900))),
        ..link.clone()
    };
    let seeds = [link, other].into_iter().cycle().take(36_000).collect();
    let error = log.append(&LogRecord::Seeds(seeds)).unwrap_err();
    assert_eq!(error.source.kind(), io::ErrorKind::InvalidInput);
    log.append(&small(1)).unwrap();
    assert!(VisitLog::open(&storage, ROUND).is_ok(), "a record refused leaves no trace");
    log.append(&small(1 << 60)).unwrap();
    let error = VisitLog::open(&storage, ROUND).err().unwrap();
    assert!(error.to_string().contains("outside the schedule"), "{error}");
}

proptest! {
    /// A range of indexes is added like each of them.
    #[test]
    fn done_ranges_are_done_indexes(parts in vec((0u64..400, 0u64..300), 0..8)) {
        let (mut fast, mut plain, mut set) = (VisitedIndexes::default(), VisitedIndexes::default(), BTreeSet::new());
        for (start, count) in parts {
            fast.insert_all(start..start + count);
            (start..start + count).for_each(|index| plain.insert(index));
            set.extend(start..start + count);
        }
        prop_assert_eq!((fast.count(), fast.last()), (set.len() as u64, set.last().copied()));
        prop_assert_eq!(plain.count(), fast.count());
        prop_assert!((0..800).all(|index| fast.contains(index) == set.contains(&index)));
    }
}
