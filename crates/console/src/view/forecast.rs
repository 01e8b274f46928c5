//! Forecasts from a crawl's own visits: other budgets, and plain revisiting.

use super::Estimate;
use serde::Serialize;
use utoipa::ToSchema;

/// A forecast, or that it is being computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Forecasted<T> {
    /// Of the last committed cycle.
    Ready(T),
    /// In the background; the answer comes later.
    Computing(Computing),
}

/// A forecast is being computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Computing {
    /// Always `computing`.
    pub state: ComputingState,
    /// The cycle that it is of.
    pub cycle: u64,
    /// Since when.
    pub since: u64,
}

/// That a forecast is being computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComputingState {
    /// Ask again in some seconds.
    #[default]
    Computing,
}

/// That a forecast was computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadyState {
    /// It is of the cycle that it names.
    #[default]
    Ready,
}

/// What other budgets would bring.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct WhatIf {
    /// What it rests on.
    #[serde(flatten)]
    pub basis: ForecastBasis,
    /// By budget, ascending; empty if there is not enough to forecast from.
    pub forecasts: Vec<BudgetForecast>,
}

/// What plain revisiting would need for the same freshness: the page that waited longest comes first.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Savings {
    /// What it rests on.
    #[serde(flatten)]
    pub basis: ForecastBasis,
    /// Null if there is not enough to forecast from.
    pub plain: Option<PlainBudget>,
    /// Mean bytes of a body; null if unknown.
    pub bytes_a_visit: Option<f64>,
}

/// What a forecast rests on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct ForecastBasis {
    /// Always `ready`.
    pub state: ReadyState,
    /// The last committed cycle when it was computed.
    pub cycle: u64,
    /// Is there enough for a forecast?
    pub enough: bool,
    /// What is missing, and how much it takes; empty if there is enough.
    pub missing: Vec<Missing>,
    /// Name of the formula in force.
    pub formula: String,
    /// Measured freshness before the visits of a cycle; null if too few pages were audited.
    pub freshness: Option<Estimate>,
    /// Revisits of a cycle.
    pub pages_a_cycle: f64,
    /// Pages of the sample.
    pub sample_pages: u64,
    /// Pages that it was drawn from.
    pub population: u64,
    /// Sites of the sample, or folders of few sites.
    pub groups: u64,
    /// First cycle whose visits are used.
    pub first_cycle: u64,
    /// Last one.
    pub last_cycle: u64,
}

/// Too few of something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Missing {
    /// Of what, in the plural.
    pub what: String,
    /// There are so many.
    pub there: u64,
    /// Number that is needed.
    pub needed: u64,
}

/// The freshness that a budget would bring.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct BudgetForecast {
    /// The budget, as a part of the present one.
    pub budget: f64,
    /// Its revisits of a cycle.
    pub pages_a_cycle: f64,
    /// Freshness before the visits of a cycle.
    pub share: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The budget of plain revisiting for the same freshness, as a part of the present one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct PlainBudget {
    /// Null if it is above `largest`.
    pub budget: Option<f64>,
    /// Lower end of its 95 % interval; null above `largest`.
    pub low: Option<f64>,
    /// Upper end; null above `largest`.
    pub high: Option<f64>,
    /// The smallest budget that was replayed. One of these figures that is no larger may be smaller still.
    pub smallest: f64,
    /// The largest budget that was replayed.
    pub largest: f64,
    /// Revisits of a cycle that the formula in force saves; at least these if `budget` is null. Below 0 if it needs
    /// more than plain revisiting.
    pub pages_saved: f64,
}
