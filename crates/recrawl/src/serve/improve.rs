//! The loop of `improve` in a running crawl.

pub mod decisions;
pub mod forecasts;
pub mod learn;
