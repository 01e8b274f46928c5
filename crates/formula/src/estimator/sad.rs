//! SAD: the shortsighted adaptive estimator.

use crate::{Basis, Estimator, Tile};
use recrawl_types::Reads;

/// Only the last observation counts: 1 if it found a change, else 0.
pub const ESTIMATOR: Estimator = Estimator {
    name: "sad",
    help: "shortsighted adaptive: only the latest observation counts",
    visits: "1 if the last visit found a change, else 0",
    cycles: "1 if a change was seen in the cycle before this one, else 0",
    reads: |_| Reads::CHANGES | Reads::LAST_CHANGE,
    load,
};

fn load(tile: &Tile<'_>, out: &mut [f64]) {
    let (c, cycle) = (tile.columns, tile.cycle);
    match tile.basis {
        Basis::Visits => tile.map2(&c.last_change, &c.last, out, move |at, last| truth(at == last)),
        Basis::Cycles => {
            let before = cycle.0.saturating_sub(1);
            tile.map(&c.last_change, out, move |at| truth(at == before));
        }
    }
    // A page without a known change has last_change 0, which is also a cycle number.
    for (out, &x) in out.iter_mut().zip(tile.slice(&c.changes)) {
        *out = if x > 0 { *out } else { 0.0 };
    }
}

fn truth(is: bool) -> f64 {
    f64::from(u8::from(is))
}
