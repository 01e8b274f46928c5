//! `mm`: the rate by the method of moments, smoothed.

use super::Terminal;
use crate::math::ln;
use recrawl_types::Reads;

/// The estimate of Cho & Garcia-Molina (2003) for irregular visits, with the mean interval in place
/// of each: (X/S1)·ln(1 + S1/S0), which is exact if all are equal. One imaginary interval of half a
/// cycle with a change and one without keep it above 0 and finite.
pub(super) static TERMINAL: Terminal = Terminal {
    name: "mm",
    help: "rate of change by moments: (X + 1) / (S1 + 0.5) * ln(1 + (S1 + 0.5) / (S0 + 0.5))",
    reads: |_| Reads::CHANGES | Reads::CHANGED_CYCLES | Reads::FIRST,
    load: |tile, out| {
        let c = tile.columns;
        tile.map2(&c.first, &c.last, out, |first, last| f64::from(last.saturating_sub(first)));
        tile.update2(
            &c.changed_cycles,
            &c.changes,
            out,
            #[inline(always)]
            |span, changed, x| {
                let s1 = f64::from(changed);
                let (changed, same) = (s1 + 0.5, span - s1 + 0.5);
                (f64::from(x) + 1.0) / changed * ln(1.0 + changed / same)
            },
        );
    },
};
