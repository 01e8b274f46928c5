//! How a page changes, from visits with gaps: a grid of laws, and what visits tell of each.
//!
//! A law is a chain of two states: within a spell a page changes in each cycle with probability q, outside never. A page
//! that changes at a steady rate λ is always in its spell, with q = 1 − e^(−λ). A visit after a gap of w cycles finds
//! a page changed or not, whatever happened more than once in between (Cho & Garcia-Molina 2003), so the likelihood of a
//! page's visits is that of a hidden Markov chain, exact on the grid: a Gamma posterior misjudges lively pages that are
//! seldom visited, and steady rates misjudge pages that change in spells. The prior is fitted to the pages themselves by
//! expectation maximisation (Laird 1978).

use rand::RngExt;

/// Laws of the grid: steady rates and spells.
pub const LAWS: usize = RATES + SPELLS;
/// Steady rates.
const RATES: usize = 32;
/// The lowest and the highest rate, in changes a cycle.
const SLOWEST: f64 = 1e-4;
const FASTEST: f64 = 3.0;
/// Spells: chances of a change in a cycle, mean lengths in cycles, and mean cycles from one spell to the next.
const CHANCES: [f64; 3] = [0.35, 0.65, 0.95];
const LENGTHS: [f64; 3] = [2.0, 5.0, 12.0];
const RESTS: [f64; 4] = [7.0, 21.0, 63.0, 189.0];
const SPELLS: usize = CHANCES.len() * LENGTHS.len() * RESTS.len();
/// Gaps up to this one are computed once; longer ones are put together from these.
const KEPT_GAPS: u32 = 512;
/// The part of the pages that changes in spells, before anything is known.
const UNKNOWN_SPELLS: f64 = 0.05;
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

/// The visits of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visited {
    /// Earlier visits, of which only sums are known. They tell how often the page changes, not when.
    pub earlier: Vec<Gaps>,
    /// Gaps in their order, in cycles, each with whether the visit at its end found a change.
    pub gaps: Vec<(u32, bool)>,
}

/// By the state at the beginning of a gap and at its end; state 1 is within a spell.
type Matrix = [[f64; 2]; 2];

fn times(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j]))
}

fn plus(a: Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| a[i][j] + b[i][j]))
}

/// What can happen in a gap, from each state to each state.
#[derive(Clone, Copy, Debug)]
struct GapMatrix {
    /// The probability of the end state, and no change.
    unchanged: Matrix,
    /// The probability of the end state.
    any: Matrix,
    /// The mean number of changes, where the gap ends in the state.
    changes: Matrix,
}

impl GapMatrix {
    fn then(&self, next: &GapMatrix) -> GapMatrix {
        GapMatrix {
            unchanged: times(&self.unchanged, &next.unchanged),
            any: times(&self.any, &next.any),
            changes: plus(times(&self.changes, &next.any), &times(&self.any, &next.changes)),
        }
    }

    /// The probabilities of what a visit at the end found.
    fn found(&self, has_changed: bool) -> Matrix {
        match has_changed {
            false => self.unchanged,
            true => {
                let changed = |i: usize, j: usize| (self.any[i][j] - self.unchanged[i][j]).max(0.0);
                std::array::from_fn(|i| std::array::from_fn(|j| changed(i, j)))
            }
        }
    }
}

/// A law.
#[derive(Clone, Copy, Debug)]
struct Law {
    /// The probability of a change in a cycle of a spell.
    chance: f64,
    /// The probability of the next state, by state.
    next: Matrix,
}

impl Law {
    fn steady(rate: f64) -> Law {
        Law { chance: -(-rate).exp_m1(), next: [[0.0, 1.0], [0.0, 1.0]] }
    }

    fn spells(chance: f64, length: f64, rest: f64) -> Law {
        let (begin, end) = (1.0 / rest, 1.0 / length);
        Law { chance, next: [[1.0 - begin, begin], [end, 1.0 - end]] }
    }

    /// How often each state is met in the long run.
    fn states(&self) -> [f64; 2] {
        let (begin, end) = (self.next[0][1], self.next[1][0]);
        [end / (begin + end), begin / (begin + end)]
    }

    /// Changes a cycle in the long run.
    fn rate(&self) -> f64 {
        self.states()[1] * self.chance
    }

    fn one_cycle(&self) -> GapMatrix {
        let [off, on] = self.next;
        let with = |part: f64| [[off[0], off[1] * part], [on[0], on[1] * part]];
        let changes = [[0.0, off[1] * self.chance], [0.0, on[1] * self.chance]];
        GapMatrix { unchanged: with(1.0 - self.chance), any: self.next, changes }
    }
}

/// The laws of the grid, with what can happen in gaps.
#[derive(Clone, Debug)]
pub struct Laws {
    laws: [Law; LAWS],
    /// Of gaps of 1 cycle, 2 cycles and so on.
    gaps: Vec<[GapMatrix; LAWS]>,
}

/// A distribution over the laws of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights([f64; LAWS]);

impl Laws {
    /// For visits that lie at most this many cycles apart; longer gaps take longer to compute.
    pub fn up_to(cycles: u32) -> Laws {
        let step = (FASTEST / SLOWEST).ln() / (RATES - 1) as f64;
        let steady = (0..RATES).map(|place| Law::steady(SLOWEST * (step * place as f64).exp()));
        let spells = CHANCES.iter().flat_map(|chance| {
            let of_length = move |length| RESTS.iter().map(move |rest| Law::spells(*chance, length, *rest));
            LENGTHS.into_iter().flat_map(of_length)
        });
        let mut all = steady.chain(spells);
        let laws = std::array::from_fn(|_| all.next().expect("as many laws as are counted"));
        let mut gaps = vec![laws.map(|law| law.one_cycle())];
        while gaps.len() < cycles.clamp(1, KEPT_GAPS) as usize {
            let last = &gaps[gaps.len() - 1];
            gaps.push(std::array::from_fn(|law| last[law].then(&gaps[0][law])));
        }
        Laws { laws, gaps }
    }

    fn gap(&self, law: usize, cycles: u32) -> GapMatrix {
        let longest = self.gaps.len();
        match cycles as usize {
            cycles if cycles <= longest => self.gaps[cycles.max(1) - 1][law],
            cycles => {
                let half = self.gap(law, cycles as u32 / 2);
                let even = half.then(&half);
                if cycles % 2 == 0 { even } else { even.then(&self.gaps[0][law]) }
            }
        }
    }

    /// The likelihood of each law, up to a common factor.
    pub fn likelihood(&self, page: &Visited) -> [f64; LAWS] {
        let mut logs: [f64; LAWS] = std::array::from_fn(|law| {
            let mut log = 0.0;
            let states = self.laws[law].states();
            for gaps in &page.earlier {
                let found = self.gap(law, gaps.cycles).found(gaps.changed);
                log += f64::from(gaps.count) * sum(after(states, &found)).ln();
            }
            let mut states = states;
            for &(cycles, has_changed) in &page.gaps {
                let reached = after(states, &self.gap(law, cycles).found(has_changed));
                let likelihood = sum(reached);
                log += likelihood.ln();
                if !log.is_finite() {
                    break;
                }
                states = reached.map(|state| state / likelihood);
            }
            if log.is_finite() { log } else { f64::NEG_INFINITY }
        });
        let highest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        logs.iter_mut().for_each(|log| *log = (*log - highest).exp());
        logs
    }

    /// The expected number of changes behind the changed visits of a page, whose laws have these weights. For a steady
    /// law it is wq / (1 − (1 − q)^w) for a gap of w cycles.
    pub fn changes_behind(&self, page: &Visited, weights: &Weights) -> f64 {
        let of_law = |law: usize| {
            let (mut states, mut changes) = (self.laws[law].states(), 0.0);
            for &(cycles, has_changed) in &page.gaps {
                let gap = self.gap(law, cycles);
                let reached = after(states, &gap.found(has_changed));
                let likelihood = sum(reached);
                if likelihood <= 0.0 {
                    break;
                }
                if has_changed {
                    // A gap with a change has no fewer than one.
                    changes += (sum(after(states, &gap.changes)) / likelihood).max(1.0);
                }
                states = reached.map(|state| state / likelihood);
            }
            changes
        };
        let likely = weights.0.iter().enumerate().filter(|(_, weight)| **weight > NEGLIGIBLE);
        likely.map(|(law, weight)| weight * of_law(law)).sum()
    }

    /// The mean of changes a cycle in the long run.
    pub fn rate(&self, weights: &Weights) -> f64 {
        self.laws.iter().zip(weights.0).map(|(law, weight)| weight * law.rate()).sum()
    }

    /// Draws the cycles in which a page changes that follows a law drawn from these weights: they agree with what its
    /// visits found, and go on for `ahead` cycles. Cycles are counted from the page's state before its first gap, and are
    /// passed on in ascending order.
    pub fn draw(
        &self,
        page: &Visited,
        weights: &Weights,
        ahead: u32,
        random: &mut impl RngExt,
        mut each: impl FnMut(u32),
    ) {
        let place = weights.quantile(random.random());
        let law = &self.laws[place];
        // What is still to come, by the state at the beginning of each gap.
        let mut to_come = vec![[1.0, 1.0]; page.gaps.len() + 1];
        for (gap, &(cycles, has_changed)) in page.gaps.iter().enumerate().rev() {
            let before = preceding(&self.gap(place, cycles).found(has_changed), to_come[gap + 1]);
            let scale = before[0].max(before[1]);
            // A law that cannot have it so has no weight, but for rounding.
            to_come[gap] = if scale > 0.0 { before.map(|state| state / scale) } else { [1.0, 1.0] };
        }
        let states = law.states();
        let mut state = either([states[0] * to_come[0][0], states[1] * to_come[0][1]], random);
        let mut begun = 0;
        for (gap, &(cycles, has_changed)) in page.gaps.iter().enumerate() {
            let end = to_come[gap + 1];
            if has_changed {
                state = self.draw_changed(place, state, cycles, end, random, |after| each(begun + after));
            } else {
                let reached = self.gap(place, cycles).unchanged[state];
                state = either([reached[0] * end[0], reached[1] * end[1]], random);
            }
            begun += cycles;
        }
        for cycle in 1..=ahead {
            state = either(law.next[state], random);
            if state == 1 && random.random::<f64>() < law.chance {
                each(begun + cycle);
            }
        }
    }

    /// A gap at whose end the page has changed, cycle by cycle: each step is as probable as what can still follow it.
    fn draw_changed(
        &self,
        place: usize,
        mut state: usize,
        cycles: u32,
        end: [f64; 2],
        random: &mut impl RngExt,
        mut each: impl FnMut(u32),
    ) -> usize {
        let law = &self.laws[place];
        let mut has_changed = false;
        for cycle in 1..=cycles {
            let left = cycles - cycle;
            let (any, changed) = match left {
                0 => (end, [0.0, 0.0]),
                _ => {
                    let gap = self.gap(place, left);
                    (preceding(&gap.any, end), preceding(&gap.found(true), end))
                }
            };
            let without = if has_changed { any } else { changed };
            let next = law.next[state];
            let steps = [
                next[0] * without[0],
                next[1] * (1.0 - law.chance) * without[1],
                next[1] * law.chance * any[1],
            ];
            let total: f64 = steps.iter().sum();
            let part = random.random::<f64>() * total;
            let changes = part >= steps[0] + steps[1];
            state = usize::from(part >= steps[0]);
            // Rounding must not lose the only change.
            if changes || (left == 0 && !has_changed) {
                has_changed = true;
                state = 1;
                each(cycle);
            }
        }
        state
    }
}

/// The weight below which a law is left out of means.
const NEGLIGIBLE: f64 = 1e-9;

fn sum([off, on]: [f64; 2]) -> f64 {
    off + on
}

/// The states after a gap, from those before it.
fn after(states: [f64; 2], gap: &Matrix) -> [f64; 2] {
    [0, 1].map(|end| states[0] * gap[0][end] + states[1] * gap[1][end])
}

/// What follows a gap, by the state before it.
fn preceding(gap: &Matrix, following: [f64; 2]) -> [f64; 2] {
    [0, 1].map(|begin| gap[begin][0] * following[0] + gap[begin][1] * following[1])
}

/// Draws a state by these weights.
fn either(weights: [f64; 2], random: &mut impl RngExt) -> usize {
    usize::from(random.random::<f64>() * sum(weights) >= weights[0])
}

impl Weights {
    /// Before anything is known: a page in twenty changes in spells, and all steady laws are as probable as another, as
    /// are all others. The fit begins here, so visits that tell little of spells leave them rare.
    pub fn unknown() -> Weights {
        Weights(std::array::from_fn(|law| match law < RATES {
            true => (1.0 - UNKNOWN_SPELLS) / RATES as f64,
            false => UNKNOWN_SPELLS / SPELLS as f64,
        }))
    }

    /// The distribution of the laws of pages, from the likelihoods of each, which counts as this number of pages.
    pub fn fit(pages: &[([f64; LAWS], f64)]) -> Weights {
        let mut prior = Weights::unknown();
        let count: f64 = pages.iter().map(|(_, count)| count).sum();
        if count <= 0.0 {
            return prior;
        }
        for _ in 0..MAX_STEPS {
            let mut sums = [0.0; LAWS];
            for (page, count) in pages {
                let posterior = prior.posterior(page);
                sums.iter_mut().zip(posterior.0).for_each(|(sum, weight)| *sum += count * weight);
            }
            let next = Weights(sums.map(|sum| sum / count));
            let moved = next.0.iter().zip(prior.0).map(|(next, last)| (next - last).abs());
            let has_settled = moved.fold(0.0, f64::max) < SETTLED;
            prior = next;
            if has_settled {
                break;
            }
        }
        prior
    }

    /// The distribution of a page's law: this one is the prior.
    pub fn posterior(&self, likelihood: &[f64; LAWS]) -> Weights {
        let mut weights = self.0;
        weights.iter_mut().zip(likelihood).for_each(|(weight, likelihood)| *weight *= likelihood);
        let sum: f64 = weights.iter().sum();
        if sum > 0.0 { Weights(weights.map(|weight| weight / sum)) } else { *self }
    }

    /// The place of the law at this quantile, 0 to 1.
    fn quantile(&self, part: f64) -> usize {
        let mut sum = 0.0;
        let place = self.0.iter().position(|weight| {
            sum += weight;
            sum > part
        });
        place.unwrap_or(RATES - 1)
    }
}

#[cfg(test)]
mod tests;
