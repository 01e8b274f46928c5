//! Figures of the running cycle, as they stand at each moment: written by the stages, read by whoever looks.
//!
//! A page costs one lock that nobody else holds. The report of a cycle is not made of these: it is counted from the log.

use crate::errors::Errors;
use crate::plan::Facts;
use crate::report::Tally;
use recrawl_fetcher::WallClock;
use recrawl_formula::Formula;
use recrawl_types::{Cycle, Visit};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Time since some moment, by a clock that never steps.
pub type Uptime = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Hosts of which changes are counted in a cycle.
const MAX_CHANGED_HOSTS: usize = 100_000;

/// What the crawl is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Pages are scored, the best are chosen.
    Planning,
    /// Pages are fetched.
    Fetching,
    /// Visits and links become the next generation.
    Merging,
}

/// The running cycle.
#[derive(Clone, Debug)]
pub struct Now {
    /// Its number.
    pub cycle: Cycle,
    /// What it is at.
    pub stage: Stage,
    /// When it began, in milliseconds since 1970.
    pub started: u64,
    /// Pages in its schedule; 0 until it is made.
    pub scheduled: u64,
    /// The name of what ranked them; empty until that is known.
    pub formula: String,
    /// What ranked them; none until that is known, and in a cycle that an older program planned.
    pub ranked_by: Option<Arc<Formula>>,
    /// Pages of the schedule that are done.
    pub done: u64,
    /// Those of them that an earlier run of the cycle did.
    pub done_before: u64,
    /// When this run of it began to fetch, in milliseconds since 1970.
    pub fetching_since: u64,
    /// What came of them, and of those beside the schedule.
    pub tally: Tally,
    /// Known pages that a plan or a merge has come past; a page counts once for each pass over it.
    pub passed: u64,
    /// How many it comes past in all; 0 while none runs.
    pub to_pass: u64,
}

/// The figures.
pub struct Live {
    clock: WallClock,
    uptime: Uptime,
    /// When the crawl moved last, in milliseconds by `uptime`.
    moved: AtomicU64,
    /// See [`Now::passed`].
    passed: AtomicU64,
    /// See [`Now::to_pass`].
    to_pass: AtomicU64,
    figures: Mutex<Figures>,
}

#[derive(Default)]
struct Figures {
    now: Option<Now>,
    /// Of all cycles since the process began.
    totals: Tally,
    /// Changes met by host, in the running cycle, else in the last.
    changed: HashMap<Box<str>, u64>,
    errors: Errors,
}

impl Live {
    /// Nothing runs yet.
    pub fn new(clock: WallClock) -> Live {
        let began = Instant::now();
        Live::by(clock, Arc::new(move || began.elapsed()))
    }

    /// The same, by a clock of the caller's.
    pub fn by(clock: WallClock, uptime: Uptime) -> Live {
        let moved = AtomicU64::new(uptime().as_millis() as u64);
        let (passed, to_pass, figures) = Default::default();
        Live { clock, uptime, moved, passed, to_pass, figures }
    }

    fn figures(&self) -> MutexGuard<'_, Figures> {
        self.figures.lock().expect("no panic under the lock")
    }

    /// The crawl has done something.
    pub fn moved(&self) {
        self.moved.store((self.uptime)().as_millis() as u64, Relaxed);
    }

    /// A plan or a merge begins that is to come past so many pages.
    pub fn begin_passing(&self, pages: u64) {
        self.moved();
        self.passed.store(0, Relaxed);
        self.to_pass.store(pages, Relaxed);
    }

    /// It has come past so many more.
    pub fn passed(&self, pages: u64) {
        self.moved();
        self.passed.fetch_add(pages, Relaxed);
    }

    /// Milliseconds since it did, by a clock that never steps.
    pub fn idle_ms(&self) -> u64 {
        ((self.uptime)().as_millis() as u64).saturating_sub(self.moved.load(Relaxed))
    }

    /// A cycle begins, or is taken up.
    pub fn begin(&self, cycle: Cycle) {
        self.begin_passing(0);
        let (mut figures, now) = (self.figures(), (self.clock)());
        figures.changed.clear();
        figures.errors.begin();
        figures.now = Some(Now {
            cycle,
            stage: Stage::Planning,
            started: now,
            scheduled: 0,
            formula: String::new(),
            ranked_by: None,
            done: 0,
            done_before: 0,
            fetching_since: now,
            tally: Tally::default(),
            passed: 0,
            to_pass: 0,
        });
    }

    /// Its schedule of so many pages is there; so much of it was done by an earlier run.
    pub fn planned(&self, facts: &Facts, scheduled: u64, done: u64) {
        self.begin_passing(0);
        let ranked_by = facts.formula_toml.as_ref().and_then(|text| Formula::from_toml(text).ok());
        let mut figures = self.figures();
        if let Some(now) = &mut figures.now {
            *now = Now {
                stage: Stage::Fetching,
                started: facts.started,
                scheduled,
                formula: facts.formula.clone(),
                ranked_by: ranked_by.map(Arc::new),
                done,
                done_before: done,
                fetching_since: (self.clock)(),
                ..now.clone()
            };
        }
    }

    /// A visit of an earlier run of the cycle: its figures go on.
    pub fn recovered(&self, visit: &Visit) {
        self.moved();
        let mut figures = self.figures();
        figures.count_change(visit);
        figures.errors.note(visit);
        if let Some(now) = &mut figures.now {
            now.tally.add(visit, visit.links.len());
        }
    }

    /// A visit was recorded.
    pub fn recorded(&self, visit: &Visit) {
        self.moved();
        let mut figures = self.figures();
        figures.count_change(visit);
        figures.errors.note(visit);
        figures.totals.add(visit, visit.links.len());
        if let Some(now) = &mut figures.now {
            now.tally.add(visit, visit.links.len());
            now.done += u64::from(visit.index.is_some());
        }
    }

    /// All is fetched.
    pub fn merging(&self) {
        self.moved();
        if let Some(now) = &mut self.figures().now {
            now.stage = Stage::Merging;
        }
    }

    /// The cycle is over, or broke off.
    pub fn ended(&self) {
        self.moved();
        self.figures().now = None;
    }

    /// The running cycle.
    pub fn now(&self) -> Option<Now> {
        let (passed, to_pass) = (self.passed.load(Relaxed), self.to_pass.load(Relaxed));
        // A pass may begin between the two looks.
        self.figures().now.clone().map(|now| Now { passed: passed.min(to_pass), to_pass, ..now })
    }

    /// Counts over all that was recorded since the process began.
    pub fn totals(&self) -> Tally {
        self.figures().totals.clone()
    }

    /// Pages that were not got.
    pub fn errors(&self) -> Errors {
        self.figures().errors.clone()
    }

    /// Changes met at a host in the running cycle, or in the last.
    pub fn changed_at(&self, host: &str) -> u64 {
        self.figures().changed.get(host).copied().unwrap_or_default()
    }
}

impl Figures {
    fn count_change(&mut self, visit: &Visit) {
        if visit.outcome.change() != Some(recrawl_types::Change::Changed) {
            return;
        }
        let host = visit.url.host();
        if self.changed.len() < MAX_CHANGED_HOSTS || self.changed.contains_key(&*host) {
            *self.changed.entry(host.into()).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Change, Failure, Outcome, UrlRules};

    fn visit(page: &str, index: Option<u64>, outcome: Outcome) -> Visit {
        Visit { index, ..Visit::new(UrlRules::default().canonicalize(page).unwrap(), outcome) }
    }

    #[test]
    fn figures_go_on_where_an_earlier_run_of_the_cycle_stopped() {
        let live = Live::new(Arc::new(|| 5_000));
        assert!(live.now().is_none());
        live.begin(Cycle(3));
        live.recovered(&visit("http://a.test/1", Some(0), Outcome::Fetched(Change::Changed)));
        let toml = recrawl_formula::builtin::resolve("age").unwrap().to_toml().unwrap();
        let facts = Facts {
            cycle: Cycle(3),
            started: 1_000,
            formula: "age".into(),
            formula_toml: Some(toml),
            cutoff: None,
            scheduled: 10,
            random_seed: 0,
            by_score: None,
            audit_eligible: None,
            rules: 0,
        };
        live.planned(&facts, 10, 1);
        live.recorded(&visit("http://a.test/2", Some(1), Outcome::Fetched(Change::Changed)));
        live.recorded(&visit("http://b.test/3", None, Outcome::Failed(Failure::Dns)));
        let now = live.now().unwrap();
        assert_eq!((now.started, now.fetching_since, now.scheduled), (1_000, 5_000, 10));
        assert_eq!((now.done, now.done_before, now.tally.changed, now.tally.failed), (2, 1, 2, 1));
        assert_eq!(now.ranked_by.unwrap().name, "age");
        let totals = live.totals();
        assert_eq!((totals.changed, totals.failed), (1, 1), "what this process saw");
        assert_eq!(live.errors().kinds(), [(Outcome::Failed(Failure::Dns), 1)]);
        assert_eq!((live.changed_at("a.test"), live.changed_at("b.test")), (2, 0));
        live.ended();
        assert!(live.now().is_none() && live.totals() == totals);
    }
}
