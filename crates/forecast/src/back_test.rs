//! What a candidate would have found on sites that it was not learned from, beside the formula in force.

use crate::Completions;
use crate::what_if::{COMPLETIONS, replayed};
use rayon::prelude::*;
use recrawl_estimation::interval::quantile;
use recrawl_estimation::{Interval, combine};
use recrawl_formula::Formula;
use recrawl_simulation::policy::formula::ReplayFormula;
use recrawl_simulation::{SiteFigures, Trace};

/// What a comparison of formulas counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// ChangeRate.
    ChangeRate,
    /// Freshness.
    Freshness,
    /// Half of ChangeRate, as a multiple of that of the first formula, and half of freshness.
    Balanced,
}

impl Aim {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Aim::ChangeRate => "change_rate",
            Aim::Freshness => "freshness",
            Aim::Balanced => "balanced",
        }
    }

    /// The weights of ChangeRate and freshness, if the first formula has this ChangeRate.
    fn weights(self, first: f64) -> [f64; 2] {
        match self {
            Aim::ChangeRate => CHANGE_RATE,
            Aim::Freshness => FRESHNESS,
            // Where nothing was found, no multiple of it tells anything.
            Aim::Balanced => [if first > 0.0 { 0.5 / first } else { 0.0 }, 0.5],
        }
    }
}

/// Sums of importance are in thousandths.
const THOUSANDTHS: f64 = 1_000.0;
const CHANGE_RATE: [f64; 2] = [1.0, 0.0];
const FRESHNESS: [f64; 2] = [0.0, 1.0];

/// What a formula reached, over all completions. Pages count by their importance.
#[derive(Clone, Debug, PartialEq)]
pub struct BackTested {
    /// Changes found by a visit.
    pub change_rate: f64,
    /// Share of pages whose copy is current, after the visits of a cycle.
    pub freshness: f64,
    /// Both as the aim counts them.
    pub reached: f64,
    /// Share of the pages that were visited at least once.
    pub coverage: f64,
    /// How much more is reached than with the first formula of the list; its variance is over sites drawn anew and over
    /// completions.
    pub gain: Interval,
    /// The same in ChangeRate and in freshness alone.
    pub gains: [Interval; 2],
}

impl BackTested {
    /// The ends of the interval of the gain with this error probability.
    pub fn ends(&self, alpha: f64) -> [f64; 2] {
        ends(&self.gain, alpha)
    }
}

/// The ends of an interval with this error probability.
pub fn ends(gain: &Interval, alpha: f64) -> [f64; 2] {
    let half = quantile(1.0 - alpha / 2.0) * gain.variance.sqrt();
    [gain.value - half, gain.value + half]
}

/// The place of the formula that gains most over the first; with a balanced aim, of those that lose neither figure if there
/// are any. None without another formula.
pub fn best(tested: &[BackTested], aim: Aim) -> Option<usize> {
    let loses =
        |place: usize| aim == Aim::Balanced && tested[place].gains.iter().any(|gain| gain.value < 0.0);
    let gain = |place: usize| tested[place].gain.value;
    (1..tested.len()).max_by(|&a, &b| loses(b).cmp(&loses(a)).then(gain(a).total_cmp(&gain(b))))
}

/// Replays formulas over all completions and compares each with the first. `visits_a_page` is the budget, in visits of a
/// page a cycle.
pub fn back_test(
    completions: &Completions<'_>,
    formulas: &[Formula],
    visits_a_page: f64,
    aim: Aim,
) -> Vec<BackTested> {
    let of_seed = |seed: u64| {
        let data = completions.draw(seed);
        let replay = |formula| replayed(&data, &mut ReplayFormula::new(formula), visits_a_page);
        formulas.iter().map(replay).collect::<Vec<Trace>>()
    };
    let traces: Vec<Vec<Trace>> = (0..COMPLETIONS).into_par_iter().map(of_seed).collect();
    let mean = |place: usize, of: &dyn Fn(&Trace) -> f64| {
        traces.iter().map(|traces| of(&traces[place])).sum::<f64>() / traces.len() as f64
    };
    let tested = |place: usize| {
        let weights = aim.weights(mean(0, &|trace| GroupTotals::over(trace).change_rate()));
        let gain = |weights: [f64; 2]| {
            let gains: Vec<Interval> =
                traces.iter().map(|traces| gain([&traces[0], &traces[place]], weights)).collect();
            combine(&gains).unwrap_or_default()
        };
        BackTested {
            change_rate: mean(place, &|trace| GroupTotals::over(trace).change_rate()),
            freshness: mean(place, &|trace| GroupTotals::over(trace).freshness()),
            reached: mean(place, &|trace| GroupTotals::over(trace).weighted(weights)),
            coverage: mean(place, &|trace| trace.visited as f64 / trace.pages.max(1) as f64),
            gain: gain(weights),
            gains: [CHANGE_RATE, FRESHNESS].map(gain),
        }
    };
    (0..formulas.len()).map(tested).collect()
}

/// Sums over all groups of a replay.
struct GroupTotals(SiteFigures);

impl GroupTotals {
    fn over(trace: &Trace) -> GroupTotals {
        let mut sums = SiteFigures::default();
        trace.sites.iter().for_each(|site| sums.add(site));
        GroupTotals(sums)
    }

    fn change_rate(&self) -> f64 {
        self.0.importance.changed as f64 / THOUSANDTHS / self.0.visited.max(1) as f64
    }

    fn freshness(&self) -> f64 {
        1.0 - self.0.importance.stale as f64 / self.0.importance.pages.max(1) as f64
    }

    fn weighted(&self, [of_rate, of_freshness]: [f64; 2]) -> f64 {
        of_rate * self.change_rate() + of_freshness * self.freshness()
    }

    /// The linear part of a group in [`weighted`](GroupTotals::weighted).
    fn residual(&self, site: &SiteFigures, [of_rate, of_freshness]: [f64; 2]) -> f64 {
        let found = site.importance.changed as f64 / THOUSANDTHS;
        let rate = (found - self.change_rate() * site.visited as f64) / self.0.visited.max(1) as f64;
        let stale = site.importance.stale as f64 - (1.0 - self.freshness()) * site.importance.pages as f64;
        of_rate * rate - of_freshness * stale / self.0.importance.pages.max(1) as f64
    }
}

/// The gain of one replay over another. The variance is that of groups drawn anew: of the quotients of sums, by
/// their linear parts (Särndal et al. 1992, section 5.6).
fn gain(traces: [&Trace; 2], weights: [f64; 2]) -> Interval {
    let sums = traces.map(GroupTotals::over);
    let [from, to] = traces;
    let pairs = from.sites.iter().zip(&to.sites).filter(|(site, _)| site.pages > 0);
    let (mut groups, mut squares) = (0.0, 0.0);
    for (before, after) in pairs {
        groups += 1.0;
        squares += (sums[1].residual(after, weights) - sums[0].residual(before, weights)).powi(2);
    }
    let variance = if groups > 1.0 { groups / (groups - 1.0) * squares } else { f64::INFINITY };
    Interval { value: sums[1].weighted(weights) - sums[0].weighted(weights), variance, sample: groups as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal;
    use recrawl_generator::{Recipe, generate};
    use recrawl_simulation::{Budget, Observed, ReplayPolicy, Rules, replay};
    use recrawl_types::Reads;

    /// One formula up to a cycle, then another.
    struct Switched([ReplayFormula; 2], u32);

    impl ReplayPolicy for Switched {
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
            rehearsal::crawl(&data, &rules, &mut ReplayFormula::new(&formulas[0]), 30, 1).unwrap();
        let policies = [&formulas[0], &formulas[1]].map(ReplayFormula::new);
        let better = replay::run(&data, &rules, &mut Switched(policies, 30)).unwrap();
        let completions = Completions::new(&histories);
        let [same, learned, again] =
            back_test(&completions, &formulas, histories.visits_a_page(), Aim::ChangeRate)
                .try_into()
                .unwrap();
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

    /// A trace of two groups of ten pages in one cycle.
    fn trace(changed: [u64; 2], stale: [u64; 2], importance: u64) -> Trace {
        let site = |at: usize| SiteFigures {
            pages: 10,
            visited: 5,
            changed: changed[at],
            stale: stale[at],
            importance: recrawl_simulation::ImportanceFigures {
                pages: 10 * importance,
                changed: changed[at] * importance,
                stale: stale[at] * importance,
                covered: 0,
            },
            ..SiteFigures::default()
        };
        Trace { sites: vec![site(0), site(1)], ..Trace::default() }
    }

    #[test]
    fn a_balanced_aim_counts_both_figures() {
        let (before, after) = (trace([1, 1], [6, 4], 1_000), trace([2, 2], [4, 4], 1_000));
        let of = |aim: Aim| gain([&before, &after], aim.weights(GroupTotals::over(&before).change_rate()));
        assert!(
            (of(Aim::ChangeRate).value - 0.2).abs() < 1e-12 && of(Aim::ChangeRate).variance.abs() < 1e-12
        );
        // 10 of 20 pages were fresh, now 12; the groups differ by two pages.
        let fresh = of(Aim::Freshness);
        assert!(
            (fresh.value - 0.1).abs() < 1e-12 && (fresh.variance - 2.0 * 2.0 * 0.05f64.powi(2)).abs() < 1e-12,
            "{fresh:?}"
        );
        // Twice as many changes.
        assert!((of(Aim::Balanced).value - (0.5 * 1.0 + 0.5 * 0.1)).abs() < 1e-12);
        // Importance alike is no importance, but changes count by it.
        let important = gain([&trace([1, 1], [6, 4], 5_000), &trace([2, 2], [4, 4], 5_000)], [1.0, 0.0]);
        assert!((important.value - 5.0 * 0.2).abs() < 1e-12);
        let nothing = trace([0, 0], [0, 0], 0);
        for aim in [Aim::ChangeRate, Aim::Freshness, Aim::Balanced] {
            let gain = gain([&nothing, &nothing], aim.weights(GroupTotals::over(&nothing).change_rate()));
            assert_eq!((gain.value, gain.variance), (0.0, 0.0), "{aim:?}");
        }
    }

    #[test]
    fn the_best_gains_most_and_with_a_balanced_aim_loses_neither_figure() {
        let of = |gain: f64, gains: [f64; 2]| {
            let interval = |value| Interval { value, ..Interval::default() };
            BackTested {
                change_rate: 0.0,
                freshness: 0.0,
                reached: 0.0,
                coverage: 1.0,
                gain: interval(gain),
                gains: gains.map(interval),
            }
        };
        let first = of(0.0, [0.0, 0.0]);
        let tested = [first.clone(), of(0.4, [0.3, -0.1]), of(0.2, [0.1, 0.1]), of(0.1, [0.1, 0.0])];
        assert_eq!([Aim::ChangeRate, Aim::Balanced].map(|aim| best(&tested, aim)), [Some(1), Some(2)]);
        assert_eq!(best(&tested[..2], Aim::Balanced), Some(1), "if all lose one of them");
        assert_eq!(best(&[first], Aim::Balanced), None);
    }
}
