//! The model of the next change: a page's hazard, given its record, its site and its siblings.
//!
//! The hazard h is the negative logarithm of the probability of no change since the last visit:
//! ln h = ln h₀ + Σ wᵢfᵢ. h₀ is the page's hazard under a Gamma prior with the rate of its site; with all weights
//! 0, `p_next` is `p_eb_site`. The link is complementary log-log, so that a feature multiplies the rate of change.
//! Weights are learned from visits ([`NextChangeModel`]). Related pages as features: Radinsky and Bennett 2013, who
//! have one support vector machine a page; here all pages share one model of constant cost.

mod cholesky;
mod model;

pub use model::{Lesson, NextChangeModel};

use crate::kernel::update;
use crate::math::{exp, ln};
use crate::posterior::{self, Mean};
use crate::{Tile, terminal};
use recrawl_types::{Cycle, NEXT_CHANGE_WEIGHTS, Reads, StateColumns};

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
    /// ln(1 + recent) for each half-life; ln(1 + t) − 2; ln of the burst; ln of the rate of the section as a share of that
    /// of all pages, or 0 where sections are not filled in. All are finite.
    pub features: [f64; NEXT_CHANGE_WEIGHTS],
}

impl NextChange {
    /// What the features and the weights are read from, for a formula that reads `by_formula`; none unless it reads the model.
    pub fn reads(by_formula: Reads) -> Option<Reads> {
        // A formula may read the rates of sections without a model that does.
        let model = match by_formula.contains(Reads::NEXT_CHANGE_BY_SECTION) {
            true => terminal::NEXT_CHANGE_SECTION,
            false => terminal::NEXT_CHANGE,
        };
        by_formula.contains(Reads::NEXT_CHANGE).then_some(model)
    }

    /// The page in a row as of `cycle`.
    ///
    /// # Panics
    /// If the rates of sites and siblings and the bursts are not filled in.
    pub fn of_row(columns: &StateColumns, row: usize, cycle: Cycle) -> NextChange {
        let tile =
            Tile { columns, rows: row..row + 1, cycle, basis: Default::default(), model: Default::default() };
        let (mut base, mut features) = ([0.0], [0.0; NEXT_CHANGE_WEIGHTS]);
        load_log_hazard(&tile, Mean::Site, &mut base);
        let with_section = !columns.section_rate.is_empty();
        for_each_feature(&tile, &base, with_section, |number, feature| features[number] = feature[0]);
        NextChange { base: base[0], features }
    }

    /// h for these weights, between 10⁻¹² and 32.
    pub fn hazard(&self, weights: &[f64; NEXT_CHANGE_WEIGHTS]) -> f64 {
        hazard(self.features.iter().zip(weights).fold(self.base, |sum, (f, w)| sum + f * w))
    }
}

/// h with this logarithm, within its limits.
#[inline(always)]
fn hazard(log: f64) -> f64 {
    exp(log.clamp(ln(LEAST), ln(MOST)))
}

/// Fills `out` with the logarithm of every row's hazard under one of the priors; ln h₀ under that of its site.
fn load_log_hazard(tile: &Tile<'_>, mean: Mean, out: &mut [f64]) {
    posterior::load(
        tile,
        mean,
        out,
        #[inline(always)]
        |posterior, t| posterior.hazard(t.max(1.0)).max(LEAST),
    );
    update(out, ln);
}

/// Passes on the number and the values of each feature of all rows, in order. `base` has ln h₀ of every row.
fn for_each_feature(tile: &Tile<'_>, base: &[f64], with_section: bool, mut each: impl FnMut(usize, &[f64])) {
    let (c, cycle) = (tile.columns, tile.cycle);
    let mut values = [0.0; Tile::MAX_ROWS];
    let values = &mut values[..base.len()];
    values.fill(1.0);
    each(0, values);
    for (number, mean) in [(1, Mean::Global), (2, Mean::Siblings)] {
        load_log_hazard(tile, mean, values);
        values.iter_mut().zip(base).for_each(|(value, base)| *value -= base);
        each(number, values);
    }
    for (number, half_life) in [(3, 0), (4, 1), (5, 2)] {
        terminal::recent(half_life, tile, values);
        update(
            values,
            #[inline(always)]
            |recent| ln(1.0 + recent),
        );
        each(number, values);
    }
    tile.map(
        &c.last,
        values,
        #[inline(always)]
        move |last| ln(1.0 + terminal::age(cycle, last).max(1.0)) - 2.0,
    );
    each(6, values);
    tile.map(&c.burst, values, ln);
    each(7, values);
    // The last one: without it, the sums have the same digits as before there were sections.
    if with_section {
        let global = c.global_rate;
        tile.map(
            &c.section_rate,
            values,
            #[inline(always)]
            move |rate| ln(rate / global),
        );
        each(8, values);
    }
}

/// Fills `out` with the hazard of every row, with or without the feature of sections; 0 for pages that were visited in
/// this cycle. They are computed once for all terminals of a formula.
pub(crate) fn load(tile: &Tile<'_>, with_section: bool, out: &mut [f64]) {
    let mut known = tile.model.0.borrow_mut();
    match &*known {
        Some((by_section, hazards)) if *by_section == with_section => out.copy_from_slice(hazards),
        _ => {
            compute(tile, with_section, out);
            *known = Some((with_section, out.to_vec()));
        }
    }
}

fn compute(tile: &Tile<'_>, with_section: bool, out: &mut [f64]) {
    load_log_hazard(tile, Mean::Site, out);
    let mut base = [0.0; Tile::MAX_ROWS];
    let base = &mut base[..out.len()];
    base.copy_from_slice(out);
    let (weights, cycle) = (tile.columns.next_change, tile.cycle);
    // One feature after the other, as in `NextChange::hazard`, so that both give the same digits.
    for_each_feature(tile, base, with_section, |number, values| {
        out.iter_mut().zip(values).for_each(|(sum, value)| *sum += value * weights[number]);
    });
    tile.update(
        &tile.columns.last,
        out,
        #[inline(always)]
        move |log, last| if cycle.0 > last { hazard(log) } else { 0.0 },
    );
}
