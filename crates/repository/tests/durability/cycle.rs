//! A small crawl cycle by hand. Everything in it follows from the cycle's number and the URL, so a cycle
//! that was interrupted and taken up again must end in the same pages as one that was not.

use recrawl_repository::storage::{MemoryStorage, Storage};
use recrawl_repository::{Generation, Repository, ScheduleFile, ScheduleWriter, StoredVisit, VisitLog};
use recrawl_types::{
    ArchivePosition, ArchivedBody, CanonicalUrl, Change, Consent, Content, ContentKind, Cycle, DatedRound,
    Fingerprint, Link, LogRecord, Outcome, PageRecord, ScheduleEntry, ScheduleSource, Share, UrlRules,
    Validators, Visit, Visited,
};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;

pub type Pages = BTreeMap<CanonicalUrl, PageRecord>;

/// Every so many visits the log is synced.
const SYNC_EVERY: u64 = 3;
/// The visits of so many cycles are kept.
pub const KEPT_CYCLES: u32 = 2;

pub fn url(text: &str) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(text).unwrap()
}

/// Pages of two hosts, known and never visited.
pub fn first_pages() -> Pages {
    let texts = (0..8).map(|i| format!("https://host{}.example/page/{i}", i % 2));
    texts.map(|t| (url(&t), PageRecord::discovered(Cycle(1), 0))).collect()
}

/// All pages of the current generation.
pub fn pages(repository: &Repository) -> Pages {
    let generation = repository.current();
    let mut pages = Pages::new();
    let mut records = generation.records();
    while let Some((ordinal, key, record)) = records.next_record().unwrap() {
        assert_eq!(ordinal, pages.len() as u64);
        pages.insert(CanonicalUrl::from_key(key).unwrap(), record);
    }
    assert_eq!(generation.pages(), pages.len() as u64);
    pages
}

/// All reports, as text.
pub fn reports(repository: &Repository) -> Vec<String> {
    let mut reports = repository.reports().unwrap();
    let mut texts = Vec::new();
    while let Some(report) = reports.next_report().unwrap() {
        texts.push(String::from_utf8(report.to_vec()).unwrap());
    }
    texts
}

/// The visits of all cycles that are kept, each with its cycle.
pub fn kept_visits(repository: &Repository) -> Vec<(Cycle, StoredVisit)> {
    let mut all = Vec::new();
    for round in repository.kept().list().unwrap() {
        let mut visits = repository.kept().visits(round).unwrap().expect("it is listed");
        while let Some(visit) = visits.next_entry().unwrap() {
            all.push((round.cycle, visit));
        }
    }
    all
}

/// What the visit of a page in a cycle sees. Every third visit of a page finds it as it was.
fn visit(entry: &ScheduleEntry, index: u64, cycle: Cycle) -> Visit {
    let version = cycle.0 / 3;
    let change = match &entry.record.visited {
        None => Change::First,
        Some(v) if v.content.fingerprint.simhash == u64::from(version) => Change::Unchanged,
        Some(_) => Change::Changed,
    };
    let child = url(&format!("{}/{}", entry.url, cycle.0));
    Visit {
        index: Some(index),
        at: 1_700_000_000_000 + u64::from(cycle.0),
        content: Some(Content {
            kind: ContentKind::Text,
            fingerprint: Fingerprint { simhash: version.into(), digest: index.into() },
            rule: 0,
            archived_at: 0,
            archived: ArchivedBody::Last,
            within_noise: 0,
            payload: 7,
            validators: Validators::new(Some("\"tag\""), None),
            archive: Some(ArchivePosition { file: cycle.0, offset: 100 * index }),
            consent: Consent::default(),
            // As in folders of older versions.
            merged_links: Box::default(),
        }),
        links: vec![Link { counted: true, ..Link::to(child, 1) }],
        bytes: 7,
        ..Visit::new(entry.url.clone(), Outcome::Fetched(change))
    }
}

/// Runs the next cycle, or ends the one that was begun. Every second page is visited. The indexes of
/// visits that were synced go to `synced`.
pub fn run(storage: &Arc<dyn Storage>, synced: &mut BTreeSet<u64>) -> Result<(), Box<dyn Error>> {
    let mut repository = Repository::open(storage.clone())?.keeping_visits(KEPT_CYCLES);
    let generation = repository.current();
    let DatedRound { round, cycle } = generation.dated().in_next_cycle();
    if ScheduleFile::open(&**storage, round)?.is_none() {
        let mut schedule = ScheduleWriter::create(&**storage, round)?;
        let mut chosen =
            generation.gather((0..generation.pages()).filter(|o| (o + u64::from(cycle.0)) % 2 == 0));
        while let Some((_, url, record)) = chosen.next_page()? {
            schedule.push(&ScheduleEntry::new(url, Share::Score, record))?;
        }
        schedule.finish()?;
    }
    let schedule = ScheduleFile::open(&**storage, round)?.expect("it was just written");
    let (mut log, recovered) = VisitLog::open(&**storage, round)?;
    if recovered.records == 0 {
        log.append(&LogRecord::Seeds(vec![]))?;
    }
    let mut unsynced = Vec::new();
    for host in schedule.hosts() {
        for (index, entry) in (host.start..).zip(schedule.read(host, host.start, usize::MAX)?) {
            if !recovered.done.contains(index) {
                log.append(&LogRecord::Visit(Box::new(visit(&entry, index, cycle))))?;
                unsynced.push(index);
            }
            if index % SYNC_EVERY == 0 {
                log.sync()?;
                synced.extend(unsynced.drain(..));
            }
        }
    }
    log.sync()?;
    synced.extend(unsynced.drain(..));
    let (next, visits) = merge(&repository, cycle)?;
    let empty = Generation::default();
    let mut writer = repository.begin(&empty, repository.current().cycle().next())?;
    for visit in &visits {
        writer.keep_visit(visit)?;
    }
    for (url, record) in &next {
        writer.push(url.key(), record)?;
    }
    repository.commit(writer, format!("report of cycle {cycle}").as_bytes())?;
    Ok(())
}

/// The log folded into the pages, or the first pages into the empty generation; and the visits in order.
fn merge(repository: &Repository, cycle: Cycle) -> Result<(Pages, Vec<StoredVisit>), Box<dyn Error>> {
    let mut visits = Vec::new();
    if cycle == Cycle(1) {
        return Ok((first_pages(), visits));
    }
    let generation = repository.current();
    let mut next = Pages::new();
    let mut records = generation.records();
    while let Some((_, key, record)) = records.next_record()? {
        next.insert(CanonicalUrl::from_key(key)?, record);
    }
    let mut log = VisitLog::read(&**repository.storage(), generation.number().next())?;
    while let Some(record) = log.next_record()? {
        let LogRecord::Visit(visit) = record else { continue };
        let (url, at) = (visit.url.clone(), visit.at / 1000);
        visits.push(StoredVisit {
            url,
            at,
            share: visit.share,
            outcome: visit.outcome,
            confirmed: 0,
            missed: 0,
            learned: None,
        });
        let record = next.get_mut(&visit.url).expect("only known pages are scheduled");
        let history = record.visited.as_ref().map(|v| v.history);
        let change = visit.outcome.change().expect("all visits succeed");
        record.visited = Some(Visited {
            history: change.fold(history, cycle),
            content: visit.content.expect("so they bring it"),
        });
        record.known.last_attempt = cycle;
        for link in visit.links {
            next.entry(link.url).or_insert(PageRecord::discovered(cycle, link.depth));
        }
    }
    visits.sort_by(|a, b| a.url.cmp(&b.url));
    Ok((next, visits))
}

/// Storage after `cycles` undisturbed cycles.
pub fn after(cycles: u32) -> MemoryStorage {
    let storage = Arc::new(MemoryStorage::new());
    for _ in 0..cycles {
        run(&(storage.clone() as Arc<dyn Storage>), &mut BTreeSet::new()).unwrap();
    }
    MemoryStorage::with_files(storage.image())
}
