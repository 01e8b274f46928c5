//! Random lives of a repository against a sorted map: cycles of any visits, links and seeds, and of
//! skipped pages. Rules and limits change from cycle to cycle, disks fail and fill up, and the power
//! is cut.
//!
//! `RECRAWL_SEED` sets the first seed and `RECRAWL_STEPS` the number of steps. A step is one record
//! of a log, one cycle, or one fault. A failure prints the seed of its life, which one step
//! repeats:
//!
//! ```text
//! make soak STEPS=1 SEED=123
//! ```

use crate::pages::{Pages, changed, content, pages_of};
use crate::reference::{Merged, Reference};
use recrawl_repository::storage::{FaultyStorage, Storage, StorageFault, Survivors};
use recrawl_repository::{Generation, OriginRun, Repository, StoredVisit, VisitLog};
use recrawl_types::schedule::MemorySchedule;
use recrawl_types::{
    CanonicalUrl, Change, Cycle, Failure, Link, LogRecord, Outcome, PageRecord, ScheduleEntry, Share, Skip,
    Skipped, UrlRules, Visit,
};
use recrawl_verifier::{Batch, BatchLimits, MergeReport, MergeRules, Waiting, merge};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `sides`.
    fn roll(&mut self, sides: u32) -> u32 {
        (self.next() % u64::from(sides)) as u32
    }

    fn one_in(&mut self, sides: u32) -> bool {
        self.roll(sides) == 0
    }

    fn any<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len() as u32) as usize]
    }
}

/// Prints how to repeat a life in which a check failed.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to repeat it: RECRAWL_SEED={} RECRAWL_STEPS=1", self.0);
        }
    }
}

#[derive(Debug, Default)]
struct Tally {
    steps: u64,
    lives: u64,
    cycles: u64,
    power_cuts: u64,
    /// Those among them that left the next generation.
    power_cuts_behind_a_commit: u64,
    errors: u64,
    pages: u64,
    links_waited: u64,
    blocks_carried: u64,
    pages_skipped: u64,
}

struct Plan {
    /// The pages that the log visits, and those that it skips.
    scheduled: Vec<ScheduleEntry>,
    log: Vec<LogRecord>,
    /// The log is synced after this many records.
    sync_every: usize,
    memory_bytes: usize,
    threads: usize,
    block_pages: usize,
    waiting: Waiting,
    max_hops: u8,
    max_pages_per_host: u64,
}

impl Plan {
    /// The log with a record of its own for each skipped page.
    fn page_by_page(&self) -> Vec<LogRecord> {
        let mut records = Vec::new();
        for record in &self.log {
            let LogRecord::Skipped(Skipped { pages, why, at }) = record else {
                records.push(record.clone());
                continue;
            };
            for index in pages.clone() {
                let ScheduleEntry { url, share, .. } = self.scheduled[index as usize].clone();
                let visit = Visit::new(url, Outcome::Skipped(*why));
                let visit = Visit { index: Some(index), share, at: *at, ..visit };
                records.push(LogRecord::Visit(Box::new(visit)));
            }
        }
        records
    }

    fn rules(&self, cycle: Cycle) -> MergeRules<'static> {
        MergeRules {
            max_hops: self.max_hops,
            max_pages_per_host: self.max_pages_per_host,
            waiting: self.waiting,
            block_pages: self.block_pages,
            threads: self.threads,
            ..MergeRules::unlimited(cycle, &changed)
        }
    }
}

struct Life {
    dice: Dice,
    storage: Arc<FaultyStorage>,
    reference: Reference,
    keep_visits: u32,
    hosts: u32,
    pages_a_host: u32,
    /// Days since 1970.
    day: u64,
    /// A generation that a reader holds, and its pages.
    held: Option<(Arc<Generation>, Pages)>,
}

impl Life {
    fn new(seed: u64) -> Life {
        let mut dice = Dice(seed);
        Life {
            keep_visits: dice.roll(3),
            hosts: 1 + dice.roll(8),
            pages_a_host: 1 + dice.any(&[5, 20, 60]),
            day: 20_000,
            storage: Arc::new(FaultyStorage::new()),
            reference: Reference::default(),
            held: None,
            dice,
        }
    }

    fn url(&mut self) -> CanonicalUrl {
        let (host, page) = (self.dice.roll(self.hosts), self.dice.roll(self.pages_a_host));
        // Hosts that sort between each other's, one with two origins, and some long paths.
        let origin = match host {
            0 => "https://example.org".to_owned(),
            1 => "http://example.org".to_owned(),
            host => format!("https://{}.example.org:{}", ["a", "www", "a.b"][host as usize % 3], 79 + host),
        };
        let path = if page % 7 == 6 { "section/".repeat(page as usize) } else { String::new() };
        UrlRules::keep_all().canonicalize(&format!("{origin}/{path}{page}")).unwrap()
    }

    fn link(&mut self) -> Link {
        let date = if self.dice.one_in(4) { self.day + u64::from(self.dice.roll(9)) } else { 0 };
        Link {
            url: self.url(),
            depth: self.dice.roll(6) as u16,
            hops: self.dice.any(&[0, 0, 0, 1, 2, 3, 4]),
            counted: self.dice.one_in(2),
            listed: self.dice.one_in(4),
            lastmod: (date.saturating_sub(4) * 86_400) as u32,
            expectation: None,
        }
    }

    fn links(&mut self, most: u32) -> Vec<Link> {
        let mut links = Vec::new();
        for _ in 0..self.dice.roll(most + 1) {
            links.push(self.link());
        }
        links
    }

    fn outcome(&mut self) -> Outcome {
        let change = self.dice.any(&[Change::First, Change::Unchanged, Change::Changed, Change::Undecided]);
        match self.dice.roll(16) {
            0..4 => Outcome::Fetched(change),
            4 => Outcome::Redirected(change),
            5 => Outcome::NotModified,
            6..11 => Outcome::NotFound(404),
            11 => Outcome::Failed(Failure::Timeout),
            12 => Outcome::RobotsDenied,
            13 => Outcome::RefusedAddress(None),
            14 => Outcome::Skipped(Skip::Trap),
            _ => Outcome::Skipped(self.dice.any(&[Skip::Deadline, Skip::HostBackOff, Skip::ByteBudget])),
        }
    }

    fn visit(&mut self, most_links: u32) -> Visit {
        let outcome = self.outcome();
        let content = (outcome.is_visit() && !self.dice.one_in(9)).then(|| content(self.dice.roll(3)));
        Visit {
            at: self.day * 86_400_000 + u64::from(self.dice.roll(86_400_000)),
            content,
            links: self.links(most_links),
            bytes: 10,
            ..Visit::new(self.url(), outcome)
        }
    }

    fn plan(&mut self) -> Plan {
        self.day += self.dice.any(&[0, 1, 4, 9]);
        let most_links = self.dice.any(&[0, 2, 8]);
        let mut log = Vec::new();
        // Quiet cycles are as frequent as busy ones, so that blocks are carried and links wait.
        let records = self.dice.any(&[1, 3, 10, 60]);
        for _ in 0..self.dice.roll(records) {
            log.push(if self.dice.one_in(8) {
                LogRecord::Seeds(self.links(4))
            } else {
                LogRecord::Visit(Box::new(self.visit(most_links)))
            });
        }
        let skipped = if self.dice.one_in(3) { self.dice.any(&[1, 5, 30]) } else { 0 };
        let scheduled = self.schedule(&mut log, skipped);
        Plan {
            scheduled,
            log,
            sync_every: 1 + self.dice.roll(5) as usize,
            memory_bytes: self.dice.any(&[0, 3000, 1 << 20, 1 << 20]),
            threads: self.dice.any(&[1, 1, 1, 2, 3]),
            block_pages: self.dice.any(&[1, 1, 1, 2, 3, 8, 40, 1024]),
            waiting: Waiting {
                max_cycles: self.dice.roll(6),
                has_turns: self.dice.roll(2) == 0,
                enough: self.dice.roll(9) as usize,
            },
            max_hops: self.dice.any(&[0, 2, 2, 3]),
            max_pages_per_host: self.dice.any(&[3, 10, 1000, 1000]),
        }
    }

    /// Makes the schedule of this log, and of some pages more: known ones, as in every schedule. The log
    /// ends with ranges that skip those.
    fn schedule(&mut self, log: &mut Vec<LogRecord>, more: u32) -> Vec<ScheduleEntry> {
        let visits = log.iter().filter_map(|r| if let LogRecord::Visit(v) = r { Some(v) } else { None });
        let mut urls: BTreeSet<CanonicalUrl> = visits.map(|visit| visit.url.clone()).collect();
        urls.extend((0..self.dice.roll(more + 1)).map(|_| self.url()));
        urls.retain(|url| self.reference.pages.contains_key(url));
        let mut indexes: BTreeMap<CanonicalUrl, u64> = urls.iter().cloned().zip(0..).collect();
        for record in log.iter_mut() {
            // A second visit of a page, or one of an unknown page, is that of a redirect's target.
            if let LogRecord::Visit(visit) = record {
                visit.index = indexes.remove(&visit.url);
            }
        }
        let mut ranges: Vec<Skipped> = Vec::new();
        let (why, at) = (self.dice.any(&[Skip::Deadline, Skip::ByteBudget]), self.day * 86_400_000);
        let mut left: Vec<u64> = indexes.into_values().collect();
        left.sort_unstable();
        for index in left {
            match ranges.last_mut() {
                // Some ranges adjoin, as a resumed cycle may leave them.
                Some(last) if last.pages.end == index && !self.dice.one_in(8) => last.pages.end += 1,
                _ => ranges.push(Skipped { pages: index..index + 1, why, at }),
            }
        }
        log.extend(ranges.into_iter().map(LogRecord::Skipped));
        let entry = |url| ScheduleEntry::new(url, Share::Score, PageRecord::discovered(Cycle(0), 0));
        urls.into_iter().map(entry).collect()
    }

    fn fault(&mut self) -> StorageFault {
        let most = self.dice.any(&[10, 60, 200]);
        let point = 1 + u64::from(self.dice.roll(most));
        match self.dice.roll(16) {
            0..4 => StorageFault::Stop(point),
            4 => StorageFault::Fail(point),
            5 => StorageFault::FailRead(point),
            6 => StorageFault::ShortRead(point),
            7 => {
                let used: usize = self.storage.image().values().map(Vec::len).sum();
                StorageFault::Full(used as u64 + 40 * point)
            }
            _ => StorageFault::None,
        }
    }

    fn open(&self) -> Result<Repository, Box<dyn Error>> {
        Ok(Repository::open(self.storage.clone())?.keeping_visits(self.keep_visits))
    }

    /// Runs one cycle to its commit, through faults.
    fn cycle(&mut self, repository: Repository, tally: &mut Tally) -> Repository {
        let mut repository = repository;
        let plan = self.plan();
        let generation = repository.current();
        let round = generation.dated().in_next_cycle();
        let cycle = round.cycle;
        let first_keys: Vec<Vec<u8>> =
            (0..generation.blocks()).map(|at| generation.first_key(at).to_vec()).collect();
        let before = self.reference.clone();
        let page_by_page = plan.page_by_page();
        let mut expected = self.reference.merge(&plan.rules(cycle), &first_keys, &page_by_page);
        if self.keep_visits == 0 {
            expected.kept.clear();
        }
        drop(generation);
        tally.steps += 1 + plan.log.len() as u64;
        tally.cycles += 1;
        let ranges = plan.log.iter().filter(|record| matches!(record, LogRecord::Skipped(_))).count();
        tally.pages_skipped += (page_by_page.len() - plan.log.len() + ranges) as u64;
        let mut synced = 0;
        let mut fault = self.fault();
        loop {
            self.storage.set_fault(fault);
            let done = turn(&mut repository, &plan, &mut synced);
            if let (StorageFault::None, Err(error)) = (fault, &done) {
                panic!("nothing was wrong with the disk: {error}");
            }
            let (is_stopped, has_failed) = (self.storage.list().is_err(), done.is_err());
            self.storage.set_fault(StorageFault::None);
            if !is_stopped && let Ok(merged) = done {
                assert_eq!(
                    (merged.report, &merged.watched, &merged.met),
                    (expected.report, &expected.watched, &expected.met)
                );
                break;
            }
            tally.steps += 1;
            if is_stopped || self.dice.one_in(2) {
                let survivors = match self.dice.roll(8) {
                    0 => Survivors::Synced,
                    1 => Survivors::All,
                    _ => Survivors::Some(self.dice.next()),
                };
                tally.power_cuts += 1;
                self.held = None;
                drop(repository);
                let left = self.storage.after_power_cut(survivors).image();
                self.storage = Arc::new(FaultyStorage::with_files(left));
                repository = self.open().unwrap_or_else(|e| panic!("after a power cut: {e}"));
            } else {
                tally.errors += 1;
                // Continue in the same process, or in a new one.
                if self.dice.one_in(2) {
                    drop(repository);
                    repository = self.open().unwrap_or_else(|e| panic!("after an error: {e}"));
                }
            }
            let number = repository.current().number();
            assert!(
                number == round.round || number.next() == round.round && has_failed,
                "generation {number} in round {}",
                round.round
            );
            if number == round.round {
                tally.power_cuts_behind_a_commit += u64::from(is_stopped);
                break;
            }
            assert_eq!(pages_of(&repository.current()), before.pages);
            // The power fails while the cycle is resumed.
            fault = match self.dice.one_in(3) {
                true => StorageFault::Stop(1 + u64::from(self.dice.roll(60))),
                false => StorageFault::None,
            };
        }
        self.check(&repository, &expected);
        tally.links_waited += expected.report.links_waiting;
        let ages =
            repository.current().files().into_iter().filter(|(name, _)| name.ends_with(".keys")).count();
        tally.blocks_carried += ages.saturating_sub(1) as u64;
        repository
    }

    /// Checks the committed generation by every way of reading it.
    fn check(&mut self, repository: &Repository, expected: &Merged) {
        let (generation, pages) = (repository.current(), &self.reference.pages);
        assert_eq!(&pages_of(&generation), pages);
        let summary = generation.summary();
        let MergeReport { pages: count, visited, never_tried, gone_total, links_waiting, .. } =
            expected.report;
        assert_eq!((summary.pages, summary.visited), (count, visited));
        assert_eq!(
            (summary.gone, summary.untried, summary.waiting),
            (gone_total, never_tried, links_waiting)
        );
        let (of_pages, mut runs) = (origins(pages), generation.origin_runs());
        of_pages.iter().for_each(|run| assert_eq!(runs.next_run().unwrap(), Some(run)));
        assert_eq!(runs.next_run().unwrap(), None);
        assert_eq!(summary.bytes, generation.files().iter().map(|(_, bytes)| bytes).sum::<u64>());
        let mut kept = Vec::new();
        if let Some(mut visits) = repository.kept().visits(generation.dated()).unwrap() {
            while let Some(visit) = visits.next_entry().unwrap() {
                kept.push(visit);
            }
        }
        assert_eq!(kept, expected.kept);
        let url = self.url();
        let found = generation.get(&url).unwrap().map(|(_, record)| record);
        assert_eq!(found.as_ref(), self.reference.pages.get(&url));
        if self.dice.one_in(4) {
            assert_eq!(repository.verify(), []);
        }
        match &self.held {
            Some((held, pages)) if self.dice.one_in(3) => {
                assert_eq!(&pages_of(held), pages, "a reader goes on seeing its generation");
                self.held = None;
            }
            None if self.dice.one_in(3) => self.held = Some((generation, self.reference.pages.clone())),
            _ => {}
        }
    }
}

/// One attempt at a cycle, which resumes its log; `synced` of its records were durable before.
fn turn(repository: &mut Repository, plan: &Plan, synced: &mut usize) -> Result<Merged, Box<dyn Error>> {
    let generation = repository.current();
    let storage = repository.storage().clone();
    let round = generation.dated().in_next_cycle();
    let cycle = round.cycle;
    let (mut log, recovered) = VisitLog::open(&*storage, round.round)?;
    let found = recovered.records as usize;
    assert!((*synced..=plan.log.len()).contains(&found), "{found} records, and {} were synced", *synced);
    let done = plan.log[..found].iter().map(|record| match record {
        LogRecord::Skipped(skipped) => skipped.pages.end - skipped.pages.start,
        LogRecord::Visit(visit) => u64::from(visit.index.is_some()),
        LogRecord::Seeds(_) => 0,
    });
    assert_eq!(recovered.done.count(), done.sum::<u64>());
    for (written, record) in (found + 1..).zip(&plan.log[found..]) {
        log.append(record)?;
        if written % plan.sync_every == 0 {
            log.sync()?;
            *synced = written;
        }
    }
    log.sync()?;
    *synced = plan.log.len();
    let mut batch = Batch::new(storage.clone(), round, BatchLimits { memory_bytes: plan.memory_bytes });
    let (mut logged, mut counted) = (0, Vec::new());
    let observe = |visit: &Visit, _| {
        logged += 1;
        counted.extend(visit.index);
    };
    let schedule = MemorySchedule::new(plan.scheduled.clone());
    batch.add_log(VisitLog::read(&*storage, round.round)?, &schedule, observe, |_| true)?;
    let page_by_page = plan.page_by_page();
    assert_eq!(logged, page_by_page.iter().filter(|record| matches!(record, LogRecord::Visit(_))).count());
    counted.sort_unstable();
    assert_eq!(
        counted,
        (0..plan.scheduled.len() as u64).collect::<Vec<_>>(),
        "each page once, visited or skipped"
    );
    let mut writer = repository.begin(&generation, repository.current().cycle().next())?;
    let (watched, met) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let rules = MergeRules {
        on_comparison: &|url, newer, changed| {
            newer.into_iter().for_each(|newer| watched.borrow_mut().push((url.clone(), newer, changed)));
        },
        on_first_visit: &|url, _| met.borrow_mut().push(url.clone()),
        ..plan.rules(cycle)
    };
    let report = merge(&generation, batch.finish()?, &mut writer, &rules)?;
    repository.commit(writer, format!("cycle {cycle}").as_bytes())?;
    Ok(Merged {
        report,
        watched: watched.into_inner(),
        met: met.into_inner(),
        kept: Vec::<StoredVisit>::new(),
    })
}

/// The runs of pages of each origin, counted again.
fn origins(pages: &Pages) -> Vec<OriginRun> {
    let mut origins: Vec<OriginRun> = Vec::new();
    for (ordinal, (url, record)) in (0..).zip(pages) {
        if origins.last().is_none_or(|run| run.key != url.origin_key()) {
            origins.push(OriginRun { key: url.origin_key().to_vec(), first: ordinal, pages: 0, visited: 0 });
        }
        let run = origins.last_mut().expect("one was just added");
        run.pages += 1;
        run.visited += u64::from(record.visited.is_some());
    }
    origins
}

#[expect(
    clippy::disallowed_methods,
    reason = "a longer or a repeated run of a test is asked for by its documented variables"
)]
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[test]
fn a_repository_lives_as_a_sorted_map_would() {
    let (first, steps) = (number("RECRAWL_SEED", 1), number("RECRAWL_STEPS", 10_000));
    let mut tally = Tally::default();
    while tally.steps < steps {
        let seed = first + tally.lives;
        let _named = Named(seed);
        let mut life = Life::new(seed);
        let mut repository = life.open().unwrap();
        for _ in 0..1 + life.dice.roll(60) {
            repository = life.cycle(repository, &mut tally);
            if life.dice.one_in(4) {
                drop(repository);
                repository = life.open().unwrap();
            }
        }
        let mut reports = repository.reports().unwrap();
        for cycle in 1..=repository.current().number().0 {
            assert_eq!(reports.next_report().unwrap(), Some(format!("cycle {cycle}").as_bytes()));
        }
        tally.lives += 1;
        tally.pages += repository.current().pages();
    }
    println!("RECRAWL_SEED={first}: {tally:?}");
    assert!(steps < 10_000 || tally.power_cuts > 50 && tally.errors > 10 && tally.links_waited > 100);
    assert!(steps < 10_000 || tally.pages_skipped > 100, "{tally:?}");
}
