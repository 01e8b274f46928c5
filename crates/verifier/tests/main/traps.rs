//! Places of a host that a trap took are given back, and what looks like a trap takes half of them at most.

use recrawl_repository::storage::{MemoryStorage, Storage};
use recrawl_repository::{BLOCK_PAGES, Repository};
use recrawl_types::{CanonicalUrl, Link, LogRecord, UrlRules};
use recrawl_verifier::{Batch, BatchLimits, MergeReport, MergeRules, TrapSign, TrapSigns, TrapsOf, merge};
use std::cell::Cell;
use std::sync::Arc;

/// Places of each host.
const PLACES: u64 = 10;

fn pages(host: &str, folder: &str, numbers: std::ops::Range<u32>) -> LogRecord {
    let url = |number: u32| format!("http://{host}.example/{folder}/{number:03}");
    let link = |number| Link::to(UrlRules::keep_all().canonicalize(&url(number)).unwrap(), 1);
    // The page that links to them is no part of this log.
    LogRecord::Visit(Box::new(recrawl_types::Visit {
        links: numbers.map(|number| Link { counted: true, ..link(number) }).collect(),
        ..recrawl_types::Visit::new(
            UrlRules::keep_all().canonicalize("http://other.example/").unwrap(),
            recrawl_types::Outcome::Skipped(recrawl_types::Skip::Deadline),
        )
    }))
}

struct Subject {
    storage: Arc<dyn Storage>,
    repository: Repository,
}

impl Subject {
    fn new() -> Subject {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        Subject { repository: Repository::open(storage.clone()).unwrap(), storage }
    }

    fn cycle(&mut self, log: &[LogRecord], traps_of: TrapsOf<'_>) -> MergeReport {
        let generation = self.repository.current();
        let round = generation.dated().in_next_cycle();
        let mut batch = Batch::new(self.storage.clone(), round, BatchLimits::default());
        log.iter().for_each(|record| batch.add(record.clone()).unwrap());
        let mut writer = self.repository.begin(&generation, round.cycle).unwrap();
        let rules = MergeRules {
            max_pages_per_host: PLACES,
            block_pages: BLOCK_PAGES,
            traps_of,
            ..MergeRules::unlimited(round.cycle, &|_, _, _| true)
        };
        let report = merge(&generation, batch.finish().unwrap(), &mut writer, &rules).unwrap();
        self.repository.commit(writer, b"").unwrap();
        assert_eq!(self.repository.verify(), []);
        report
    }

    /// Known URLs of this host in this folder.
    fn known(&self, host: &str, folder: &str) -> usize {
        let generation = self.repository.current();
        let (mut records, mut count) = (generation.records(), 0);
        let prefix = format!("http://{host}.example/{folder}/");
        while let Some((_, key, _)) = records.next_record().unwrap() {
            count += usize::from(CanonicalUrl::from_key(key).unwrap().to_string().starts_with(&prefix));
        }
        count
    }
}

fn nothing(_: &[u8]) -> Option<TrapSigns> {
    None
}

/// The folder `cal` of host `a` has this sign.
fn calendar(sign: TrapSign) -> impl Fn(&[u8]) -> Option<TrapSigns> {
    move |origin| {
        let is_meant = CanonicalUrl::from_key(&[origin, b"/"].concat()).unwrap().host() == "a.example";
        let sign = move |key: &[u8]| {
            let url = CanonicalUrl::from_key(key).unwrap();
            if url.path_and_query().starts_with("/cal/") { sign } else { TrapSign::None }
        };
        is_meant.then(|| Box::new(sign) as TrapSigns)
    }
}

#[test]
fn places_that_a_trap_took_are_given_back_to_others() {
    let mut subject = Subject::new();
    subject.cycle(&[pages("a", "cal", 0..30), pages("b", "cal", 0..30)], &nothing);
    assert_eq!([subject.known("a", "cal"), subject.known("b", "cal")], [10, 10], "all places");
    let honest = [pages("a", "new", 0..30), pages("b", "new", 0..30)];
    let report = subject.cycle(&honest, &nothing);
    assert_eq!((report.links_new, report.links_over_host_cap), (0, 60), "no place is left");
    let report = subject.cycle(&honest, &calendar(TrapSign::CutOff));
    assert_eq!((report.links_new, report.links_over_host_cap), (10, 50));
    assert_eq!([subject.known("a", "new"), subject.known("b", "new")], [10, 0]);
    // They are given back once, and the trap itself gets none again.
    let again = [pages("a", "cal", 30..60), pages("a", "new", 30..60)];
    assert_eq!(subject.cycle(&again, &calendar(TrapSign::CutOff)).links_new, 0);
    // A pattern that is let in again: its URLs hold their places.
    assert_eq!(subject.cycle(&honest, &nothing).links_new, 0);
}

#[test]
fn what_is_suspected_takes_half_of_the_places_and_the_rest_is_for_others() {
    let mut subject = Subject::new();
    let suspected = calendar(TrapSign::Suspected);
    subject.cycle(&[pages("a", "cal", 0..30), pages("a", "new", 0..3)], &suspected);
    assert_eq!([subject.known("a", "cal"), subject.known("a", "new")], [5, 3]);
    subject.cycle(&[pages("a", "cal", 0..30), pages("a", "new", 0..30)], &suspected);
    assert_eq!([subject.known("a", "cal"), subject.known("a", "new")], [5, 5]);
    // The suspicion is gone, and so is the bound.
    let mut other = Subject::new();
    other.cycle(&[pages("a", "cal", 0..30)], &suspected);
    other.cycle(&[pages("a", "cal", 0..30)], &nothing);
    assert_eq!(other.known("a", "cal"), 10);
}

#[test]
fn a_host_that_has_places_is_not_looked_at() {
    let (mut subject, asked) = (Subject::new(), Cell::new(0));
    let counted = |origin: &[u8]| {
        asked.set(asked.get() + 1);
        calendar(TrapSign::CutOff)(origin)
    };
    subject.cycle(&[pages("a", "cal", 0..5), pages("b", "cal", 0..5)], &counted);
    assert_eq!(asked.get(), 0);
    subject.cycle(&[pages("a", "new", 0..5), pages("b", "cal", 5..6)], &counted);
    assert_eq!(asked.get(), 2, "once for each origin");
}
