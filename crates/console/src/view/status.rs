//! Where a crawl stands: the figures that are looked at several times a second.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use utoipa::ToSchema;

/// Where the crawl stands at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Status {
    /// The program's version.
    pub version: String,
    /// The data directory.
    pub data_dir: String,
    /// This moment by the crawl's clock, so that a reader need not trust its own.
    pub now: u64,
    /// When this process began.
    pub started: u64,
    /// Milliseconds since the crawl last moved, by a clock that never steps: it planned, recorded a page,
    /// merged, or woke to see that the next cycle is not due. [`/health`](crate) goes by it.
    pub idle_ms: u64,
    /// What it does.
    pub state: State,
    /// Why, where that is not plain: what failed, or who paused it.
    pub reason: Option<String>,
    /// The last generation that was committed.
    pub generation: u64,
    /// Pages known.
    pub pages: u64,
    /// Of these, fetched at least once.
    pub visited: u64,
    /// Of these, gone.
    pub gone: u64,
    /// Hosts known.
    pub hosts: u64,
    /// Bytes of the data directory, as far as they were counted.
    pub bytes_on_disk: u64,
    /// Bytes that its disk has left.
    pub bytes_free: Option<u64>,
    /// Bytes that must be left free there: below them the crawl stops (`storage.reserve`).
    pub bytes_reserved: u64,
    /// Resident memory of the process, in bytes.
    pub memory_bytes: Option<u64>,
    /// The formula in force.
    pub formula: super::FormulaText,
    /// The running cycle.
    pub cycle: Option<CycleNow>,
    /// The last committed cycle.
    pub last: Option<CycleDone>,
    /// When the next cycle is due.
    pub next_cycle_at: Option<u64>,
    /// Share of the pages due for a revisit that were as seen last, estimated from the last audit sample.
    pub freshness: Option<Freshness>,
    /// Counts over all cycles since this process began, the running one included. They only grow.
    pub totals: Counts,
    /// Cycles committed since this process began.
    pub cycles_done: u64,
    /// Cycles that failed since this process began.
    pub cycles_failed: u64,
    /// Requests since this process began that started before the delay promised to their host, or its
    /// address, was over. More than none is a bug.
    pub early_requests: u64,
    /// Lines of the log that nobody took since this process began: whoever reads its standard error stood still.
    pub log_lines_lost: u64,
    /// Hosts that operators paused.
    pub paused_hosts: u64,
    /// Patterns that operators blocked.
    pub blocked: u64,
}

/// What a crawl does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It opens its data.
    Starting,
    /// A cycle runs.
    Crawling,
    /// The next cycle is not due yet.
    Waiting,
    /// An operator paused it.
    Paused,
    /// Pages in flight are finished, then it ends.
    Stopping,
    /// The last cycle failed; [`Status::reason`] says why.
    Failed,
}

impl State {
    /// All of them.
    pub const ALL: [State; 6] =
        [State::Starting, State::Crawling, State::Waiting, State::Paused, State::Stopping, State::Failed];

    /// As it is written in JSON and in labels.
    pub fn name(self) -> &'static str {
        match self {
            State::Starting => "starting",
            State::Crawling => "crawling",
            State::Waiting => "waiting",
            State::Paused => "paused",
            State::Stopping => "stopping",
            State::Failed => "failed",
        }
    }
}

/// Counts of what came of pages. docs/outcomes.md says what each outcome is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Counts {
    /// Visits: fetched, not modified or redirected.
    pub fetched: u64,
    /// Of these, that met a change.
    pub changed: u64,
    /// Of these, that met none.
    pub unchanged: u64,
    /// Of these, the first of their page.
    pub first_visits: u64,
    /// 304 among the unchanged.
    pub not_modified: u64,
    /// Looked for and not got.
    pub failed: u64,
    /// 404 and 410.
    pub not_found: u64,
    /// Forbidden by robots.txt, or robots.txt could not be had.
    pub robots_denied: u64,
    /// Addresses that the configuration refuses.
    pub refused: u64,
    /// Scheduled and not asked for.
    pub skipped: u64,
    /// Links found, each time they were.
    pub links_seen: u64,
    /// Body bytes.
    pub bytes: u64,
}

impl Counts {
    /// Pages that came to an end, whatever it was.
    pub fn done(&self) -> u64 {
        self.fetched + self.failed + self.not_found + self.robots_denied + self.refused + self.skipped
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Counts) {
        self.fetched += more.fetched;
        self.changed += more.changed;
        self.unchanged += more.unchanged;
        self.first_visits += more.first_visits;
        self.not_modified += more.not_modified;
        self.failed += more.failed;
        self.not_found += more.not_found;
        self.robots_denied += more.robots_denied;
        self.refused += more.refused;
        self.skipped += more.skipped;
        self.links_seen += more.links_seen;
        self.bytes += more.bytes;
    }
}

/// The running cycle.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct CycleNow {
    /// Its number.
    pub cycle: u64,
    /// What it does.
    pub stage: CycleStage,
    /// When it began.
    pub started: u64,
    /// When what is not fetched by then is skipped.
    pub deadline: Option<u64>,
    /// Pages in the schedule.
    pub scheduled: u64,
    /// Of these, done.
    pub done: u64,
    /// Known pages that the plan or the merge has come past; where it passes them twice, each counts twice.
    pub passed: u64,
    /// How many it comes past in all; 0 while neither runs.
    pub to_pass: u64,
    /// Of the schedule, asked for at this moment.
    pub in_flight: u64,
    /// Hosts with pages still to ask for, in memory.
    pub open_hosts: u64,
    /// What came of the pages done.
    #[serde(flatten)]
    pub counts: Counts,
    /// Seconds until the schedule is done, estimated from the pace so far and the queues of hosts.
    pub seconds_left: Option<f64>,
    /// Changed visits by comparable visits, of those that the score chose, so far.
    pub change_rate: Option<f64>,
    /// What to expect of it.
    pub promise: Option<Promise>,
    /// The hosts with the longest way to go, at most 20.
    pub slowest: Vec<HostNow>,
}

/// What a cycle does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CycleStage {
    /// Pages are scored and the best are chosen.
    Planning,
    /// Pages are fetched.
    Fetching,
    /// Visits and links become the next generation.
    Merging,
    /// An operator holds it.
    Waiting,
}

/// A committed cycle, as far as metrics need it; its whole report is in `/api/v1/cycles`.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct CycleDone {
    /// Its number.
    pub cycle: u64,
    /// When it was committed.
    pub ended: u64,
    /// How long it took, in seconds, interruptions included.
    pub seconds: f64,
    /// Pages that were scheduled.
    pub scheduled: u64,
    /// What came of them.
    #[serde(flatten)]
    pub counts: Counts,
    /// Changed visits by comparable visits, of those that the score chose.
    pub change_rate: Option<f64>,
    /// What was to be expected of it.
    pub promise: Option<Promise>,
}

/// The ChangeRate to be expected, and by what.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Promise {
    /// From 0 to 1.
    pub change_rate: f64,
    /// In 95 of 100 cycles the ChangeRate is expected to be at least this; none after too few cycles to tell.
    pub low: Option<f64>,
    /// And at most this.
    pub high: Option<f64>,
    /// What it rests on, in words.
    pub basis: String,
}

/// The share of pages that are as they were seen last, of those that were due for a revisit.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Freshness {
    /// The estimate, from 0 to 1. Each page of the sample is weighed by the inverse of its probability.
    pub share: f64,
    /// The lower end of the interval of 95 %.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The size of a sample with equal probabilities that would tell as much.
    pub effective: f64,
    /// Audited pages that answered.
    pub answered: u64,
    /// Audited pages that did not: failed, forbidden, refused or skipped. The estimate leaves them out.
    pub unanswered: u64,
    /// Pages that the sample was drawn from.
    pub population: Option<u64>,
    /// The cycle, the population, the sample and the interval, in words.
    pub basis: String,
}

/// A host of the running cycle.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct HostNow {
    /// Its name, without scheme and port.
    pub host: String,
    /// Pages still to ask for in this cycle.
    pub queue: u64,
    /// Pages done in this cycle.
    pub done: u64,
    /// Milliseconds between an answer and the next request.
    pub delay_ms: u64,
    /// Milliseconds that its answers take, smoothed; none before the first.
    pub latency_ms: Option<u64>,
    /// Failures in a row.
    pub failures: u32,
    /// What becomes of its queue.
    pub state: HostState,
}

/// What becomes of a host's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostState {
    /// A request to it is under way.
    Asking,
    /// Its delay is not over, or it has nothing to do.
    Waiting,
    /// It failed or asked to be left alone, and is.
    BackedOff,
    /// An operator or its owner forbids it.
    Blocked,
    /// An operator paused it.
    Paused,
}
