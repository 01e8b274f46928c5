//! What a crawl's own visits tell of other formulas and budgets.
//!
//! Whoever replays a log of visits inherits the blindness of the one who chose them. So the histories of a sample of
//! pages are completed several times: changes that nobody saw are drawn from what the visits tell of each page's rate
//! (multiple imputation, Rubin 1987). Other formulas and budgets are replayed over the completions, and these are
//! anchored to the freshness that the crawl measured.

pub mod back_test;
pub mod completed;
pub mod histories;
mod places;
pub mod what_if;

pub use crate::completed::Completions;
pub use crate::histories::{Histories, SampleRequest};

// A rehearsal names this crate as other crates do: the examples include it too.
#[cfg(test)]
extern crate self as recrawl_forecast;
#[cfg(test)]
mod rehearsal;
