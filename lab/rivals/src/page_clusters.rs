//! Clusters of recorded pages by their features, and the figures of the paper (Tan & Mitra 2010).
//!
//! [`PagesOfCycle`] are the pages that a data set shows in a cycle. [`fit()`] makes clusters of them. [`figures`] compares
//! clusters with sites and groups.

mod feature_set;
pub mod figures;
mod fit;
mod keywords;
mod shown;
mod variation;

pub use feature_set::FeatureSet;
pub use fit::{FitError, FitOptions, Fitted, fit};
pub use keywords::popular_keywords;
pub use shown::PagesOfCycle;

pub(crate) use keywords::popular_words;
pub(crate) use shown::page_content;

#[cfg(test)]
mod tests;
