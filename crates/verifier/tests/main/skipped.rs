//! Pages that a cycle only skipped: their visits are kept, and their blocks are neither read nor written.

use crate::pages::{changed, content, pages_of};
use recrawl_repository::storage::{MemoryStorage, Storage};
use recrawl_repository::{Repository, StoredVisit};
use recrawl_types::{CanonicalUrl, Change, DatedRound, Link, LogRecord, Outcome, Skip, UrlRules, Visit};
use recrawl_verifier::{Batch, BatchLimits, MergeReport, MergeRules, Waiting, merge};
use std::sync::Arc;

const BLOCK: usize = 8;

fn url(page: usize) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(&format!("https://a.example/{page:03}")).unwrap()
}

fn cycle(repository: &mut Repository, log: Vec<LogRecord>) -> (MergeReport, Vec<StoredVisit>) {
    let generation = repository.current();
    let round: DatedRound = generation.dated().in_next_cycle();
    let rules = MergeRules {
        max_hops: 2,
        max_pages_per_host: 10_000,
        waiting: Waiting { max_cycles: 0, has_turns: true, enough: 0 },
        block_pages: BLOCK,
        threads: 2,
        ..MergeRules::unlimited(round.cycle, &changed)
    };
    let mut batch = Batch::new(repository.storage().clone(), round, BatchLimits::default());
    log.into_iter().try_for_each(|record| batch.add(record)).unwrap();
    let mut writer = repository.begin(&generation, round.cycle).unwrap();
    let report = merge(&generation, batch.finish().unwrap(), &mut writer, &rules).unwrap();
    repository.commit(writer, b"").unwrap();
    let mut visits = repository.kept().visits(round).unwrap().expect("it is kept");
    (report, std::iter::from_fn(|| visits.next_entry().unwrap()).collect())
}

/// Pages in some thirty blocks, a third of them visited.
fn repository() -> (Arc<MemoryStorage>, Repository) {
    let storage = Arc::new(MemoryStorage::default());
    let mut repository = Repository::open(storage.clone() as Arc<dyn Storage>).unwrap().keeping_visits(9);
    let seeds = (0..240).map(|page| Link::to(url(page), 0)).collect();
    let visit =
        |page| Visit { content: Some(content(1)), ..Visit::new(url(page), Outcome::Fetched(Change::First)) };
    let visits = (0..240).step_by(3).map(|page| LogRecord::Visit(Box::new(visit(page))));
    cycle(&mut repository, [LogRecord::Seeds(seeds)].into_iter().chain(visits).collect());
    (storage, repository)
}

fn skipped(page: usize, index: Option<u64>) -> LogRecord {
    let visit = Visit::new(url(page), Outcome::Skipped(Skip::Deadline));
    LogRecord::Visit(Box::new(Visit { index, at: 5000, ..visit }))
}

#[test]
fn a_cycle_of_skipped_pages_writes_no_block_and_keeps_their_visits() {
    let (storage, mut repository) = repository();
    let before = pages_of(&repository.current());
    let log = (0..240).rev().step_by(2).map(|page| skipped(page, Some(page as u64))).collect();
    let (report, kept) = cycle(&mut repository, log);
    assert_eq!(pages_of(&repository.current()), before);
    assert_eq!((report.pages, report.pages_updated), (240, 0));
    let number = repository.current().number().0;
    let parts = ["keys", "known", "history", "content"];
    let written: Vec<String> = storage
        .list()
        .unwrap()
        .into_iter()
        .filter(|name| parts.iter().any(|part| *name == format!("generation-{number:010}.{part}")))
        .collect();
    assert_eq!(written, Vec::<String>::new());
    assert_eq!(
        kept.iter().map(|visit| visit.url.clone()).collect::<Vec<_>>(),
        (0..240).skip(1).step_by(2).map(url).collect::<Vec<_>>()
    );
    assert!(kept.iter().all(|visit| visit.outcome == Outcome::Skipped(Skip::Deadline) && visit.at == 5));
}

/// The blocks of pages outside the schedule are opened, since such pages may be unknown.
#[test]
fn generations_and_kept_visits_are_the_same_as_when_blocks_are_opened() {
    let run = |is_scheduled: bool| {
        let (_, mut repository) = repository();
        let visit = |page: usize| match page % 7 {
            0 => LogRecord::Visit(Box::new(Visit {
                content: Some(content(page as u32)),
                links: vec![Link::to(url(page + 300), 2), Link::to(url(page + 1), 2)],
                ..Visit::new(url(page), Outcome::Fetched(Change::Undecided))
            })),
            1 => LogRecord::Visit(Box::new(Visit::new(url(page), Outcome::NotFound(404)))),
            _ => skipped(page, is_scheduled.then_some(page as u64)),
        };
        // Some blocks are visited, others only skipped, and some have links alone.
        let pages = (0..70).chain(120..160).chain(200..201);
        let found = cycle(&mut repository, pages.map(visit).collect());
        assert_eq!(repository.verify(), []);
        (found, pages_of(&repository.current()))
    };
    assert_eq!(run(true), run(false));
}
