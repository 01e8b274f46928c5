//! State that all parts of a run share, and the figures of a run.

pub mod budget;
pub mod clock;
pub mod control;
pub mod rate;
pub mod report;
pub mod resources;
pub mod suspension;
pub mod unavailable;
pub mod unvisited_hosts;

use crate::net::client::Network;
use crate::net::kept_types::KeptTypes;
use crate::net::limits::{FetchConfig, MAX_FOLLOWED};
use crate::outcome::FetchError;
use crate::run::budget::RunBudget;
use crate::run::clock::WallClock;
use crate::run::control::RunControl;
use crate::run::report::FetchReport;
use crate::run::resources::Resources;
use crate::run::suspension::Suspension;
use crate::run::unavailable::Unavailable;
use recrawl_types::{
    CanonicalUrl, DatedRound, HostTable, RequestLog, ScheduleEntry, SchedulePlace, ScheduleSource, Skip,
    UrlRules, ValidatorTrust,
};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Index of a host in the frontier's table. Indexes of closed hosts are reused.
pub type HostId = usize;

/// Returns why an entry must not be visited; none if it may be visited.
pub type Refuses = Arc<dyn Fn(&ScheduleEntry) -> Option<Skip> + Send + Sync>;

pub struct Run {
    pub config: Arc<FetchConfig>,
    pub network: Arc<dyn Network>,
    pub hosts: Arc<dyn HostTable>,
    pub clock: WallClock,
    pub round: DatedRound,
    pub schedule: Arc<dyn ScheduleSource>,
    pub done: Arc<dyn Fn(u64) -> bool + Send + Sync>,
    pub refuses: Refuses,
    pub opted_out: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    pub in_scope: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    pub reads_anew: Arc<dyn Fn(&ScheduleEntry) -> bool + Send + Sync>,
    pub rules: Arc<UrlRules>,
    pub control: Arc<RunControl>,
    /// Start of the run. The run knows no earlier request, so it keeps every delay from here on.
    pub began: Instant,
    /// The same in milliseconds since 1970: a robots.txt fetched before it was not requested by this run.
    pub began_at: u64,
    pub suspension: Suspension,
    pub budget: Mutex<RunBudget>,
    pub unavailable: Mutex<Unavailable>,
    pub report: Mutex<FetchReport>,
    /// Media types that are kept; none for all.
    pub types: Option<Arc<KeptTypes>>,
    /// Where requests are written down; none if they are not.
    pub requests: Option<Arc<dyn RequestLog>>,
    /// Requests of pages that are rendered; none if no page is.
    pub resources: Option<Arc<Resources>>,
    /// Indexes of entries that operators requested and that were taken before they were read.
    pub taken_early: Mutex<HashSet<u64>>,
    /// Pages outside the schedule in this run: redirect targets, and pages that an operator
    /// requested.
    pub followed: Mutex<HashSet<CanonicalUrl>>,
    /// A permit for each target that pages wait for.
    pub detours: Arc<Semaphore>,
    /// Cancelled when the run leaves its requests in flight to the next one.
    pub leaving: CancellationToken,
}

impl Run {
    pub fn now(&self) -> u64 {
        (self.clock)()
    }

    pub fn budget(&self) -> MutexGuard<'_, RunBudget> {
        unpoisoned(&self.budget)
    }

    /// Must a 304 of this page be checked by an unconditional request?
    pub fn is_tested(&self, url: &CanonicalUrl) -> bool {
        ValidatorTrust::is_tested(url, self.round.cycle, self.config.validator_checks)
    }

    pub fn report(&self) -> MutexGuard<'_, FetchReport> {
        unpoisoned(&self.report)
    }

    pub fn unavailable(&self) -> MutexGuard<'_, Unavailable> {
        unpoisoned(&self.unavailable)
    }

    pub fn taken_early(&self) -> MutexGuard<'_, HashSet<u64>> {
        unpoisoned(&self.taken_early)
    }

    /// Notes a page outside the schedule; false if it is noted already, or one too many.
    pub fn add_followed(&self, url: &CanonicalUrl) -> bool {
        let mut followed = unpoisoned(&self.followed);
        followed.len() < MAX_FOLLOWED && followed.insert(url.clone())
    }

    /// Is this target of a new redirect visited at once? Then it counts as followed.
    pub fn follows(&self, target: &ScheduleEntry) -> Result<bool, FetchError> {
        let is_followed = (self.refuses)(target).is_none()
            && self.add_followed(&target.url)
            && self.find(&target.url)?.is_none();
        let mut report = self.report();
        report.followed += u64::from(is_followed);
        report.not_followed += u64::from(!is_followed);
        Ok(is_followed)
    }

    /// Finds a page in this schedule. A page in it gets its own visit and is not followed.
    pub fn find(&self, url: &CanonicalUrl) -> Result<Option<SchedulePlace>, FetchError> {
        self.schedule.find(url).map_err(|source| FetchError::Search { url: url.clone(), source })
    }
}

/// Takes a lock even if a visit panicked under it: counters and lists stay valid.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
