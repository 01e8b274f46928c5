//! Changes between visits, which nobody saw, drawn from what the visits tell (multiple imputation, Rubin 1987).

use crate::interval::Interval;
use crate::rates::Gaps;
use rand::RngExt;

/// Draws the cycles in which a page of this rate changes in a gap of `cycles`, 1 to `cycles`, ascending, and passes them
/// on. The visit at the end of the gap says whether it has changed at all; none if there was no visit.
pub fn draw_changes(
    rate: f64,
    cycles: u32,
    has_changed: Option<bool>,
    random: &mut impl RngExt,
    mut each: impl FnMut(u32),
) {
    let mut waited = 0;
    match has_changed {
        Some(false) => return,
        Some(true) => {
            // The first change, given that there is one: the inverse of (1 − e^(−λj))/(1 − e^(−λw)).
            let within = -(-rate * f64::from(cycles)).exp_m1();
            let first = -(-random.random::<f64>() * within).ln_1p() / rate;
            waited = (first.ceil() as u32).clamp(1, cycles);
            each(waited);
        }
        None => {}
    }
    loop {
        // Cycles to the next change: geometric.
        let wait = (-(1.0 - random.random::<f64>()).ln() / rate).ceil().max(1.0);
        if wait > f64::from(cycles - waited) {
            return;
        }
        waited += wait as u32;
        each(waited);
    }
}

/// The expected number of changes of a page of this rate in a gap of `cycles` at whose end it has changed: wq / (1 − (1
/// − q)^w), with q = 1 − e^(−λ), a change a cycle at most.
pub fn changes_behind_one(rate: f64, cycles: u32) -> f64 {
    let (once, ever) = (-(-rate).exp_m1(), -(-rate * f64::from(cycles)).exp_m1());
    f64::from(cycles) * once / ever
}

/// Combines the estimates of M completions, each with its variance: the mean, with the mean variance and (1 + 1/M) times
/// the variance between them (Rubin 1987, section 3.1). None without estimates.
pub fn combine(completions: &[Interval]) -> Option<Interval> {
    let count = completions.len() as f64;
    let sample = completions.first()?.sample;
    let value = completions.iter().map(|one| one.value).sum::<f64>() / count;
    let within = completions.iter().map(|one| one.variance).sum::<f64>() / count;
    let squares: f64 = completions.iter().map(|one| (one.value - value).powi(2)).sum();
    let between = if completions.len() > 1 { squares / (count - 1.0) } else { 0.0 };
    Some(Interval { value, variance: within + (1.0 + 1.0 / count) * between, sample })
}

/// How much changes cluster: the changes behind a changed visit, against those of pages that change at random (D of the
/// gap). Above 1, changes come in bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clustering {
    /// For gaps of 2, 4, 8, 16 and 32 cycles: changes counted, and changes expected.
    by_gap: [(f64, f64); CLASSES],
}

const CLASSES: usize = 5;
/// Changes that weigh as much as those counted.
const PRIOR_CHANGES: f64 = 20.0;

impl Clustering {
    /// Adds a page that was visited in every cycle. It is looked at as if it were visited after every second cycle, every
    /// fourth, and so on; `model` gets these visits and tells the changes that it expects behind a changed one.
    pub fn add(&mut self, changed: &[bool], mut model: impl FnMut(u32, &[Gaps; 2]) -> f64) {
        for (class, (found, expected)) in self.by_gap.iter_mut().enumerate() {
            let gap = 2usize << class;
            if gap > changed.len() {
                break;
            }
            // There are as many ways to begin as cycles in the gap.
            let weight = 1.0 / gap as f64;
            for begin in 0..gap {
                let visits = changed[begin.min(changed.len())..].chunks_exact(gap);
                let changes = visits.map(|window| window.iter().filter(|changed| **changed).count() as u32);
                let [mut with, mut without, mut behind] = [0, 0, 0];
                for changes in changes {
                    *(if changes > 0 { &mut with } else { &mut without }) += 1;
                    behind += changes;
                }
                if with > 0 {
                    let of = |changed, count| Gaps { cycles: gap as u32, changed, count };
                    *found += weight * f64::from(behind);
                    *expected +=
                        weight * f64::from(with) * model(gap as u32, &[of(true, with), of(false, without)]);
                }
            }
        }
    }

    /// D of a gap, between those of the two classes beside it. Where little is known of a class, it is near the one before;
    /// at a gap of one cycle it is 1.
    pub fn factor(&self, gap: u32) -> f64 {
        let place = f64::from(gap.max(1)).log2().min(CLASSES as f64);
        let (mut last, mut factor) = (1.0, 1.0);
        for (found, expected) in &self.by_gap[..place.ceil() as usize] {
            last = factor;
            factor = (found + PRIOR_CHANGES * last) / (expected + PRIOR_CHANGES);
        }
        last + (factor - last) * (1.0 - (place.ceil() - place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rates::{Likelihoods, Rates};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn drawn_changes_are_those_of_the_rate_and_of_the_visit() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let (rate, cycles, draws) = (0.2, 6, 100_000);
        for (has_changed, expected) in [
            (Some(false), 0.0),
            (Some(true), changes_behind_one(rate, cycles)),
            (None, 6.0 * (1.0 - (-rate).exp())),
        ] {
            let (mut by_cycle, mut without) = ([0u32; 7], 0);
            for _ in 0..draws {
                let mut last = 0;
                draw_changes(rate, cycles, has_changed, &mut random, |cycle| {
                    assert!(cycle > last && cycle <= cycles);
                    last = cycle;
                    by_cycle[cycle as usize] += 1;
                });
                without += u32::from(last == 0);
            }
            let mean = f64::from(by_cycle.iter().sum::<u32>()) / f64::from(draws);
            assert!((mean - expected).abs() < 0.01, "{has_changed:?}: {mean} for {expected}");
            let expected_without = match has_changed {
                Some(false) => 1.0,
                Some(true) => 0.0,
                None => (-rate * 6.0f64).exp(),
            };
            assert!((f64::from(without) / f64::from(draws) - expected_without).abs() < 0.01);
            // No cycle is favoured: given one change or more, each has q / (1 − (1 − q)^w).
            let a_cycle = expected / 6.0;
            let error = |count: &u32| (f64::from(*count) / f64::from(draws) - a_cycle).abs();
            assert!(by_cycle[1..].iter().all(|count| error(count) < 0.01), "{by_cycle:?}");
        }
    }

    #[test]
    fn the_spread_between_completions_widens_the_interval() {
        let of = |value, variance| Interval { value, variance, sample: 10 };
        assert_eq!(combine(&[]), None);
        assert_eq!(combine(&[of(0.5, 0.1)]), Some(of(0.5, 0.1)));
        let both = combine(&[of(0.4, 0.1), of(0.6, 0.3)]).unwrap();
        assert!(
            (both.value - 0.5).abs() < 1e-15 && (both.variance - (0.2 + 1.5 * 0.02)).abs() < 1e-15,
            "{both:?}"
        );
    }

    /// Pages by chance changed at random, or in spells; visited after gaps of 1 to 30 cycles, and one in twenty in each
    /// cycle. Returns the missed changes told, over the true ones, without and with D.
    fn told(spells: bool, seed: u64) -> [f64; 2] {
        const CYCLES: usize = 200;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut likelihoods = Likelihoods::default();
        let (mut pages, mut spans) = (Vec::new(), Vec::new());
        for number in 0..2000 {
            let rate = 0.3f64.powf(1.0 + 3.0 * random.random::<f64>());
            let (mut is_on, mut truth) = (false, Vec::with_capacity(CYCLES));
            for _ in 0..CYCLES {
                // A spell lasts ten cycles, in which the page changes every other cycle.
                is_on =
                    if is_on { random.random_bool(0.9) } else { random.random_bool((rate / 5.0).min(0.5)) };
                let chance = if !spells {
                    1.0 - (-rate).exp()
                } else if is_on {
                    0.5
                } else {
                    0.0
                };
                truth.push(random.random_bool(chance));
            }
            let is_panel = number % 20 == 0;
            let (mut visits, mut last) = (Vec::new(), 0);
            while last < CYCLES {
                let cycles = if is_panel { 1 } else { random.random_range(1..=30) }.min(CYCLES - last);
                let changes = truth[last..last + cycles].iter().filter(|changed| **changed).count();
                visits.push((Gaps { cycles: cycles as u32, changed: changes > 0, count: 1 }, changes));
                last += cycles;
            }
            let gaps: Vec<Gaps> = visits.iter().map(|(gap, _)| *gap).collect();
            pages.push(likelihoods.of(&gaps));
            spans.push((is_panel, visits));
        }
        let prior = Rates::fit(&pages);
        let posteriors: Vec<Rates> = pages.iter().map(|page| prior.posterior(page)).collect();
        let behind = |rates: &Rates, gap| rates.mean(|rate| changes_behind_one(rate, gap));
        let mut clustering = Clustering::default();
        for (_, visits) in spans.iter().filter(|(is_panel, _)| *is_panel) {
            let changed: Vec<bool> = visits.iter().map(|(gap, _)| gap.changed).collect();
            let mut model = |gap, gaps: &[Gaps; 2]| behind(&prior.posterior(&likelihoods.of(gaps)), gap);
            clustering.add(&changed, &mut model);
        }
        let (mut truth, mut plain, mut with_clustering) = (0.0, 0.0, 0.0);
        for ((is_panel, visits), rates) in spans.iter().zip(&posteriors) {
            for (gap, changes) in visits.iter().filter(|(gap, _)| gap.changed && !is_panel) {
                truth += *changes as f64 - 1.0;
                let expected = behind(rates, gap.cycles);
                plain += expected - 1.0;
                with_clustering += expected * clustering.factor(gap.cycles) - 1.0;
            }
        }
        [plain / truth, with_clustering / truth]
    }

    #[test]
    fn missed_changes_are_told_also_where_they_come_in_bursts() {
        for (spells, name) in [(false, "random"), (true, "spells")] {
            let told: Vec<[f64; 2]> = (0..8).map(|seed| told(spells, seed)).collect();
            told.iter().for_each(|[plain, with]| println!("{name}: {plain:.3}, with D {with:.3}"));
            let mean = |of: usize| told.iter().map(|told| told[of]).sum::<f64>() / told.len() as f64;
            assert!(told.iter().all(|[_, with]| (with - 1.0).abs() < 0.2), "{name}");
            assert!((mean(1) - 1.0).abs() < 0.05, "{name}: {}", mean(1));
            assert_eq!((mean(0) - 1.0).abs() < 0.05, !spells, "{name}: {}", mean(0));
        }
    }
}
