//! The crawl cycle replayed over a recorded history.

pub mod bootstrap;
pub mod compare;
pub mod contents;
pub mod dataset;
mod digest;
pub mod fast;
pub mod figures;
pub mod format;
pub mod generate;
mod histories;
pub mod link_graph;
mod longer_cycles;
pub mod metric;
pub mod observed;
pub mod page_clusters;
pub mod plot;
pub mod policy;
mod related;
pub mod replay;
pub mod rules;
pub mod search;
pub mod series;
pub mod signals;
pub mod summary;
pub mod table;
pub mod truth;
pub mod variation;

pub use crate::bootstrap::Bootstrap;
pub use crate::compare::Comparison;
pub use crate::contents::{Contents, Document};
pub use crate::dataset::{Beginning, Dataset, RecordedPage};
pub use crate::fast::{Replayer, ReplayerError, Scratch, WantedFigures, Work};
pub use crate::figures::{CycleFigures, SiteFigures, Trace};
pub use crate::format::{DatasetError, open};
pub use crate::generate::{Recipe, RecipeError, generate};
pub use crate::link_graph::LinkGraph;
pub use crate::metric::Metric;
pub use crate::observed::Observed;
pub use crate::policy::Policy;
pub use crate::rules::{Budget, Rules, RulesError};
pub use crate::search::{ContentFigures, SearchJudge};
pub use crate::series::SeriesMean;
pub use crate::signals::Signals;
pub use crate::summary::Summary;
pub use crate::truth::{Since, Truth};
pub use crate::variation::variation_within_groups;

#[cfg(test)]
mod testing;
