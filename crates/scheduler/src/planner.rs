//! Makes a plan in one pass over all pages.

use crate::expected::ChangeExpectation;
use crate::selection::{PlanSelection, ScoredBlock};
use crate::{ArmRuns, DueFirst, Gather, Plan, PlanError, PlanMemory, PlanRequest, Policy, ScanHosts};
use recrawl_types::{Cycle, StateColumns};

/// Makes the plan of one cycle in one pass over all pages.
///
/// Every page has a [`Gate`](crate::Gate). Due pages are chosen by share:
///
/// - **Warm-up**: all warm-up pages, in addition to k.
/// - **First**: pages that the caller names ([`Planner::due_first`]), instead of pages by score.
/// - **Audit**: round(`audit_share`·k) of the pages that compete by score, drawn uniformly without
///   replacement. Each carries its sampling probability.
/// - **Announced**: round(`announced_share`·k) of the pages that compete by score and are announced
///   as changed, highest scores first.
/// - **Discovery**: round(`discovery_share`·k) of the URLs that were never fetched, and beyond k up
///   to `discovery_min`. Lower depth comes first, then redirect targets, then URLs with more links.
/// - **Score**: the rest of k by the policy's score, highest first and NaN last. Pages of the audit
///   sample and announced pages are not chosen again; the next ones take their place.
///
/// With `samples_siblings`, of each group of siblings only the best page competes by score, beside announced ones, and
/// discovery stays within its share: what is left of k is for a later round.
///
/// If announced pages do not fill their share, the score gets the rest. If another share is not
/// filled, the others get the rest, see the module `shares`. [`Ties`](crate::Ties) breaks ties.
/// With `max_per_host`, no host gets more pages than that in the cycle. Its warm-up comes first
/// (longest wait first, if it exceeds the limit), the audit second. Then each share takes the
/// host's best pages.
///
/// **Memory**: [`PlanMemory`] limits the memory that is proportional to k: candidates, sample and
/// plan. They need 16 bytes for each of:
///
/// - up to 2k candidates by score
/// - up to 2k announced candidates, if there is an announced share
/// - up to 2(k + `discovery_min`) candidates for discovery
/// - the pages of the audit share
/// - the chosen pages
/// - with `max_per_host`, the candidates of one host again, at most twice its limit per order
///
/// The limit is divided fairly among these. So 128 bytes per page of k keep everything in memory.
/// With less memory, sorted runs are spilled, and the plan is the same. At most 2k candidates of
/// each order are spilled, 16 bytes each, and as much again during a merge. In addition, with
/// `max_per_host`, each host with more candidates than slots takes 48 bytes.
pub struct Planner<'p, H> {
    policy: &'p mut dyn Policy,
    selection: PlanSelection<H>,
    scores: Scores,
    scanned: u64,
    /// Pages of other planners that come before.
    before: u64,
}

/// The scores of a block, and the changes expected in it.
pub(crate) struct Scores {
    cycle: Cycle,
    expectation: Option<ChangeExpectation>,
    pub scores: Vec<f64>,
    pub expected: Vec<f64>,
}

impl Scores {
    pub fn new(request: &PlanRequest) -> Scores {
        let expectation = request.sums_expected.then(ChangeExpectation::new);
        Scores { cycle: request.cycle, expectation, scores: Vec::new(), expected: Vec::new() }
    }

    /// Scores a block, whose first page has the ordinal `first`.
    pub fn score(&mut self, policy: &dyn Policy, columns: &StateColumns, first: u64) {
        policy.score(columns, first, &mut self.scores);
        assert_eq!(self.scores.len(), columns.len(), "policy {} scores each row", policy.name());
        if let Some(expectation) = &self.expectation {
            expectation.evaluate(columns, self.cycle, &mut self.expected);
        }
    }
}

impl<'p, H: ScanHosts> Planner<'p, H> {
    /// Prepares the policy for the cycle. `hosts` are the hosts in scan order; only used with
    /// `max_per_host`.
    ///
    /// # Errors
    /// Invalid shares.
    pub fn new(
        request: PlanRequest,
        policy: &'p mut dyn Policy,
        hosts: H,
        memory: PlanMemory,
    ) -> Result<Planner<'p, H>, PlanError> {
        policy.prepare(request.cycle, request.seed);
        let scores = Scores::new(&request);
        Ok(Planner {
            policy,
            selection: PlanSelection::new(request, hosts, memory)?,
            scores,
            scanned: 0,
            before: 0,
        })
    }

    /// Visits these pages whatever their score, as far as they are due for a revisit and their hosts have free
    /// slots. They take the places of pages by score.
    #[must_use]
    pub fn due_first(self, pages: Vec<DueFirst>) -> Planner<'p, H> {
        Planner { selection: self.selection.due_first(pages), ..self }
    }

    /// Plans a part of the pages, which comes behind so many pages of other planners; end with
    /// [`Planner::finish_with`].
    #[must_use]
    pub fn behind(self, before: u64) -> Planner<'p, H> {
        Planner { selection: self.selection.behind(before), before, ..self }
    }

    /// Counts the population of each arm ([`Plan::arms`](crate::Plan::arms)), and plans as without. A run is one host,
    /// or several.
    #[must_use]
    pub fn count_arms(self, runs: ArmRuns) -> Planner<'p, H> {
        Planner { selection: self.selection.count_arms(runs), ..self }
    }

    /// Scans the next block of pages.
    ///
    /// # Errors
    /// With `max_per_host`, the hosts cannot be read, or have fewer pages than were scanned; or a run
    /// cannot be written.
    ///
    /// # Panics
    /// The policy does not score each row.
    pub fn scan(&mut self, columns: &StateColumns) -> Result<(), PlanError> {
        self.scores.score(self.policy, columns, self.before + self.scanned);
        let Scores { scores, expected, .. } = &self.scores;
        self.selection
            .scan(&ScoredBlock { columns, scores, expected, first: self.scanned }, 0..columns.len())?;
        self.scanned += columns.len() as u64;
        Ok(())
    }

    /// Returns the plan, after the last block.
    ///
    /// # Errors
    /// With `max_per_host`, the hosts have more pages than were scanned; or a run cannot be read.
    pub fn finish(self) -> Result<Plan, PlanError> {
        self.selection.finish(None)
    }

    /// Returns the plan of a part of the pages, after its last block: all parts together choose the pages that one plan
    /// of all pages chooses. See [`others`](crate::others) for limits on pages per host.
    ///
    /// # Errors
    /// As [`Planner::finish`], and those of `gather`.
    pub fn finish_with(self, gather: &mut Gather<'_>) -> Result<Plan, PlanError> {
        self.selection.finish(Some(gather))
    }
}

#[cfg(test)]
mod audit_tests;
#[cfg(test)]
mod tests;
