//! Folders that older format versions left, in the middle of a cycle.
//!
//! `version-1/` and so on were written by the last program of each: the cycle of this suite, eight
//! times, and a power cut in the ninth, behind a complete schedule and some visits.

use crate::cycle::{self, Pages};
use recrawl_repository::storage::{MemoryStorage, Storage};
use recrawl_repository::{OLDEST_VERSION, Repository, ScheduleFile, VisitLog, WRITTEN_VERSION};
use recrawl_types::{Round, ScheduleSource};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Of versions 6 and 7 only manifests were written.
const LAST_OF_ALL_FILES: u32 = 5;

fn left_by(version: u32) -> Arc<MemoryStorage> {
    let folder = format!("{}/tests/durability/version-{version}", env!("CARGO_MANIFEST_DIR"));
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap();
        files.insert(entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
    }
    // Version 1 kept no visits, and up to version 4 decisions had no file.
    let expected = match version {
        1 => 11,
        2..5 => 13,
        _ => 14,
    };
    assert_eq!(files.len(), expected, "{folder} is not whole");
    Arc::new(MemoryStorage::with_files(files))
}

fn version_of(storage: &MemoryStorage, name: &str) -> u32 {
    u32::from_le_bytes(storage.image()[name][8..12].try_into().unwrap())
}

/// The pages without the one sum that version 1 did not keep, and that can only be estimated.
fn comparable(version: u32, mut pages: Pages) -> Pages {
    for record in pages.values_mut() {
        if let Some(visited) = &mut record.visited
            && version == 1
        {
            let history = &mut visited.history;
            assert!(history.changed_cycles <= history.last.since(history.first));
            history.changed_cycles = 0;
        }
    }
    pages
}

#[test]
fn nothing_is_lost_and_the_cycle_that_was_begun_goes_on() {
    for version in OLDEST_VERSION..=LAST_OF_ALL_FILES {
        goes_on(version);
    }
}

fn goes_on(version: u32) {
    let storage = left_by(version);
    let comparable = |pages| comparable(version, pages);
    let undisturbed = |cycles| Repository::open(Arc::new(cycle::after(cycles))).unwrap();
    {
        let repository = Repository::open(storage.clone()).unwrap();
        assert_eq!(version_of(&storage, "MANIFEST"), version, "opening alone upgrades nothing");
        assert_eq!(repository.verify(), []);
        assert_eq!(comparable(cycle::pages(&repository)), comparable(cycle::pages(&undisturbed(8))));
        assert_eq!(cycle::reports(&repository), cycle::reports(&undisturbed(8)));
        let schedule = ScheduleFile::open(&*storage, Round(9)).unwrap().expect("it is complete");
        let pages = cycle::pages(&repository);
        for host in schedule.hosts() {
            for entry in schedule.read(host, host.start, usize::MAX).unwrap() {
                assert_eq!(entry.record, pages[&entry.url], "the schedule has the record of {}", entry.url);
            }
        }
        let (_, recovered) = VisitLog::open(&*storage, Round(9)).unwrap();
        assert!(recovered.done.count() >= 20 && recovered.done.count() < schedule.len());
    }
    cycle::run(&(storage.clone() as Arc<dyn Storage>), &mut BTreeSet::new()).unwrap();
    let upgraded = Repository::open(storage.clone()).unwrap();
    assert_eq!(upgraded.current().number(), Round(9));
    assert_eq!(comparable(cycle::pages(&upgraded)), comparable(cycle::pages(&undisturbed(9))));
    assert_eq!(cycle::reports(&upgraded), cycle::reports(&undisturbed(9)));
    assert_eq!(upgraded.verify(), []);
    assert_eq!(version_of(&storage, "MANIFEST"), WRITTEN_VERSION);
    assert_eq!(version_of(&storage, "generation-0000000009.history"), WRITTEN_VERSION);
}
