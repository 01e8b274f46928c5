//! Whole runs over a scripted network, with a paused clock.

mod adaptive_delay;
mod addresses;
mod budget;
mod control;
mod detours;
mod fairness;
mod in_flight;
mod media_types;
mod memory;
mod opted_out;
mod outcomes;
mod patience;
mod politeness;
mod redirects;
mod repeated;
mod requests;
mod resources;
mod robots;
mod running;
mod sockets;
mod threads;
mod validators;

use crate::host::QueuedPage;
use crate::host::address_turns::AddressTurns;
use crate::run::report::StoppedBy;
use crate::run::unavailable::Unavailable;
use crate::testing::{LoggedRequest, Script, ScriptedNetwork, collect, reply, tokio_clock};
use crate::{
    FetchConfig, FetchError, FetchReport, FetchResult, FetchedPage, Fetcher, Job, KeptTypes, Precedence,
    Refuses, Request, RunControl, RunPatience,
};
use recrawl_types::host::MemoryHostTable;
use recrawl_types::schedule::{MemorySchedule, ScheduleSource};
use recrawl_types::{
    CanonicalUrl, Cycle, DatedRound, HostState, HostTable, Known, Origin, Outcome, PageRecord, RequestLog,
    ScheduleEntry, Share, Skip, Skipped, UrlRules, Visit,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Sender, channel};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A Tuesday in 2026, in milliseconds since 1970.
const NOW: u64 = 1_790_000_000_000;

pub fn url(text: &str) -> CanonicalUrl {
    UrlRules::default().canonicalize(text).expect(text)
}

pub fn entry(text: &str) -> ScheduleEntry {
    let record = PageRecord::discovered(Cycle(1), 3);
    ScheduleEntry::new(url(text), Share::Discovery, record)
}

/// A run with all settings that a test may change.
pub struct Setup {
    cycle: Cycle,
    spent: BTreeMap<Origin, u64>,
    config: FetchConfig,
    network: Arc<ScriptedNetwork>,
    hosts: Arc<MemoryHostTable>,
    entries: Vec<ScheduleEntry>,
    schedule: fn(Vec<ScheduleEntry>) -> MemorySchedule,
    done: Arc<dyn Fn(u64) -> bool + Send + Sync>,
    refuses: Refuses,
    opted_out: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    in_scope: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    reads_anew: Arc<dyn Fn(&ScheduleEntry) -> bool + Send + Sync>,
    stop: CancellationToken,
    followed: Vec<CanonicalUrl>,
    precedence: Precedence,
    unavailable: Unavailable,
    deadline: Option<Instant>,
    held_deadline: Option<Instant>,
    patience: Option<RunPatience>,
    control: Arc<RunControl>,
    types: Option<Arc<KeptTypes>>,
    requests: Option<Arc<dyn RequestLog>>,
    turns: Option<Arc<dyn AddressTurns>>,
    resources: Option<Arc<crate::Resources>>,
    now: u64,
}

/// The result of a run.
pub struct RunOutput {
    pages: Vec<FetchedPage>,
    report: FetchReport,
}

/// A configuration without delays; tests set those that they need.
pub fn plain() -> FetchConfig {
    let (delay_per_host, delay_per_ip) = (Duration::ZERO, Duration::ZERO);
    FetchConfig {
        delay_per_host,
        delay_per_ip,
        delay_per_latency: 0.0,
        validator_checks: 0.0,
        ..FetchConfig::default()
    }
}

/// A plain job over a schedule.
pub fn job(schedule: Arc<dyn ScheduleSource>, out: Sender<FetchedPage>) -> Job {
    Job {
        schedule,
        done: Arc::new(|_| false),
        refuses: Arc::new(|_| None),
        opted_out: Arc::new(|_| false),
        in_scope: Arc::new(|_| true),
        reads_anew: Arc::new(|_| false),
        rules: Arc::default(),
        out,
        stop: CancellationToken::new(),
        followed: Vec::new(),
        spent: Default::default(),
        round: DatedRound::only_of(Cycle(2)),
        precedence: Default::default(),
        unavailable: Unavailable::default(),
        deadline: None,
        held_deadline: None,
        patience: None,
        control: Arc::default(),
        types: None,
        requests: None,
        resources: None,
    }
}

impl Setup {
    pub fn new(pages: &[&str], answer: impl Fn(&Request) -> Script + Send + Sync + 'static) -> Setup {
        Setup {
            config: plain(),
            network: ScriptedNetwork::new(answer),
            hosts: Arc::default(),
            entries: pages.iter().map(|p| entry(p)).collect(),
            schedule: MemorySchedule::new,
            done: Arc::new(|_| false),
            refuses: Arc::new(|_| None),
            opted_out: Arc::new(|_| false),
            in_scope: Arc::new(|_| true),
            reads_anew: Arc::new(|_| false),
            stop: CancellationToken::new(),
            followed: Vec::new(),
            spent: BTreeMap::new(),
            cycle: Cycle(2),
            precedence: Precedence::default(),
            unavailable: Unavailable::default(),
            deadline: None,
            held_deadline: None,
            patience: None,
            control: Arc::default(),
            types: None,
            requests: None,
            turns: None,
            resources: None,
            now: NOW,
        }
    }

    pub fn delay(mut self, delay: Duration) -> Setup {
        self.config.delay_per_host = delay;
        self
    }

    /// On tokio's clock.
    pub fn fetcher(&self) -> Fetcher {
        let clock = tokio_clock(self.now);
        let mut fetcher = Fetcher::new(self.config.clone(), self.network.clone(), self.hosts.clone(), clock);
        self.turns.iter().for_each(|turns| fetcher.take_turns(turns.clone()));
        fetcher
    }

    /// A job that sends its pages to `out`.
    pub fn job(&self, out: Sender<FetchedPage>) -> Job {
        Job {
            schedule: Arc::new((self.schedule)(self.entries.clone())),
            done: self.done.clone(),
            refuses: self.refuses.clone(),
            opted_out: self.opted_out.clone(),
            in_scope: self.in_scope.clone(),
            reads_anew: self.reads_anew.clone(),
            rules: Arc::new(UrlRules::default()),
            out,
            stop: self.stop.clone(),
            followed: self.followed.clone(),
            spent: self.spent.clone(),
            round: DatedRound::only_of(self.cycle),
            precedence: self.precedence.clone(),
            unavailable: self.unavailable.clone(),
            deadline: self.deadline,
            held_deadline: self.held_deadline,
            patience: self.patience,
            control: self.control.clone(),
            types: self.types.clone(),
            requests: self.requests.clone(),
            resources: self.resources.clone(),
        }
    }

    pub async fn try_run(&self) -> Result<RunOutput, FetchError> {
        let fetcher = self.fetcher();
        let (out, pages) = channel(4);
        let job = self.job(out);
        let schedule = job.schedule.clone();
        let both = async { tokio::join!(fetcher.run(job), collect(pages)) };
        let year = Duration::from_secs(365 * 24 * 3600);
        let (report, mut pages) = tokio::time::timeout(year, both).await.expect("a run comes to its end");
        let report = report?;
        let why = if report.stopped_by == StoppedBy::ByteBudget { Skip::ByteBudget } else { Skip::Deadline };
        for range in report.skipped.clone() {
            let skipped = Skipped { pages: range, why, at: NOW };
            let put = |visit: Visit| -> std::io::Result<()> {
                let entry = ScheduleEntry::new(visit.url, visit.share, PageRecord::default());
                pages.extend(QueuedPage::new(visit.index, entry).finish(visit.outcome, NOW));
                Ok(())
            };
            skipped.each(&*schedule, put).unwrap();
        }
        assert_eq!(report.outcomes.total(), pages.len() as u64, "the report counts what was delivered");
        assert_eq!(self.control.early_requests(), 0, "no request came before its time");
        Ok(RunOutput { pages, report })
    }

    pub async fn run(&self) -> RunOutput {
        self.try_run().await.expect("nothing that a server does is an error")
    }

    pub fn state(&self, page: &str) -> HostState {
        self.hosts.load(&Origin::from_url(&url(page))).unwrap().unwrap_or_default()
    }
}

impl RunOutput {
    /// The result of a page, in short.
    pub fn result(&self, page: &str) -> String {
        let found: Vec<String> =
            self.pages.iter().filter(|p| p.entry.url == url(page)).map(|p| short(&p.result)).collect();
        assert_eq!(found.len(), 1, "{page} came out {} times: {found:?}", found.len());
        found[0].clone()
    }

    pub fn outcome(&self, page: &str) -> Outcome {
        let found = self.pages.iter().find(|p| p.entry.url == url(page)).expect("it came out");
        match &found.result {
            FetchResult::Nothing(outcome) => *outcome,
            other => panic!("{page}: {}", short(other)),
        }
    }
}

fn short(result: &FetchResult) -> String {
    match result {
        FetchResult::Page(r) => format!("page {}", r.status),
        FetchResult::NotModified(_) => "not modified".into(),
        FetchResult::Redirect { target, .. } => format!("→ {target}"),
        FetchResult::Nothing(outcome) => format!("{outcome:?}"),
    }
}

/// A web where every page exists and no robots.txt does.
pub fn friendly(request: &Request) -> Script {
    match request.url.path_and_query() {
        "/robots.txt" => reply(404, "").into(),
        _ => reply(200, "hello").into(),
    }
}

/// A web with this robots.txt on every host.
pub fn with_robots(rules: &'static str) -> impl Fn(&Request) -> Script + Send + Sync {
    move |request| match request.url.path_and_query() {
        "/robots.txt" => reply(200, rules).into(),
        _ => reply(200, "hello").into(),
    }
}

/// The shortest time from the end of a response to the next request to the same host name,
/// including robots.txt.
pub fn shortest_gap(log: &[LoggedRequest]) -> Duration {
    let mut shortest = Duration::MAX;
    for (i, asked) in log.iter().enumerate() {
        let next = log[i + 1..].iter().find(|n| n.request.url.host() == asked.request.url.host());
        if let Some(next) = next {
            let end = asked.end.expect("requests at one host do not overlap");
            shortest = shortest.min(next.start.checked_duration_since(end).expect("they do not overlap"));
        }
    }
    shortest
}

/// A page as stored in the repository after a visit.
pub fn visited(page: &str, content: recrawl_types::Content) -> ScheduleEntry {
    let history = recrawl_types::History::first_fetch(Cycle(1));
    let visited = Some(recrawl_types::Visited { history, content });
    ScheduleEntry::new(url(page), Share::Score, PageRecord { known: Known::default(), visited })
}
