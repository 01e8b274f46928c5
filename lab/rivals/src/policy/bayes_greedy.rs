//! `bayes_greedy`: the probability of a change by a crawler's own visits, under the prior that fits the whole history.

use recrawl_formula::math::ln;
use recrawl_formula::math::student::ln_gamma;
use recrawl_simulation::policy::{Make, ReplayPolicy, ReplayPolicyKind};
use recrawl_simulation::{Dataset, Observed};
use recrawl_types::Cycle;
use std::collections::BTreeMap;

/// All that a page's own history can tell, without hindsight about single pages. `true_rate` knows which pages never change; this knows only how rates
/// are distributed, and learns the rest from its visits. A policy can be better by what pages tell of each other.
pub(super) const KIND: ReplayPolicyKind = ReplayPolicyKind {
    name: "bayes_greedy",
    help: "probability of a change, by own visits and the Gamma prior that fits the true rates best",
    make: Make::Bound(|data: &Dataset| Box::new(BayesGreedy { prior: Gamma::fitted(data) })),
};

struct BayesGreedy {
    prior: Gamma,
}

/// The Gamma distribution of change rates.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Gamma {
    shape: f64,
    /// In changes per cycle.
    mean: f64,
}

/// Halvings of the search's step, after which shape and mean are known to 1 in 10⁴.
const HALVINGS: u32 = 14;

impl Gamma {
    /// Of the greatest likelihood, given the changes of all pages while they exist: negative binomial counts.
    fn fitted(data: &Dataset) -> Gamma {
        let mut pages = BTreeMap::<(u32, u32), u32>::new();
        for (page, changes) in data.pages.iter().zip(data.truth.changes()) {
            *pages.entry((changes, page.last - page.first)).or_default() += 1;
        }
        let (changes, cycles) = pages.iter().fold((0.0, 0.0), |(x, t), (&(changes, cycles), &pages)| {
            (x + f64::from(changes) * f64::from(pages), t + f64::from(cycles) * f64::from(pages))
        });
        let mean = (changes + 0.5) / (cycles + 1.0);
        let mut best = Gamma { shape: 0.5, mean };
        let mut most = best.log_likelihood(&pages);
        // Climbs in the logarithms of shape and mean, with ever smaller steps.
        let mut step = 2.0;
        for _ in 0..HALVINGS {
            let mut climbs = true;
            while climbs {
                climbs = false;
                for (shape, mean) in [(step, 1.0), (1.0 / step, 1.0), (1.0, step), (1.0, 1.0 / step)] {
                    let next = Gamma { shape: (best.shape * shape).clamp(1e-3, 1e3), mean: best.mean * mean };
                    let likelihood = next.log_likelihood(&pages);
                    if likelihood > most {
                        (best, most, climbs) = (next, likelihood, true);
                    }
                }
            }
            step = f64::sqrt(step);
        }
        best
    }

    /// The logarithm of the likelihood of pages by changes and cycles, up to a constant.
    fn log_likelihood(self, pages: &BTreeMap<(u32, u32), u32>) -> f64 {
        let (a, b) = (self.shape, self.shape / self.mean);
        let of = |changes: f64, cycles: f64| {
            ln_gamma(a + changes) - ln_gamma(a) + a * ln(b / (b + cycles)) - changes * ln(b + cycles)
        };
        let terms = pages
            .iter()
            .map(|(&(changes, cycles), &pages)| f64::from(pages) * of(f64::from(changes), f64::from(cycles)));
        terms.sum()
    }
}

impl ReplayPolicy for BayesGreedy {
    fn name(&self) -> &str {
        KIND.name
    }

    /// 1 − (b'/(b' + t))^a', which ranks as a'·ln(1 + t/b'), with a' and b' as those of the terminal `p_eb`.
    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        let (c, b) = (observed.columns(), self.prior.shape / self.prior.mean);
        let score = |page: usize| {
            let watched = f64::from(c.last[page].saturating_sub(c.first[page]));
            let watched = b + watched - 0.5 * f64::from(c.changed_cycles[page]);
            let age = f64::from(observed.cycle().since(Cycle(c.last[page])));
            (self.prior.shape + f64::from(c.changes[page])) * ln(1.0 + age / watched)
        };
        out.clear();
        out.extend((0..c.len()).map(score));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use recrawl_simulation::{RecordedPage, Truth};

    /// Rates of two classes have the Gamma distribution that a grid of the likelihood finds.
    #[test]
    fn the_prior_has_the_greatest_likelihood() {
        let (mut random, cycles) = (StdRng::seed_from_u64(5), 60);
        let words = |page: usize, random: &mut StdRng| {
            let rate = if page.is_multiple_of(4) { 0.2 } else { 0.005 };
            (1..=cycles).fold(0u64, |word, cycle| word | u64::from(random.random::<f64>() < rate) << cycle)
        };
        let words: Vec<u64> = (0..400).map(|page| words(page, &mut random)).collect();
        let page = RecordedPage { last: cycles, ..RecordedPage::default() };
        let data = Dataset {
            name: "two".into(),
            dates: Vec::new(),
            pages: vec![page; words.len()],
            sites: vec!["a".into()],
            groups: vec!["a".into()],
            truth: Truth::from_words(cycles, words),
            signals: Default::default(),
            contents: None,
            beginning: None,
        };
        let fitted = Gamma::fitted(&data);
        let mut pages = BTreeMap::new();
        data.truth
            .changes()
            .into_iter()
            .for_each(|changes| *pages.entry((changes, cycles)).or_default() += 1);
        let most = fitted.log_likelihood(&pages);
        for shape in [0.8, 0.95, 1.05, 1.2] {
            for mean in [0.8, 0.95, 1.0, 1.05, 1.2] {
                let other = Gamma { shape: fitted.shape * shape, mean: fitted.mean * mean };
                assert!(other.log_likelihood(&pages) < most, "{other:?} is likelier than {fitted:?}");
            }
        }
        assert!((fitted.mean - 0.054).abs() < 0.01 && fitted.shape < 1.0, "{fitted:?}");
        let quiet = Dataset { truth: Truth::from_words(cycles, vec![0; 400]), ..data };
        assert!(
            Gamma::fitted(&quiet).mean.is_finite() && Gamma::fitted(&quiet).mean > 0.0,
            "without any change"
        );
    }
}
