//! The posterior of a page's change rate, given its history and a prior.

use crate::kernel::{update, vectorised};
use crate::math::{exp, ln};
use crate::{Priors, Tile, terminal};
use recrawl_types::{Cycle, History};

/// The Gamma distribution of a page's rate. The prior has shape a = [`Priors::SHAPE`] and mean m,
/// observed on other pages, so its second parameter is b = a/m. X changes observed in e cycles give
/// a' = a + X, b' = b + e. An interval with a change counts half: on average the change is in its
/// middle, and later ones could not be seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Posterior {
    /// a'.
    pub shape: f64,
    /// b', in cycles.
    pub watched: f64,
}

/// The mean of the prior.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mean {
    /// The rate of all pages together.
    Global,
    /// The rate of the page's site.
    Site,
    /// The rate of the page's siblings.
    Siblings,
}

impl Posterior {
    /// The posterior of a record, with `prior` = a/m.
    #[inline(always)]
    pub fn new(prior: f64, changes: u32, changed_cycles: u32, first: u32, last: u32) -> Posterior {
        let watched = f64::from(last.saturating_sub(first)) - 0.5 * f64::from(changed_cycles);
        Posterior { shape: Priors::SHAPE + f64::from(changes), watched: prior + watched }
    }

    /// The mean rate, in changes per cycle: a'/b'.
    #[inline(always)]
    pub fn rate(self) -> f64 {
        self.shape / self.watched
    }

    /// The negative logarithm of the probability of no change within `t` cycles: a'·ln(1 + t/b').
    #[inline(always)]
    pub fn hazard(self, t: f64) -> f64 {
        self.shape * ln(1.0 + t / self.watched)
    }
}

/// The probability that a page has changed since its last visit, as of `cycle`: the terminal `p_eb` of one page, with
/// the rate of all pages together in changes a cycle.
pub fn expected_change(history: &History, cycle: Cycle, global_rate: f64) -> f64 {
    let History { changes, changed_cycles, first, last, .. } = *history;
    let posterior = Posterior::new(Priors::SHAPE / global_rate, changes, changed_cycles, first.0, last.0);
    1.0 - exp(-posterior.hazard(terminal::age(cycle, last.0)))
}

/// Fills `out` with `gain` of the mean rate and the age of every row.
#[inline(always)]
pub(crate) fn load_gain(tile: &Tile<'_>, mean: Mean, out: &mut [f64], gain: impl Fn(f64, f64) -> f64) {
    load(
        tile,
        mean,
        out,
        #[inline(always)]
        move |p, t| gain(p.rate(), t),
    );
}

/// Fills `out` with the probability of a change since the last visit, 1 − (b'/(b' + t))^a', for a
/// Poisson process whose rate has this posterior.
pub(crate) fn load_probability(tile: &Tile<'_>, mean: Mean, out: &mut [f64]) {
    load(
        tile,
        mean,
        out,
        #[inline(always)]
        |p, t| p.hazard(t),
    );
    // A separate loop, since both together need more registers than there are.
    to_probability(out);
}

/// Replaces each hazard h by the probability of a change, 1 − e^−h.
pub(crate) fn to_probability(hazards: &mut [f64]) {
    update(
        hazards,
        #[inline(always)]
        |hazard| 1.0 - exp(-hazard),
    );
}

/// Fills `out` with every row's hazard under its siblings' rate, times its burst.
pub(crate) fn load_with_burst(tile: &Tile<'_>, out: &mut [f64]) {
    load(
        tile,
        Mean::Siblings,
        out,
        #[inline(always)]
        |p, t| p.hazard(t),
    );
    let c = tile.columns;
    tile.update(
        &c.burst,
        out,
        #[inline(always)]
        |hazard, burst| hazard * burst,
    );
}

/// Replaces the hazard of every row by `gain` of the rate and age of a Poisson process with this hazard.
#[inline(always)]
pub(crate) fn to_gain(tile: &Tile<'_>, hazards: &mut [f64], gain: impl Fn(f64, f64) -> f64) {
    let (c, cycle) = (tile.columns, tile.cycle);
    tile.update(
        &c.last,
        hazards,
        #[inline(always)]
        move |hazard, last| {
            let t = terminal::age(cycle, last);
            gain(hazard / t.max(1.0), t)
        },
    );
}

/// Fills `out` with `value` of every row's posterior and age.
#[inline(always)]
pub(crate) fn load(tile: &Tile<'_>, mean: Mean, out: &mut [f64], value: impl Fn(Posterior, f64) -> f64) {
    let c = tile.columns;
    match mean {
        Mean::Global => out.fill(Priors::SHAPE / c.global_rate),
        Mean::Site => tile.map(&c.site_rate, out, |rate| Priors::SHAPE / rate),
        Mean::Siblings => tile.map(&c.sibling_rate, out, |rate| Priors::SHAPE / rate),
    }
    let (x, changed) = (tile.slice(&c.changes), tile.slice(&c.changed_cycles));
    let cycle = tile.cycle;
    let (first, last) = (tile.slice(&c.first), tile.slice(&c.last));
    vectorised(
        #[inline(always)]
        move || {
            let pages = x.iter().zip(changed).zip(first).zip(last);
            for (out, (((&x, &changed), &first), &last)) in out.iter_mut().zip(pages) {
                *out = value(Posterior::new(*out, x, changed, first, last), terminal::age(cycle, last));
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Formula;
    use recrawl_types::{Known, StateColumns};

    #[test]
    fn the_expectation_of_one_page_has_the_digits_of_the_terminal() {
        let mut columns = StateColumns { global_rate: 0.037, ..StateColumns::default() };
        let histories: Vec<History> = (0..200u32)
            .map(|i| {
                let mut history = History::first_fetch(Cycle(1 + i % 7));
                (0..i % 9).for_each(|n| history.record(Cycle(9 + n * (1 + i % 5)), (n + i) % 3 == 0));
                history
            })
            .collect();
        histories.iter().for_each(|history| columns.push(Known::default(), Some(history)));
        let mut found = Vec::new();
        Formula::from_expression("p_eb").unwrap().compile().evaluate(&columns, Cycle(60), &mut found);
        let alone: Vec<f64> =
            histories.iter().map(|history| expected_change(history, Cycle(60), 0.037)).collect();
        assert_eq!(found, alone);
    }
}
