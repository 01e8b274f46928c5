//! Figures of a replay that need the contents of pages.

use crate::{Dataset, Observed};

/// The figures of a cycle that need contents. docs/metrics.md has their definitions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContentFigures {
    /// Σ over the visits by budget that found a change of the page's weight. A weight is the PageRank among the pages
    /// of the cycle, times their number.
    pub weight_found: f64,
    /// Freshness of the first ten results, mean over queries.
    pub freshness_at_10: f64,
    /// Precision of the first ten results as Tan & Mitra sum it, mean over queries.
    pub mp_at_10: f64,
    /// Average precision of the first ten results, mean over queries.
    pub ap_at_10: f64,
}

/// Judges replays of one history; a policy does not know of it.
pub trait ContentJudge: Sync {
    /// Begins a replay of `data`.
    fn replay<'a>(&'a self, data: &'a Dataset) -> Box<dyn ReplayJudge + 'a>;
}

/// Judges the cycles of one replay.
pub trait ReplayJudge {
    /// The figures of the current cycle after its visits. `changed` are the pages of the visits by budget that found a
    /// change.
    fn figures(&mut self, observed: &Observed, changed: &[u32]) -> ContentFigures;
}
