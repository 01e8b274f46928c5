//! What a candidate would have found on sites that it was not learned from, beside the formula in force.

use crate::Completions;
use crate::what_if::{COMPLETIONS, replayed};
use rayon::prelude::*;
use recrawl_estimation::starves;
use recrawl_formula::Formula;
use recrawl_formula::math::student;
use recrawl_simulation::policy::formula::ReplayFormula;
use recrawl_simulation::{Dataset, SiteFigures};
use std::ops::{Add, Sub};

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

/// Parts of the time. The first one still shows the formula in force; the spread of a group's gain is told by the others,
/// each of which has most of what a visit sets off.
const PARTS: usize = 4;

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
    /// How much more is reached than with the first formula of the list.
    pub gain: Gain,
    /// The same in ChangeRate and in freshness alone.
    pub gains: [Gain; 2],
}

/// A gain on the pages of this crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gain {
    /// The mean over completions.
    pub value: f64,
    /// Its variance.
    pub variance: f64,
    /// Degrees of freedom of the variance.
    pub freedom: f64,
}

impl Gain {
    /// The ends of the interval with this error probability.
    pub fn ends(&self, alpha: f64) -> [f64; 2] {
        let half = if self.variance > 0.0 {
            student::quantile(alpha, self.freedom.max(1.0)) * self.variance.sqrt()
        } else {
            0.0
        };
        [self.value - half, self.value + half]
    }
}

/// The place of the formula that gains most over the first. Those that starve no pages come first; with a balanced aim, of
/// these those that lose neither figure. None without another formula.
pub fn best(tested: &[BackTested], aim: Aim) -> Option<usize> {
    let starves = |place: usize| starves(tested[place].coverage, tested[0].coverage);
    let loses =
        |place: usize| aim == Aim::Balanced && tested[place].gains.iter().any(|gain| gain.value < 0.0);
    let rank = |place: usize| (!starves(place), !loses(place));
    let gain = |place: usize| tested[place].gain.value;
    (1..tested.len()).max_by(|&a, &b| rank(a).cmp(&rank(b)).then(gain(a).total_cmp(&gain(b))))
}

/// Replays formulas over all completions and compares each with the first. `visits_a_page` is the budget, in visits of a
/// page a cycle.
pub fn back_test(
    completions: &Completions<'_>,
    formulas: &[Formula],
    visits_a_page: f64,
    aim: Aim,
) -> Vec<BackTested> {
    let cycles = completions.cycles() as usize;
    let of_seed = |seed: u64| {
        let data = completions.draw(seed);
        let replay = |formula| TimedReplay::new(&data, formula, visits_a_page, cycles);
        formulas.iter().map(replay).collect::<Vec<TimedReplay>>()
    };
    let replays: Vec<Vec<TimedReplay>> = (0..COMPLETIONS).into_par_iter().map(of_seed).collect();
    let mean = |place: usize, of: &dyn Fn(&TimedReplay) -> f64| {
        replays.iter().map(|replays| of(&replays[place])).sum::<f64>() / replays.len() as f64
    };
    let tested = |place: usize| {
        let weights = aim.weights(mean(0, &|replay| replay.totals().change_rate()));
        let pairs: Vec<[&TimedReplay; 2]> = replays.iter().map(|of| [&of[0], &of[place]]).collect();
        let gain = |weights| gain(&pairs, weights, completions.sampled());
        BackTested {
            change_rate: mean(place, &|replay| replay.totals().change_rate()),
            freshness: mean(place, &|replay| 1.0 - replay.totals().stale_share()),
            reached: mean(place, &|replay| replay.totals().weighted(weights)),
            coverage: mean(place, &|replay| replay.coverage),
            gain: gain(weights),
            gains: [CHANGE_RATE, FRESHNESS].map(gain),
        }
    };
    (0..formulas.len()).map(tested).collect()
}

/// A replay, part by part of the time, without the first part.
struct TimedReplay {
    coverage: f64,
    /// By group, the sums of each part.
    groups: Vec<[GroupSums; PARTS - 1]>,
}

impl TimedReplay {
    fn new(data: &Dataset, formula: &Formula, visits_a_page: f64, cycles: usize) -> TimedReplay {
        let mut up_to: Vec<Vec<SiteFigures>> = Vec::with_capacity(PARTS);
        let trace = replayed(data, &mut ReplayFormula::new(formula), visits_a_page, &mut |so_far| {
            if so_far.cycles.len() * PARTS >= (up_to.len() + 1) * cycles {
                up_to.push(so_far.sites.clone());
            }
        });
        TimedReplay::of_parts(trace.visited as f64 / trace.pages.max(1) as f64, &up_to)
    }

    /// From the figures of all groups up to the end of each part.
    fn of_parts(coverage: f64, up_to: &[Vec<SiteFigures>]) -> TimedReplay {
        let groups = up_to.first().map_or(0, Vec::len);
        let of_group = |group: usize| {
            std::array::from_fn(|part| {
                GroupSums::new(&up_to[part + 1][group]) - GroupSums::new(&up_to[part][group])
            })
        };
        // A time of fewer cycles than parts tells nothing.
        let groups = if up_to.len() == PARTS { (0..groups).map(of_group).collect() } else { Vec::new() };
        TimedReplay { coverage, groups }
    }

    fn totals(&self) -> GroupSums {
        self.groups.iter().flatten().fold(GroupSums::default(), |sum, part| sum + *part)
    }
}

/// Sums over some pages and cycles. Changes, pages and stale copies count by importance.
#[derive(Clone, Copy, Default)]
struct GroupSums {
    visited: f64,
    changed: f64,
    pages: f64,
    stale: f64,
}

impl Add for GroupSums {
    type Output = GroupSums;

    fn add(self, more: GroupSums) -> GroupSums {
        GroupSums {
            visited: self.visited + more.visited,
            changed: self.changed + more.changed,
            pages: self.pages + more.pages,
            stale: self.stale + more.stale,
        }
    }
}

impl Sub for GroupSums {
    type Output = GroupSums;

    fn sub(self, less: GroupSums) -> GroupSums {
        let GroupSums { visited, changed, pages, stale } = less;
        self + GroupSums { visited: -visited, changed: -changed, pages: -pages, stale: -stale }
    }
}

impl GroupSums {
    fn new(figures: &SiteFigures) -> GroupSums {
        let SiteFigures { visited, importance, .. } = figures;
        GroupSums {
            visited: *visited as f64,
            changed: importance.changed as f64 / THOUSANDTHS,
            pages: importance.pages as f64 / THOUSANDTHS,
            stale: importance.stale as f64 / THOUSANDTHS,
        }
    }

    fn change_rate(&self) -> f64 {
        self.changed / self.visited.max(1.0)
    }

    fn stale_share(&self) -> f64 {
        self.stale / self.pages.max(f64::MIN_POSITIVE)
    }

    fn weighted(&self, [of_rate, of_freshness]: [f64; 2]) -> f64 {
        of_rate * self.change_rate() + of_freshness * (1.0 - self.stale_share())
    }

    /// The linear part of a group in [`weighted`](GroupSums::weighted) of all together.
    fn residual(&self, group: &GroupSums, [of_rate, of_freshness]: [f64; 2]) -> f64 {
        let rate = (group.changed - self.change_rate() * group.visited) / self.visited.max(1.0);
        let stale = (group.stale - self.stale_share() * group.pages) / self.pages.max(f64::MIN_POSITIVE);
        of_rate * rate - of_freshness * stale
    }
}

/// Σ(x − x̄)²·n/(n − 1): the variance of the sum of as many such values. Infinite for a single one, 0 for none.
fn spread(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if count > 1.0 { count / (count - 1.0) * squares } else { f64::INFINITY }
}

/// The gain of the second replay of each pair over the first. A candidate will visit the same pages in another time, so
/// its variance is that of
///
/// - time: of each group, the spread of its linear part between parts of the time. Groups change by themselves.
/// - pages that were not drawn: the spread between groups, for the share that is not in the sample (Särndal et al. 1992,
///   section 5.6)
/// - changes that nobody saw: the spread between completions, (1 + 1/M) times (Rubin 1987, section 3.1)
///
/// Its degrees of freedom are Satterthwaite's (1946).
fn gain(pairs: &[[&TimedReplay; 2]], weights: [f64; 2], sampled: f64) -> Gain {
    let count = pairs.len() as f64;
    let values: Vec<f64> = pairs
        .iter()
        .map(|[from, to]| to.totals().weighted(weights) - from.totals().weighted(weights))
        .collect();
    let groups = pairs[0][0].groups.len();
    let (mut of_time, mut of_groups) = (vec![0.0; groups], 0.0);
    for [from, to] in pairs {
        let totals = [from.totals(), to.totals()];
        let mut of_all = Vec::new();
        for (sum, (before, after)) in of_time.iter_mut().zip(from.groups.iter().zip(&to.groups)) {
            let difference = |part: usize| {
                totals[1].residual(&after[part], weights) - totals[0].residual(&before[part], weights)
            };
            let parts: [f64; PARTS - 1] = std::array::from_fn(difference);
            *sum += spread(&parts) / count;
            // Groups without pages say nothing.
            of_all.extend(before.iter().any(|part| part.pages > 0.0).then(|| parts.iter().sum::<f64>()));
        }
        // A crawl that is all in the sample has no other pages.
        of_groups += if sampled < 1.0 { (1.0 - sampled) * spread(&of_all) / count } else { 0.0 };
    }
    let between = (1.0 + 1.0 / count) * spread(&values) / count;
    // A part of the time less is free, as is a group, and a completion.
    let terms = of_time.iter().map(|variance| (*variance, PARTS as f64 - 2.0));
    let terms = || terms.clone().chain([(of_groups, groups as f64 - 1.0), (between, count - 1.0)]);
    let variance: f64 = terms().map(|(variance, _)| variance).sum();
    let squares: f64 = terms().filter(|term| term.0 > 0.0).map(|(v, freedom)| v * v / freedom).sum();
    let freedom = if squares > 0.0 && squares.is_finite() { variance * variance / squares } else { 1.0 };
    Gain { value: values.iter().sum::<f64>() / count, variance, freedom }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal;
    use recrawl_generator::{Recipe, generate};
    use recrawl_simulation::{Budget, Observed, ReplayPolicy, Rules, Trace, replay};
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
        let [low, high] = learned.gain.ends(0.05);
        println!("{learned:?}: {low:.4} to {high:.4}, really {truth:.4}");
        // Visits in long gaps hardly tell very lively pages from lively ones, so the gain is rather told too low.
        let gain = learned.gain.value;
        assert!(low > 0.05 && gain > 0.6 * truth && gain < truth + 0.02, "{learned:?}, really {truth}");
        assert_eq!((same.gain.value, same.gain.variance, again.gain.value), (0.0, 0.0, 0.0));
        assert!(same.coverage > 0.9, "{same:?}");
        let [wider, _] = learned.gain.ends(0.001);
        assert!(wider < low);
    }

    /// A replay of two groups of ten pages in four cycles, the last one with the second figures. The first does not count.
    fn replay_of(first: [[u64; 2]; 2], last: [[u64; 2]; 2], importance: u64) -> TimedReplay {
        let site = |changed: u64, stale: u64| SiteFigures {
            pages: 10,
            visited: 5,
            changed,
            stale,
            importance: recrawl_simulation::ImportanceFigures {
                pages: 10 * importance,
                changed: changed * importance,
                stale: stale * importance,
                covered: 0,
            },
            ..SiteFigures::default()
        };
        let mut sums = vec![SiteFigures::default(); 2];
        let mut up_to = Vec::new();
        for [changed, stale] in [first, first, first, last] {
            sums.iter_mut()
                .zip(changed.into_iter().zip(stale))
                .for_each(|(sum, (c, s))| sum.add(&site(c, s)));
            up_to.push(sums.clone());
        }
        TimedReplay::of_parts(1.0, &up_to)
    }

    fn steady(changed: [u64; 2], stale: [u64; 2], importance: u64) -> TimedReplay {
        replay_of([changed, stale], [changed, stale], importance)
    }

    #[test]
    fn a_balanced_aim_counts_both_figures() {
        let (before, after) = (steady([1, 1], [6, 4], 1_000), steady([2, 2], [4, 4], 1_000));
        let weights = |aim: Aim| aim.weights(before.totals().change_rate());
        let of = |aim: Aim, sampled: f64| gain(&[[&before, &after]; 3], weights(aim), sampled);
        let rate = of(Aim::ChangeRate, 0.5);
        assert!((rate.value - 0.2).abs() < 1e-12 && rate.variance.abs() < 1e-12, "{rate:?}");
        // 10 of 20 pages were fresh, now 12; the groups differ by two pages.
        let fresh = of(Aim::Freshness, 0.5);
        let of_groups = 0.5 * 2.0 * 2.0 * 0.05f64.powi(2);
        assert!((fresh.value - 0.1).abs() < 1e-12 && (fresh.variance - of_groups).abs() < 1e-12, "{fresh:?}");
        assert!((fresh.freedom - 1.0).abs() < 1e-9, "of two groups: {fresh:?}");
        assert!(of(Aim::Freshness, 1.0).variance.abs() < 1e-12, "all pages, and nothing differs in time");
        // Twice as many changes.
        assert!((of(Aim::Balanced, 1.0).value - (0.5 * 1.0 + 0.5 * 0.1)).abs() < 1e-12);
        // Importance alike is no importance, but changes count by it.
        let [from, to] = [steady([1, 1], [6, 4], 5_000), steady([2, 2], [4, 4], 5_000)];
        assert!((gain(&[[&from, &to]], [1.0, 0.0], 1.0).value - 5.0 * 0.2).abs() < 1e-12);
        let nothing = steady([0, 0], [0, 0], 0);
        for aim in [Aim::ChangeRate, Aim::Freshness, Aim::Balanced] {
            let weights = aim.weights(nothing.totals().change_rate());
            let gain = gain(&[[&nothing, &nothing]; 2], weights, 0.5);
            assert_eq!((gain.value, gain.variance), (0.0, 0.0), "{aim:?}");
        }
    }

    #[test]
    fn a_gain_that_comes_and_goes_is_less_sure() {
        let before = steady([1, 1], [4, 4], 1_000);
        // Two cycles without a stale page less, and one with three in each group.
        let after = replay_of([[1, 1], [4, 4]], [[1, 1], [1, 1]], 1_000);
        let found = gain(&[[&before, &after]; 2], FRESHNESS, 1.0);
        // A stale page less is 1/60: 6 of them; of a group, parts differ by (0, 0, 3) pages.
        let of_group = 3.0 / 2.0 * (2.0 * 1.0 + 4.0) / 60f64.powi(2);
        assert!((found.value - 0.1).abs() < 1e-12, "{found:?}");
        assert!((found.variance - 2.0 * of_group).abs() < 1e-12, "{found:?}");
        assert!((found.freedom - 4.0).abs() < 1e-9, "two groups of three parts: {found:?}");
        let [low, high] = found.ends(0.05);
        // Student's t of four degrees of freedom.
        assert!(((high - low) / 2.0 - 2.776_445 * found.variance.sqrt()).abs() < 1e-6, "{low} to {high}");
    }

    #[test]
    fn the_best_gains_most_and_with_a_balanced_aim_loses_neither_figure() {
        let of = |gain: f64, gains: [f64; 2], coverage: f64| {
            let only = |value| Gain { value, ..Gain::default() };
            BackTested {
                change_rate: 0.0,
                freshness: 0.0,
                reached: 0.0,
                coverage,
                gain: only(gain),
                gains: gains.map(only),
            }
        };
        let first = of(0.0, [0.0, 0.0], 1.0);
        let tested = [
            first.clone(),
            of(0.4, [0.3, -0.1], 0.8),
            of(0.2, [0.1, 0.1], 0.9),
            of(0.1, [0.1, 0.0], 1.0),
            of(0.5, [0.4, 0.1], 0.7),
        ];
        assert_eq!([Aim::ChangeRate, Aim::Balanced].map(|aim| best(&tested, aim)), [Some(1), Some(2)]);
        let starving = [first.clone(), tested[4].clone()];
        assert_eq!(best(&starving, Aim::ChangeRate), Some(1), "if all starve pages; the loop refuses it");
        assert_eq!(best(&tested[..2], Aim::Balanced), Some(1), "if all lose one of them");
        assert_eq!(best(&[first], Aim::Balanced), None);
    }
}
