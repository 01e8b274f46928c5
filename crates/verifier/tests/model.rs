//! Random cycles against a plain map: same records, same counts, whatever is spilled.

use proptest::prelude::*;
use recrawl_repository::storage::{MemoryStorage, Storage};
use recrawl_repository::{BLOCK_PAGES, Repository};
use recrawl_types::{
    CanonicalUrl, Change, Content, Cycle, Failure, Fingerprint, History, LeftOut, Link, LogRecord, Outcome,
    PageRecord, Share, Skip, Status, UrlRules, Visit, Visited,
};
use recrawl_verifier::{Batch, BatchLimits, MergeReport, MergeRules, Waiting, merge};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const MAX_HOPS: u8 = 2;
const MAX_PAGES_PER_HOST: u64 = 4;
const PAGES: usize = 18;

type Pages = BTreeMap<CanonicalUrl, PageRecord>;

fn url(page: usize) -> CanonicalUrl {
    let origin = ["http://a.example", "https://a.example", "http://b.a.example:81"][page % 3];
    UrlRules::keep_all().canonicalize(&format!("{origin}/{}", page / 3)).unwrap()
}

fn changed(_: &CanonicalUrl, before: &Content, after: &Content) -> bool {
    before.fingerprint != after.fingerprint
}

/// What was compared beside a date.
type Watched = Vec<(CanonicalUrl, bool, bool)>;

/// A repository of its own, driven through the crate's interface.
struct Subject {
    storage: Arc<dyn Storage>,
    repository: Repository,
    limits: BatchLimits,
    threads: usize,
    block_pages: usize,
}

impl Subject {
    /// With blocks of the usual size and no threads beside.
    fn new(memory_bytes: usize) -> Subject {
        Subject::with(memory_bytes, 1, BLOCK_PAGES)
    }

    fn with(memory_bytes: usize, threads: usize, block_pages: usize) -> Subject {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        let repository = Repository::open(storage.clone()).unwrap();
        Subject { storage, repository, limits: BatchLimits { memory_bytes }, threads, block_pages }
    }

    fn cycle(&mut self, log: &[LogRecord]) -> (MergeReport, usize, Watched) {
        let generation = self.repository.current();
        let cycle = generation.number().next();
        let mut batch = Batch::new(self.storage.clone(), cycle, self.limits);
        for record in log {
            batch.add(record.clone()).unwrap();
        }
        let batch = batch.finish().unwrap();
        let runs = batch.runs_on_disk();
        let mut writer = self.repository.begin(&generation).unwrap();
        let (watched, met) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
        let before = self.pages();
        let rules = MergeRules {
            cycle,
            max_hops: MAX_HOPS,
            max_pages_per_host: MAX_PAGES_PER_HOST,
            waiting: Waiting { max_cycles: 0, enough: 0 },
            block_pages: self.block_pages,
            threads: self.threads,
            judge: &changed,
            watch: &|url, newer, changed| watched.borrow_mut().push((url.clone(), newer, changed)),
            meet: &|url, _| met.borrow_mut().push(url.clone()),
        };
        let report = merge(&generation, batch, &mut writer, &rules).unwrap();
        assert!(!self.storage.list().unwrap().iter().any(|name| name.contains("spill")), "runs are removed");
        self.repository.commit(writer, b"").unwrap();
        // Pages never seen before are met in the order of URLs, those that the log has first as a redirect not.
        let mut first = BTreeMap::new();
        for visit in log.iter().filter_map(|record| match record {
            LogRecord::Visit(visit) if visit.content.is_some() => Some(visit),
            _ => None,
        }) {
            let is_seen = before.get(&visit.url).is_some_and(|page| page.visited.is_some());
            if !is_seen && matches!(visit.outcome, Outcome::Fetched(_) | Outcome::Redirected(_)) {
                first.entry(&visit.url).or_insert(visit.outcome);
            }
        }
        first.retain(|_, outcome| matches!(outcome, Outcome::Fetched(_)));
        assert!(met.borrow().iter().eq(first.keys().copied()), "{met:?}");
        (report, runs, watched.into_inner())
    }

    fn pages(&self) -> Pages {
        let generation = self.repository.current();
        let mut records = generation.records();
        let mut pages = Pages::new();
        while let Some((_, key, record)) = records.next_record().unwrap() {
            pages.insert(CanonicalUrl::from_key(key).unwrap(), record);
        }
        pages
    }
}

/// The same rules once more, without sorting, runs or limits of memory: for every URL that the log
/// mentions, the log is searched from its beginning.
fn model(pages: &mut Pages, cycle: Cycle, log: &[LogRecord]) -> (MergeReport, Watched) {
    let mut watched = Watched::new();
    let mut report = MergeReport::default();
    let before = pages.clone();
    let mut links: Vec<(Link, bool)> = Vec::new();
    let mut visits: Vec<Visit> = Vec::new();
    for record in log {
        match record {
            LogRecord::Seeds(seeds) => links.extend(seeds.iter().map(|s| (s.clone(), true))),
            LogRecord::Visit(visit) => {
                links.extend(visit.links.iter().map(|l| (l.clone(), false)));
                visits.push((**visit).clone());
            }
        }
    }
    report.links_seen = links.len() as u64;
    let mentioned: BTreeSet<&CanonicalUrl> =
        links.iter().map(|(l, _)| &l.url).chain(visits.iter().map(|v| &v.url)).collect();
    for url in mentioned {
        let here: Vec<&(Link, bool)> = links.iter().filter(|(l, _)| &l.url == url).collect();
        let seen: Vec<&Visit> = visits.iter().filter(|v| &v.url == url).collect();
        let too_far = !here.is_empty() && here.iter().all(|(l, _)| l.hops > MAX_HOPS);
        let in_links = here.iter().filter(|(l, _)| l.counted).count() as u32;
        let depth = here.iter().map(|(l, _)| l.depth).min();
        let hops = here.iter().map(|(l, _)| l.hops).min();
        let seeded = here.iter().any(|(_, seed)| *seed);

        if !before.contains_key(url) {
            if seen.is_empty() && too_far {
                report.links_over_hops += 1;
                continue;
            }
            let neighbours = pages.keys().filter(|u| u.same_origin(url)).count() as u64;
            if seen.is_empty() && !seeded && neighbours >= MAX_PAGES_PER_HOST {
                report.links_over_host_cap += 1;
                continue;
            }
            let mut record = PageRecord::discovered(cycle, depth.unwrap_or(0));
            record.known.hops = hops.unwrap_or(0);
            record.known.in_links = in_links;
            pages.insert(url.clone(), record);
            report.links_new += 1;
            report.visits_of_unknown += u64::from(!seen.is_empty());
        } else if too_far {
            report.links_over_hops += 1;
        } else if !here.is_empty() {
            report.links_known += 1;
            let known = &mut pages.get_mut(url).unwrap().known;
            known.depth = known.depth.min(depth.unwrap());
            known.hops = known.hops.min(hops.unwrap());
            known.in_links += in_links;
            if seeded && known.status == Status::Gone {
                forget_doubts(pages.get_mut(url).unwrap(), &mut report);
            }
        }
        let date = here.iter().map(|(l, _)| l.lastmod).max().unwrap_or(0);
        let record = pages.get_mut(url).unwrap();
        for visit in seen {
            let was_dated = record.known.lastmod > 0;
            if u64::from(date) <= visit.at / 1000 {
                model_date(record, date);
            }
            let before = record.visited.as_ref().map(|v| v.history);
            let announced = record.known.is_announced;
            model_visit(record, visit, cycle, &mut report);
            let after = record.visited.as_ref().map(|v| v.history);
            if before != after {
                record.known.is_announced = false;
                if let (true, Some(before), Some(after)) = (was_dated, before, after) {
                    watched.push((url.clone(), announced, after.changes > before.changes));
                }
            }
        }
        model_date(record, date);
        if before.get(url).is_some_and(|old| *old != pages[url]) {
            report.pages_updated += 1;
        }
    }
    for record in pages.values() {
        report.pages += 1;
        report.visited += u64::from(record.visited.is_some());
        let is_live = record.known.status == Status::Live;
        report.never_tried += u64::from(is_live && record.known.last_attempt == Cycle(0));
        report.gone_total += u64::from(record.known.status == Status::Gone);
    }
    (report, watched)
}

fn model_date(record: &mut PageRecord, date: u32) {
    let known = &mut record.known;
    let moved = known.lastmod > 0 && date > known.lastmod && record.visited.is_some();
    known.is_announced = known.is_announced || moved;
    known.lastmod = known.lastmod.max(date);
}

fn forget_doubts(record: &mut PageRecord, report: &mut MergeReport) {
    if record.known.status == Status::Gone {
        report.revived += 1;
    }
    record.known.status = Status::Live;
    record.known.failures = 0;
    record.known.not_found = 0;
    record.known.not_found_cycle = Cycle(0);
    record.known.not_found_at = 0;
}

fn model_visit(record: &mut PageRecord, visit: &Visit, cycle: Cycle, report: &mut MergeReport) {
    if visit.outcome.is_skip() {
        return;
    }
    record.known.last_attempt = cycle;
    let old = record.visited.clone();
    let new = visit.content.clone();
    let is_visit = match visit.outcome {
        Outcome::NotModified => old.is_some(),
        outcome => outcome.is_visit() && new.is_some(),
    };
    if !is_visit {
        record.known.failures = record.known.failures.saturating_add(1);
        if let Outcome::NotFound(_) = visit.outcome {
            let known = &mut record.known;
            let seconds = (visit.at / 1000) as u32;
            let first = known.not_found == 0;
            let long_after =
                seconds >= known.not_found_at + 7 * 86_400 && cycle.0 >= known.not_found_cycle.0 + 3;
            if known.status == Status::Live && (first || long_after) {
                known.not_found += 1;
                known.not_found_at = seconds;
                known.not_found_cycle = cycle;
                if known.not_found == 3 {
                    known.status = Status::Gone;
                    report.newly_gone += 1;
                }
            }
        }
        return;
    }
    forget_doubts(record, report);
    let history = match (&old, visit.outcome.change().unwrap()) {
        (None, change) => {
            report.decided_first += u64::from(change == Change::Undecided);
            History::first_fetch(cycle)
        }
        (Some(old), change) => {
            let differs = new.as_ref().is_some_and(|new| new.fingerprint != old.content.fingerprint);
            let is_change = match change {
                Change::Changed => true,
                Change::Unchanged => false,
                Change::First | Change::Undecided => {
                    *(if differs { &mut report.decided_changed } else { &mut report.decided_unchanged }) += 1;
                    differs
                }
            };
            let mut history = old.history;
            history.record(cycle, is_change);
            history
        }
    };
    let content = new.unwrap_or_else(|| old.unwrap().content);
    record.visited = Some(Visited { history, content });
}

/// A day near those of the visits, at noon; mostly none.
fn any_date() -> impl Strategy<Value = u32> {
    prop_oneof![2 => Just(0), 1 => (990u32..1100).prop_map(|day| day * 86_400 + 43_200)]
}

fn any_link() -> impl Strategy<Value = Link> {
    (0..PAGES, 0u16..6, 0u8..5, any::<bool>(), any_date()).prop_map(
        |(page, depth, hops, counted, lastmod)| Link { url: url(page), depth, hops, counted, lastmod },
    )
}

fn any_content() -> impl Strategy<Value = Content> {
    (0u128..3).prop_map(|digest| Content {
        fingerprint: Fingerprint { simhash: 0, digest },
        payload: digest as u64,
        ..Content::default()
    })
}

fn any_visit() -> impl Strategy<Value = Visit> {
    let change = prop_oneof![
        Just(Change::First),
        Just(Change::Unchanged),
        Just(Change::Changed),
        Just(Change::Undecided)
    ];
    let outcome = prop_oneof![
        4 => change.clone().prop_map(Outcome::Fetched),
        2 => change.prop_map(Outcome::Redirected),
        1 => Just(Outcome::NotModified),
        8 => Just(Outcome::NotFound(410)),
        1 => Just(Outcome::Failed(Failure::Timeout)),
        1 => Just(Outcome::RobotsDenied),
        1 => Just(Outcome::RobotsUnreachable),
        1 => Just(Outcome::RefusedAddress),
        1 => Just(Outcome::Skipped(Skip::Deadline)),
    ];
    let links = proptest::collection::vec(any_link(), 0..5);
    let content = proptest::option::weighted(0.9, any_content());
    // Few pages are visited, so that some come to be gone.
    (0..8usize, outcome, content, links).prop_map(|(page, outcome, content, links)| Visit {
        url: url(page),
        index: None,
        share: Share::Score,
        at: 0,
        content: content.filter(|_| outcome.is_visit()),
        outcome,
        difference: None,
        sign: None,
        left_out: LeftOut::default(),
        links,
        bytes: 10,
    })
}

fn any_cycle() -> impl Strategy<Value = (u64, Vec<LogRecord>)> {
    let seeds = proptest::collection::vec((0..PAGES).prop_map(url), 0..3).prop_map(|urls| {
        LogRecord::Seeds(
            urls.into_iter().map(|url| Link { url, depth: 0, hops: 0, counted: false, lastmod: 0 }).collect(),
        )
    });
    let record = prop_oneof![
        1 => seeds,
        9 => any_visit().prop_map(|visit| LogRecord::Visit(Box::new(visit))),
    ];
    (0u64..9, proptest::collection::vec(record, 0..12))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn generations_equal_the_model_spilled_or_not(cycles in proptest::collection::vec(any_cycle(), 1..14)) {
        let mut pages = Pages::new();
        let mut roomy = Subject::new(1 << 20);
        // Blocks so small that they are cut, carried and taken in parts.
        let (mut narrow, mut spilling) = (Subject::with(3000, 2, 3), Subject::with(0, 3, 1));
        let mut day = 1000;
        for (number, (days, mut log)) in (1..).zip(cycles) {
            day += days;
            for record in &mut log {
                if let LogRecord::Visit(visit) = record {
                    visit.at = day * 86_400_000;
                }
            }
            let expected = model(&mut pages, Cycle(number), &log);
            for subject in [&mut roomy, &mut narrow, &mut spilling] {
                let (report, _, watched) = subject.cycle(&log);
                prop_assert_eq!(&(report, watched), &expected);
                prop_assert_eq!(&subject.pages(), &pages);
            }
        }
    }
}

#[test]
fn more_runs_than_may_be_open_become_one() {
    let log: Vec<LogRecord> = (0..200)
        .map(|i| {
            LogRecord::Seeds(vec![Link {
                url: url(i % PAGES),
                depth: (i % 7) as u16,
                hops: 0,
                counted: true,
                lastmod: 0,
            }])
        })
        .collect();
    let mut spilling = Subject::new(0);
    let (report, runs, watched) = spilling.cycle(&log);
    assert!((1..=64).contains(&runs), "{runs} runs");
    let mut pages = Pages::new();
    assert_eq!((report, watched), model(&mut pages, Cycle(1), &log));
    assert_eq!(spilling.pages(), pages);
}

#[test]
fn visits_of_one_page_enter_in_the_order_of_the_log() {
    let fetched = |digest, change| {
        let content = Content { fingerprint: Fingerprint { simhash: 0, digest }, ..Content::default() };
        LogRecord::Visit(Box::new(Visit {
            url: url(0),
            index: None,
            share: Share::Followed,
            at: 0,
            outcome: Outcome::Fetched(change),
            content: Some(content),
            difference: None,
            sign: None,
            left_out: LeftOut::default(),
            links: Vec::new(),
            bytes: 0,
        }))
    };
    for memory_bytes in [0, 1 << 20] {
        let mut subject = Subject::new(memory_bytes);
        let digests = [3, 1, 2, 2, 9];
        let log: Vec<LogRecord> = digests.iter().map(|&d| fetched(d, Change::Undecided)).collect();
        let (report, ..) = subject.cycle(&log);
        assert_eq!((report.decided_first, report.decided_changed, report.decided_unchanged), (1, 3, 1));
        let visited = subject.pages()[&url(0)].visited.clone().unwrap();
        assert_eq!(visited.content.fingerprint.digest, 9);
        assert_eq!((visited.history.visits, visited.history.changes), (4, 3));
    }
}

#[test]
fn an_origin_is_filled_up_in_the_order_of_its_urls() {
    let link = |path: &str| Link {
        url: UrlRules::keep_all().canonicalize(&format!("http://a.example/{path}")).unwrap(),
        depth: 1,
        hops: 0,
        counted: false,
        lastmod: 0,
    };
    let page = |links: Vec<Link>| {
        LogRecord::Visit(Box::new(Visit {
            url: link("a").url,
            index: None,
            share: Share::Score,
            at: 0,
            outcome: Outcome::Skipped(Skip::Deadline),
            content: None,
            difference: None,
            sign: None,
            left_out: LeftOut::default(),
            links,
            bytes: 0,
        }))
    };
    let mut subject = Subject::new(1 << 20);
    subject.cycle(&[LogRecord::Seeds(vec![link("a"), link("m")])]);
    // Two known, so two of the three linked ones enter; the seed enters whatever the limit says.
    let log = [page(vec![link("z"), link("b"), link("n")]), LogRecord::Seeds(vec![link("x")])];
    let (report, ..) = subject.cycle(&log);
    assert_eq!((report.links_new, report.links_over_host_cap, report.pages), (3, 1, 5));
    let paths: Vec<String> = subject.pages().keys().map(|u| u.path_and_query().to_owned()).collect();
    assert_eq!(paths, ["/a", "/b", "/m", "/n", "/x"]);
}
