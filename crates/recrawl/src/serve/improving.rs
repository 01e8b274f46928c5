//! What the crawl measures of its formula and where its loop stands, kept in memory for the console.
//!
//! The answer is made after each commit and each change of the loop, so that a request reads neither reports nor
//! tables.

use super::learning::Learner;
use crate::report::loop_status;
use recrawl_console::view::{
    CycleFreshness, DriftAlarm, DriftWatch, Estimate, FoundBeside, Improve, ImproveMode, LoopEventKind,
    MoreOrFewer, PopulationWatch, Stability, Watch,
};
use recrawl_crawl::crawl::Crawl;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::improve::candidate::FormulaCandidate;
use recrawl_crawl::parts::improve::found::ComparedVisits;
use recrawl_crawl::parts::improve::steps::LoopState;
use recrawl_crawl::parts::improve::store::LoopStore;
use recrawl_crawl::report::RoundReport;
use recrawl_crawl::report::watch::{self, ENOUGH_AUDITED, Follower};
use recrawl_crawl::settings::Settings;
use recrawl_estimation::{Alarm, DriftRules};
use recrawl_types::Cycle;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// Cycles whose freshness is told.
const CYCLES: usize = 60;

/// The answer, and what it is made of.
#[derive(Default)]
pub struct Improving {
    /// Held while the answer is made, which reads the tables.
    made_of: Mutex<ImprovingState>,
    /// Held for moments.
    told: Mutex<LoopSnapshot>,
}

/// The crawl, when the answer is made.
pub struct Moment<'m> {
    pub settings: &'m Settings,
    pub data_dir: &'m Path,
    pub store: &'m LoopStore,
    /// The last committed one.
    pub cycle: Cycle,
    /// The cycle after which a learner began that runs.
    pub learning: Option<Cycle>,
}

/// What requests read.
#[derive(Default)]
struct LoopSnapshot {
    answer: Improve,
    /// Events since the process started; none without a loop.
    events: Vec<(LoopEventKind, u64)>,
}

#[derive(Default)]
struct ImprovingState {
    /// The reports of a measured crawl; none while nothing is measured.
    follower: Option<Follower>,
    /// What was measured, by the reports.
    watch: Option<watch::CrawlWatch>,
    /// The number of the next event that is not counted, and the counts.
    counted: Option<u64>,
    counts: BTreeMap<LoopEventKind, u64>,
}

impl Improving {
    fn inner(&self) -> MutexGuard<'_, ImprovingState> {
        self.made_of.lock().expect("no panic under the lock")
    }

    fn told(&self) -> MutexGuard<'_, LoopSnapshot> {
        self.told.lock().expect("no panic under the lock")
    }

    /// Reads the reports of a crawl just opened, if it is measured.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn open(&self, crawl: &Crawl) -> Result<(), Failure> {
        if crawl.settings.is_measured {
            self.inner().follow(Follower::read(&crawl.repository)?);
        }
        Ok(())
    }

    /// Adds a committed round.
    ///
    /// # Errors
    /// When measuring was switched on and the reports before cannot be read.
    pub fn committed(&self, crawl: &Crawl, report: &RoundReport) -> Result<(), Failure> {
        let mut inner = self.inner();
        if !crawl.settings.is_measured {
            (inner.follower, inner.watch) = (None, None);
            return Ok(());
        }
        let follower = match inner.follower.take() {
            Some(mut follower) => {
                follower.add_round(report.clone());
                follower
            }
            None => Follower::read(&crawl.repository)?,
        };
        inner.follow(follower);
        Ok(())
    }

    /// Makes the answer again, after a commit or a change of the loop.
    ///
    /// # Errors
    /// When the state of the loop cannot be read.
    pub fn refresh(
        &self,
        moment: &Moment<'_>,
        reports: impl FnOnce(usize) -> Vec<RoundReport>,
    ) -> Result<(), Failure> {
        let Moment { settings, data_dir, store, cycle, learning } = *moment;
        let mode = match (settings.is_measured, settings.loop_rules) {
            (false, _) => ImproveMode::Off,
            (true, None) => ImproveMode::Watch,
            (true, Some(rules)) if rules.promotes => ImproveMode::Promote,
            (true, Some(_)) => ImproveMode::Propose,
        };
        let mut stands = None;
        let mut inner = self.inner();
        if let Some(rules) = settings.loop_rules {
            let state = store.read()?;
            inner.count(&state);
            stands = Some(loop_status::from_state(
                &state,
                &rules,
                cycle,
                FormulaCandidate::read(data_dir),
                learning,
            ));
        }
        let cycles = if mode == ImproveMode::Off { Vec::new() } else { freshness(&reports(CYCLES)) };
        let watch = inner.watch.as_ref().filter(|watch| watch.cycles > 0).map(measured);
        let events = if stands.is_some() { inner.events() } else { Vec::new() };
        *self.told() =
            LoopSnapshot { answer: Improve { mode, todo: todo(mode), watch, cycles, stands }, events };
        Ok(())
    }

    /// The answer; what the learner does is of this moment.
    pub fn answer(&self, learner: &Learner) -> Improve {
        let mut answer = self.told().answer.clone();
        if let Some(stands) = &mut answer.stands {
            learner.tell(&mut stands.learner);
        }
        answer
    }

    /// What was measured, by the reports.
    pub fn watch(&self) -> Option<watch::CrawlWatch> {
        self.inner().watch.clone()
    }

    /// Events since the process started; none without a loop.
    pub fn events(&self) -> Vec<(LoopEventKind, u64)> {
        self.told().events.clone()
    }
}

impl ImprovingState {
    fn follow(&mut self, follower: Follower) {
        self.watch = Some(follower.watch());
        self.follower = Some(follower);
    }

    fn events(&self) -> Vec<(LoopEventKind, u64)> {
        let count = |kind: LoopEventKind| (kind, self.counts.get(&kind).copied().unwrap_or(0));
        LoopEventKind::ALL.map(count).into()
    }

    /// Counts the events that are new. Those before the start of the process do not count.
    fn count(&mut self, state: &LoopState) {
        let next = state.forgotten + state.events.len() as u64;
        let counted = self.counted.replace(next).unwrap_or(next);
        for (number, event) in (state.forgotten..).zip(&state.events) {
            if number >= counted {
                *self.counts.entry(event.what).or_default() += 1;
            }
        }
    }
}

/// What to set to see more.
fn todo(mode: ImproveMode) -> Option<String> {
    let todo = match mode {
        ImproveMode::Off => {
            "set improve.mode = \"watch\" to measure, \"propose\" or \"promote\" to learn as well"
        }
        ImproveMode::Watch => "set improve.mode = \"propose\" or \"promote\" to learn other formulas",
        ImproveMode::Propose => "set improve.mode = \"promote\" to try candidates unattended",
        ImproveMode::Promote => return None,
    };
    Some(todo.into())
}

/// Freshness by measured cycle, oldest first; `reports` are newest first.
fn freshness(reports: &[RoundReport]) -> Vec<CycleFreshness> {
    let measured = reports.iter().rev().filter(|report| report.found.is_some());
    measured
        .map(|report| CycleFreshness {
            cycle: report.cycle.into(),
            ended: report.ended(),
            freshness: report.estimates.adjusted_freshness.as_ref().map(loop_status::estimate),
        })
        .collect()
}

fn measured(watch: &watch::CrawlWatch) -> Watch {
    let watch::CrawlWatch { cycles, last, pooled, freshness, score, audit, drift, population } = watch;
    let found = |found: &ComparedVisits| FoundBeside {
        visits: found.visits,
        changed: found.changed,
        expected: found.expected.changes,
    };
    let [above, below] = drift.sums;
    Watch {
        cycles: (*cycles).into(),
        last: (*last).into(),
        pooled: (*pooled).into(),
        freshness: freshness_of(freshness),
        pages: freshness.pages,
        pages_needed: ENOUGH_AUDITED,
        pages_for_two_points: freshness.pages_for_two_points,
        score: found(score),
        audit: found(audit),
        drift: DriftWatch {
            cycles_wanted: drift.cycles_wanted as u64,
            above,
            below,
            limit: DriftRules::default().limit,
            alarm: drift.alarm.map(|alarm| DriftAlarm {
                cycle: alarm.cycle.into(),
                changes: match alarm.changes {
                    Alarm::More => MoreOrFewer::More,
                    Alarm::Fewer => MoreOrFewer::Fewer,
                },
            }),
        },
        population: PopulationWatch {
            cycles_needed: population.cycles_needed.into(),
            change_rate: population.change_rate.map(stability_of),
            depth: population.depth.map(stability_of),
            has_moved: population.has_moved,
        },
    }
}

fn stability_of(found: recrawl_estimation::Stability) -> Stability {
    Stability { index: found.index, limit: found.limit }
}

/// The pooled freshness; none if too few pages were audited.
pub fn freshness_of(pooled: &watch::Pooled) -> Option<Estimate> {
    let (share, [low, high]) = (pooled.share?, pooled.interval?);
    Some(Estimate { share, low, high, pages: pooled.pages })
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_crawl::parts::improve::steps::DecisionAuthor;
    use recrawl_types::Cycle;

    #[test]
    fn events_count_from_the_start_of_the_process_on_and_once() {
        let mut state = LoopState::default();
        let mut toggle = |times: u32| {
            for _ in 0..times {
                let by = DecisionAuthor { who: "anna".into(), at: 0, cycle: Cycle(1) };
                state.hold(!state.is_held, &by);
            }
            state.clone()
        };
        let mut inner = ImprovingState::default();
        let mut counted = |state: &LoopState| {
            inner.count(state);
            [LoopEventKind::Held, LoopEventKind::Released]
                .map(|kind| inner.events().into_iter().find(|(other, _)| *other == kind).unwrap().1)
        };
        assert_eq!(counted(&toggle(5)), [0, 0]);
        let now = toggle(3);
        assert_eq!((counted(&now), counted(&now)), ([1, 2], [1, 2]));
        // Beyond what is remembered, in parts.
        for _ in 0..3 {
            counted(&toggle(100));
        }
        assert_eq!(counted(&toggle(0)), [151, 152]);
    }
}
