//! `lambda_crawl`: visits at the rates that minimise the harmonic penalty.

use super::rates::RateEstimator;
use recrawl_simulation::Observed;
use recrawl_simulation::policy::{Make, ReplayPolicy, ReplayPolicyKind};
use recrawl_types::{Cycle, Reads};

/// LambdaCrawl for pages whose changes are not announced (Kolobov et al. 2019, proposition 2, eq.
/// 5), with equal importance of all pages. A page with change rate λ is visited at rate r = (−λ +
/// √(λ² + 4λ/η))/2; η is such that all rates add up to the budget. The pages furthest behind their
/// rate come first: t·r.
pub(super) const KIND: ReplayPolicyKind = ReplayPolicyKind {
    name: "lambda_crawl",
    help: "LambdaCrawl: age times the visit rate that minimises the harmonic penalty",
    make: Make::Honest(|_| Box::new(LambdaCrawl { rates: RateEstimator::global() })),
};

struct LambdaCrawl {
    rates: RateEstimator,
}

impl ReplayPolicy for LambdaCrawl {
    fn name(&self) -> &str {
        KIND.name
    }

    fn reads(&self) -> Reads {
        Reads::SITE_RATE
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        let rates = self.rates.estimate(observed);
        let live: Vec<f64> = live(observed).map(|page| rates[page]).collect();
        let value = multiplier(&live, observed.k() as f64);
        let age = |last: u32| f64::from(observed.cycle().since(Cycle(last)));
        out.clear();
        out.extend(
            rates.iter().zip(&observed.columns().last).map(|(&rate, &last)| age(last) * visits(rate, value)),
        );
    }
}

/// The pages that share the budget: visited before, and still existing.
pub(super) fn live(observed: &Observed) -> impl Iterator<Item = usize> + '_ {
    let columns = observed.columns();
    (0..columns.len()).filter(|&page| columns.visited[page] && columns.known[page].status.is_live())
}

/// The visits per cycle of a page with this rate; `value` is 1/η.
fn visits(rate: f64, value: f64) -> f64 {
    // (√(λ² + 4λ/η) − λ)/2 without the difference of two nearly equal numbers.
    2.0 * rate * value / ((rate * (rate + 4.0 * value)).sqrt() + rate)
}

/// 1/η such that the visits of all pages add up to the budget, by bisection to the last few digits.
fn multiplier(rates: &[f64], budget: f64) -> f64 {
    let spent = |value: f64| rates.iter().map(|&rate| visits(rate, value)).sum::<f64>();
    let mut high = 1.0;
    // Bounded: 2²⁰⁰ is enough for any rate.
    for _ in 0..200 {
        if spent(high) >= budget {
            break;
        }
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if spent(middle) < budget { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_spent_and_the_price_is_the_same_for_all_pages() {
        let rates = [0.001, 0.01, 0.3, 2.0];
        let value = multiplier(&rates, 1.5);
        let spent: f64 = rates.iter().map(|&rate| visits(rate, value)).sum();
        assert!((spent - 1.5).abs() < 1e-9, "{spent}");
        // At the optimum the marginal gain in the penalty −ln(r/(r + λ)) is η for all pages: λ/(r(r
        // + λ)) = η.
        for rate in rates {
            let r = visits(rate, value);
            assert!((rate / (r * (r + rate)) * value - 1.0).abs() < 1e-9, "rate {rate}");
        }
    }
}
