//! CG: the estimator of Cho and Garcia-Molina.

use crate::math::ln;
use crate::{Estimator, Tile};
use recrawl_types::Reads;

/// −ln((n − X + ½) / (n + ½)): the bias-reduced rate of a Poisson process that is observed once per
/// unit of time (Cho & Garcia-Molina, "Estimating frequency of change", 2003). The same in both
/// bases.
pub const ESTIMATOR: Estimator = Estimator {
    name: "cg",
    help: "Cho and Garcia-Molina's bias-reduced rate of a Poisson process",
    visits: "-ln((n - X + 0.5) / (n + 0.5))",
    cycles: "-ln((n - X + 0.5) / (n + 0.5))",
    reads: |_| Reads::VISITS | Reads::CHANGES,
    load,
};

fn load(tile: &Tile<'_>, out: &mut [f64]) {
    let c = tile.columns;
    tile.map2(
        &c.visits,
        &c.changes,
        out,
        #[inline(always)]
        |n, x| {
            let (n, x) = (f64::from(n), f64::from(x));
            // Subtraction from 0 instead of negation avoids a rate of −0.
            0.0 - ln((n - x + 0.5) / (n + 0.5))
        },
    );
}
