//! Random cycles against a plain map: same records, same counts, with and without runs on disk.

use crate::pages::{Pages, changed, content, pages_of};
use crate::reference::{Merged, Reference};
use proptest::prelude::*;
use recrawl_repository::storage::{MemoryStorage, Storage};
use recrawl_repository::{BLOCK_PAGES, Repository};
use recrawl_types::{
    CanonicalUrl, Change, Content, Cycle, Expectation, Failure, Link, LogRecord, Outcome, Share, Skip,
    UrlRules, Verdict, Visit,
};
use recrawl_verifier::{Batch, BatchLimits, MergeRules, Waiting, merge};
use std::cell::RefCell;
use std::sync::Arc;

const PAGES: usize = 18;

fn url(page: usize) -> CanonicalUrl {
    let origin = ["http://a.example", "https://a.example", "http://b.a.example:81"][page % 3];
    UrlRules::keep_all().canonicalize(&format!("{origin}/{}", page / 3)).unwrap()
}

fn rules(cycle: Cycle) -> MergeRules<'static> {
    MergeRules {
        max_hops: 2,
        max_pages_per_host: 4,
        waiting: Waiting { max_cycles: 0, has_turns: true, enough: 0 },
        block_pages: BLOCK_PAGES,
        threads: 1,
        ..MergeRules::unlimited(cycle, &changed)
    }
}

/// Merges a cycle into the reference.
fn expected(reference: &mut Reference, cycle: u32, log: &[LogRecord]) -> Merged {
    // No link waits, so the blocks do not matter; and no visits are kept.
    Merged { kept: Vec::new(), ..reference.merge(&rules(Cycle(cycle)), &[], log) }
}

/// A repository of its own, driven through the crate's interface.
struct Subject {
    storage: Arc<dyn Storage>,
    repository: Repository,
    limits: BatchLimits,
    threads: usize,
    block_pages: usize,
}

impl Subject {
    /// With blocks of the default size and without threads.
    fn new(memory_bytes: usize) -> Subject {
        Subject::with(memory_bytes, 1, BLOCK_PAGES)
    }

    fn with(memory_bytes: usize, threads: usize, block_pages: usize) -> Subject {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        let repository = Repository::open(storage.clone()).unwrap();
        Subject { storage, repository, limits: BatchLimits { memory_bytes }, threads, block_pages }
    }

    /// Also returns the number of runs on disk.
    fn cycle(&mut self, log: &[LogRecord]) -> (Merged, usize) {
        let generation = self.repository.current();
        let round = generation.dated().in_next_cycle();
        let cycle = round.cycle;
        let mut batch = Batch::new(self.storage.clone(), round, self.limits);
        for record in log {
            batch.add(record.clone()).unwrap();
        }
        let batch = batch.finish().unwrap();
        let runs = batch.runs_on_disk();
        let mut writer =
            self.repository.begin(&generation, self.repository.current().cycle().next()).unwrap();
        let (watched, met) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
        let rules = MergeRules {
            block_pages: self.block_pages,
            threads: self.threads,
            on_comparison: &|url, newer, changed| {
                newer.into_iter().for_each(|newer| watched.borrow_mut().push((url.clone(), newer, changed)));
            },
            on_first_visit: &|url, _| met.borrow_mut().push(url.clone()),
            ..rules(cycle)
        };
        let report = merge(&generation, batch, &mut writer, &rules).unwrap();
        assert!(!self.storage.list().unwrap().iter().any(|name| name.contains("spill")), "runs are removed");
        self.repository.commit(writer, b"").unwrap();
        let (watched, met, kept) = (watched.into_inner(), met.into_inner(), Vec::new());
        (Merged { report, watched, met, kept }, runs)
    }

    fn pages(&self) -> Pages {
        pages_of(&self.repository.current())
    }
}

/// A day near those of the visits, at noon; usually none.
fn any_date() -> impl Strategy<Value = u32> {
    prop_oneof![2 => Just(0), 1 => (990u32..1100).prop_map(|day| day * 86_400 + 43_200)]
}

fn any_link() -> impl Strategy<Value = Link> {
    let expected = proptest::option::of((-3..3i32, 0..4u8, 0..3u32));
    let expected = expected.prop_map(|some| some.map(|(l, t, g)| Expectation::new(f64::from(l), t, g)));
    (0..PAGES, 0u16..6, 0u8..5, any::<(bool, bool)>(), any_date(), expected).prop_map(
        |(page, depth, hops, (counted, listed), lastmod, expectation)| Link {
            url: url(page),
            depth,
            hops,
            counted,
            listed,
            lastmod,
            expectation,
        },
    )
}

fn any_content() -> impl Strategy<Value = Content> {
    (0u32..3).prop_map(content)
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
        5 => proptest::sample::select(Outcome::all(503)),
    ];
    let links = proptest::collection::vec(any_link(), 0..5);
    let content = proptest::option::weighted(0.9, any_content());
    // Few distinct pages, so that some become gone.
    let verdict =
        proptest::option::of((0..9u8).prop_map(|n| Verdict::new(f64::from(n) / 9.0, 0.5, 0.0, 0.0)));
    (0..8usize, outcome, content, links, verdict).prop_map(|(page, outcome, content, links, verdict)| Visit {
        content: content.filter(|_| outcome.is_visit()),
        verdict: verdict.filter(|_| matches!(outcome, Outcome::Fetched(_))),
        links,
        bytes: 10,
        ..Visit::new(url(page), outcome)
    })
}

fn any_cycle() -> impl Strategy<Value = (u64, Vec<LogRecord>)> {
    let seeds = proptest::collection::vec((0..PAGES).prop_map(url), 0..3)
        .prop_map(|urls| LogRecord::Seeds(urls.into_iter().map(|url| Link::to(url, 0)).collect()));
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
        let mut reference = Reference::default();
        let mut roomy = Subject::new(1 << 20);
        // Blocks so small that they are cut, carried and edited in parts.
        let (mut narrow, mut spilling) = (Subject::with(3000, 2, 3), Subject::with(0, 3, 1));
        let mut day = 1000;
        for (number, (days, mut log)) in (1..).zip(cycles) {
            day += days;
            for record in &mut log {
                if let LogRecord::Visit(visit) = record {
                    visit.at = day * 86_400_000;
                    // A schedule has known pages. Of a block where they are only skipped nothing is read.
                    visit.index = reference.pages.contains_key(&visit.url).then_some(number.into());
                }
            }
            let expected = expected(&mut reference, number, &log);
            for subject in [&mut roomy, &mut narrow, &mut spilling] {
                prop_assert_eq!(&subject.cycle(&log).0, &expected);
                prop_assert_eq!(&subject.pages(), &reference.pages);
            }
        }
    }
}

#[test]
fn more_runs_than_may_be_open_become_one() {
    let log: Vec<LogRecord> = (0..200)
        .map(|i| LogRecord::Seeds(vec![Link { counted: true, ..Link::to(url(i % PAGES), (i % 7) as u16) }]))
        .collect();
    let mut spilling = Subject::new(0);
    let (merged, runs) = spilling.cycle(&log);
    assert!((1..=64).contains(&runs), "{runs} runs");
    let mut reference = Reference::default();
    assert_eq!(merged, expected(&mut reference, 1, &log));
    assert_eq!(spilling.pages(), reference.pages);
}

/// Visits and links of many times the bytes that a merge takes ahead, in parts and block by block.
#[test]
fn what_a_merge_does_not_take_ahead_is_merged_all_the_same() {
    let page = |n: u32| {
        UrlRules::keep_all().canonicalize(&format!("http://{}.example/{n}", n / 3)).expect("an address")
    };
    let mut reference = Reference::default();
    let mut subjects = [(0, 4), (1, 4), (4, 4), (2, 40)]
        .map(|(threads, block_pages)| Subject::with(40_000 * threads, threads, block_pages));
    // The first cycle meets no block, the second cuts those that are full, the third only updates them.
    for (cycle, visits) in [(1, 900), (2, 900), (3, 1800)] {
        let visit = |n: u32| Visit {
            content: Some(content(n / cycle)),
            links: if cycle < 3 { vec![Link::to(page(n + 900), 1)] } else { Vec::new() },
            at: u64::from(cycle) * 86_400_000,
            ..Visit::new(page(n), Outcome::Fetched(Change::Undecided))
        };
        let log: Vec<LogRecord> = (0..visits).map(|n| LogRecord::Visit(Box::new(visit(n)))).collect();
        let merged = expected(&mut reference, cycle, &log);
        for subject in &mut subjects {
            let (threads, blocks) = (subject.threads, subject.block_pages);
            assert_eq!(subject.cycle(&log).0, merged, "cycle {cycle}, {threads} threads, blocks of {blocks}");
        }
    }
    subjects.iter().for_each(|subject| assert_eq!(subject.pages(), reference.pages));
}

#[test]
fn visits_of_one_page_enter_in_the_order_of_the_log() {
    let fetched = |version, change| {
        LogRecord::Visit(Box::new(Visit {
            share: Share::Followed,
            content: Some(content(version)),
            ..Visit::new(url(0), Outcome::Fetched(change))
        }))
    };
    for memory_bytes in [0, 1 << 20] {
        let mut subject = Subject::new(memory_bytes);
        let digests = [3, 1, 2, 2, 9];
        let log: Vec<LogRecord> = digests.iter().map(|&d| fetched(d, Change::Undecided)).collect();
        let report = subject.cycle(&log).0.report;
        assert_eq!((report.decided_first, report.decided_changed, report.decided_unchanged), (1, 3, 1));
        let visited = subject.pages()[&url(0)].visited.clone().unwrap();
        assert_eq!(visited.content.fingerprint.digest, 9);
        assert_eq!((visited.history.visits, visited.history.changes), (4, 3));
    }
}

#[test]
fn an_origin_is_filled_up_in_the_order_of_its_urls() {
    let link = |path: &str| {
        Link::to(UrlRules::keep_all().canonicalize(&format!("http://a.example/{path}")).unwrap(), 1)
    };
    let page = |links: Vec<Link>| {
        LogRecord::Visit(Box::new(Visit {
            links,
            ..Visit::new(link("a").url, Outcome::Skipped(Skip::Deadline))
        }))
    };
    let mut subject = Subject::new(1 << 20);
    subject.cycle(&[LogRecord::Seeds(vec![link("a"), link("m")])]);
    // Two are known, so two of the three linked ones enter; the seed enters despite the limit.
    let log = [page(vec![link("z"), link("b"), link("n")]), LogRecord::Seeds(vec![link("x")])];
    let report = subject.cycle(&log).0.report;
    assert_eq!((report.links_new, report.links_over_host_cap, report.pages), (3, 1, 5));
    let paths: Vec<String> = subject.pages().keys().map(|u| u.path_and_query().to_owned()).collect();
    assert_eq!(paths, ["/a", "/b", "/m", "/n", "/x"]);
}

/// Regression: a sitemap index that listed thousands of addresses without a page kept pages out.
#[test]
fn what_only_a_sitemap_or_index_lists_leaves_half_of_the_places_to_pages() {
    let link = |path: &str, hops: u8| Link {
        hops,
        ..Link::to(UrlRules::keep_all().canonicalize(&format!("http://a.example/{path}")).unwrap(), 1)
    };
    let index = (0..9).map(|n| link(&format!("index{n}"), 1));
    let page = |links: Vec<Link>| {
        LogRecord::Visit(Box::new(Visit {
            links,
            ..Visit::new(link("a", 0).url, Outcome::Skipped(Skip::Deadline))
        }))
    };
    let mut subject = Subject::new(1 << 20);
    subject.cycle(&[LogRecord::Seeds(vec![link("a", 0)])]);
    let report = subject.cycle(&[page(index.chain([link("z", 0)]).collect())]).0.report;
    assert_eq!((report.links_new, report.links_over_host_cap), (2, 8));
    let paths: Vec<String> = subject.pages().keys().map(|u| u.path_and_query().to_owned()).collect();
    assert_eq!(paths, ["/a", "/index0", "/z"]);
    // The same of URLs that only a sitemap lists; one that a page links to as well has a place.
    let listed = |path: &str| Link { listed: true, ..link(path, 0) };
    let mut subject = Subject::new(1 << 20);
    subject.cycle(&[LogRecord::Seeds(vec![link("a", 0)])]);
    let entries = (0..9).map(|n| listed(&format!("entry{n}"))).chain([link("entry8", 0)]);
    let report = subject.cycle(&[page(entries.collect())]).0.report;
    assert_eq!((report.links_new, report.links_over_host_cap), (2, 7));
    let paths: Vec<String> = subject.pages().keys().map(|u| u.path_and_query().to_owned()).collect();
    assert_eq!(paths, ["/a", "/entry0", "/entry8"]);
}

/// Regression: they were rewritten with every block that was visited.
#[test]
fn gone_pages_make_room_for_new_ones_up_to_a_bound() {
    let mut subject = Subject::new(1 << 20);
    let mut reference = Reference::default();
    let page = |n: u32| {
        UrlRules::keep_all().canonicalize(&format!("http://full.example/{n:04}")).expect("an address")
    };
    let is_gone = |reference: &Reference, n: u32| {
        reference.pages.get(&page(n)).is_some_and(|r| r.known.status == recrawl_types::PageStatus::Gone)
    };
    let mut entered = Vec::new();
    // From then on every known page answers 404, and each cycle links four new ones.
    for cycle in 1..60u32 {
        let at = u64::from(cycle) * 86_400_000 * 7;
        let due =
            (0..4 * cycle).filter(|n| reference.pages.contains_key(&page(*n)) && !is_gone(&reference, *n));
        let visits = due.map(|n| Visit { at, ..Visit::new(page(n), Outcome::NotFound(404)) });
        let mut log: Vec<LogRecord> = visits.map(|visit| LogRecord::Visit(Box::new(visit))).collect();
        let links = (4 * cycle..4 * cycle + 4).map(|n| Link::to(page(n), 1)).collect();
        let elsewhere = Visit::new(url(0), Outcome::Failed(Failure::Connect));
        log.push(LogRecord::Visit(Box::new(Visit { links, ..elsewhere })));
        let merged = expected(&mut reference, cycle, &log);
        assert_eq!(subject.cycle(&log).0, merged, "cycle {cycle}");
        entered.push(merged.report.links_new);
    }
    assert_eq!(subject.pages(), reference.pages);
    let of_host = reference.pages.keys().filter(|url| url.host() == "full.example").count();
    assert_eq!(of_host, 16, "four that are not gone at a time, and four times as many in all: {entered:?}");
}

#[test]
fn visits_in_vain_leave_histories_where_they_are() {
    let visited = |outcome: Outcome| {
        LogRecord::Visit(Box::new(Visit {
            content: outcome.is_visit().then(|| content(1)),
            ..Visit::new(url(0), outcome)
        }))
    };
    let (mut subject, mut reference) = (Subject::new(1 << 20), Reference::default());
    let fetched = Outcome::Fetched(Change::Undecided);
    let failed = Outcome::Failed(Failure::Timeout);
    for (cycle, outcome, is_written) in [(1, fetched, true), (2, failed, false), (3, fetched, true)] {
        let log = [visited(outcome)];
        assert_eq!(subject.cycle(&log).0, expected(&mut reference, cycle, &log));
        assert_eq!(subject.pages(), reference.pages);
        for part in ["history", "content"] {
            let name = format!("generation-{cycle:010}.{part}");
            assert_eq!(subject.storage.list().unwrap().contains(&name), is_written, "{name}");
        }
    }
}
