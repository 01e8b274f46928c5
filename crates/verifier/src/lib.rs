//! Uniqueness by sorted merge: the batch of a cycle and generation g become generation g+1.
//!
//! The program feeds a [`Batch`] with the cycle's log and calls [`merge()`]. Batch and generation
//! have the same order, that of [`CanonicalUrl`](recrawl_types::CanonicalUrl). So one sequential
//! pass over the known URLs tells which are new, as in VEUNI (Henrique et al., SPIRE 2011). A table
//! or filter of all known URLs would answer sooner. But it would need memory for every page ever
//! discovered, or a random disk read per link; here [`BatchLimits`] bounds the memory.
//!
//! The crate knows no HTTP and no formulas. A [`Judge`] decides whether two contents differ.
//! `update` implements the table in docs/outcomes.md.

mod batch;
mod edit;
mod entry;
mod error;
mod gathered;
mod host_cap;
mod lastmod;
mod matched;
mod merge;
mod pass;
mod report;
mod runs;
mod sort;
mod sorted;
mod touch;
mod touched;
mod update;
mod workers;

pub use crate::batch::{Batch, BatchLimits};
pub use crate::error::{BatchError, MergeError};
pub use crate::merge::{
    Judge, MergeRules, OnComparison, OnFirstVisit, OnFound, OnProgress, OnTried, TrapSign, TrapSigns,
    TrapsOf, Tried, Waiting, merge,
};
pub use crate::report::MergeReport;
pub use crate::sorted::SortedBatch;
