//! `binary_lambda_crawl`, `binary_lambda_crawl_04`: visits at the rates that keep most copies
//! fresh.

use super::lambda_crawl::live;
use super::rates::RateEstimator;
use recrawl_simulation::Observed;
use recrawl_simulation::policy::{Make, ReplayPolicy, ReplayPolicyKind};
use recrawl_types::{Cycle, Reads};

/// The rates of Azar et al. 2018, called BinaryLambdaCrawl by Kolobov et al. 2019, with equal
/// importance of all pages. A page with change rate λ is visited at rate r = √λ·(k + Σλ)/Σ√λ − λ,
/// summing over the pages with positive r. The others change too fast to be kept fresh and are
/// given up. The pages furthest behind their rate come first: t·r.
pub(super) const KIND: ReplayPolicyKind = ReplayPolicyKind {
    name: "binary_lambda_crawl",
    help: "BinaryLambdaCrawl: age times the visit rate that maximises freshness",
    make: Make::Honest(|_| Box::new(BinaryLambdaCrawl::new("binary_lambda_crawl", 0.0))),
};

/// The same with a minimum rate for every page, ε·k/N with ε = 0.4, the paper's best ε in harmonic
/// penalty (Kolobov et al. 2019, supplement §9.3).
pub(super) const WITH_FLOOR: ReplayPolicyKind = ReplayPolicyKind {
    name: "binary_lambda_crawl_04",
    help: "BinaryLambdaCrawl in which every page gets at least 40 % of an equal share of visits",
    make: Make::Honest(|_| Box::new(BinaryLambdaCrawl::new("binary_lambda_crawl_04", 0.4))),
};

struct BinaryLambdaCrawl {
    name: &'static str,
    epsilon: f64,
    rates: RateEstimator,
}

impl BinaryLambdaCrawl {
    fn new(name: &'static str, epsilon: f64) -> BinaryLambdaCrawl {
        BinaryLambdaCrawl { name, epsilon, rates: RateEstimator::global() }
    }
}

impl ReplayPolicy for BinaryLambdaCrawl {
    fn name(&self) -> &str {
        self.name
    }

    fn reads(&self) -> Reads {
        Reads::SITE_RATE
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        let rates = self.rates.estimate(observed);
        let live: Vec<f64> = live(observed).map(|page| rates[page]).collect();
        let floor = self.epsilon * observed.k() as f64 / live.len() as f64;
        let level = level(live, observed.k() as f64, floor);
        let visits = |rate: f64| (rate.sqrt() * level - rate).max(floor);
        let age = |last: u32| f64::from(observed.cycle().since(Cycle(last)));
        out.clear();
        out.extend(rates.iter().zip(&observed.columns().last).map(|(&rate, &last)| age(last) * visits(rate)));
    }
}

/// (k + Σλ)/Σ√λ over the pages whose visit rate is above the floor; k is the budget that the others
/// leave. The value of a first visit falls as λ/(λ + floor)², so pages are tried in that order and
/// removed from its end.
fn level(mut rates: Vec<f64>, budget: f64, floor: f64) -> f64 {
    let worth = |rate: f64| rate / ((rate + floor) * (rate + floor));
    rates.sort_unstable_by(|a, b| worth(*a).total_cmp(&worth(*b)));
    let (mut k, mut roots) = (budget, rates.iter().map(|rate| rate.sqrt()).sum::<f64>());
    let mut sum = rates.iter().sum::<f64>();
    for rate in rates {
        let level = (k + sum) / roots;
        if rate.sqrt() * level - rate > floor {
            return level;
        }
        (k, roots, sum) = (k - floor, roots - rate.sqrt(), sum - rate);
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_spent_and_pages_that_change_too_fast_are_given_up() {
        let rates = [0.01, 0.2, 0.3, 50.0];
        let spent = |floor: f64| {
            let level = level(rates.to_vec(), 1.0, floor);
            rates.map(|rate| (rate.sqrt() * level - rate).max(floor))
        };
        let none = spent(0.0);
        assert!((none.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{none:?}");
        assert_eq!(none[3], 0.0);
        // At the optimum the marginal gain in freshness r/(r + λ) is equal for all pages: λ/(r +
        // λ)².
        let gain = |i: usize| rates[i] / ((none[i] + rates[i]) * (none[i] + rates[i]));
        assert!((gain(0) / gain(1) - 1.0).abs() < 1e-12 && (gain(1) / gain(2) - 1.0).abs() < 1e-12);
        let floor = spent(0.1);
        assert!((floor.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{floor:?}");
        assert_eq!(floor[3], 0.1);
    }
}
