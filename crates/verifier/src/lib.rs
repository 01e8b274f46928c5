//! Uniqueness by sorted merge: the batch of a cycle and generation g become generation g+1.
//!
//! For the program, which feeds a [`Batch`] with the cycle's log and calls [`merge()`]. Both sides are
//! in the one order of [`CanonicalUrl`](recrawl_types::CanonicalUrl), so whether a URL is known is
//! answered by one sequential pass over the known ones, as VEUNI does (Henrique et al., SPIRE 2011).
//! A table or filter of all known URLs would answer sooner, but would need memory for every page ever
//! discovered, or a random read of the disk for each link; here memory is bounded by [`BatchLimits`].
//!
//! It knows no HTTP and no formula. Whether two contents differ is asked of a judge it is given, and
//! what a visit means for a record is `update`, the code behind the table in docs/outcomes.md.

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
pub use crate::merge::{Judge, Meet, MergeRules, Passed, Waiting, Watch, merge};
pub use crate::report::MergeReport;
pub use crate::sorted::SortedBatch;
