//! Predicts the change of a page from related pages, and measures how well (Radinsky and Bennett 2013).
//!
//! An offline experiment over a recorded history: [`FixedPages`] holds which pages changed significantly on which day,
//! [`related`] finds pages that change like a page, [`ensemble`] combines classifiers trained on their features, and
//! [`evaluate()`] measures each method on a sliding window of days.
//!
//! A prediction of the step from day t to t + 1 reads days up to t only. `docs/predict.md` explains the tables.

pub mod chi_squared;
pub mod crawl;
mod draws;
pub mod ensemble;
pub mod evaluate;
pub mod features;
mod method;
pub mod platt;
pub mod recording;
pub mod related;
pub mod report;
pub mod series;
pub mod significance;
pub mod similarity;
pub mod svm;

pub use crate::evaluate::{ExperimentSettings, MethodOutcome, evaluate};
pub use crate::method::PredictionMethod;
pub use crate::recording::{FixedPages, PagesLeft};
pub use crate::related::Relation;
pub use crate::report::{ExperimentReport, run};
pub use crate::significance::Significance;

#[cfg(test)]
mod testing;
