//! AAD: the arithmetically adaptive estimator.

use super::{ramp, rate};
use crate::{Basis, Estimator, Tile};
use recrawl_types::Reads;

/// A change is weighted by its position in the history, so that recent ones count more: Σ i·I_i / Σ
/// i.
pub const ESTIMATOR: Estimator = Estimator {
    name: "aad",
    help: "arithmetically adaptive: the weight of a change is its position in the history",
    visits: "sum of i over the visits i that found a change / (1 + 2 + ... + n)",
    cycles: "sum of h over the cycles h of seen changes (the first fetch is cycle 1) / (1 + 2 + ... + s)",
    reads: |basis| match basis {
        Basis::Visits => Reads::VISITS | Reads::RAMP_VISITS,
        Basis::Cycles => Reads::FIRST | Reads::RAMP_CYCLES,
    },
    load,
};

/// The running sums are integers: exact below 2⁵³, the nearest `f64` above.
fn load(tile: &Tile<'_>, out: &mut [f64]) {
    let (c, cycle) = (tile.columns, tile.cycle);
    match tile.basis {
        Basis::Visits => tile.map2(&c.visits, &c.ramp_visits, out, move |n, sum| rate(sum as f64, ramp(n))),
        Basis::Cycles => tile.map2(&c.first, &c.ramp_cycles, out, move |first, sum| {
            rate(sum as f64, ramp(cycle.0.saturating_sub(first)))
        }),
    }
}
