//! A schedule on disk answers as one in memory does, and is complete or absent.

use super::writer::PART;
use super::*;
use crate::file::error::WriteError;
use crate::storage::{FaultyStorage, MemoryStorage, StorageFault};
use crate::testing::{canonical, entry};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::Index;
use recrawl_types::schedule::MemorySchedule;
use recrawl_types::{Cycle, PageRecord, Share};

const ROUND: Round = Round(2);

fn write(storage: &dyn Storage, entries: &[ScheduleEntry]) -> Result<u64, WriteError> {
    let mut writer = ScheduleWriter::create(storage, ROUND)?;
    entries.iter().try_for_each(|entry| writer.push(entry))?;
    writer.finish()
}

/// Enough entries of one host for several frames.
fn many(count: usize) -> Vec<ScheduleEntry> {
    let entry = |i| {
        ScheduleEntry::new(
            canonical(&format!("https://many.example/{i:05}")),
            Share::Discovery,
            PageRecord::discovered(Cycle(ROUND.0), 1),
        )
    };
    (0..count).map(entry).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn it_answers_as_a_schedule_in_memory(
        few in vec(entry(), 0..40), extra in 0usize..200, reads in vec(any::<(Index, Index, u8)>(), 1..30)
    ) {
        let mut entries = few;
        entries.extend(many(extra));
        entries.sort_by(|a, b| a.url.cmp(&b.url));
        entries.dedup_by(|a, b| a.url == b.url);
        let storage = MemoryStorage::new();
        prop_assert_eq!(write(&storage, &entries).unwrap(), entries.len() as u64);
        let file = ScheduleFile::open(&storage, ROUND).unwrap().unwrap();
        let memory = MemorySchedule::new(entries);
        prop_assert_eq!(file.len(), memory.len());
        prop_assert_eq!(file.hosts(), memory.hosts());
        for (host, start, max) in reads {
            if let Some(at) = (!memory.is_empty()).then(|| host.index(memory.hosts().len())) {
                let host = &memory.hosts()[at];
                let start = host.start + start.index(host.count as usize) as u64;
                let expected = memory.read(host, start, max.into()).unwrap();
                prop_assert_eq!(file.read(host, start, max.into()).unwrap(), expected);
            }
        }
        for host in memory.hosts() {
            let all = memory.read(host, host.start, host.count as usize).unwrap();
            prop_assert_eq!(file.read(host, host.start, usize::MAX).unwrap(), all);
            prop_assert_eq!(file.read(host, host.start + host.count, 5).unwrap(), vec![]);
        }
    }

    #[test]
    fn keys_of_many_origins_keep_their_runs(hosts in btree_map(0u16..500, 1usize..70, 0..12)) {
        let entries: Vec<_> = hosts.iter().flat_map(|(host, &count)| (0..count).map(move |i| ScheduleEntry::new(canonical(&format!("https://h{host:03}.example/{i:03}")), Share::Score, PageRecord::default()))).collect();
        let storage = MemoryStorage::new();
        write(&storage, &entries).unwrap();
        let file = ScheduleFile::open(&storage, ROUND).unwrap().unwrap();
        let counts: Vec<usize> = file.hosts().iter().map(|run| run.count as usize).collect();
        prop_assert_eq!(counts, hosts.values().copied().collect::<Vec<_>>());
    }
}

#[test]
fn it_is_complete_or_absent_whatever_write_fails() {
    let (old, new) = (many(40), many(100));
    let mut failed = 0;
    for point in 1.. {
        let storage = FaultyStorage::new();
        write(&storage, &old).unwrap();
        storage.set_fault(StorageFault::Fail(point));
        let result = write(&storage, &new);
        storage.set_fault(StorageFault::None);
        let length = ScheduleFile::open(&storage, ROUND).unwrap().map(|file| {
            let host = file.hosts()[0].clone();
            assert_eq!(file.read(&host, 0, usize::MAX).unwrap().len() as u64, file.len());
            file.len()
        });
        assert!(matches!(length, None | Some(40 | 100)), "point {point}: {length:?}");
        if result.is_ok() {
            assert_eq!(length, Some(100));
            break;
        }
        failed += 1;
        write(&storage, &new).unwrap();
        assert_eq!(ScheduleFile::open(&storage, ROUND).unwrap().unwrap().len(), 100, "point {point}");
    }
    assert!(failed >= 8, "only {failed} points");
}

#[test]
fn a_flipped_bit_is_found_when_it_is_read() {
    let storage = MemoryStorage::new();
    write(&storage, &many(70)).unwrap();
    let image = storage.image();
    for (name, bytes) in &image {
        for at in 0..bytes.len() {
            let mut flipped = image.clone();
            flipped.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
            let storage = MemoryStorage::with_files(flipped);
            let read = ScheduleFile::open(&storage, ROUND).map_err(io::Error::from).and_then(|file| {
                let file = file.expect("the table is there");
                let read = file.read(&file.hosts()[0], 0, usize::MAX)?;
                file.find(&read[0].url).map(|_| read)
            });
            let error = read.expect_err("wrong entries").to_string();
            assert!(error.contains(name.as_str()), "byte {at} of {name}: {error}");
        }
    }
}

#[test]
fn what_is_out_of_order_is_refused_and_the_rest_stands() {
    let storage = MemoryStorage::new();
    let mut writer = ScheduleWriter::create(&storage, ROUND).unwrap();
    let entries = many(3);
    writer.push(&entries[1]).unwrap();
    for entry in &entries[..2] {
        let error = writer.push(entry).unwrap_err().to_string();
        assert!(error.contains("out of order") && error.contains("schedule"), "{error}");
    }
    writer.push(&entries[2]).unwrap();
    assert_eq!(writer.finish().unwrap(), 2);
}

#[test]
fn a_host_is_read_in_the_order_of_visits_and_each_page_is_found_by_its_url() {
    let mut entries = many(PART + 100);
    let first = entries[0].clone();
    entries.extend(
        (0..20).map(|i| ScheduleEntry {
            url: canonical(&format!("https://more.example/{i:02}")),
            ..first.clone()
        }),
    );
    let storage = MemoryStorage::new();
    let last_first = |pages: &[Ranked]| (0..pages.len() as u32).rev().collect();
    let mut writer = ScheduleWriter::in_order(&storage, ROUND, last_first).unwrap();
    entries.iter().try_for_each(|entry| writer.push(entry)).unwrap();
    assert_eq!(writer.finish().unwrap(), entries.len() as u64);
    let file = ScheduleFile::open(&storage, ROUND).unwrap().unwrap();
    let [many, more] = file.hosts() else { panic!("two hosts") };
    let read: Vec<_> = file.read(many, many.start, usize::MAX).unwrap();
    assert_eq!((read.len(), more.count), (PART + 100, 20));
    // Of the first part its last 32, then of the second, and so on until that is short of a frame.
    let page = |at: usize| read[at].url.path_and_query()[1..].parse::<usize>().unwrap();
    let starts: Vec<usize> = (0..read.len()).step_by(32).map(page).collect();
    assert_eq!(starts[..4], [PART - 1, PART + 99, PART - 33, PART + 67]);
    assert_eq!(*starts.last().unwrap(), PART + 3, "what fills no frame comes last");
    assert_eq!(many.first, read[0].url);
    for (index, entry) in (0..).zip(&read).step_by(97) {
        let found = file.find(&entry.url).unwrap().expect("it is there");
        assert_eq!((found.host, found.index, &found.entry), (0, index, entry));
    }
    let found = file.find(&canonical("https://more.example/07")).unwrap().expect("it is there");
    assert_eq!((found.host, found.index), (1, more.start + 12));
    for absent in ["https://more.example/x", "https://many.example/00000x", "https://none.example/"] {
        assert_eq!(file.find(&canonical(absent)).unwrap(), None, "{absent}");
    }
}
