//! The model of the next change: a page's hazard, given its record, its site and its siblings.
//!
//! The hazard h is the negative logarithm of the probability of no change since the last visit:
//! ln h = ln h₀ + Σ wᵢfᵢ. h₀ is the page's hazard under a Gamma prior with the rate of its site; with all weights
//! 0, `p_next` is `p_eb_site`. The link is complementary log-log, so that a feature multiplies the rate of change.
//! Weights are learned from visits (crate `predictor`). Related pages as features: Radinsky and Bennett 2013, who
//! have one support vector machine a page; here all pages share one model of constant cost.

use crate::math::{exp, ln};
use crate::posterior::Posterior;
use crate::{Priors, Tile, terminal};
use recrawl_types::{Cycle, NEXT_CHANGE_WEIGHTS, StateColumns};
use std::array;

/// Hazards below count as this, since the logarithm of 0 is not finite.
const LEAST: f64 = 1e-12;
/// Hazards above count as this: the probability of no change is 10⁻¹⁴.
const MOST: f64 = 32.0;

/// A page as the model sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextChange {
    /// ln h₀.
    pub base: f64,
    /// What the weights multiply: 1; ln of the hazard with the rate of all pages, and of the siblings, as a share of h₀;
    /// ln(1 + recent) for each half-life; ln(1 + t) − 2; ln of the burst. All are finite.
    pub features: [f64; NEXT_CHANGE_WEIGHTS],
}

impl NextChange {
    /// The page in a row as of `cycle`.
    ///
    /// # Panics
    /// If the rates of sites and siblings and the bursts are not filled in.
    pub fn of_row(columns: &StateColumns, row: usize, cycle: Cycle) -> NextChange {
        let mut recent = [[0.0]; 3];
        let tile = Tile { columns, rows: row..row + 1, cycle, basis: Default::default() };
        recent.iter_mut().enumerate().for_each(|(i, out)| terminal::recent(i, &tile, out));
        NextChange::new(columns, row, cycle, recent.map(|[recent]| recent))
    }

    fn new(c: &StateColumns, row: usize, cycle: Cycle, recent: [f64; 3]) -> NextChange {
        let t = terminal::age(cycle, c.last[row]).max(1.0);
        let log_hazard = |mean: f64| {
            let (changes, changed_cycles) = (c.changes[row], c.changed_cycles[row]);
            let prior = Priors::SHAPE / mean;
            ln(Posterior::of(prior, changes, changed_cycles, c.first[row], c.last[row]).hazard(t).max(LEAST))
        };
        let base = log_hazard(c.site_rate[row]);
        let features = [
            1.0,
            log_hazard(c.global_rate) - base,
            log_hazard(c.sibling_rate[row]) - base,
            ln(1.0 + recent[0]),
            ln(1.0 + recent[1]),
            ln(1.0 + recent[2]),
            ln(1.0 + t) - 2.0,
            ln(c.burst[row]),
        ];
        NextChange { base, features }
    }

    /// h for these weights, between 10⁻¹² and 32.
    pub fn hazard(&self, weights: &[f64; NEXT_CHANGE_WEIGHTS]) -> f64 {
        let sum = self.features.iter().zip(weights).fold(self.base, |sum, (f, w)| sum + f * w);
        exp(sum.clamp(ln(LEAST), ln(MOST)))
    }
}

/// Fills `out` with the hazard of every row; 0 for pages that were visited in this cycle.
pub(crate) fn load(tile: &Tile<'_>, out: &mut [f64]) {
    let (c, rows) = (tile.columns, tile.rows.clone());
    let mut recent: [[f64; Tile::MAX_ROWS]; 3] = array::from_fn(|_| [0.0; Tile::MAX_ROWS]);
    for (i, recent) in recent.iter_mut().enumerate() {
        terminal::recent(i, tile, &mut recent[..out.len()]);
    }
    for (i, (row, out)) in rows.zip(out).enumerate() {
        let page = NextChange::new(c, row, tile.cycle, recent.map(|recent| recent[i]));
        let is_due = tile.cycle.0 > c.last[row];
        *out = if is_due { page.hazard(&c.next_change) } else { 0.0 };
    }
}
