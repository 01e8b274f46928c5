//! The crawl cycle replayed over a recorded history.

pub mod bootstrap;
pub mod compare;
pub mod contents;
pub mod dataset;
mod digest;
pub mod fast;
pub mod figures;
pub mod format;
pub mod histories;
pub mod judge;
mod longer_cycles;
pub mod metric;
pub mod observed;
pub mod plot;
pub mod policy;
mod related;
pub mod replay;
pub mod rules;
pub mod series;
pub mod signals;
pub mod summary;
pub mod table;
pub mod truth;

pub use crate::bootstrap::Bootstrap;
pub use crate::compare::Comparison;
pub use crate::contents::{Contents, ReplayDocument};
pub use crate::dataset::{Beginning, Dataset, RecordedPage};
pub use crate::fast::{ReplayScratch, Replayer, ReplayerError, WantedFigures, Work};
pub use crate::figures::{CycleFigures, ImportanceFigures, SiteFigures, Trace};
pub use crate::format::{DatasetError, open};
pub use crate::judge::ContentFigures;
pub use crate::metric::ReplayMetric;
pub use crate::observed::Observed;
pub use crate::policy::ReplayPolicy;
pub use crate::rules::{Budget, Rules, RulesError};
pub use crate::series::SeriesMean;
pub use crate::signals::Signals;
pub use crate::summary::DatasetSummary;
pub use crate::truth::{Since, Truth};

// The helpers of `testing` name this crate as other crates do, which include them too.
#[cfg(test)]
extern crate self as recrawl_simulation;
#[cfg(test)]
mod testing;
