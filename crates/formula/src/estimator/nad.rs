//! NAD: the non-adaptive estimator.

use super::rate;
use crate::{Basis, Estimator, Tile};
use recrawl_types::Reads;

/// All changes count equally: X divided by the visits or by the elapsed cycles.
pub const ESTIMATOR: Estimator = Estimator {
    name: "nad",
    help: "non-adaptive: all seen changes have the same weight",
    visits: "X / n",
    cycles: "X / s",
    reads: |basis| match basis {
        Basis::Visits => Reads::CHANGES | Reads::VISITS,
        Basis::Cycles => Reads::CHANGES | Reads::FIRST,
    },
    load,
};

fn load(tile: &Tile<'_>, out: &mut [f64]) {
    let (c, cycle) = (tile.columns, tile.cycle);
    match tile.basis {
        Basis::Visits => tile.map2(&c.visits, &c.changes, out, move |n, x| rate(f64::from(x), f64::from(n))),
        Basis::Cycles => tile.map2(&c.first, &c.changes, out, move |first, x| {
            rate(f64::from(x), f64::from(cycle.0.saturating_sub(first)))
        }),
    }
}
