//! Logs and states, read ahead.

use super::AHEAD;
use crate::file::error::ReadError;
use crate::generation::Generation;
use crate::storage::{MemoryStorage, Storage};
use crate::testing::canonical;
use crate::{BLOCK_PAGES, Repository, VisitLog, VisitReader};
use recrawl_types::{Cycle, Link, LogRecord, PageRecord, Round};
use std::sync::Arc;

const CYCLE: Cycle = Cycle(3);

/// A log of more chunks than there are at a time.
fn log(storage: &MemoryStorage) -> VisitReader {
    let url = canonical(&format!("http://a.example/{}", "x".repeat(1500)));
    let (mut log, _) = VisitLog::open(storage, Round(CYCLE.0)).unwrap();
    for depth in 0..15 {
        log.append(&LogRecord::Seeds(vec![Link::to(url.clone(), depth); 600])).unwrap();
    }
    VisitLog::read(storage, Round(CYCLE.0)).unwrap()
}

#[test]
fn all_chunks_come_in_the_order_of_the_log() {
    let (mut depths, mut chunks) = (Vec::new(), 0);
    let done: Result<(), ReadError> = log(&MemoryStorage::default()).scan(|chunk| {
        chunks += 1;
        depths.extend(chunk.drain().flat_map(|(_, links)| links.map(|link| link.depth)));
        Ok(())
    });
    assert!(done.is_ok() && chunks > AHEAD, "{chunks}");
    assert_eq!(depths, (0..15).flat_map(|depth| [depth; 600]).collect::<Vec<_>>());
}

#[test]
fn an_error_on_either_side_ends_the_reading_of_a_log() {
    let mut chunks = 0;
    let failed = log(&MemoryStorage::default()).scan(|_| {
        chunks += 1;
        Err(ReadError::damaged("the test", 0, "says so"))
    });
    assert!(failed.is_err() && chunks == 1);

    let storage = MemoryStorage::default();
    drop(log(&storage));
    let mut files = storage.image();
    files.values_mut().for_each(|bytes| *bytes.last_mut().unwrap() ^= 1);
    let damaged = VisitLog::read(&MemoryStorage::with_files(files), Round(CYCLE.0)).unwrap();
    let mut links = 0;
    let failed: Result<(), ReadError> = damaged.scan(|chunk| {
        links += chunk.drain().map(|(_, links)| links.len()).sum::<usize>();
        Ok(())
    });
    assert!(matches!(failed, Err(ReadError::Damaged(_))));
    assert!(links > 0, "what stands before the damage is worked on");
}

fn of_ten_blocks(storage: Arc<MemoryStorage>) -> Arc<Generation> {
    let mut repository = Repository::open(storage).unwrap();
    let empty = Generation::default();
    let mut writer = repository.begin(&empty, repository.current().cycle().next()).unwrap();
    for i in 0..10 * BLOCK_PAGES {
        let url = canonical(&format!("http://a.example/{i:06}"));
        writer.push(url.key(), &PageRecord::discovered(Cycle(1), (i % 1000) as u16)).unwrap();
    }
    repository.commit(writer, b"").unwrap();
    repository.current()
}

#[test]
fn a_scan_gives_what_the_walk_gives() {
    let generation = of_ten_blocks(Arc::default());
    for with_keys in [false, true] {
        let mut walk = generation.states().with_keys(with_keys);
        let scanned: Result<(), ReadError> = generation.scan(with_keys, |first, columns| {
            let url = canonical(&format!("http://a.example/{:06}", first + 7));
            assert!(if with_keys { columns.keys.get(7) == url.key() } else { columns.keys.is_empty() });
            assert_eq!(walk.next_block().unwrap(), Some((first, columns)));
            Ok(())
        });
        scanned.unwrap();
        assert!(walk.next_block().unwrap().is_none());
    }
}

#[test]
fn an_error_on_either_side_ends_a_scan() {
    let storage = Arc::new(MemoryStorage::new());
    let generation = of_ten_blocks(storage.clone());
    let mut blocks = 0;
    let scanned = generation.scan(false, |_, _| {
        blocks += 1;
        Err(ReadError::damaged("the test", 0, "says so"))
    });
    assert!(scanned.is_err() && blocks == 1);

    let mut image = storage.image();
    let known = image.get_mut("generation-0000000001.known").unwrap();
    let middle = known.len() / 2;
    known[middle] ^= 1;
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::with_files(image));
    let mut blocks = 0;
    let scanned: Result<(), ReadError> =
        Repository::open_read(storage).unwrap().current().scan(false, |_, _| {
            blocks += 1;
            Ok(())
        });
    assert!(scanned.is_err() && (1..9).contains(&blocks), "{blocks} blocks");
}
