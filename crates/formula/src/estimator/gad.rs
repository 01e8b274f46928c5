//! GAD: the geometrically adaptive estimator.

use super::{half_to_the, rate};
use crate::{Basis, Estimator, Tile};
use recrawl_types::Reads;

/// A change has twice the weight of one a visit (or a cycle) earlier: Σ 2^(i−1)·I_i / (2^n − 1),
/// written so that no term grows with the history.
pub const ESTIMATOR: Estimator = Estimator {
    name: "gad",
    help: "geometrically adaptive: a change has twice the weight of one a step earlier",
    visits: "s / (2 - 2^(1-n)), where s <- s/2 + I at every visit",
    cycles: "sum of 2^(h-1) over the cycles h of seen changes (the first fetch is cycle 1) / (2^s - 1)",
    reads: |basis| match basis {
        Basis::Visits => Reads::VISITS | Reads::GEOMETRIC_VISITS,
        Basis::Cycles => Reads::FIRST | Reads::LAST_CHANGE | Reads::GEOMETRIC_CYCLES,
    },
    load,
};

fn load(tile: &Tile<'_>, out: &mut [f64]) {
    let (c, cycle) = (tile.columns, tile.cycle);
    match tile.basis {
        Basis::Visits => tile.map2(&c.visits, &c.geometric_visits, out, move |n, sum| {
            // 2 − 2^(1−n) is twice 1 − 2^−n, exactly.
            rate(sum, 2.0 * (1.0 - half_to_the(n)))
        }),
        Basis::Cycles => {
            tile.map2(&c.last_change, &c.geometric_cycles, out, move |at, sum| {
                // Σ 2^(h−1) = sum·2^(last_change−first), and 2^s − 1 = 2^(c−first)·(1 − 2^−s).
                sum * half_to_the(cycle.0.saturating_sub(at))
            });
            for (out, &first) in out.iter_mut().zip(tile.slice(&c.first)) {
                *out = rate(*out, 1.0 - half_to_the(cycle.0.saturating_sub(first)));
            }
        }
    }
}
