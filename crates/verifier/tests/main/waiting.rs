//! Waiting links: how long they wait, what ends the wait, and that none is lost or counted twice.

use proptest::prelude::*;
use recrawl_repository::Repository;
use recrawl_repository::storage::{MemoryStorage, Storage};
use recrawl_types::{CanonicalUrl, Link, LogRecord, Outcome, PageRecord, Skip, UrlRules, Visit};
use recrawl_verifier::{Batch, BatchLimits, MergeReport, MergeRules, Waiting, merge};
use std::collections::BTreeMap;
use std::sync::Arc;

const HOSTS: u8 = 8;

fn url(host: u8, page: u8) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(&format!("https://host{host}.example/{page:03}")).unwrap()
}

/// A failed visit with links of another time: only the links matter here.
fn visit(host: u8, links: &[(u8, u8)]) -> LogRecord {
    let link = |&(host, page): &(u8, u8)| Link { counted: true, ..Link::to(url(host, page), 2) };
    LogRecord::Visit(Box::new(Visit {
        links: links.iter().map(link).collect(),
        ..Visit::new(url(host, 0), Outcome::Skipped(Skip::Deadline))
    }))
}

struct Subject {
    storage: Arc<dyn Storage>,
    repository: Repository,
    waiting: Waiting,
}

impl Subject {
    /// A repository with a page of each host, each in a block of its own.
    fn new(waiting: Waiting) -> Subject {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let repository = Repository::open(storage.clone()).unwrap();
        let mut subject = Subject { storage, repository, waiting };
        let seeds = (0..HOSTS).map(|host| Link::to(url(host, 0), 0));
        subject.cycle(&[LogRecord::Seeds(seeds.collect())]);
        subject
    }

    fn cycle(&mut self, log: &[LogRecord]) -> MergeReport {
        let generation = self.repository.current();
        let round = generation.dated().in_next_cycle();
        let cycle = round.cycle;
        let mut batch = Batch::new(self.storage.clone(), round, BatchLimits::default());
        log.iter().for_each(|record| batch.add(record.clone()).unwrap());
        let mut writer =
            self.repository.begin(&generation, self.repository.current().cycle().next()).unwrap();
        let rules = MergeRules {
            max_hops: 3,
            max_pages_per_host: 1000,
            waiting: self.waiting,
            block_pages: 1,
            threads: 1,
            ..MergeRules::unlimited(cycle, &|_, _, _| true)
        };
        let report = merge(&generation, batch.finish().unwrap(), &mut writer, &rules).unwrap();
        self.repository.commit(writer, b"").unwrap();
        assert_eq!(self.repository.verify(), []);
        report
    }

    fn pages(&self) -> BTreeMap<CanonicalUrl, PageRecord> {
        let generation = self.repository.current();
        let mut records = generation.records();
        let mut pages = BTreeMap::new();
        while let Some((_, key, record)) = records.next_record().unwrap() {
            pages.insert(CanonicalUrl::from_key(key).unwrap(), record);
        }
        pages
    }
}

#[test]
fn a_link_to_another_site_waits_until_its_block_has_its_turn() {
    const MAX_CYCLES: u32 = 4;
    let mut subject = Subject::new(Waiting { max_cycles: MAX_CYCLES, has_turns: true, enough: 10 });
    let mut waits = |page: u8| {
        let links: Vec<(u8, u8)> = (0..HOSTS).map(|host| (host, page)).collect();
        let found = subject.cycle(&[visit(1, &links)]);
        assert_eq!(found.links_new + found.links_waiting, u64::from(HOSTS));
        let cycle = subject.repository.current().cycle();
        let mut waits = BTreeMap::new();
        for waited in 0..MAX_CYCLES {
            for (url, record) in subject.pages().into_iter().filter(|(_, record)| record.known.depth == 2) {
                if url.to_string().ends_with(&format!("/{page:03}")) {
                    assert_eq!((record.known.discovered, record.known.in_links), (cycle, 1), "{url}");
                    waits.entry(url.host().into_owned()).or_insert(waited);
                }
            }
            subject.cycle(&[]);
        }
        waits
    };
    let first = waits(7);
    assert_eq!(first.len(), usize::from(HOSTS), "none waits longer than it may: {first:?}");
    assert_eq!(first["host1.example"], 0, "a link within the site never waits");
    assert!(
        (1..MAX_CYCLES).all(|waited| first.values().any(|&w| w == waited)),
        "blocks take turns: {first:?}"
    );
}

#[test]
fn it_waits_no_longer_when_its_block_is_touched_or_enough_wait_there() {
    let mut subject = Subject::new(Waiting { max_cycles: 100, has_turns: true, enough: 3 });
    subject.cycle(&[visit(1, &[(5, 9), (3, 1)])]);
    let report = subject.cycle(&[visit(5, &[])]);
    assert_eq!((report.links_new, report.links_waiting), (1, 1), "host 5 was visited");
    let report = subject.cycle(&[visit(1, &[(3, 2), (3, 1)])]);
    assert_eq!((report.links_new, report.links_waiting), (0, 2), "the same URL counts once");
    let report = subject.cycle(&[visit(1, &[(3, 3)])]);
    assert_eq!((report.links_new, report.links_waiting, report.links_seen), (3, 0, 4));
    assert_eq!(subject.pages()[&url(3, 1)].known.in_links, 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn in_the_end_it_is_as_if_nothing_had_waited(
        cycles in proptest::collection::vec(
            proptest::collection::vec((0..HOSTS, proptest::collection::vec((0..HOSTS, 0u8..20), 0..6)), 0..3), 1..10,
        ),
        max_cycles in 0u32..5,
        enough in 0usize..5,
    ) {
        let mut patient = Subject::new(Waiting { max_cycles, has_turns: true, enough });
        let mut eager = Subject::new(Waiting { max_cycles: 0, has_turns: true, enough: 0 });
        let (mut patiently, mut eagerly) = ((0, 0), (0, 0));
        let quiet = (0..max_cycles).map(|_| Vec::new());
        for visits in cycles.into_iter().chain(quiet) {
            let log: Vec<LogRecord> = visits.iter().map(|(host, links)| visit(*host, links)).collect();
            let (late, now) = (patient.cycle(&log), eager.cycle(&log));
            for (sum, report) in [(&mut patiently, &late), (&mut eagerly, &now)] {
                *sum = (sum.0 + report.links_new, sum.1 + report.links_seen);
            }
            prop_assert_eq!(now.links_waiting, 0);
            prop_assert!(late.links_waiting <= eagerly.1 - patiently.1, "what waits is not yet merged");
        }
        prop_assert_eq!(patiently, eagerly);
        prop_assert_eq!(patient.pages(), eager.pages());
    }
}
