//! Tries in a row that did not get a page, as kept visits tell them.

use crate::pages::{changed, content, pages_of};
use recrawl_repository::Repository;
use recrawl_repository::storage::{MemoryStorage, Storage};
use recrawl_types::{
    CanonicalUrl, Change, DatedRound, Failure, Link, LogRecord, Outcome, Skip, UrlRules, Visit,
};
use recrawl_verifier::{Batch, BatchLimits, MergeRules, merge};
use std::sync::Arc;

/// A page that a seed named, and one that was only linked to.
const PAGES: [(&str, u16); 2] = [("https://a.example/", 0), ("https://a.example/linked", 1)];

fn url(page: usize) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(PAGES[page].0).unwrap()
}

/// The tries that each kept visit of a cycle tells, in the order of URLs.
fn cycle(repository: &mut Repository, log: Vec<LogRecord>) -> Vec<u8> {
    let generation = repository.current();
    let round: DatedRound = generation.dated().in_next_cycle();
    let rules = MergeRules::unlimited(round.cycle, &changed);
    let mut batch = Batch::new(repository.storage().clone(), round, BatchLimits::default());
    log.into_iter().try_for_each(|record| batch.add(record)).unwrap();
    let mut writer = repository.begin(&generation, round.cycle).unwrap();
    merge(&generation, batch.finish().unwrap(), &mut writer, &rules).unwrap();
    repository.commit(writer, b"").unwrap();
    let mut visits = repository.kept().visits(round).unwrap().expect("it is kept");
    std::iter::from_fn(|| visits.next_entry().unwrap()).map(|visit| visit.missed).collect()
}

#[test]
fn the_third_try_without_an_awaited_page_tells_it_and_so_does_its_next_visit() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let mut repository = Repository::open(storage).unwrap().keeping_visits(99);
    let seeds = (0..2).map(|page| Link::to(url(page), PAGES[page].1)).collect();
    let both = |outcome: Outcome| -> Vec<LogRecord> {
        let visit = |page| {
            let content = outcome.is_visit().then(|| content(1));
            LogRecord::Visit(Box::new(Visit { content, ..Visit::new(url(page), outcome) }))
        };
        (0..2).map(visit).collect()
    };
    let timeout = Outcome::Failed(Failure::Timeout);
    let mut log = both(timeout);
    log.insert(0, LogRecord::Seeds(seeds));
    let mut told = |log| cycle(&mut repository, log);
    assert_eq!(told(log), [0, 0]);
    assert_eq!(told(both(Outcome::NotFound(404))), [0, 0]);
    for outcome in [Outcome::Skipped(Skip::HostBackOff), Outcome::RobotsDenied] {
        assert_eq!(told(both(outcome)), [0, 0], "not looked at");
    }
    assert_eq!(told(both(timeout)), [3, 0], "many links lead nowhere");
    assert_eq!(told(both(timeout)), [0, 0], "it was told");
    let found = || both(Outcome::Fetched(Change::Undecided));
    assert_eq!(told(found()), [4, 0], "it is back");
    for tries in [0, 0, 3] {
        assert_eq!(told(both(timeout)), [tries, tries], "both were there once");
    }
    assert_eq!(told(found()), [3, 3]);
    (0..2).for_each(|_| assert_eq!(told(both(timeout)), [0, 0]));
    assert_eq!(told(found()), [0, 0], "nobody noticed");
    assert_eq!(told(both(Outcome::RobotsDenied)), [0, 0], "not asked for");
    // More tries in the cycle of the third tell nothing more.
    let new = UrlRules::keep_all().canonicalize("https://b.example/").unwrap();
    let tries =
        |number| (0..number).map(|_| LogRecord::Visit(Box::new(Visit::new(new.clone(), timeout)))).collect();
    let found: Vec<Vec<u8>> = [2, 1, 3].map(|number| told(tries(number))).into();
    assert_eq!(found, [vec![0, 0], vec![0], vec![3, 0, 0]]);
    assert_eq!(pages_of(&repository.current()).len(), 3);
}
