//! `mm`: the rate by the method of moments, smoothed.

use super::Terminal;
use recrawl_types::Reads;

/// The estimate of Cho & Garcia-Molina (2003) for irregular visits, with the mean of the intervals in place
/// of each: (X/S1)·ln(1 + S1/S0), which is exact where all are equal. One imaginary interval of half a cycle
/// that met a change and one that did not keep it from 0 and from infinity.
pub(super) static TERMINAL: Terminal = Terminal {
    name: "mm",
    help: "rate of change by moments: (X + 1) / (S1 + 0.5) * ln(1 + (S1 + 0.5) / (S0 + 0.5))",
    reads: |_| Reads::CHANGES | Reads::CHANGED_CYCLES | Reads::FIRST,
    load: |tile, out| {
        let c = tile.columns;
        tile.map2(&c.first, &c.last, out, |first, last| f64::from(last.saturating_sub(first)));
        let pages = tile.of(&c.changed_cycles).iter().zip(tile.of(&c.changes));
        for (out, (&changed, &x)) in out.iter_mut().zip(pages) {
            let s1 = f64::from(changed);
            let (changed, same) = (s1 + 0.5, *out - s1 + 0.5);
            *out = (f64::from(x) + 1.0) / changed * (1.0 + changed / same).ln();
        }
    },
};
