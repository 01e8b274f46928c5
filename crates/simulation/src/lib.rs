//! The crawl cycle replayed over a recorded history.

pub mod dataset;
pub mod figures;
pub mod truth;

pub use crate::dataset::{Dataset, Page};
pub use crate::figures::CycleFigures;
pub use crate::truth::{Since, Truth};
