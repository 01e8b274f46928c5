//! What is written as a generation is read back the same by every way of reading it.

use super::*;
use crate::Repository;
use crate::file::format::{HEADER_BYTES, header, open_frame, put_frame};
use crate::generation::block::BLOCK_PAGES;
use crate::generation::index::FramePlace;
use crate::generation::origins::OriginRun;
use crate::generation::origins::tests::check_walks;
use crate::storage::{MemoryStorage, Storage};
use crate::testing::{canonical, record, url};
use proptest::collection::{btree_map, btree_set};
use proptest::prelude::*;
use recrawl_types::{Content, History, Known, PageStatus, StateColumns, Validators, Visited};
use std::collections::BTreeMap;
use std::sync::Arc;

type Pages = BTreeMap<CanonicalUrl, PageRecord>;

fn committed(pages: &Pages) -> (Arc<MemoryStorage>, Arc<Generation>) {
    let storage = Arc::new(MemoryStorage::new());
    let mut repository = Repository::open(storage.clone()).unwrap();
    let empty = Generation::default();
    let mut writer = repository.begin(&empty, repository.current().cycle().next()).unwrap();
    for (url, record) in pages {
        writer.push(url.key(), record).unwrap();
    }
    repository.commit(writer, b"report").unwrap();
    (storage, repository.current())
}

/// Pages of a few hosts of unequal size; every third visited, some gone, some with validators.
fn many(count: usize) -> Pages {
    let page = |i: usize| {
        let host = (i as f64).sqrt() as usize % 40;
        let url =
            canonical(&format!("https://www{host}.example.org/section/{:03}/{i}.html?id={}", i % 7, i * i));
        let mut record = PageRecord::discovered(Cycle(1 + (i % 5) as u32), (i % 9) as u16);
        record.known.in_links = (i * i % 70_000) as u32;
        record.known.status = if i.is_multiple_of(50) { PageStatus::Gone } else { PageStatus::Live };
        if i.is_multiple_of(3) {
            let mut history = History::first_fetch(Cycle(2));
            (3..3 + i % 20).for_each(|c| history.record(Cycle(c as u32), i.is_multiple_of(4)));
            let etag = i.is_multiple_of(2).then(|| format!("\"{i:x}\""));
            let content = Content {
                payload: (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
                validators: Validators::new(etag.as_deref(), None),
                ..Content::default()
            };
            record.visited = Some(Visited { history, content });
        }
        (url, record)
    };
    (0..count).map(page).collect()
}

/// Reads `generation` by every way there is and compares with `pages`.
fn check(generation: &Generation, pages: &Pages, chosen: &[u64], unknown: &[CanonicalUrl]) {
    let count = |f: fn(&PageRecord) -> bool| pages.values().filter(|r| f(r)).count() as u64;
    assert_eq!(generation.pages(), pages.len() as u64);
    assert_eq!(generation.visited(), count(|r| r.visited.is_some()));
    assert_eq!(generation.gone(), count(|r| r.known.status == PageStatus::Gone));
    assert_eq!(generation.blocks.len(), pages.len().div_ceil(BLOCK_PAGES));
    assert_eq!(generation.summary().bytes, generation.files().iter().map(|f| f.1).sum::<u64>());

    let mut records = generation.records();
    for (ordinal, (url, record)) in (0..).zip(pages) {
        let next = records.next_record().unwrap();
        assert_eq!(next, Some((ordinal, url.key(), record.clone())));
    }
    assert_eq!(records.next_record().unwrap(), None);

    let mut states = generation.states();
    let all: Vec<_> = pages.values().collect();
    for (first, part) in (0..).step_by(BLOCK_PAGES).zip(all.chunks(BLOCK_PAGES)) {
        let mut expected = StateColumns::default();
        part.iter().for_each(|r| expected.push(r.known, r.visited.as_ref().map(|v| &v.history)));
        assert_eq!(states.next_block().unwrap(), Some((first, &mut expected)));
        for ordinal in [first, first + part.len() as u64 - 1] {
            let mut from_there = generation.states_from(ordinal);
            assert_eq!(from_there.next_block().unwrap(), Some((first, &mut expected)));
        }
    }
    assert!(states.next_block().unwrap().is_none());

    let ordered: Vec<_> = pages.iter().collect();
    let mut gather = generation.gather(chosen.iter().copied());
    for &ordinal in chosen {
        let (url, record) = ordered[ordinal as usize];
        assert_eq!(gather.next_page().unwrap(), Some((ordinal, url.clone(), record.clone())));
        assert_eq!(generation.get(url).unwrap(), Some((ordinal, record.clone())));
    }
    assert_eq!(gather.next_page().unwrap(), None);
    for url in unknown {
        assert_eq!(generation.get(url).unwrap().is_some(), pages.contains_key(url), "{url}");
    }

    check_walks(generation, pages, unknown);
    assert_eq!(generation.verify(), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn any_pages_come_back(
        pages in btree_map(url(), record(), 0..60),
        chosen in proptest::collection::vec(any::<bool>(), 60),
        unknown in proptest::collection::vec(url(), 0..20),
    ) {
        let (_, generation) = committed(&pages);
        let chosen: Vec<u64> = (0..pages.len()).filter(|&i| chosen[i]).map(|i| i as u64).collect();
        check(&generation, &pages, &chosen, &unknown);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn pages_of_many_blocks_come_back(
        count in prop_oneof![
            Just(0), Just(1), Just(BLOCK_PAGES - 1), Just(BLOCK_PAGES), Just(BLOCK_PAGES + 1), 2000usize..6000
        ],
        chosen in btree_set(0u64..6000, 0..50),
        unknown in proptest::collection::vec(url(), 0..20),
    ) {
        let pages = many(count);
        let (_, generation) = committed(&pages);
        let chosen: Vec<u64> = chosen.into_iter().filter(|&o| o < count as u64).collect();
        check(&generation, &pages, &chosen, &unknown);
    }
}

#[test]
fn blocks_end_where_they_should() {
    for count in [1, BLOCK_PAGES - 1, BLOCK_PAGES, BLOCK_PAGES + 1, 3 * BLOCK_PAGES] {
        let pages = many(count);
        let (_, generation) = committed(&pages);
        let all: Vec<u64> = (0..count as u64).step_by(97).chain([count as u64 - 1]).collect();
        let chosen: std::collections::BTreeSet<u64> = all.into_iter().collect();
        check(&generation, &pages, &chosen.into_iter().collect::<Vec<_>>(), &[]);
    }
}

/// In a generation of several blocks damage is told once a block, and the rest can be read.
#[test]
fn a_damaged_block_is_told_and_its_neighbours_are_read() {
    let pages = many(3000);
    let (storage, generation) = committed(&pages);
    for part in FramedFile::ALL {
        let name = part.file(Round(1));
        let place = generation.blocks[1].place(part);
        let mut image = storage.image();
        image.get_mut(&name).unwrap()[place.offset as usize + 40] ^= 4;
        let damaged = Repository::open_read(Arc::new(MemoryStorage::with_files(image))).unwrap();
        let found = damaged.verify();
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert!(found[0].file.ends_with(&name) && found[0].offset == place.offset, "{}", found[0]);
        let current = damaged.current();
        let mut records = current.records();
        let read = std::iter::from_fn(|| records.next_record().transpose().map(|r| r.map(|r| r.0)));
        let read: Vec<_> = read.take(BLOCK_PAGES + 3).collect();
        assert!(read[..BLOCK_PAGES].iter().all(Result::is_ok));
        assert!(read[BLOCK_PAGES..].iter().all(Result::is_err), "after an error there is no other page");
        let last = pages.last_key_value().unwrap();
        assert_eq!(current.get(last.0).unwrap(), Some((2999, last.1.clone())));
        assert!(current.get(pages.keys().nth(1500).unwrap()).is_err());
    }
}

#[test]
fn it_stays_readable_when_its_files_are_removed() {
    let pages = many(1500);
    let (storage, generation) = committed(&pages);
    for name in storage.list().unwrap() {
        storage.remove(&name).unwrap();
    }
    check(&generation, &pages, &[0, 1024, 1499], &[canonical("http://unknown.example/")]);
}

#[test]
fn a_state_without_history_is_all_zeros() {
    let pages = Pages::from([(canonical("http://a.example/"), PageRecord::default())]);
    let (_, generation) = committed(&pages);
    let mut states = generation.states();
    let (_, columns) = states.next_block().unwrap().unwrap();
    assert_eq!((columns.known[0], columns.visits[0], columns.history(0)), (Known::default(), 0, None));
}

fn all_pages(generation: &Generation) -> Pages {
    let mut records = generation.records();
    let mut pages = Pages::new();
    while let Some((_, key, record)) = records.next_record().unwrap() {
        pages.insert(CanonicalUrl::from_key(key).unwrap(), record);
    }
    pages
}

/// Puts the histories of generation 1 into a file as version 1 wrote it, with so much garbage behind them that the
/// file is emptied next.
fn with_histories_of_version_1(storage: &MemoryStorage, generation: &Generation) -> Arc<MemoryStorage> {
    let (part, name) = (FramedFile::History, FramedFile::History.file(Round(1)));
    let (mut files, mut blocks) = (storage.image(), generation.blocks.clone());
    let mut bytes = header(part.kind(), Round(1)).to_vec();
    bytes[8] = 1;
    let crc = crc32fast::hash(&bytes[..HEADER_BYTES - 4]);
    bytes[HEADER_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
    for block in &mut blocks {
        let place = block.place(part);
        let frame = &files[&name][place.offset as usize..][..place.length as usize];
        let mut scratch = Vec::new();
        let payload = open_frame(frame, part.kind(), &mut scratch).unwrap();
        // Nine columns: width, least value, and so many distances.
        let end = (0..9).fold(0, |at, _| at + 9 + usize::from(payload[at]) * block.visited as usize);
        let offset = bytes.len();
        put_frame(&mut bytes, part.kind(), &payload[..end]);
        let length = (bytes.len() - offset) as u32;
        block.places[part as usize] = FramePlace { offset: offset as u64, length, ..place };
    }
    bytes.resize(4 * bytes.len(), 0);
    files.insert(name, bytes);
    let storage = Arc::new(MemoryStorage::with_files(files));
    index::write(&*storage, Round(1), &blocks).unwrap();
    storage
}

/// They were copied into a file of today's version as they were, which nobody could read any more.
#[test]
fn histories_of_version_1_are_renewed_when_they_are_copied() {
    let (storage, generation) = committed(&many(3000));
    let storage = with_histories_of_version_1(&storage, &generation);
    let mut repository = Repository::open(storage.clone()).unwrap();
    let old = repository.current();
    let pages = all_pages(&old);
    let mut writer = repository.begin(&old, repository.current().cycle().next()).unwrap();
    (0..old.blocks()).for_each(|at| writer.carry(at).unwrap());
    repository.commit(writer, b"").unwrap();
    assert!(!storage.list().unwrap().contains(&FramedFile::History.file(Round(1))), "its file is emptied");
    assert_eq!(repository.verify(), []);
    assert_eq!(all_pages(&repository.current()), pages);
    drop(repository);
    assert_eq!(all_pages(&Repository::open(storage).unwrap().current()), pages);
}

#[test]
fn a_part_has_its_blocks_with_their_ordinals_and_the_origins_of_their_pages() {
    let (_storage, generation) = committed(&many(9 * BLOCK_PAGES));
    let part = generation.only(|at| [0, 4, 5].contains(&at));
    assert_eq!((part.blocks(), part.pages()), (3, generation.pages()));
    let (mut all, mut held) = (Vec::new(), Vec::new());
    let scan = |of: &Generation, into: &mut Vec<(u64, StateColumns)>| {
        of.scan(true, |first, columns| -> Result<(), ReadError> {
            into.push((first, std::mem::take(columns)));
            Ok(())
        })
    };
    scan(&generation, &mut all).unwrap();
    scan(&part, &mut held).unwrap();
    assert_eq!(held, [all[0].clone(), all[4].clone(), all[5].clone()]);
    assert_eq!((generation.block_of(held[1].0), part.block_of(held[1].0)), (4, 1));
    let runs = |of: &Generation| {
        let mut runs = of.origin_runs();
        std::iter::from_fn(move || runs.next_run().unwrap().cloned()).collect::<Vec<_>>()
    };
    let has_pages = |run: &OriginRun| {
        held.iter().any(|(first, columns)| {
            *first < run.first + run.pages && run.first < first + columns.len() as u64
        })
    };
    let expected: Vec<_> = runs(&generation).into_iter().filter(has_pages).collect();
    assert_eq!(runs(&part), expected);
    assert!(expected.len() < runs(&generation).len(), "some origins lie between");
}
