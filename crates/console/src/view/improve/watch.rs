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

/// Population stability indexes against 28 cycles before; null until there are 29 measured cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct PopulationWatch {
    /// By n.
    pub visits: Option<f64>,
    /// By X / n.
    pub change_rate: Option<f64>,
    /// By t.
    pub age: Option<f64>,
    /// By depth.
    pub depth: Option<f64>,
    /// An index from which the pages are distributed in another way.
    pub limit: f64,
    /// Has one of them reached the limit in three cycles in a row?
    pub has_moved: bool,
}

impl PopulationWatch {
    /// The largest index.
    pub fn max(&self) -> Option<f64> {
        [self.visits, self.change_rate, self.age, self.depth].into_iter().flatten().reduce(f64::max)
    }
}
