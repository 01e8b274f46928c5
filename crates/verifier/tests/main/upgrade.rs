//! Merges into the folders that older format versions left. Carried parts are read as they were
//! written, however long they lie among newer parts.

use crate::pages::{Pages, changed, content, pages_of};
use crate::reference::Reference;
use recrawl_repository::storage::{MemoryStorage, Storage};
use recrawl_repository::{OLDEST_VERSION, Repository};
use recrawl_types::{Change, Link, LogRecord, Outcome, Visit};
use recrawl_verifier::{Batch, BatchLimits, MergeRules, Waiting, merge};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Of versions 6 and 7 only manifests were written.
const LAST_OF_ALL_FILES: u32 = 5;

fn left_by(version: u32) -> Arc<dyn Storage> {
    let crates = format!("{}/..", env!("CARGO_MANIFEST_DIR"));
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(format!("{crates}/repository/tests/durability/version-{version}")).unwrap()
    {
        let entry = entry.unwrap();
        files.insert(entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
    }
    Arc::new(MemoryStorage::with_files(files))
}

/// Links to every fifth page.
fn links(pages: &Pages) -> LogRecord {
    let link = |url| Link { counted: true, ..Link::to(url, 3) };
    LogRecord::Seeds(pages.keys().step_by(5).cloned().map(link).collect())
}

/// A visit of every seventh page.
fn visits(pages: &Pages) -> impl Iterator<Item = LogRecord> {
    pages.keys().step_by(7).map(|url| {
        LogRecord::Visit(Box::new(Visit {
            content: Some(content(77)),
            bytes: 10,
            ..Visit::new(url.clone(), Outcome::Fetched(Change::Undecided))
        }))
    })
}

/// Histories and contents stay in the old files while only links change pages. They are read from
/// there when pages are visited or a block is cut.
#[test]
fn old_parts_are_carried_and_rewritten_as_they_were() {
    for version in OLDEST_VERSION..=LAST_OF_ALL_FILES {
        let storage = left_by(version);
        let mut repository = Repository::open(storage.clone()).unwrap();
        let pages = pages_of(&repository.current());
        let mut reference = Reference { pages, ..Reference::default() };
        let old_history =
            repository.current().files().into_iter().find(|(name, _)| name.ends_with(".history"));
        let (old_history, _) = old_history.expect("there are visited pages");
        for (block_pages, is_visited) in [(1024, false), (1024, false), (4, true), (4, false), (4, true)] {
            let generation = repository.current();
            let round = generation.dated().in_next_cycle();
            let cycle = round.cycle;
            let rules = MergeRules {
                max_hops: 3,
                max_pages_per_host: 1000,
                waiting: Waiting { max_cycles: 0, has_turns: true, enough: 0 },
                block_pages,
                threads: 1,
                ..MergeRules::unlimited(cycle, &changed)
            };
            let mut log = vec![links(&reference.pages)];
            if is_visited {
                log.extend(visits(&reference.pages));
            }
            let expected = reference.merge(&rules, &[], &log);
            let mut batch = Batch::new(storage.clone(), round, BatchLimits::default());
            log.into_iter().try_for_each(|record| batch.add(record)).unwrap();
            let mut writer = repository.begin(&generation, repository.current().cycle().next()).unwrap();
            let report = merge(&generation, batch.finish().unwrap(), &mut writer, &rules).unwrap();
            repository.commit(writer, b"").unwrap();
            assert_eq!(report, expected.report, "version {version}, cycle {cycle}");
            assert_eq!(pages_of(&repository.current()), reference.pages, "version {version}, cycle {cycle}");
            assert_eq!(repository.verify(), [], "version {version}, cycle {cycle}");
            let is_carried = storage.list().unwrap().contains(&old_history);
            assert_eq!(is_carried, block_pages == 1024, "version {version}, cycle {cycle}");
        }
    }
}
