//! How often a page changes, from visits with gaps: a grid of rates, and what visits tell of each.
//!
//! A visit after a gap of w cycles finds a page of rate λ changed with probability 1 − e^(−λw), whatever happened more
//! than once in between (Cho & Garcia-Molina 2003). A Gamma posterior has no such likelihood and misjudges lively pages
//! that are seldom visited; on a grid it is exact. The prior is fitted to the pages themselves by expectation
//! maximisation (Laird 1978).

use serde::{Deserialize, Serialize};

/// Rates of the grid.
pub const RATES: usize = 32;
/// The lowest and the highest rate, in changes a cycle.
const SLOWEST: f64 = 1e-4;
const FASTEST: f64 = 3.0;
/// Steps of the fit at most, and the change of a weight below which it ends.
const MAX_STEPS: u32 = 200;
const SETTLED: f64 = 1e-7;

/// Comparisons of visits that lie equally far from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gaps {
    /// Cycles between a visit and the one before, at least 1.
    pub cycles: u32,
    /// Did the visits find a change?
    pub changed: bool,
    /// Number of such visits.
    pub count: u32,
}

/// A distribution over the rates of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    weights: [f64; RATES],
}

/// The rates of the grid in changes a cycle, in equal steps of their logarithm.
pub fn grid() -> [f64; RATES] {
    let step = (FASTEST / SLOWEST).ln() / (RATES - 1) as f64;
    std::array::from_fn(|place| SLOWEST * (step * place as f64).exp())
}

/// What visits tell of each rate.
#[derive(Clone, Debug)]
pub struct Likelihoods {
    rates: [f64; RATES],
    /// ln(1 − e^(−λw)) of each w so far, 1 first.
    changed: Vec<[f64; RATES]>,
}

impl Default for Likelihoods {
    fn default() -> Likelihoods {
        Likelihoods { rates: grid(), changed: Vec::new() }
    }
}

impl Likelihoods {
    /// The likelihood of each rate, up to a common factor.
    pub fn of(&mut self, gaps: &[Gaps]) -> [f64; RATES] {
        let mut logs = [0.0; RATES];
        for &Gaps { cycles, changed, count } in gaps {
            let count = f64::from(count);
            if !changed {
                let watched = f64::from(cycles) * count;
                logs.iter_mut().zip(self.rates).for_each(|(log, rate)| *log -= rate * watched);
                continue;
            }
            while self.changed.len() < cycles as usize {
                let cycles = (self.changed.len() + 1) as f64;
                self.changed.push(self.rates.map(|rate| (-(-rate * cycles).exp_m1()).ln()));
            }
            let of_gap = &self.changed[cycles as usize - 1];
            logs.iter_mut().zip(of_gap).for_each(|(log, of_gap)| *log += count * of_gap);
        }
        let highest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        logs.map(|log| (log - highest).exp())
    }
}

impl Rates {
    /// Each rate is as probable as another.
    pub fn unknown() -> Rates {
        Rates { weights: [1.0 / RATES as f64; RATES] }
    }

    /// The distribution of the rates of pages, from the likelihoods of each.
    pub fn fit(pages: &[[f64; RATES]]) -> Rates {
        let mut prior = Rates::unknown();
        if pages.is_empty() {
            return prior;
        }
        for _ in 0..MAX_STEPS {
            let mut sums = [0.0; RATES];
            for page in pages {
                let posterior = prior.posterior(page);
                sums.iter_mut().zip(posterior.weights).for_each(|(sum, weight)| *sum += weight);
            }
            let next = Rates { weights: sums.map(|sum| sum / pages.len() as f64) };
            let moved = next.weights.iter().zip(prior.weights).map(|(next, last)| (next - last).abs());
            let has_settled = moved.fold(0.0, f64::max) < SETTLED;
            prior = next;
            if has_settled {
                break;
            }
        }
        prior
    }

    /// The distribution of a page's rate: this one is the prior.
    pub fn posterior(&self, likelihood: &[f64; RATES]) -> Rates {
        let mut weights = self.weights;
        weights.iter_mut().zip(likelihood).for_each(|(weight, likelihood)| *weight *= likelihood);
        let sum: f64 = weights.iter().sum();
        if sum > 0.0 { Rates { weights: weights.map(|weight| weight / sum) } } else { *self }
    }

    /// The mean of a figure of the rate.
    pub fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        grid().into_iter().zip(self.weights).map(|(rate, weight)| weight * of(rate)).sum()
    }

    /// The rate at this quantile, 0 to 1.
    pub fn quantile(&self, part: f64) -> f64 {
        let mut sum = 0.0;
        let place = self.weights.iter().position(|weight| {
            sum += weight;
            sum > part
        });
        grid()[place.unwrap_or(RATES - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn gaps(cycles: u32, changed: bool, count: u32) -> Gaps {
        Gaps { cycles, changed, count }
    }

    #[test]
    fn likelihoods_are_those_of_the_gaps() {
        // Checked by scripts/check-estimation.py.
        let visits = [gaps(3, true, 2), gaps(1, false, 4), gaps(30, true, 1), gaps(7, false, 1)];
        let posterior = Rates::unknown().posterior(&Likelihoods::default().of(&visits));
        assert!((posterior.mean(|rate| rate) - 0.157_349_302_903_693_84).abs() < 1e-12, "{posterior:?}");
        assert!(
            (posterior.mean(|rate| (-rate).exp()) - 0.858_812_254_973_088_7).abs() < 1e-12,
            "{posterior:?}"
        );
    }

    #[test]
    fn the_prior_is_that_of_the_pages() {
        // A third of the pages change at 0.3 a cycle, the others at 0.01; gaps of 1 to 20 cycles, 60 visits each.
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut likelihoods = Likelihoods::default();
        let mut page = |rate: f64| {
            let mut visit = |_| {
                let cycles = random.random_range(1..=20);
                gaps(cycles, random.random_bool(1.0 - (-rate * f64::from(cycles)).exp()), 1)
            };
            let visits: Vec<Gaps> = (0..60).map(&mut visit).collect();
            likelihoods.of(&visits)
        };
        let pages: Vec<_> = (0..900).map(|number| page(if number % 3 == 0 { 0.3 } else { 0.01 })).collect();
        let prior = Rates::fit(&pages);
        let share_above = prior.mean(|rate| if rate > 0.06 { 1.0 } else { 0.0 });
        assert!((share_above - 1.0 / 3.0).abs() < 0.01, "{share_above}");
        let mean = prior.mean(|rate| rate);
        assert!((mean - (0.3 + 0.02) / 3.0).abs() < 0.005, "{mean}");
        assert!((prior.quantile(0.9) - 0.3).abs() < 0.1 && (prior.quantile(0.3) - 0.01).abs() < 0.005);
        assert_eq!(Rates::fit(&[]), Rates::unknown());
    }
}
