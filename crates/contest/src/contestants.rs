//! The policies and metrics that a program offers.

use crate::{ContestEntry, SimulateArgs};
use recrawl_crawl::failure::Failure;
use recrawl_formula::Basis;
use recrawl_simulation::judge::ContentJudge;
use recrawl_simulation::policy::{self, ReplayPolicy, ReplayPolicyKind};
use recrawl_simulation::{Dataset, ReplayMetric};

/// The policies and metrics of a simulation.
pub trait Contestants: Sync {
    /// The policies that can be named, in display order.
    fn policies(&self) -> Vec<ReplayPolicyKind> {
        policy::ALL.to_vec()
    }

    /// The policy of an entry, for a replay of `data`.
    fn policy<'a>(
        &self,
        entry: &ContestEntry,
        data: &'a Dataset,
        basis: Basis,
    ) -> Box<dyn ReplayPolicy + 'a> {
        entry.policy(data, basis)
    }

    /// Metrics beside the usual ones.
    fn metrics(&self) -> &[&'static ReplayMetric] {
        &[]
    }

    /// Checks the entries, and reads what they need beside the changes of pages.
    ///
    /// # Errors
    /// When they cannot be replayed.
    fn read(
        &self,
        _entries: &[ContestEntry],
        _data: &mut Dataset,
        _args: &SimulateArgs,
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// Checks the budget of a cycle.
    ///
    /// # Errors
    /// When a policy needs more visits.
    fn check_budget(&self, _k: u64) -> Result<(), Failure> {
        Ok(())
    }

    /// The judge of the replays, if a metric needs it.
    ///
    /// # Errors
    /// When the data set lacks something that the metric needs.
    fn judge(&self, _data: &Dataset, _seed: u64) -> Result<Option<Box<dyn ContentJudge>>, Failure> {
        Ok(None)
    }
}
