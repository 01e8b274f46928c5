//! Every walk over the runs of origins gives what a table of all of them has.

use super::*;
use crate::storage::MemoryStorage;
use crate::testing::canonical;
use crate::{Generation, Repository};
use recrawl_types::{Cycle, PageRecord};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Starts of walks, and pages and URLs that are looked for, among many.
const TRIED: usize = 60;

/// Walks the runs of a generation by every way there is, and compares with its pages.
pub(crate) fn check_walks(
    generation: &Generation,
    pages: &BTreeMap<CanonicalUrl, PageRecord>,
    unknown: &[CanonicalUrl],
) {
    let mut table: Vec<OriginRun> = Vec::new();
    for (ordinal, (url, record)) in (0..).zip(pages) {
        if table.last().is_none_or(|run| run.key != url.origin_key()) {
            table.push(OriginRun { key: url.origin_key().to_vec(), first: ordinal, pages: 0, visited: 0 });
        }
        let run = table.last_mut().unwrap();
        run.pages += 1;
        run.visited += u64::from(record.visited.is_some());
    }
    assert_eq!(generation.summary().origins, table.len() as u64);

    let is_rest = |mut runs: OriginRuns, from: usize| {
        for (given, run) in table.iter().enumerate().skip(from) {
            assert_eq!(runs.given(), given as u64);
            assert_eq!(runs.next_run().unwrap(), Some(run));
        }
        assert_eq!(runs.next_run().unwrap(), None, "from {from}");
    };
    is_rest(generation.origin_runs(), 0);
    let index = generation.origin_index().unwrap();
    assert_eq!(index.origins(), table.len() as u64);
    for from in (0..table.len() + 2).step_by(table.len().div_ceil(TRIED).max(1)) {
        is_rest(index.walk_from(from as u64).unwrap(), from);
    }

    let of_page = |ordinal| table.get(table.partition_point(|run| run.first + run.pages <= ordinal));
    for step in [1, 3, pages.len().div_ceil(TRIED).max(1)] {
        let mut runs = generation.origin_runs();
        for ordinal in (0..generation.pages() + 2).step_by(step) {
            assert_eq!(runs.of_page(ordinal).unwrap(), of_page(ordinal), "page {ordinal}");
        }
    }

    let some = pages.keys().step_by(pages.len().div_ceil(TRIED).max(1));
    for url in some.chain(unknown) {
        let found = generation.pages_of_origin(url).unwrap();
        match table.binary_search_by(|run| run.key.as_slice().cmp(url.origin_key())) {
            Ok(at) => assert_eq!(found, table[at].first..table[at].first + table[at].pages, "{url}"),
            Err(_) => assert!(found.is_empty(), "{url}"),
        }
    }
}

fn committed(pages: &BTreeMap<CanonicalUrl, PageRecord>) -> Arc<Generation> {
    let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
    let empty = Generation::default();
    let mut writer = repository.begin(&empty, Cycle(1)).unwrap();
    pages.iter().for_each(|(url, record)| writer.push(url.key(), record).unwrap());
    repository.commit(writer, b"").unwrap();
    repository.current()
}

#[test]
fn a_walk_begins_in_any_frame() {
    let page = |i: u32| {
        (canonical(&format!("http://host-{i:05}.test/{}", i % 3)), PageRecord::discovered(Cycle(1), 1))
    };
    let pages: BTreeMap<_, _> = (0..20_000).map(page).collect();
    let generation = committed(&pages);
    assert!(generation.origin_index().unwrap().frames.len() > 2, "several frames");
    check_walks(&generation, &pages, &[canonical("http://host-00007.test:81/"), canonical("http://z.test/")]);
}

#[test]
#[should_panic(expected = "the ordinals must ascend")]
fn a_walk_does_not_go_back() {
    let pages =
        (0..3).map(|i| (canonical(&format!("http://{i}.test/")), PageRecord::discovered(Cycle(1), 1)));
    let generation = committed(&pages.collect());
    let mut runs = generation.origin_runs();
    runs.of_page(2).unwrap();
    drop(runs.of_page(0));
}
