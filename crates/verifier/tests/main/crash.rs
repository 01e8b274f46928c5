//! A power cut, or an error, at every point of a whole cycle: schedule, visit log, batch with runs
//! on disk, merge and commit. Blocks are carried, replaced, cut and copied by compaction; links
//! wait. Every second cycle ends before its schedule does, with ranges of skipped pages in the log.

use crate::pages::{Pages, changed, content, pages_of};
use recrawl_repository::storage::{FaultyStorage, MemoryStorage, Storage, StorageFault, Survivors};
use recrawl_repository::{Repository, ScheduleFile, ScheduleWriter, StoredVisit, VisitLog};
use recrawl_types::{
    CanonicalUrl, Change, Cycle, Link, LogRecord, Outcome, Round, ScheduleEntry, ScheduleSource, Share, Skip,
    Skipped, UrlRules, Visit,
};
use recrawl_verifier::{Batch, BatchLimits, MergeRules, Waiting, merge};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::ops::Range;
use std::sync::Arc;

const HOSTS: u32 = 6;
/// Number of cycles whose visits are kept.
const KEPT_CYCLES: u32 = 2;
/// The log is synced after this many visits.
const SYNC_EVERY: usize = 2;

fn url(host: u32, page: u32) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(&format!("https://host{host}.example/{page:03}")).unwrap()
}

fn link(url: CanonicalUrl) -> Link {
    Link { counted: true, ..Link::to(url, 1) }
}

/// The pages to visit in cycle `cycle`, of two of the hosts.
fn chosen(cycle: u32) -> [CanonicalUrl; 4] {
    let (host, other) = (cycle % HOSTS, (cycle + 3) % HOSTS);
    [url(host, cycle % 6), url(host, (cycle + 1) % 6), url(other, 0), url(other, 5)]
}

/// The pages to skip in cycle `cycle`: those of two hosts side by side, and one between visited pages.
fn left_out(cycle: u32) -> Vec<CanonicalUrl> {
    let beside = |host: u32| (1..3).map(move |page| url((cycle + host) % HOSTS, page));
    let between = url((cycle + 3) % HOSTS, 3);
    if cycle % 2 == 1 { beside(1).chain(beside(2)).chain([between]).collect() } else { Vec::new() }
}

/// The links that a visit finds: to new and old pages of its own host, and to one page of another
/// host.
fn visit(entry: &ScheduleEntry, index: u64, cycle: u32) -> LogRecord {
    let host = (0..HOSTS).find(|&host| url(host, 0).same_origin(&entry.url)).expect("it is one of ours");
    let links =
        (0..3).map(|i| link(url(host, cycle * 5 + i))).chain([link(url((host + 2) % HOSTS, 100 + cycle))]);
    let is_found = !(u64::from(cycle) + index).is_multiple_of(5);
    LogRecord::Visit(Box::new(Visit {
        index: Some(index),
        share: entry.share,
        at: u64::from(cycle) * 86_400_000,
        content: is_found.then(|| content(cycle / 2)),
        links: if is_found { links.collect() } else { Vec::new() },
        bytes: 10,
        ..Visit::new(
            entry.url.clone(),
            if is_found { Outcome::Fetched(Change::Undecided) } else { Outcome::NotFound(404) },
        )
    }))
}

/// Runs the next cycle, or ends the interrupted one. Blocks are tiny, the batch has almost no
/// memory, and links may wait, so that every kind of write happens. Adds the indexes of synced
/// visits and ranges to `synced`.
fn run(storage: &Arc<dyn Storage>, synced: &mut BTreeSet<u64>) -> Result<(), Box<dyn Error>> {
    let mut repository = Repository::open(storage.clone())?.keeping_visits(KEPT_CYCLES);
    let generation = repository.current();
    let round = generation.dated().in_next_cycle();
    let cycle = round.cycle;
    let left_out = left_out(cycle.0);
    if ScheduleFile::open(&**storage, round.round)?.is_none() {
        let mut schedule = ScheduleWriter::create(&**storage, round.round)?;
        for url in BTreeSet::from_iter(chosen(cycle.0).iter().chain(&left_out)) {
            if let Some((_, record)) = generation.get(url)? {
                schedule.push(&ScheduleEntry::new(url.clone(), Share::Score, record))?;
            }
        }
        schedule.finish()?;
    }
    let schedule = ScheduleFile::open(&**storage, round.round)?.expect("it was just written");
    let (mut log, recovered) = VisitLog::open(&**storage, round.round)?;
    if cycle == Cycle(1) && recovered.records == 0 {
        let seeds = (0..HOSTS).flat_map(|host| (0..6).map(move |page| link(url(host, page))));
        log.append(&LogRecord::Seeds(seeds.collect()))?;
    }
    let (mut unsynced, mut ranges) = (Vec::new(), Vec::<Range<u64>>::new());
    for host in schedule.hosts() {
        for (index, entry) in (host.start..).zip(schedule.read(host, host.start, usize::MAX)?) {
            if left_out.contains(&entry.url) {
                match ranges.last_mut() {
                    Some(last) if last.end == index => last.end += 1,
                    _ => ranges.push(index..index + 1),
                }
            } else if !recovered.done.contains(index) {
                log.append(&visit(&entry, index, cycle.0))?;
                unsynced.push(index);
            }
            if unsynced.len() == SYNC_EVERY {
                log.sync()?;
                synced.extend(unsynced.drain(..));
            }
        }
    }
    for pages in ranges.iter().cloned() {
        let done = pages.clone().filter(|&index| recovered.done.contains(index)).count();
        assert!(done == 0 || done == pages.clone().count(), "{done} pages of the range {pages:?}");
        if done == 0 {
            let skipped = Skipped { pages: pages.clone(), why: Skip::Deadline, at: 86_400_000 };
            log.append(&LogRecord::Skipped(skipped))?;
            unsynced.extend(pages);
        }
    }
    log.sync()?;
    synced.extend(unsynced);
    let mut batch = Batch::new(storage.clone(), round, BatchLimits { memory_bytes: 1500 });
    let mut counted = Vec::new();
    let observe = |visit: &Visit, _| counted.push((visit.index, visit.outcome.is_skip()));
    batch.add_log(VisitLog::read(&**storage, round.round)?, &schedule, observe, |_| true)?;
    counted.sort_unstable();
    let each =
        (0..schedule.len()).map(|index| (Some(index), ranges.iter().any(|pages| pages.contains(&index))));
    assert_eq!(counted, each.collect::<Vec<_>>(), "each page once, visited or skipped");
    let mut writer = repository.begin(&generation, repository.current().cycle().next())?;
    let rules = MergeRules {
        max_hops: 3,
        max_pages_per_host: 1000,
        waiting: Waiting { max_cycles: 3, has_turns: true, enough: 3 },
        block_pages: 4,
        threads: 1,
        ..MergeRules::unlimited(cycle, &changed)
    };
    merge(&generation, batch.finish()?, &mut writer, &rules)?;
    Ok(repository.commit(writer, format!("cycle {cycle}").as_bytes())?)
}

/// The whole state: pages, the number of waiting links, reports, and the visits of the last cycle.
#[derive(Debug, PartialEq)]
struct State {
    pages: Pages,
    waiting: u64,
    reports: Vec<Vec<u8>>,
    kept: Vec<StoredVisit>,
}

fn state(repository: &Repository) -> State {
    let generation = repository.current();
    let (mut kept, mut texts) = (Vec::new(), Vec::new());
    if let Some(mut visits) = repository.kept().visits(generation.dated()).unwrap() {
        while let Some(visit) = visits.next_entry().unwrap() {
            kept.push(visit);
        }
    }
    let mut reports = repository.reports().unwrap();
    while let Some(report) = reports.next_report().unwrap() {
        texts.push(report.to_vec());
    }
    State { pages: pages_of(&generation), waiting: generation.summary().waiting, reports: texts, kept }
}

type Files = BTreeMap<String, Vec<u8>>;

/// The files and the state after each of `cycles` undisturbed cycles.
fn history(cycles: u32) -> Vec<(Files, State)> {
    let storage = Arc::new(MemoryStorage::new());
    let shared: Arc<dyn Storage> = storage.clone();
    let mut all = Vec::new();
    drop(Repository::open(shared.clone()).unwrap());
    for _ in 0..=cycles {
        let repository = Repository::open(shared.clone()).unwrap();
        all.push((storage.image(), state(&repository)));
        drop(repository);
        run(&shared, &mut BTreeSet::new()).unwrap();
    }
    all
}

/// A disturbed cycle, begun from an undisturbed generation, with the expected result.
struct Disturbed<'h> {
    before: u32,
    states: [&'h State; 2],
    storage: Arc<FaultyStorage>,
    committed: bool,
    synced: BTreeSet<u64>,
    /// Number of points that the cycle has reached.
    points: u64,
    error: Option<String>,
}

impl<'h> Disturbed<'h> {
    fn new(history: &'h [(Files, State)], before: u32, fault: StorageFault) -> Disturbed<'h> {
        let [(files, old), (_, new)] = [&history[before as usize], &history[before as usize + 1]];
        let storage = Arc::new(FaultyStorage::with_files(files.clone()));
        storage.set_fault(fault);
        let mut synced = BTreeSet::new();
        let done = run(&(storage.clone() as Arc<dyn Storage>), &mut synced);
        let (committed, points) = (done.is_ok(), storage.points());
        let error = done.err().map(|e| e.to_string());
        Disturbed { before, states: [old, new], storage, committed, synced, points, error }
    }

    /// Opens the storage and checks that it is one of the two generations. Then ends the cycle, and
    /// checks that each visit and each skipped page counts exactly once.
    fn check(&self, left: Arc<dyn Storage>, what: &str) {
        let before = self.before;
        let repository = Repository::open(left.clone()).unwrap_or_else(|e| panic!("{what}: {e}"));
        let number = repository.current().number().0;
        assert!(number == before + 1 || number == before && !self.committed, "{what}: generation {number}");
        assert_eq!(&state(&repository), self.states[(number - before) as usize], "{what}");
        assert_eq!(repository.verify(), [], "{what}");
        drop(repository);
        if number == before {
            let (_, recovered) =
                VisitLog::open(&*left, Round(before + 1)).unwrap_or_else(|e| panic!("{what}: {e}"));
            for &index in &self.synced {
                assert!(recovered.done.contains(index), "{what}: visit {index} was synced and is lost");
            }
            run(&left, &mut BTreeSet::new()).unwrap_or_else(|e| panic!("{what}: {e}"));
        }
        let repository = Repository::open(left.clone()).unwrap();
        assert_eq!(&state(&repository), self.states[1], "{what}");
        let mut expected: BTreeSet<String> =
            repository.current().files().into_iter().map(|(name, _)| name).collect();
        expected.extend(["MANIFEST".into(), "reports".into(), "decisions.json".into()]);
        let mut names = BTreeSet::from_iter(left.list().unwrap());
        // If removing was not durable, one kept file too many may be left.
        names.retain(|name| !name.ends_with(".kept"));
        assert_eq!(names, expected, "{what}: files that nothing refers to");
    }
}

const CYCLES: u32 = 40;

#[test]
fn after_a_power_cut_at_any_point_of_a_cycle_it_is_one_generation_or_the_next() {
    let history = history(CYCLES + 1);
    let (mut points, mut tried, mut carried, mut emptied, mut waited) = (0, 0, 0, 0, 0);
    let (mut resumed, mut skipped) = (0, 0);
    // The first ones, some in a row, and two during compaction.
    for before in (0..6).chain([CYCLES - 1, CYCLES]) {
        let [(files, old), (next, _)] = [&history[before as usize], &history[before as usize + 1]];
        let ages = |files: &Files| files.keys().filter(|name| name.ends_with(".keys")).count();
        carried += usize::from(ages(files) > 1);
        emptied += usize::from(files.keys().any(|name| name.ends_with(".keys") && !next.contains_key(name)));
        waited += usize::from(old.waiting > 0);
        for point in 1.. {
            let cycle = Disturbed::new(&history, before, StorageFault::Stop(point));
            if cycle.points < point {
                break;
            }
            points += 1;
            resumed += usize::from(!cycle.synced.is_empty());
            // The ranges come after all visits.
            skipped += usize::from(cycle.synced.len() > chosen(before + 1).len());
            let chances = (0..4).map(|i| Survivors::Some(point * 1031 + i));
            for survivors in [Survivors::Synced, Survivors::All].into_iter().chain(chances) {
                let what = format!("generation {before}, power cut at point {point}, {survivors:?}");
                cycle.check(Arc::new(cycle.storage.after_power_cut(survivors)), &what);
                tried += 1;
            }
        }
    }
    println!(
        "{points} points of 8 cycles, {tried} power cuts; synced visits before {resumed} of the points, \
         synced ranges before {skipped}"
    );
    assert!(tried > 2000 && resumed > 100, "{tried} tried, {resumed} with synced visits");
    assert!(skipped > 50, "{skipped} with synced ranges");
    assert!(
        carried > 4 && emptied > 0 && waited > 3,
        "{carried} carried, {emptied} emptied, {waited} waited"
    );
}

#[test]
fn an_error_at_any_point_or_read_harms_nothing() {
    let history = history(5);
    let mut tried = 0;
    for fault in
        [StorageFault::Fail as fn(u64) -> StorageFault, StorageFault::FailRead, StorageFault::ShortRead]
    {
        for at in 1.. {
            let fault = fault(at);
            let cycle = Disturbed::new(&history, 4, fault);
            cycle.storage.set_fault(StorageFault::None);
            if let Some(error) = &cycle.error {
                assert!(error.contains("faulty:"), "{fault:?} names no file: {error}");
            }
            // The machine runs on, or its power fails soon after.
            let left = cycle.storage.after_power_cut(Survivors::Synced);
            cycle.check(Arc::new(left), &format!("{fault:?} and a power cut"));
            cycle.check(cycle.storage.clone(), &format!("{fault:?}"));
            let left = cycle.storage.after_power_cut(Survivors::Synced);
            cycle.check(Arc::new(left), &format!("{fault:?}, the cycle ended, and a power cut"));
            tried += 1;
            if cycle.committed && (cycle.points < at || !matches!(fault, StorageFault::Fail(_))) {
                break;
            }
        }
    }
    println!("{tried} errors of writes and reads");
    assert!(tried > 200, "{tried} errors tried");
}

#[test]
fn a_full_disk_loses_nothing_and_the_cycle_goes_on_when_there_is_room() {
    let history = history(5);
    let used: usize = history[4].0.values().map(Vec::len).sum();
    for (tried, room) in (0..).step_by(131).enumerate() {
        let cycle = Disturbed::new(&history, 4, StorageFault::Full(used as u64 + room));
        cycle.storage.set_fault(StorageFault::None);
        cycle.check(cycle.storage.clone(), &format!("room for {room} bytes"));
        if cycle.committed {
            assert!(tried > 20, "the disk was full {tried} times only");
            break;
        }
    }
}

#[test]
fn garbage_and_files_stay_bounded() {
    for (files, State { pages, .. }) in history(CYCLES) {
        let keys = files.iter().filter(|(name, _)| name.ends_with(".keys"));
        assert!(keys.clone().count() <= 24, "{} files", keys.count());
        let bytes: usize = keys.map(|(_, bytes)| bytes.len()).sum();
        // Twice the keys, with headers of files and frames, plus what one cycle writes.
        let text: usize = pages.keys().map(|url| url.key().len() + 24).sum();
        assert!(bytes <= 2 * text + 2000, "{bytes} bytes for {} pages", pages.len());
    }
}
