//! What a candidate would have found on sites that it was not learned from, beside the formula in force.

use crate::Completions;
use crate::what_if::{COMPLETIONS, replayed};
use rayon::prelude::*;
use recrawl_estimation::interval::quantile;
use recrawl_estimation::{Interval, combine};
use recrawl_formula::Formula;
use recrawl_simulation::policy::formula::FormulaPolicy;
use recrawl_simulation::{SiteFigures, Trace};

/// What a formula reached, over all completions.
#[derive(Clone, Debug, PartialEq)]
pub struct Tested {
    /// Changes found by a visit.
    pub change_rate: f64,
    /// Share of the pages that were visited at least once.
    pub coverage: f64,
    /// What a visit finds more than with the first formula of the list; its variance is over sites drawn anew and over
    /// completions.
    pub gain: Interval,
}

impl Tested {
    /// The ends of the interval of the gain with this error probability.
    pub fn ends(&self, alpha: f64) -> [f64; 2] {
        let half = quantile(1.0 - alpha / 2.0) * self.gain.variance.sqrt();
        [self.gain.value - half, self.gain.value + half]
    }
}

/// Replays formulas over all completions and compares each with the first. `visits_a_page` is the budget, in visits of a
/// page a cycle.
pub fn back_test(completions: &Completions<'_>, formulas: &[Formula], visits_a_page: f64) -> Vec<Tested> {
    let of_seed = |seed: u64| {
        let data = completions.draw(seed);
        let replay = |formula| replayed(&data, &mut FormulaPolicy::new(formula), visits_a_page);
        formulas.iter().map(replay).collect::<Vec<Trace>>()
    };
    let traces: Vec<Vec<Trace>> = (0..COMPLETIONS).into_par_iter().map(of_seed).collect();
    let tested = |place: usize| {
        let gains: Vec<Interval> = traces.iter().map(|traces| gain(&traces[0], &traces[place])).collect();
        let mean = |of: fn(&Trace) -> f64| {
            traces.iter().map(|traces| of(&traces[place])).sum::<f64>() / traces.len() as f64
        };
        Tested {
            change_rate: mean(change_rate),
            coverage: mean(|trace| trace.visited as f64 / trace.pages.max(1) as f64),
            gain: combine(&gains).unwrap_or_default(),
        }
    };
    (0..formulas.len()).map(tested).collect()
}

fn change_rate(trace: &Trace) -> f64 {
    let sum = |of: fn(&SiteFigures) -> u64| trace.sites.iter().map(of).sum::<u64>() as f64;
    sum(|site| site.changed) / sum(|site| site.visited).max(1.0)
}

/// The gain of one replay over another. The variance is that of groups drawn anew: of the two quotients of sums, by
/// their linear parts (Särndal et al. 1992, section 5.6).
fn gain(from: &Trace, to: &Trace) -> Interval {
    let rates = [from, to].map(change_rate);
    let visits =
        [from, to].map(|trace| trace.sites.iter().map(|site| site.visited).sum::<u64>().max(1) as f64);
    let residual =
        |at: usize, site: &SiteFigures| (site.changed as f64 - rates[at] * site.visited as f64) / visits[at];
    let pairs = from.sites.iter().zip(&to.sites).filter(|(site, _)| site.pages > 0);
    let (mut groups, mut squares) = (0.0, 0.0);
    for (before, after) in pairs {
        groups += 1.0;
        squares += (residual(1, after) - residual(0, before)).powi(2);
    }
    let variance = if groups > 1.0 { groups / (groups - 1.0) * squares } else { f64::INFINITY };
    Interval { value: rates[1] - rates[0], variance, sample: groups as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal;
    use recrawl_generator::{Recipe, generate};
    use recrawl_simulation::{Budget, Observed, Policy, Rules, replay};
    use recrawl_types::Reads;

    /// One formula up to a cycle, then another.
    struct Switched([FormulaPolicy; 2], u32);

    impl Policy for Switched {
        fn name(&self) -> &str {
            "switched"
        }

        fn reads(&self) -> Reads {
            self.0[0].reads() | self.0[1].reads()
        }

        fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
            self.0[usize::from(observed.cycle().0 >= self.1)].score(observed, out);
        }
    }

    #[test]
    fn a_better_formula_gains_what_it_really_gains_and_the_same_gains_nothing() {
        let recipe =
            Recipe { pages: 3000, sites: 80, cycles: 80, returns: 0.0, burst: 0.0, ..Recipe::default() };
        let data = generate(&recipe).unwrap().fixed_part();
        let rules = Rules { budget: Budget::Share(0.05), ..Rules::default() };
        let formulas = ["t", "p_eb_site", "t + 0"].map(|text| Formula::from_expression(text).unwrap());
        let (histories, trace) =
            rehearsal::crawl(&data, &rules, &mut FormulaPolicy::new(&formulas[0]), 30, 1).unwrap();
        let policies = [&formulas[0], &formulas[1]].map(FormulaPolicy::new);
        let better = replay::run(&data, &rules, &mut Switched(policies, 30)).unwrap();
        let completions = Completions::new(&histories);
        let [same, learned, again] =
            back_test(&completions, &formulas, histories.visits_a_page()).try_into().unwrap();
        let later = |trace: &Trace| {
            let of = |of: fn(&recrawl_simulation::CycleFigures) -> u64| {
                trace.cycles[27..].iter().map(of).sum::<u64>() as f64
            };
            of(|cycle| cycle.changed) / of(|cycle| cycle.visited)
        };
        let truth = later(&better) - later(&trace);
        let [low, high] = learned.ends(0.05);
        println!("{learned:?}: {low:.4} to {high:.4}, really {truth:.4}");
        // Visits in long gaps hardly tell very lively pages from lively ones, so the gain is rather told too low.
        let gain = learned.gain.value;
        assert!(low > 0.05 && gain > 0.6 * truth && gain < truth + 0.02, "{learned:?}, really {truth}");
        assert_eq!((same.gain.value, same.gain.variance, again.gain.value), (0.0, 0.0, 0.0));
        assert!(same.coverage > 0.9, "{same:?}");
        let [wider, _] = learned.ends(0.001);
        assert!(wider < low);
    }
}
