//! Status of a crawl: figures that are read several times a second.

use super::{CrawlHealth, FleetFigures};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::AddAssign;
use utoipa::ToSchema;

/// Status of the crawl.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Status {
    /// Program version.
    pub version: String,
    /// Data directory.
    pub data_dir: String,
    /// Current time by the crawl's clock, which clients should use instead of their own.
    pub now: u64,
    /// Start of this process.
    pub started: u64,
    /// Milliseconds since the last progress (planning, recording a page, merging, or waking while
    /// waiting), by a monotonic clock.
    pub idle_ms: u64,
    /// Milliseconds without progress after which the crawl counts as stalled (`serve.stall`).
    pub stall_ms: u64,
    /// Is the crawl healthy, and why?
    pub health: CrawlHealth,
    /// State.
    pub state: State,
    /// Reason of the state: what failed, or who paused the crawl.
    pub reason: Option<String>,
    /// Last committed generation.
    pub generation: u64,
    /// Known pages.
    pub pages: u64,
    /// Pages fetched at least once, also in the running round.
    pub visited: u64,
    /// Pages confirmed gone.
    pub gone: u64,
    /// Known hosts.
    pub hosts: u64,
    /// Bytes used by the data directory, as last counted.
    pub bytes_on_disk: u64,
    /// Free bytes on its disk.
    pub bytes_free: Option<u64>,
    /// Free bytes below which the crawl stops (`storage.reserve`).
    pub bytes_reserved: u64,
    /// Resident memory of the process, in bytes.
    pub memory_bytes: Option<u64>,
    /// Formula in force.
    pub formula: super::FormulaText,
    /// Running cycle.
    pub cycle: Option<CycleNow>,
    /// Last committed cycle.
    pub last: Option<CycleDone>,
    /// When the next cycle is due; null while that depends on something else, such as the end of a pause.
    pub next_cycle_at: Option<u64>,
    /// The next round; null while a round runs, whose commit decides, and while the crawl is paused.
    pub next_round: Option<NextRound>,
    /// The byte budget of the running cycle (`budget.bytes_per_cycle`), if there is one.
    pub budget: Option<ByteBudget>,
    /// The seeds that the scope did not admit, when seeds last came.
    pub seeds_refused: Option<SeedsRefused>,
    /// Freshness, estimated from the last audit sample.
    pub freshness: Option<Freshness>,
    /// Promises to visit pages in time, as the last cycle found them; null without any.
    pub promises: Option<PromiseFigures>,
    /// Who is told of changes (`[[notify]]`); absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<TargetFigures>,
    /// The copies that are kept in step (`[[deliver]]`); absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deliver: Vec<CopyFigures>,
    /// The vault (`storage.vault`); absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vault: Option<VaultFigures>,
    /// Documents that commands convert (`[[pages]] convert`); absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversions: Option<ConversionFigures>,
    /// The fleet that the crawl is a partition of; absent of one that is alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetFigures>,
    /// What a focused crawl found (`[focus]`); absent in another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<FocusFigures>,
    /// Counters since the process started, including the running cycle. They only grow.
    pub totals: Counts,
    /// Cycles committed since the process started.
    pub cycles_done: u64,
    /// Cycles that failed since the process started.
    pub cycles_failed: u64,
    /// Requests sent before the delay of their host or address had passed, since the process
    /// started. Above 0 is a bug.
    pub early_requests: u64,
    /// Log lines dropped since the process started because standard error was not being read.
    pub log_lines_lost: u64,
    /// Hosts paused by operators.
    pub paused_hosts: u64,
    /// Patterns blocked by operators.
    pub blocked: u64,
    /// Hosts of seeds of which no page can be fetched: all tries of the last round that asked them failed.
    pub failing_seed_hosts: Vec<String>,
    /// Queued seeds that no round has taken yet.
    pub seeds_waiting: u64,
    /// Is a first look over, so that the crawl requests nothing beyond loopback without `crawler.contact`?
    pub needs_contact: bool,
    /// Cycles in a row, up to the last one that ended, that fetched no page; at most 11 are counted.
    pub idle_cycles: u64,
    /// Pings; none while they are off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pings: Option<super::PingFigures>,
}

/// Documents that commands convert, since the process started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct ConversionFigures {
    /// Documents that were converted.
    pub converted: u64,
    /// Documents of which a command made no text.
    pub failed: u64,
    /// Time of all commands, in seconds.
    pub seconds: f64,
    /// Failures since a document was converted.
    pub failed_in_a_row: u64,
    /// Why the last of these failed.
    pub error: String,
}

impl Status {
    /// Has there been no progress for `serve.stall`?
    pub fn is_stalled(&self) -> bool {
        self.idle_ms > self.stall_ms
    }
}

/// The next round.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct NextRound {
    /// What it is for: `revisit`, `fill` or `urgent`.
    pub kind: String,
    /// When it is due; null if it waits for something else.
    pub at: Option<u64>,
    /// Why then.
    pub why: String,
}

/// A byte budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ByteBudget {
    /// Bytes of a cycle.
    pub limit: u64,
    /// Bytes spent in the running cycle.
    pub spent: u64,
}

impl ByteBudget {
    /// The share that is spent.
    pub fn used(&self) -> f64 {
        self.spent as f64 / self.limit as f64
    }
}

/// Seeds that were refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SeedsRefused {
    /// Number of seeds.
    pub seeds: u64,
    /// The first of them, and why.
    pub first: String,
    /// Time.
    pub at: u64,
}

/// State of a crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Opening the data directory.
    Starting,
    /// Running a cycle.
    Crawling,
    /// Waiting for the next cycle.
    #[default]
    Waiting,
    /// Paused by an operator.
    Paused,
    /// Finishing the pages in flight, then exiting.
    Stopping,
    /// The last cycle failed; [`Status::reason`] says why.
    Failed,
}

impl State {
    /// All states.
    pub const ALL: [State; 6] =
        [State::Starting, State::Crawling, State::Waiting, State::Paused, State::Stopping, State::Failed];
}

/// As in JSON, and in metric labels.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts by outcome; see docs/outcomes.md.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl AddAssign for Counts {
            fn add_assign(&mut self, more: Counts) {
                $(self.$name += more.$name;)*
            }
        }
    };
}

counts! {
    /// Visits: fetched, not modified or redirected.
    fetched,
    /// Visits that found a change.
    changed,
    /// Visits that found no change.
    unchanged,
    /// First visits.
    first_visits,
    /// Unchanged visits answered with 304.
    not_modified,
    /// Failed visits.
    failed,
    /// 404 and 410.
    not_found,
    /// Forbidden by robots.txt.
    robots_denied,
    /// Not requested, since robots.txt of the host could not be fetched.
    robots_unreachable,
    /// Pages on rejected IP addresses.
    refused,
    /// Requests of detours for a cookie beyond one a visit.
    asked_again,
    /// Scheduled but skipped.
    skipped,
    /// Links found, repeats included.
    links_seen,
    /// Body bytes.
    bytes,
}

impl Counts {
    /// Pages finished with any outcome.
    pub fn done(&self) -> u64 {
        self.requested() + self.robots_denied + self.robots_unreachable + self.refused + self.skipped
    }

    /// Pages that were requested.
    pub fn requested(&self) -> u64 {
        self.fetched + self.failed + self.not_found
    }
}

/// The running cycle.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct CycleNow {
    /// Number.
    pub cycle: u64,
    /// Number of the running round.
    pub round: u64,
    /// What it is for: `revisit`, `fill` or `urgent`.
    pub kind: String,
    /// Stage.
    pub stage: CycleStage,
    /// Start of the round.
    pub started: u64,
    /// Deadline of the cycle; pages not fetched by then are skipped.
    pub deadline: Option<u64>,
    /// When the round stops fetching at the latest: its deadline, the next cycle, `round.max`, or
    /// `round.linger` once half of the hosts are done.
    pub ends_by: Option<u64>,
    /// Pages in the schedule.
    pub scheduled: u64,
    /// Finished pages of the schedule.
    pub done: u64,
    /// Known pages processed by the plan or the merge. Two passes count twice.
    pub passed: u64,
    /// Known pages to process; 0 while neither runs.
    pub to_pass: u64,
    /// Pages in flight.
    pub in_flight: u64,
    /// Hosts in memory with pages left to fetch.
    pub open_hosts: u64,
    /// Of these, hosts in back-off.
    pub backed_off: u64,
    /// Outcomes of the finished pages.
    #[serde(flatten)]
    pub counts: Counts,
    /// Estimated seconds left of the round, from the rate so far and the host queues; at most until `ends_by`.
    pub seconds_left: Option<f64>,
    /// ChangeRate so far: share of the revisits selected by score that found a change.
    pub change_rate: Option<f64>,
    /// Expected ChangeRate.
    pub promise: Option<Promise>,
    /// The hosts with the longest estimated time left, at most 20.
    pub slowest: Vec<HostNow>,
    /// Pages that are being fetched, the longest first, at most 20; `in_flight` counts all.
    pub fetching: Vec<Fetching>,
}

/// A page that is being fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Fetching {
    /// The page.
    pub url: String,
    /// Its host, as listed by /api/v1/hosts.
    pub host: String,
    /// Start.
    pub since: u64,
}

/// Stage of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CycleStage {
    /// Scoring and selecting pages.
    Planning,
    /// Fetching pages.
    Fetching,
    /// Merging visits and links into the next generation.
    Merging,
    /// Paused by an operator.
    Waiting,
}

/// Summary of a committed cycle; the full report is in `/api/v1/cycles`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct CycleDone {
    /// Number.
    pub cycle: u64,
    /// Time of the commit.
    pub ended: u64,
    /// Duration in seconds, including interruptions.
    pub seconds: f64,
    /// Scheduled pages.
    pub scheduled: u64,
    /// Outcomes.
    #[serde(flatten)]
    pub counts: Counts,
    /// ChangeRate: share of the revisits selected by score that found a change.
    pub change_rate: Option<f64>,
    /// Expected ChangeRate.
    pub promise: Option<Promise>,
    /// Groups of siblings of which more pages changed than expected, when the cycle was planned; 0 if the formula reads
    /// no siblings.
    pub bursts: u64,
}

/// Expected ChangeRate and its basis.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Promise {
    /// From 0 to 1.
    pub change_rate: f64,
    /// Lower bound of the 95 % prediction interval; null after too few cycles.
    pub low: Option<f64>,
    /// Upper bound of that interval.
    pub high: Option<f64>,
    /// Basis, in words.
    pub basis: String,
}

/// Promises to visit pages in time (`[[promises]]`), as counted when the last cycle began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PromiseFigures {
    /// Promises made.
    pub made: u64,
    /// Of these, kept for a lower share of their pages than promised.
    pub broken: u64,
    /// Promises that a limit keeps from being kept.
    pub limited: u64,
}

/// What a target of `[[notify]]` was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TargetFigures {
    /// Its name.
    pub name: String,
    /// Messages taken. The count survives restarts.
    pub delivered: u64,
    /// Messages that were read and are not taken yet. Of a target that fails, few are read: `rounds_behind` has the rest.
    pub waiting: u64,
    /// Committed rounds that are not read to their end yet.
    pub rounds_behind: u64,
    /// Messages given up, since the target refused them for a day while it took others.
    pub given_up: u64,
    /// Rounds lost, since their visits were removed before (`storage.keep_visits`), or damaged.
    pub rounds_lost: u64,
    /// When the last were found lost, in milliseconds since 1970; null if none was.
    pub lost_at: Option<u64>,
    /// Since when it takes nothing, in milliseconds since 1970; null if it does.
    pub failing_since: Option<u64>,
    /// The last error, then.
    pub error: Option<String>,
}

/// The copy that a target of `[[deliver]]` holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct CopyFigures {
    /// The target's name.
    pub name: String,
    /// Documents that it took.
    pub delivered: u64,
    /// Documents that were sent, or are about to be sent or deleted, and are not confirmed.
    pub waiting: u64,
    /// Documents that it refused. They are sent again when their pages change.
    pub refused: u64,
    /// When it was last brought up to date since the start, in milliseconds since 1970; null if it was not.
    pub delivered_at: Option<u64>,
    /// Since when it takes nothing, in milliseconds since 1970, after two failures; null if it does.
    pub failing_since: Option<u64>,
    /// The last error, then.
    pub error: Option<String>,
}

/// Intervals of `vault.ship` after which the vault is late.
const LATE_SHIPS: u64 = 30;
/// Milliseconds before which it is never late.
const LATE_AT_LEAST: u64 = 300_000;

/// How far the vault is (`storage.vault`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct VaultFigures {
    /// Its address.
    pub address: String,
    /// When it last had all, in milliseconds since 1970; null if it never had.
    pub shipped_at: Option<u64>,
    /// Since when the oldest change waits for it, in milliseconds since 1970; null if it has all.
    pub waiting_since: Option<u64>,
    /// Bytes of visits and bodies that it has not.
    pub unshipped: u64,
    /// Does the crawl wait, since more than `vault.unshipped` is not in the vault?
    pub is_waited_for: bool,
    /// Attempts to ship that failed since the start.
    pub failures: u64,
    /// Why the last attempt failed; null after a success.
    pub error: Option<String>,
    /// Interval of shipping in milliseconds (`vault.ship`).
    pub ship_ms: u64,
}

impl VaultFigures {
    /// Milliseconds that the oldest change has waited: so much of the crawl would be lost with its disk.
    pub fn age_ms(&self, now: u64) -> u64 {
        self.waiting_since.map_or(0, |since| now.saturating_sub(since))
    }

    /// The age above which the vault is late.
    pub fn late_ms(&self) -> u64 {
        (LATE_SHIPS * self.ship_ms).max(LATE_AT_LEAST)
    }
}

/// What a focused crawl found, as of the last cycle. Intervals are of 90 %.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct FocusFigures {
    /// Relevant pages known.
    pub relevant_known: u64,
    /// Pages judged for the first time in the cycle.
    pub discovered: u64,
    /// Of these, relevant.
    pub relevant_found: u64,
    /// Share of relevant ones among them, from 0 to 1; null without any.
    pub harvest_rate: Option<f64>,
    /// Its lower bound.
    pub harvest_low: Option<f64>,
    /// Its upper bound.
    pub harvest_high: Option<f64>,
    /// Found share of all relevant pages, from 0 to 1; null while unknown.
    pub recall_estimate: Option<f64>,
    /// Its lower bound.
    pub recall_low: Option<f64>,
    /// Its upper bound.
    pub recall_high: Option<f64>,
    /// Of the discovered pages, drawn uniformly.
    pub explored: u64,
    /// Sites whose URLs are visited only if they are drawn.
    pub sites_exhausted: u64,
}

/// Freshness: share of the pages due for a revisit whose copy was current.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Freshness {
    /// Estimate, from 0 to 1. Each page of the sample is weighted by the inverse of its
    /// probability.
    pub share: f64,
    /// Lower bound of the 95 % interval.
    pub low: f64,
    /// Upper bound of that interval.
    pub high: f64,
    /// Effective sample size.
    pub effective: f64,
    /// Audited pages that were fetched.
    pub answered: u64,
    /// Audited pages that failed or were forbidden, rejected or skipped. They are not in the
    /// estimate.
    pub unanswered: u64,
    /// Population of the sample.
    pub population: Option<u64>,
    /// Basis of the estimate, in words.
    pub basis: String,
}

/// A host of the running cycle.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct HostNow {
    /// Host name.
    pub host: String,
    /// Pages left to fetch in this cycle.
    pub queue: u64,
    /// Pages done in this cycle.
    pub done: u64,
    /// Milliseconds between a response and the next request.
    pub delay_ms: u64,
    /// Smoothed response time in milliseconds; null before the first response.
    pub latency_ms: Option<u64>,
    /// Consecutive failures.
    pub failures: u32,
    /// State of the host's queue.
    pub state: HostState,
}

/// State of a host's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostState {
    /// A request is in flight.
    Asking,
    /// It has pages left in the running round and waits for its delay.
    Waiting,
    /// It is not open: it has no page in the running round, is done, or its turn has not come.
    Idle,
    /// Backed off after failures or Retry-After.
    BackedOff,
    /// Blocked by an operator, or opted out.
    Blocked,
    /// Paused by an operator.
    Paused,
}
