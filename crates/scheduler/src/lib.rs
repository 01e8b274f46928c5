//! Chooses the pages of a cycle: policies, the best k in one pass, and the shares of k.
//!
//! Used by the program and by simulations. A [`Planner`] scans the state of all pages once, block
//! by block in the order of ordinals. It takes O(1) time per page and O(k) memory up to a limit,
//! beyond which it spills. A [`Policy`] scores pages. Everything else is the same for all policies
//! and lives here: which pages are due, how many of each kind are chosen, and how ties are broken.
//!
//! The k best are selected from a buffer of 2k whenever it is full. A heap of k would need half the
//! memory, but log k scattered steps per page. A histogram of scores would need less memory, but
//! two passes. If 2k candidates do not fit in memory, sorted runs are spilled and merged.
//!
//! This crate knows nothing of disk (the spill storage is a parameter), HTTP or URLs. A page is an
//! ordinal, and a host is a number of consecutive ordinals.

mod arm_counter;
pub mod arms;
pub mod candidate;
pub mod chosen;
pub mod contested;
pub mod expected;
pub mod explore;
pub mod first;
pub mod gate;
mod hosts;
pub mod memory;
mod merge;
pub mod others;
pub mod parts;
pub mod places;
pub mod plan;
pub mod planner;
pub mod policy;
mod pools;
pub mod rank;
pub mod request;
mod runs;
mod selection;
mod shares;
pub mod shuffle;
mod spilling_top_k;
pub mod top_k;
pub mod visit_order;

pub use crate::arm_counter::ArmRuns;
pub use crate::arms::{ArmsPlanner, ChosenOfArms, PlanArm};
pub use crate::candidate::{RankedPage, TieBreak};
pub use crate::chosen::{Chosen, ChosenPage};
pub use crate::contested::{Contested, Overlap};
pub use crate::expected::ExpectedChanges;
pub use crate::explore::Explore;
pub use crate::first::{DueFirst, WhyFirst};
pub use crate::gate::Gate;
pub use crate::hosts::{HostPages, ScanHosts};
pub use crate::memory::PlanMemory;
pub use crate::others::Gather;
pub use crate::parts::Parts;
pub use crate::places::{HostPlaces, HostPlacesCounter};
pub use crate::plan::{Plan, PlanCounts};
pub use crate::planner::Planner;
pub use crate::policy::Policy;
pub use crate::rank::{Rank, Ranking};
pub use crate::request::{PlanError, PlanRequest, Ties};
pub use crate::shuffle::Shuffle;
pub use crate::top_k::TopK;

#[cfg(test)]
mod testing;
