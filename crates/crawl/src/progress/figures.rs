//! Figures of the running cycle: written by the stages, read by the console.
//!
//! A page costs one uncontended lock. Reports are not made from these figures, but from the log.

use crate::parts::convert::{ConvertCounts, ConvertFigures};
use crate::parts::requisites::{RequisiteCounts, RequisiteFigures};
use crate::progress::answers::AnswerCounters;
use crate::progress::errors::RecentErrors;
use crate::report::Tally;
use crate::report::facts::Facts;
use crate::round::RoundKind;
use recrawl_fetcher::WallClock;
use recrawl_formula::Formula;
use recrawl_renderer::Renderer;
use recrawl_types::{Cycle, DatedRound, Origin, Round, Visit};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// Time since some moment, by a monotonic clock.
pub type Uptime = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Maximum hosts whose changes are counted in a cycle.
const MAX_CHANGED_HOSTS: usize = 100_000;

/// Stage of the crawl.
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
pub struct RunningCycle {
    /// The cycle.
    pub cycle: Cycle,
    /// The round.
    pub round: Round,
    /// The purpose of the round.
    pub kind: RoundKind,
    /// Its stage.
    pub stage: Stage,
    /// Start time of the round, in milliseconds since 1970.
    pub started: u64,
    /// The same of the cycle.
    pub cycle_started: u64,
    /// Pages in its schedule; 0 until it is made.
    pub scheduled: u64,
    /// Name of the formula; empty until known.
    pub formula: String,
    /// The formula; none until known, and in a cycle planned by an older version.
    pub ranked_by: Option<Arc<Formula>>,
    /// Processed pages of the schedule.
    pub done: u64,
    /// Of these, the pages processed by an earlier run of the cycle.
    pub done_before: u64,
    /// When this run began to fetch, in milliseconds since 1970.
    pub fetching_since: u64,
    /// Outcomes of these pages, and of pages outside the schedule.
    pub tally: Tally,
    /// Known pages processed by a plan or a merge; a page counts once per pass.
    pub passed: u64,
    /// Known pages to process in all; 0 while no pass runs.
    pub to_pass: u64,
}

/// The figures.
pub struct RoundProgress {
    clock: WallClock,
    uptime: Uptime,
    /// Time of the last progress, in milliseconds by `uptime`.
    moved: AtomicU64,
    /// See [`RunningCycle::passed`].
    passed: AtomicU64,
    /// See [`RunningCycle::to_pass`].
    to_pass: AtomicU64,
    /// Answers to requests for pages.
    pub answers: AnswerCounters,
    /// Set when the crawl opens, if a rule asks for it.
    renderer: OnceLock<Arc<Renderer>>,
    /// Set by the first round of which a rule converts documents.
    conversions: OnceLock<Arc<ConvertCounts>>,
    /// Figures of requisites of ended rounds, and the counts of the last one; none if no rule asks for any.
    requisites: Mutex<Option<(RequisiteFigures, Arc<RequisiteCounts>)>>,
    figures: Mutex<RunningFigures>,
}

#[derive(Default)]
struct RunningFigures {
    now: Option<RunningCycle>,
    /// The cycle of the last plan.
    cycle: Cycle,
    /// Of all cycles since the process started.
    totals: Tally,
    /// Changes found by host, in the running cycle or else the last.
    changed: HashMap<Origin, u64>,
    errors: RecentErrors,
    refused_seeds: Option<RefusedSeeds>,
}

/// Seeds that the scope did not admit.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedSeeds {
    /// How many of those that came together.
    pub seeds: u64,
    /// The first of them, and why.
    pub first: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
}

impl RoundProgress {
    /// Figures of a crawl that has not started.
    pub fn new(clock: WallClock) -> RoundProgress {
        let began = Instant::now();
        RoundProgress::by(clock, Arc::new(move || began.elapsed()))
    }

    /// The same, by the caller's clock.
    pub fn by(clock: WallClock, uptime: Uptime) -> RoundProgress {
        let moved = AtomicU64::new(uptime().as_millis() as u64);
        let (passed, to_pass, answers, renderer, conversions, requisites, figures) = Default::default();
        RoundProgress {
            clock,
            uptime,
            moved,
            passed,
            to_pass,
            answers,
            renderer,
            conversions,
            requisites,
            figures,
        }
    }

    /// Tells the figures of this renderer, too.
    pub fn watch_renderer(&self, renderer: Arc<Renderer>) {
        // A process opens one crawl; a test that opens another keeps the figures of the first.
        let _ = self.renderer.set(renderer);
    }

    /// Figures of the pages that are rendered; none if no rule asks for it.
    pub fn rendering(&self) -> Option<recrawl_renderer::RenderFigures> {
        self.renderer.get().map(|renderer| renderer.figures())
    }

    /// Counts of the documents that are converted, which are told from now on.
    pub fn count_conversions(&self) -> Arc<ConvertCounts> {
        self.conversions.get_or_init(Arc::default).clone()
    }

    /// Figures of the documents that are converted; none if no rule asks for it.
    pub fn conversions(&self) -> Option<ConvertFigures> {
        self.conversions.get().map(|counts| counts.figures())
    }

    /// Tells the requisites of a round that begins, too.
    pub fn watch_requisites(&self, counts: Arc<RequisiteCounts>) {
        let before = self.requisites().unwrap_or_default();
        *self.requisites.lock().expect("no panic under the lock") = Some((before, counts));
    }

    /// Figures of the requisites since the process started; none if no rule asks for any.
    pub fn requisites(&self) -> Option<RequisiteFigures> {
        let requisites = self.requisites.lock().expect("no panic under the lock");
        requisites.as_ref().map(|(before, counts)| before.plus(counts.figures()))
    }

    fn figures(&self) -> MutexGuard<'_, RunningFigures> {
        self.figures.lock().expect("no panic under the lock")
    }

    /// Notes progress of the crawl.
    pub fn moved(&self) {
        self.moved.store((self.uptime)().as_millis() as u64, Relaxed);
    }

    /// Starts a plan or merge pass over this many pages.
    pub fn begin_passing(&self, pages: u64) {
        self.moved();
        self.passed.store(0, Relaxed);
        self.to_pass.store(pages, Relaxed);
    }

    /// Notes that the pass has processed this many more pages.
    pub fn passed(&self, pages: u64) {
        self.moved();
        self.passed.fetch_add(pages, Relaxed);
    }

    /// Milliseconds since the last progress, by a monotonic clock.
    pub fn idle_ms(&self) -> u64 {
        ((self.uptime)().as_millis() as u64).saturating_sub(self.moved.load(Relaxed))
    }

    /// Starts or resumes a round.
    pub fn begin(&self, DatedRound { round, cycle }: DatedRound, kind: RoundKind) {
        self.begin_passing(0);
        let (mut figures, now) = (self.figures(), (self.clock)());
        if figures.cycle != cycle {
            figures.cycle = cycle;
            figures.changed.clear();
            figures.errors.begin();
        }
        figures.errors.begin_round();
        figures.now = Some(RunningCycle {
            cycle,
            round,
            kind,
            stage: Stage::Planning,
            started: now,
            cycle_started: now,
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

    /// The schedule is made: it has `scheduled` pages, `done` of them processed by an earlier run.
    pub fn planned(&self, facts: &Facts, scheduled: u64, done: u64) {
        self.begin_passing(0);
        let ranked_by = facts.formula_toml.as_ref().and_then(|text| Formula::from_toml(text).ok());
        let mut figures = self.figures();
        if let Some(now) = &mut figures.now {
            *now = RunningCycle {
                stage: Stage::Fetching,
                started: facts.started,
                cycle_started: facts.cycle_started(),
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

    /// Counts a visit of an earlier run of the cycle.
    pub fn recovered(&self, visit: &Visit) {
        self.moved();
        let mut figures = self.figures();
        figures.count_change(visit);
        figures.errors.note(visit);
        if let Some(now) = &mut figures.now {
            now.tally.add(visit, visit.links.len());
        }
    }

    /// Counts a visit.
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

    /// Counts requests of detours beyond one a visit.
    pub fn asked_again(&self, requests: u64) {
        self.figures().totals.asked_again += requests;
    }

    /// Fetching is complete.
    pub fn merging(&self) {
        self.moved();
        if let Some(now) = &mut self.figures().now {
            now.stage = Stage::Merging;
        }
    }

    /// The cycle has ended, or was interrupted.
    pub fn ended(&self) {
        self.moved();
        self.figures().now = None;
    }

    /// The running cycle; none between two.
    pub fn now(&self) -> Option<RunningCycle> {
        let (passed, to_pass) = (self.passed.load(Relaxed), self.to_pass.load(Relaxed));
        // A pass may begin between the two loads.
        self.figures().now.clone().map(|now| RunningCycle { passed: passed.min(to_pass), to_pass, ..now })
    }

    /// Counts of all visits recorded since the process started.
    pub fn totals(&self) -> Tally {
        self.figures().totals.clone()
    }

    /// Notes which of the new seeds the scope does not admit: their number, and the first with the reason.
    pub fn seeds_admitted(&self, refused: Option<(u64, String)>) {
        let at = (self.clock)();
        self.figures().refused_seeds = refused.map(|(seeds, first)| RefusedSeeds { seeds, first, at });
    }

    /// The seeds that were refused when seeds last came.
    pub fn refused_seeds(&self) -> Option<RefusedSeeds> {
        self.figures().refused_seeds.clone()
    }

    /// Pages that could not be fetched.
    pub fn errors(&self) -> RecentErrors {
        self.figures().errors.clone()
    }

    /// Pages that failed since this was last asked ([`RecentErrors::newly_failed`]).
    pub fn newly_failed(&self) -> Option<String> {
        self.figures().errors.newly_failed()
    }

    /// Changes found at an origin in the running cycle, or in the last.
    pub fn changed_at(&self, origin: &Origin) -> u64 {
        self.figures().changed.get(origin).copied().unwrap_or_default()
    }
}

impl RunningFigures {
    fn count_change(&mut self, visit: &Visit) {
        if visit.outcome.change() != Some(recrawl_types::Change::Changed) {
            return;
        }
        let origin = Origin::from_url(&visit.url);
        if self.changed.len() < MAX_CHANGED_HOSTS || self.changed.contains_key(&origin) {
            *self.changed.entry(origin).or_default() += 1;
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
        let live = RoundProgress::new(Arc::new(|| 5_000));
        assert!(live.now().is_none());
        live.begin(DatedRound::only_of(Cycle(3)), RoundKind::Revisit);
        live.recovered(&visit("http://a.test/1", Some(0), Outcome::Fetched(Change::Changed)));
        let toml = recrawl_formula::builtin::resolve("age").unwrap().to_toml().unwrap();
        let facts = Facts {
            formula_toml: Some(toml),
            scheduled: 10,
            ..Facts::without_plan(DatedRound::only_of(Cycle(3)), 1_000, "age")
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
        live.seeds_admitted(Some((2, "http://x.test/: out of scope".into())));
        assert_eq!(live.refused_seeds().map(|refused| (refused.seeds, refused.at)), Some((2, 5_000)));
        live.seeds_admitted(None);
        assert_eq!(live.refused_seeds(), None, "the next seeds were good");
        let changed =
            |page: &str| live.changed_at(&Origin::from_url(&visit(page, None, Outcome::NotModified).url));
        assert_eq!(["http://a.test/", "https://a.test/", "http://b.test/"].map(changed), [2, 0, 0]);
        live.ended();
        assert!(live.now().is_none() && live.totals() == totals);
    }
}
