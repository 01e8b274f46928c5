//! Which pages a cycle visits: policies, the best k in one pass, and the split of k into shares.
//!
//! For the program and for simulations. [`Planner`] is given the state of all pages once, block by
//! block in ordinal order, and keeps what it needs for the answer and no more: O(1) work a page, and O(k)
//! memory up to a limit, beyond which it spills. A [`Policy`] scores pages; which of them are due, how many of each kind are chosen, and what
//! decides between equals is the same for all policies and lives here.
//!
//! The k best are selected from a buffer of 2k whenever it is full. A heap of k would need half the
//! memory, but log k steps a page all over it; a histogram of scores would need less, but two passes.
//! Where 2k are more than the memory for them, sorted runs are spilled and merged.
//!
//! This crate knows nothing of disk (what it spills to is handed in), of HTTP and of URLs: a page is an ordinal, a host a number of
//! consecutive ordinals.

pub mod audit;
pub mod candidate;
pub mod chosen;
pub mod gate;
mod hosts;
pub mod memory;
mod merge;
pub mod places;
pub mod plan;
pub mod planner;
pub mod policy;
mod pools;
pub mod rank;
pub mod request;
mod runs;
mod shares;
pub mod shuffle;
mod spilling_top_k;
pub mod top_k;
pub mod visit_order;

pub use crate::audit::{Estimate, Weighted};
pub use crate::candidate::{Candidate, TieBreak};
pub use crate::chosen::{Chosen, ChosenPage};
pub use crate::gate::Gate;
pub use crate::hosts::HostPages;
pub use crate::memory::PlanMemory;
pub use crate::places::{HostPlaces, HostPlacesCounter};
pub use crate::plan::{Counts, Plan};
pub use crate::planner::Planner;
pub use crate::policy::Policy;
pub use crate::rank::{RankCounter, Ranking, RankingGatherer};
pub use crate::request::{PlanError, PlanRequest, Ties};
pub use crate::shuffle::Shuffle;
pub use crate::top_k::TopK;

#[cfg(test)]
mod testing;
