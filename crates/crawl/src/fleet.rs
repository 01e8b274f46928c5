//! A crawl that is a partition of a fleet: which links leave at a merge and which come in, and how a plan is made with others.

mod divide;
mod join;
mod links;
mod merge;
mod plan;
mod range;
mod turns;

pub use divide::{JOINED_INBOXES, PARENT_INBOX, ParentInbox, PartitionDivision, divide};
pub use links::{Leaving, NEXT_DECISION, NEXT_MESSAGE, keep_marks, take_in};
pub use merge::{PartitionJoining, SettingsOfPart, leave, merge};
pub use plan::{Planning, SharedPlan};
pub use range::{CutPages, keep_range};

use crate::clock::RoundToPlan;
use crate::crawl::Crawl;
use crate::failure::Failure;
use crate::partition::{PartitionToTake, boot_clock, check};
use recrawl_fleet::{Partition, is_outdated, void_joinings};
use recrawl_types::{CanonicalUrl, Cycle, DatedRound, Round};
use std::sync::Arc;

impl Crawl {
    /// Makes the crawl a partition of a fleet.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it is configured to do what a fleet cannot do yet.
    pub fn join(&mut self, partition: Partition) -> Result<(), Failure> {
        check(&self.settings)?;
        self.partition = Some(Arc::new(partition));
        Ok(())
    }

    /// Owns a partition from now on, whose vault has its epoch.
    ///
    /// # Errors
    /// As [`Crawl::join`]; when the map has no such partition, or the store does not answer.
    pub(crate) fn own(&mut self, to_take: PartitionToTake) -> Result<(), Failure> {
        let PartitionToTake { store, map, id, waits, turns, .. } = to_take;
        let epoch = self.vault.get().map_or(0, |vault| vault.epoch());
        // Behind the epoch: whoever changes this partition from now on sees it, or takes a later one.
        void_joinings(&*store, &map, id)?;
        if is_outdated(&*store, &map)? {
            return Err(Failure::Work("fleet: the map has changed meanwhile".into()));
        }
        let partition = Partition::owned(store, map, id, epoch, waits)?;
        let partition =
            partition.ok_or_else(|| Failure::Usage(format!("fleet: its map has no partition {id}")))?;
        partition.share_addresses(turns::delay(&self.settings), boot_clock(), turns);
        self.join(partition)?;
        self.take_turns();
        Ok(())
    }

    /// Has this crawl the URL?
    pub fn owns(&self, url: &CanonicalUrl) -> bool {
        self.partition.as_deref().is_none_or(|partition| partition.owns(url.key()))
    }

    /// The round to plan, with the number that its cycle has in a fleet.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn numbered(&self, to_plan: RoundToPlan) -> Result<RoundToPlan, Failure> {
        match self.partition.as_deref().filter(|_| to_plan.begins_cycle()) {
            None => Ok(to_plan),
            Some(partition) => {
                let cycle = Cycle(partition.fleet_cycle(to_plan.round.cycle.0)?);
                Ok(RoundToPlan { round: DatedRound { cycle, ..to_plan.round }, ..to_plan })
            }
        }
    }

    /// Have other partitions begun the plan of a cycle that this one has not planned?
    pub fn is_called(&self) -> bool {
        self.partition.as_deref().is_some_and(|partition| partition.called() > self.so_far.cycle)
    }

    /// Have other partitions sent links that no merge has taken in?
    ///
    /// # Errors
    /// When the tables cannot be read, or the store does not answer.
    pub fn has_incoming(&self) -> Result<bool, Failure> {
        let Some(partition) = self.partition.as_deref() else { return Ok(false) };
        let next = self.repository.current().dated().round.next();
        Ok(partition.has_incoming(&links::marks_before(&self.tables, next)?)?)
    }

    /// Have other partitions the links of this round? Then it must be merged as it is: nobody would get those of more visits.
    pub fn has_sent(&self, round: Round) -> bool {
        self.partition.as_deref().is_some_and(|partition| partition.has_sent(round.0))
    }
}
