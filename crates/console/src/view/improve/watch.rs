//! What measured cycles say.

use super::Estimate;
use serde::Serialize;
use utoipa::ToSchema;

/// What was measured. Cycles are pooled, at most 28.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Watch {
    /// Measured cycles.
    pub cycles: u64,
    /// The last of them.
    pub last: u64,
    /// Pooled cycles.
    pub pooled: u64,
    /// Share of pages unchanged since their last visit, before the visits of a cycle; null with fewer audited pages
    /// than `pages_needed`.
    pub freshness: Option<Estimate>,
    /// Audited pages of the pooled cycles.
    pub pages: u64,
    /// Audited pages below which there is no estimate.
    pub pages_needed: u64,
    /// Audited pages that an error of ± 0.02 takes; null without an estimate.
    pub pages_for_two_points: Option<u64>,
    /// Visits by score.
    pub score: FoundBeside,
    /// Visits of the audit sample.
    pub audit: FoundBeside,
    /// Changes beside what was expected, cycle by cycle.
    pub drift: DriftWatch,
    /// How the pages that compete by score are distributed.
    pub population: PopulationWatch,
}

/// Visits beside what was expected of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct FoundBeside {
    /// Visits that could be compared.
    pub visits: u64,
    /// Of these, changed.
    pub changed: u64,
    /// Changes expected from the histories of the same pages.
    pub expected: f64,
}

/// A two-sided CUSUM of changes by score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct DriftWatch {
    /// Cycles until there is a norm to compare with.
    pub cycles_wanted: u64,
    /// Sum of deviations above the norm.
    pub above: f64,
    /// Sum of deviations below it.
    pub below: f64,
    /// A sum above this raises an alarm.
    pub limit: f64,
    /// The last alarm.
    pub alarm: Option<DriftAlarm>,
}

/// An alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct DriftAlarm {
    /// The cycle that raised it.
    pub cycle: u64,
    /// Which changes visits find since.
    pub changes: MoreOrFewer,
}

/// The direction of a drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MoreOrFewer {
    /// More changes than expected.
    More,
    /// Fewer changes than expected.
    Fewer,
}

/// How the pages that compete by score are distributed, against 28 cycles before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct PopulationWatch {
    /// Measured cycles from which on something is told.
    pub cycles_needed: u64,
    /// By X / n; null while half of the pages have fewer than 16 comparisons in the cycle compared with.
    pub change_rate: Option<Stability>,
    /// By depth.
    pub depth: Option<Stability>,
    /// Has one of them reached its limit in three cycles in a row? Null if there is too little to tell.
    pub has_moved: Option<bool>,
}

/// A population stability index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Stability {
    /// The index, from 0.
    pub index: f64,
    /// From this index on, pages are distributed in another way: 0.25, or more where so few pages reach that by chance.
    pub limit: f64,
}

impl PopulationWatch {
    /// The largest index.
    pub fn max(&self) -> Option<f64> {
        [self.change_rate, self.depth].into_iter().flatten().map(|one| one.index).reduce(f64::max)
    }
}
