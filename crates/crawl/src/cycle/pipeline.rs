//! The stages of a running cycle, connected by bounded queues: fetch, parse, record.
//!
//! The fetcher decides on this thread, and its requests run on all cores. Page workers parse, compare
//! and compress. One recorder appends to the archive and then to the visit log, so that a logged visit
//! never points at a missing record. It syncs both in that order every `storage.sync_every`. Pages waiting to be
//! parsed are bounded by the fetcher's connections, and taken in an order that is fair by site
//! ([`Inbox`]). Every other queue holds at most [`QUEUE`] pages, so a slow disk slows down the
//! fetcher.

use crate::crawl::Crawl;
use crate::cycle::hints::HintRules;
use crate::cycle::inbox::{Inbox, InboxReading, LOOK_EVERY, MeasuredWork, NextBatch, PageWork};
use crate::cycle::loading::LoadingStage;
use crate::cycle::page::{PageReader, ReadPage, Tools};
use crate::cycle::plan::{RoundPlan, UNAVAILABLE, kept_types, request, unavailable};
use crate::cycle::readmission::RefusalRules;
use crate::cycle::requests;
use crate::cycle::skipped;
use crate::failure::Failure;
use crate::page_rules::KnownRules;
use crate::parts::convert::Converts;
use crate::parts::focus::reading::FocusReader;
use crate::parts::focus::state::FocusState;
use crate::parts::noise::site::SiteNoise;
use crate::parts::render::{Renders, StageInputs};
use crate::parts::repeated_links::RepeatedLinks;
use crate::parts::requisites::{self, RequisiteCounts, RequisiteFigures, RequisiteRecord, Requisites};
use crate::parts::traps::Traps;
use crate::process::CycleDisplay;
use crate::report::cycle_totals::CycleTotals;
use crate::report::facts::Facts;
use crate::round::RoundKind;
use crate::space::SpaceWatch;
use crossbeam_channel::RecvTimeoutError;
use recrawl_archive::cap::Bodies;
use recrawl_archive::{Archive, ArchiveEnd};
use recrawl_fetcher::{FetchReport, FetchedPage, Job, Precedence, RunPatience, StoppedBy, UnvisitedHosts};
use recrawl_repository::{RequestFile, RequisiteChange, RequisiteFile, VisitLog, VisitedIndexes};
use recrawl_types::{
    CanonicalUrl, Change, DatedRound, LogRecord, RequestLog, ScheduleEntry, ScheduleSource, Share,
};
use rustix::time::{ClockId, clock_gettime};
use std::convert::Infallible;
use std::sync::{Arc, LockResult, Mutex, MutexGuard, TryLockError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Maximum pages between two stages. Each may hold a body of `fetch.max_body` bytes.
const QUEUE: usize = 32;

/// Maximum pages that a worker takes and hands on at a time, so that threads wake each other less
/// often. No worker waits for a full batch.
const BATCH: usize = 8;

/// Setting that stores the hosts whose pages did not come up.
const LEFT_OUT: &str = "left_out";

/// How long a round that found pages for the next one waits for slow hosts at least. Hosts that answer seldom need as much
/// longer than others.
const LEAST_LINGER: Duration = Duration::from_secs(5);

/// The same, in multiples of what lies between two rounds: merging and planning take a tenth of the time at most.
const LEAST_ROUND: u32 = 10;

/// Interval at which a waiting run reports progress.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// Pages parsed together, or a requisite.
type ParsedBatch = Vec<Result<Recordable, Failure>>;

/// An entry for the recorder.
enum Recordable {
    Page(Box<ReadPage>),
    Requisite(RequisiteRecord),
}

/// How the fetching of a cycle ended.
pub struct Fetched {
    /// The cause of the end.
    pub stopped_by: StoppedBy,
    /// Pages that ranges of the log leave out.
    pub skipped: u64,
    /// Requests of detours beyond one a visit; those of an interrupted run of the round are not counted.
    pub asked_again: u64,
    /// Requisites of pages; those of an interrupted run of the round are not counted.
    pub requisites: RequisiteFigures,
    /// Documents that were converted, and those that were not; those of an interrupted run of the round are not counted.
    pub conversions: [u64; 2],
    /// End of the archive; none if bodies are not archived.
    pub archive: Option<ArchiveEnd>,
}

/// Runs the schedule to its end, to the deadline or to a signal. When this returns, even with an
/// error, the log has everything that was fetched.
///
/// # Errors
/// When a stage cannot continue: the schedule cannot be read, or the disk is full.
#[tracing::instrument(level = "error", name = "fetch", skip_all)]
pub fn run(crawl: &Crawl, plan: RoundPlan, traps: &Arc<Traps>) -> Result<Fetched, Failure> {
    let RoundPlan { facts, schedule, mut log, recovered, mut archive } = plan;
    let reader_resources = ReaderResources::open(crawl)?;
    let reader = reader_resources.reader(crawl, &facts, traps, archive.is_some())?;
    let done = Arc::new(recovered.done);
    crawl.display.begin(facts.cycle, schedule.len(), schedule.hosts().len(), done.count());
    let shown = DisplayGuard(&*crawl.display);
    let requests = requests::open(crawl, facts.round().round)?;
    let recorder = Recorder {
        archive: archive.as_mut(),
        log: &mut log,
        requests: requests.clone(),
        traps,
        display: &*crawl.display,
        room: crawl.space.watch(),
        crawl,
        round: facts.round(),
        unsynced: 0,
        rows: UnsyncedRows::default(),
    };
    let allowance = pings_allowed(crawl, &facts);
    crawl.pings.begin_round(allowance, facts.cycle_started.is_none());
    ask_again(crawl)?;
    // The budget of bytes is one of the cycle: earlier rounds count, and an interrupted run of this
    // one.
    let spent = CycleTotals::before(&crawl.tables, &facts)?.spent(&recovered.bytes);
    // A separate token: a full disk stops this cycle, but is no signal.
    let stop = crawl.shutdown.token().child_token();
    let TimeLeft { of_deadline, of_cycle, of_round } = TimeLeft::now(crawl, &facts);
    let (fetched, pages) = mpsc::channel::<FetchedPage>(QUEUE);
    let refusals = RefusalRules::new(crawl, traps.clone());
    let (precedence, unavailable) = (precedence(crawl)?, unavailable(&crawl.tables)?);
    let (stages, counts) = stages(crawl, &facts, pages)?;
    let resources = stages.stage.as_ref().map(LoadingStage::resources);
    let report = join_stages(crawl, &reader, recorder, &stop, stages, |now| {
        let (opt_out, pages) = (crawl.settings.scope.opt_out().clone(), crawl.settings.pages.clone());
        Job {
            round: facts.round(),
            schedule: schedule.clone(),
            done: Arc::new(move |index| VisitedIndexes::contains(&done, index)),
            // Asked before each request, so that a block holds at once and not from the next plan on.
            refuses: Arc::new(move |entry: &ScheduleEntry| refusals.refuse(entry)),
            opted_out: Arc::new(move |host: &str| opt_out.line(host).is_some()),
            in_scope: in_scope(crawl),
            reads_anew: Arc::new(move |entry| pages.read_anew(&entry.url, entry.record.visited.as_ref())),
            rules: Arc::new(crawl.settings.rules.clone()),
            out: fetched,
            stop: stop.clone(),
            followed: recovered.followed,
            spent,
            precedence,
            unavailable,
            deadline: of_deadline.map(|left| now + left),
            held_deadline: Some(now + of_cycle),
            patience: patience(crawl, now + of_round),
            control: crawl.steering.clone(),
            types: kept_types(crawl, Some(&facts), facts.cycle).map(Arc::new),
            requests: requests.clone().map(|requests| requests as Arc<dyn RequestLog>),
            resources,
        }
    })?;
    skipped::record(crawl, &report, &*schedule, &mut log, facts.cycle)?;
    drop(shown);
    requests.map_or(Ok(()), |requests| requests.sync()).map_err(Failure::work)?;
    note_ended(crawl, &report)?;
    let stopped_by = report.stopped_by;
    let earlier = recovered.skipped.iter().map(|skipped| &skipped.pages);
    let skipped = earlier.chain(&report.skipped).map(|pages| pages.end - pages.start).sum();
    let asked_again = report.asked_again;
    let ((requisites, conversions), archive) = (counts.since(crawl), archive.as_ref().map(Archive::end));
    Ok(Fetched { stopped_by, skipped, asked_again, requisites, conversions, archive })
}

fn in_scope(crawl: &Crawl) -> Arc<dyn Fn(&str) -> bool + Send + Sync> {
    let scope = crawl.settings.scope.clone();
    Arc::new(move |host| scope.admits_host(host))
}

/// Notes for the next round, and for those who watch, how the fetching ended.
fn note_ended(crawl: &Crawl, report: &FetchReport) -> Result<(), Failure> {
    crawl.live.asked_again(report.asked_again);
    crawl.steering.forget_asked();
    crawl.control.keep_answers();
    crawl.tables.set_setting(LEFT_OUT, &report.unvisited_hosts.to_bytes())?;
    crawl.tables.set_setting(UNAVAILABLE, &report.unavailable.to_bytes())?;
    if report.stopped_by != StoppedBy::Stop {
        crawl.live.merging();
    }
    Ok(())
}

/// The resources of a round that its [`PageReader`] borrows.
pub(super) struct ReaderResources<'c> {
    bodies: Bodies,
    noise: SiteNoise<'c>,
    hints: HintRules<'c>,
    known_rules: KnownRules,
    repeated_links: RepeatedLinks<'c>,
}

impl<'c> ReaderResources<'c> {
    pub(super) fn open(crawl: &'c Crawl) -> Result<ReaderResources<'c>, Failure> {
        let hints = HintRules {
            config: &crawl.settings.config.hints,
            scope: &crawl.settings.scope,
            canonical: &crawl.settings.rules,
            hosts: &*crawl.tables,
            product_token: crawl.settings.fetch.product_token(),
        };
        Ok(ReaderResources {
            bodies: Bodies::in_storage(&*crawl.warc)?,
            noise: SiteNoise::new(&crawl.tables, crawl.settings.noise_rules()),
            hints,
            known_rules: KnownRules::open(&crawl.tables, &crawl.settings.pages)?,
            repeated_links: RepeatedLinks::open(&crawl.tables, (crawl.clock)())?,
        })
    }

    pub(super) fn reader<'r>(
        &'r self,
        crawl: &'r Crawl,
        facts: &Facts,
        traps: &'r Traps,
        archive: bool,
    ) -> Result<PageReader<'r>, Failure> {
        let focus = match &crawl.settings.focus {
            Some(rules) => {
                Some(FocusReader::new(rules, FocusState::before(&crawl.tables, facts.round())?.model))
            }
            None => None,
        };
        Ok(PageReader {
            cycle: facts.cycle,
            round: Some(facts.round().round)
                .filter(|_| !crawl.settings.notify.is_empty() || crawl.settings.pages.need_requisites()),
            rules: &crawl.settings.rules,
            scope: &crawl.settings.scope,
            change: &crawl.settings.change,
            traps,
            noise: &self.noise,
            reading: &crawl.settings.reading,
            pages: &crawl.settings.pages,
            known_rules: &self.known_rules,
            consent: &crawl.settings.config.consent,
            hints: &self.hints,
            archive,
            repeated_links: &self.repeated_links,
            focus,
            bodies: &self.bodies,
        })
    }
}

/// Time left of each limit, when the fetching begins.
struct TimeLeft {
    /// Of `cycle.deadline`, if it is set; nothing is left to a round whose links are sent.
    of_deadline: Option<Duration>,
    /// Of `cycle.period`.
    of_cycle: Duration,
    /// Of `round.max`.
    of_round: Duration,
}

impl TimeLeft {
    fn now(crawl: &Crawl, facts: &Facts) -> TimeLeft {
        // If the clock was set back, the cycle still ends by its deadline.
        let ran = crawl.since(facts.cycle_started());
        let deadline = crawl.settings.config.cycle.deadline.map(|d| d.0.saturating_sub(ran));
        let of_deadline = if crawl.has_sent(facts.round().round) { Some(Duration::ZERO) } else { deadline };
        let of_cycle = crawl.settings.config.cycle.period.0.saturating_sub(ran);
        let max = crawl.settings.config.round.max.0;
        let of_round = if facts.kind == RoundKind::Revisit { max } else { max.min(of_cycle) };
        TimeLeft { of_deadline, of_cycle, of_round }
    }
}

/// The order of hosts: those that earlier rounds left out come first.
fn precedence(crawl: &Crawl) -> Result<Precedence, Failure> {
    let unvisited =
        crawl.tables.setting(LEFT_OUT)?.map(|bytes| UnvisitedHosts::from_bytes(&bytes)).unwrap_or_default();
    Ok(Precedence { seed: crawl.random_seed, unvisited })
}

/// How long the round waits for slow hosts; none if it waits for all.
fn patience(crawl: &Crawl, end: tokio::time::Instant) -> Option<RunPatience> {
    let between = crawl.merging_took + crawl.planning_took;
    let least = LEAST_LINGER.max(between.saturating_mul(LEAST_ROUND));
    let least = crawl.may_leave_requests.then_some(least);
    let linger = crawl.settings.config.round.linger.0;
    crawl.settings.config.cycle.fill.then_some(RunPatience { linger, least, end })
}

/// Counts of the stages of a round.
struct StageCounts {
    /// None if no rule asks for requisites.
    requisites: Option<Arc<RequisiteCounts>>,
    /// Documents that were converted before, and those that were not.
    conversions: [u64; 2],
}

impl StageCounts {
    /// Requisites, documents that were converted, and those that were not, since the round began.
    fn since(self, crawl: &Crawl) -> (RequisiteFigures, [u64; 2]) {
        let requisites = self.requisites.map(|counts| counts.figures()).unwrap_or_default();
        let ([converted, failed], before) = (conversions(crawl), self.conversions);
        (requisites, [converted - before[0], failed - before[1]])
    }
}

/// The stages of a round, and their counts.
fn stages<'c>(
    crawl: &'c Crawl,
    facts: &Facts,
    pages: mpsc::Receiver<FetchedPage>,
) -> Result<(Stages<'c>, StageCounts), Failure> {
    let (read, reads) = crossbeam_channel::bounded::<ParsedBatch>(QUEUE / BATCH);
    let requisites = requisites_of(crawl, facts, read.clone())?;
    let counts = requisites.as_ref().map(Requisites::counts);
    counts.iter().for_each(|counts| crawl.live.watch_requisites(counts.clone()));
    let counts = StageCounts { requisites: counts, conversions: conversions(crawl) };
    let stage = LoadingStage::of_round(&crawl.fetcher, rendering(crawl)?, converting(crawl), requisites);
    Ok((Stages { pages, stage, read, reads }, counts))
}

/// The stages, and the queues between them.
struct Stages<'s> {
    pages: mpsc::Receiver<FetchedPage>,
    stage: Option<LoadingStage<'s>>,
    read: crossbeam_channel::Sender<ParsedBatch>,
    reads: crossbeam_channel::Receiver<ParsedBatch>,
}

/// Starts workers and recorder, runs the fetcher, and waits for all of them.
fn join_stages(
    crawl: &Crawl,
    reader: &PageReader<'_>,
    mut recorder: Recorder<'_>,
    stop: &CancellationToken,
    Stages { pages, stage, read, reads }: Stages<'_>,
    job: impl FnOnce(tokio::time::Instant) -> Job,
) -> Result<FetchReport, Failure> {
    let fetching = crawl.fetching()?;
    // Two at least: while one reads a costly page, the other reads those of other sites.
    let workers = thread::available_parallelism().map_or(1, |n| n.get().saturating_sub(1)).max(2);
    // Only the workers hold the receiver: should they all end, the fetcher learns that nobody takes pages.
    let room = crawl.settings.fetch.connections + QUEUE;
    let (rendered, read_next) = mpsc::channel(QUEUE);
    // Without a page to render, the readers take the fetcher's pages themselves.
    let (to_render, pages) = match &stage {
        Some(_) => (Some(pages), read_next),
        None => (None, pages),
    };
    let pages = Arc::new(Mutex::new(Inbox::new(pages, room)));
    let span = tracing::Span::current();
    thread::scope(|scope| {
        // The last reader waits for pages. The others only look now and then whether some are left: if all
        // waited, each page would wake another one, and no batch would ever be full.
        let mut others: Vec<Thread> = Vec::new();
        for left in (0..workers).rev() {
            let (read, pages, span) = (read.clone(), pages.clone(), span.clone());
            let (is_last, earlier) = (left == 0, others.clone());
            let worker = move || {
                let _span = span.entered();
                read_pages(crawl, reader, &pages, &read, is_last, &earlier);
            };
            let reader = thread::Builder::new().name("reader".into()).spawn_scoped(scope, worker)?;
            others.push(reader.thread().clone());
        }
        // The recorder ends with the last sender, so this thread must hold none.
        drop((read, pages));
        let recorder = move || span.in_scope(|| record(&reads, &mut recorder, stop));
        let recording = thread::Builder::new().name("recorder".into()).spawn_scoped(scope, recorder)?;
        let job = job(tokio::time::Instant::now());
        let rendering = async {
            match stage.zip(to_render) {
                Some((stage, fetched)) => stage.run(fetched, rendered).await,
                None => Ok(()),
            }
        };
        let run = async {
            tokio::select! {
                ended = async { tokio::join!(crawl.fetcher.run(job), rendering) } => ended,
                never = sign_of_life(crawl) => match never {},
            }
        };
        let (report, rendered) = fetching.block_on(run);
        // The recorder's error comes first: it is the cause, and the fetcher saw only a stop.
        recording
            .join()
            .map_err(|_| Failure::work("the recorder panicked; the visits before that are in the log"))??;
        rendered?;
        report.map_err(Failure::from)
    })
}

/// Reads pages until no more come, or nobody takes the visits. The last of the readers waits for pages, and wakes the
/// `earlier` ones at the end.
fn read_pages(
    crawl: &Crawl,
    reader: &PageReader<'_>,
    pages: &Mutex<Inbox>,
    read: &crossbeam_channel::Sender<ParsedBatch>,
    is_last: bool,
    earlier: &[Thread],
) {
    let _reading = InboxReading(pages);
    let mut tools = Tools::new(reader.focus.is_some());
    let (mut fetched, mut taken) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    loop {
        // A reader that met a costly page reports it at once: until then, others would read more pages of
        // that site.
        let is_patient = is_last || taken.iter().any(MeasuredWork::is_notable);
        let inbox = if is_patient { Some(pages.lock()) } else { locked_if_free(pages) };
        let turn = inbox.map(|inbox| {
            let mut inbox = inbox.expect("no panic under the lock");
            inbox.take(BATCH, is_last, &mut fetched, &mut taken)
        });
        match turn.unwrap_or(NextBatch::Wait(LOOK_EVERY)) {
            NextBatch::Pages => {}
            NextBatch::Wait(time) => {
                thread::park_timeout(time);
                continue;
            }
            NextBatch::End => {
                earlier.iter().for_each(Thread::unpark);
                return;
            }
        }
        let mut start = processor_time();
        let read_one = |(expected, page): (PageWork, FetchedPage)| {
            crawl.live.answers.count(&page);
            // A key file proves that a ping comes from its host. It is no page of the crawl, so it is not
            // logged.
            match crawl.pings.take_key_file(&page) {
                Ok(false) => {}
                Ok(true) => {
                    taken.push(expected.took(0, Duration::ZERO));
                    return None;
                }
                Err(failure) => return Some(Err(failure)),
            }
            let read = reader.read(page, &mut tools);
            let work = read.as_ref().map_or(0, |read| read.work);
            // The log does not store hubs: only here can the subscriptions learn of one.
            if let (Some(websub), Ok(ReadPage { visit, hub, .. })) = (crawl.pings.websub(), &read) {
                websub.visited(visit, hub.as_ref());
            }
            let end = processor_time();
            taken.push(expected.took(work, end.saturating_sub(start)));
            start = end;
            Some(read)
        };
        let batch = fetched.drain(..).filter_map(read_one);
        let batch: ParsedBatch =
            batch.map(|page| page.map(|page| Recordable::Page(Box::new(page)))).collect();
        // The recorder takes pages even after an error. The queue is closed only if it panicked.
        if read.send(batch).is_err() {
            return;
        }
    }
}

/// The lock, if no other thread has it.
fn locked_if_free<T>(mutex: &Mutex<T>) -> Option<LockResult<MutexGuard<'_, T>>> {
    match mutex.try_lock() {
        Ok(guard) => Some(Ok(guard)),
        Err(TryLockError::Poisoned(error)) => Some(Err(error)),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Renders the round's pages; none if no rule asks for it.
fn rendering(crawl: &Crawl) -> Result<Option<Renders<'_>>, Failure> {
    let Some(renderer) = crawl.renderer.clone() else { return Ok(None) };
    let settings = &crawl.settings;
    let inputs = StageInputs {
        renderer,
        pages: settings.pages.clone(),
        urls: settings.rules.clone(),
        reading: settings.reading.clone(),
        scope: &settings.scope,
        control: &crawl.control,
        tables: &crawl.tables,
    };
    Renders::of_round(inputs).map(Some)
}

/// Converts the round's documents; none if no rule asks for it.
fn converting(crawl: &Crawl) -> Option<Converts> {
    let settings = &crawl.settings;
    let (pages, table) = (settings.pages.clone(), settings.config.convert.clone());
    Converts::new(pages, table, crawl.converter.clone(), || crawl.live.count_conversions())
}

/// Documents that were converted so far, and those that were not.
fn conversions(crawl: &Crawl) -> [u64; 2] {
    crawl.live.conversions().map_or([0; 2], |figures| [figures.converted, figures.failed])
}

/// Archives the requisites of the round's pages; none if no rule asks for it. What it makes goes to the recorder.
fn requisites_of<'c>(
    crawl: &'c Crawl,
    facts: &Facts,
    read: crossbeam_channel::Sender<ParsedBatch>,
) -> Result<Option<Requisites<'c>>, Failure> {
    let settings = &crawl.settings;
    let inputs = requisites::RequisiteInputs {
        pages: settings.pages.clone(),
        table: settings.config.requisites.clone(),
        consent: settings.config.consent.clone(),
        reading: settings.reading.clone(),
        urls: settings.rules.clone(),
        scope: &settings.scope,
        control: &crawl.control,
        tables: &crawl.tables,
        archive: crawl.warc.clone(),
        max_document: settings.max_archived_body(),
        clock: crawl.clock.clone(),
        round: facts.round(),
    };
    // The queue is closed only if the recorder panicked, which ends the round.
    let sink = move |record| drop(read.send(vec![Ok(Recordable::Requisite(record))]));
    Requisites::of_round(inputs, Arc::new(sink))
}

/// Processor time of this thread. On a busy machine a cheap page takes long by the clock.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Reports progress while no page is recorded because the run waits for hosts or is paused.
/// Requests in flight report progress when they end, as each must.
async fn sign_of_life(crawl: &Crawl) -> Infallible {
    loop {
        tokio::time::sleep(SIGN_OF_LIFE).await;
        if crawl.steering.is_held() || crawl.steering.figures().in_flight == 0 {
            crawl.live.moved();
        }
    }
}

/// Requests the pages that operators asked for and no cycle has reached yet.
fn ask_again(crawl: &Crawl) -> Result<(), Failure> {
    crawl.steering.forget_asked();
    let generation = crawl.repository.current();
    for url in crawl.control.asked() {
        if let Some((_, record)) = generation.get(&url).map_err(Failure::work)? {
            crawl.steering.ask(ScheduleEntry::new(url, Share::Asked, record));
        }
    }
    crawl.pings.join(&crawl.steering, &generation)
}

/// Pages that pings may bring into the round: those of the cycle are at most `cycle.announced_share` of k.
fn pings_allowed(crawl: &Crawl, facts: &Facts) -> u64 {
    let known = crawl.repository.current().pages();
    let request = request(&crawl.settings, facts.cycle, known, crawl.random_seed);
    let most = (request.announced_share * request.pages as f64).round() as u64;
    let before = if facts.cycle_started.is_none() { 0 } else { crawl.so_far.pinged };
    most.saturating_sub(before)
}

/// Ends the display, also after an error.
struct DisplayGuard<'d>(&'d dyn CycleDisplay);

impl Drop for DisplayGuard<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Rows of requisites whose records may not be durable yet.
#[derive(Default)]
struct UnsyncedRows {
    /// From the first requisite on.
    log: Option<RequisiteFile>,
    changes: Vec<(CanonicalUrl, RequisiteChange)>,
}

/// The state of the recorder.
struct Recorder<'r> {
    crawl: &'r Crawl,
    round: DatedRound,
    /// Page bodies; none if they are not archived.
    archive: Option<&'r mut Archive>,
    log: &'r mut VisitLog,
    /// The requests that were sent; none if they are not kept.
    requests: Option<Arc<RequestFile>>,
    /// Learns from each logged visit.
    traps: &'r Traps,
    display: &'r dyn CycleDisplay,
    /// Watches the free space on the disk.
    room: SpaceWatch<'r>,
    /// Bytes of records since the last sync.
    unsynced: u64,
    rows: UnsyncedRows,
}

/// Records pages until there are no more. After an error the remaining pages are dropped, so that
/// the other stages can end; they will be fetched again. If the disk is nearly full, the remaining
/// pages still fit and are recorded.
fn record(
    reads: &crossbeam_channel::Receiver<ParsedBatch>,
    recorder: &mut Recorder<'_>,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let (mut outcome, mut room) = (Ok(()), Ok(()));
    let config = &recorder.crawl.settings.config;
    let every = match recorder.crawl.vault.get() {
        // Only what is durable is shipped: a burnt disk must not lose more than `vault.ship` says.
        Some(_) => config.storage.sync_every.0.min(config.vault.ship.0),
        None => config.storage.sync_every.0,
    };
    // When the oldest page that is not yet durable must be.
    let mut due: Option<Instant> = None;
    loop {
        let next = match due {
            Some(due) => reads.recv_deadline(due),
            None => reads.recv().map_err(RecvTimeoutError::from),
        };
        let batch = match next {
            Ok(batch) => batch,
            Err(RecvTimeoutError::Timeout) => ParsedBatch::new(),
            Err(RecvTimeoutError::Disconnected) => break,
        };
        for page in batch {
            if outcome.is_ok() {
                outcome = page.and_then(|recordable| match recordable {
                    Recordable::Page(page) => record_page(*page, recorder),
                    Recordable::Requisite(record) => record_requisite(record, recorder),
                });
                due.get_or_insert_with(|| Instant::now() + every);
                if room.is_ok() {
                    room = recorder.room.recorded();
                }
            }
        }
        if outcome.is_ok() && due.is_some_and(|due| due <= Instant::now()) {
            outcome = recorder.sync();
            due = None;
        }
        if outcome.is_err() || room.is_err() {
            stop.cancel();
            // After an error, nothing is synced.
            due = due.filter(|_| outcome.is_ok());
        }
    }
    outcome?;
    recorder.sync()?;
    room
}

impl Recorder<'_> {
    /// Makes recorded pages durable. Bodies come first, so that no durable visit, and no row of a requisite, names a
    /// missing body. After a crash between, requisites without a row are asked for again.
    fn sync(&mut self) -> Result<(), Failure> {
        if let Some(archive) = self.archive.as_deref_mut() {
            archive.sync()?;
        }
        for (url, change) in &self.rows.changes {
            change.store(&self.crawl.tables, url)?;
        }
        if !self.rows.changes.is_empty() {
            // Before the visits of their pages are durable: those are not asked for again.
            self.crawl.tables.flush()?;
            self.rows.changes.clear();
        }
        if let Some(requests) = &self.requests {
            requests.sync().map_err(Failure::work)?;
        }
        self.log.sync().map_err(Failure::work)?;
        let bytes = std::mem::take(&mut self.unsynced);
        let Crawl { vault, shutdown, live, .. } = self.crawl;
        vault.each(|vault| vault.recorded(bytes, shutdown, live))
    }
}

fn record_requisite(record: RequisiteRecord, recorder: &mut Recorder<'_>) -> Result<(), Failure> {
    let RequisiteRecord { url, member, mut change } = record;
    if let (Some(member), Some(archive)) = (member, recorder.archive.as_deref_mut()) {
        recorder.unsynced += member.len() as u64;
        let position = archive.append(&member)?;
        if let RequisiteChange::Replaced(row) = &mut change {
            row.archive = position;
        }
    }
    // Before the visit of the page: one in the log is not asked again, so its requisites must survive the process, too.
    let log = match &mut recorder.rows.log {
        Some(log) => log,
        none => {
            let log = RequisiteFile::open(&*recorder.crawl.storage, recorder.round.round);
            none.insert(log.map_err(Failure::work)?)
        }
    };
    log.append(&url, &change).map_err(Failure::work)?;
    recorder.rows.changes.push((url, change));
    recorder.crawl.live.moved();
    Ok(())
}

fn record_page(page: ReadPage, recorder: &mut Recorder<'_>) -> Result<(), Failure> {
    let ReadPage { mut visit, hub: _, member, holds_body, work: _ } = page;
    if let (Some(member), Some(archive)) = (member, recorder.archive.as_deref_mut()) {
        recorder.unsynced += member.len() as u64;
        let position = archive.append(&member)?;
        // A revisit record has no body: the page keeps the position of its body, if any.
        if let Some(content) = visit.content.as_mut().filter(|_| holds_body) {
            (content.archive, content.archived_at) = (Some(position), visit.at);
        }
    }
    let record = LogRecord::Visit(Box::new(visit));
    recorder.log.append(&record).map_err(Failure::work)?;
    if let LogRecord::Visit(visit) = &record {
        recorder.traps.observe(visit)?;
        let is_first = visit.outcome.change() == Some(Change::First);
        if is_first && visit.links.iter().any(|link| link.url != visit.url) {
            recorder.crawl.steering.found_pages();
        }
        recorder.crawl.live.recorded(visit);
        recorder.crawl.control.recorded(visit, recorder.round.cycle);
    }
    recorder.display.page_done();
    Ok(())
}
