//! Estimates from a crawl's own measurements, each with its error.
//!
//! Everything here is a pure function of numbers: no clock, no disk, and randomness is passed in.
//! `scripts/check-estimation.py` computes the same figures by another program.

pub mod difference;
pub mod drift;
pub mod interval;
pub mod laws;
pub mod sequence;
pub mod share;
pub mod stability;
pub mod sum;

pub use crate::difference::{Audited, Population, Sample};
pub use crate::drift::{Alarm, Drift, DriftRules};
pub use crate::interval::{Interval, combine};
pub use crate::laws::{Gaps, Laws, Visited, Weights};
pub use crate::share::{Estimate, HostResponses, Weighted, starves};
pub use crate::stability::Stability;
pub use crate::sum::ExactSum;
