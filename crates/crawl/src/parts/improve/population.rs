//! All pages, as a plan saw them: how many by gate, how many changes were expected, how they are distributed.

use recrawl_formula::{Priors, RateEvidence};
use recrawl_scheduler::{ExpectedChanges, Gate, PlanCounts};
use recrawl_types::{Cycle, StateColumns};
use serde::{Deserialize, Serialize};

/// Bins of a histogram.
const BINS: usize = 10;

/// All pages of a generation when a revisit round was planned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScorePopulation {
    /// Pages that are gone.
    pub gone: u64,
    /// Pages that a rule refuses.
    pub refused: u64,
    /// Pages in back-off after failures.
    pub backing_off: u64,
    /// Due URLs that were never fetched.
    pub discovery_due: u64,
    /// Due pages in their warm-up.
    pub warmup_due: u64,
    /// Pages due to compete by score.
    pub revisit_due: u64,
    /// Of these, pages from which the audit sample was drawn.
    pub audit_eligible: u64,
    /// Changes expected in these.
    pub expected: ExpectedChanges,
    /// The rate of all pages together that the expectation rests on, in changes a cycle. It was summed up by the plan
    /// before.
    pub rate: f64,
    /// How the pages due to compete by score are distributed.
    pub histograms: Histograms,
}

/// Numbers of pages by some of their counters. Bin i of `visits` and `age` has numbers of i binary digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histograms {
    /// By n.
    pub visits: [u64; BINS],
    /// By X / n: first those without a change, then in equal steps.
    pub change_rate: [u64; BINS],
    /// By t.
    pub age: [u64; BINS],
    /// By depth; deeper ones in the last bin.
    pub depth: [u64; BINS],
}

/// Sums of the pass of a plan.
#[derive(Debug, Default)]
pub struct PopulationCounter {
    cycle: Cycle,
    warmup: u32,
    evidence: RateEvidence,
    histograms: Histograms,
}

/// The bin of numbers with as many binary digits.
pub fn bin_of_digits(number: u32) -> usize {
    ((u32::BITS - number.leading_zeros()) as usize).min(BINS - 1)
}

/// The bin of X / n.
pub fn bin_of_rate(n: u32, x: u32) -> usize {
    let step = u64::from(x) * (BINS as u64 - 2) / u64::from(n.max(1));
    if x == 0 { 0 } else { (1 + step as usize).min(BINS - 1) }
}

impl PopulationCounter {
    /// For the plan of this cycle.
    pub fn new(cycle: Cycle, warmup: u32) -> PopulationCounter {
        PopulationCounter { cycle, warmup, ..PopulationCounter::default() }
    }

    /// Adds the pages of a block.
    pub fn add(&mut self, columns: &StateColumns) {
        for row in 0..columns.len() {
            self.evidence.add(RateEvidence::of_row(columns, row));
            if Gate::of_row(columns, row, self.cycle, self.warmup) != Gate::Revisit {
                continue;
            }
            let (n, x) = (columns.visits[row], columns.changes[row]);
            let age = self.cycle.0.saturating_sub(columns.last[row]);
            let Histograms { visits, change_rate: rates, age: ages, depth } = &mut self.histograms;
            visits[bin_of_digits(n)] += 1;
            rates[bin_of_rate(n, x)] += 1;
            ages[bin_of_digits(age)] += 1;
            depth[usize::from(columns.known[row].depth).min(BINS - 1)] += 1;
        }
    }

    /// The rate of all pages together, in changes a cycle, for the next plan.
    pub fn rate(&self) -> f64 {
        Priors::new(&[self.evidence]).global
    }

    /// The population, whose changes were expected at this rate.
    pub fn finish(self, counts: PlanCounts, expected: ExpectedChanges, rate: f64) -> ScorePopulation {
        ScorePopulation {
            gone: counts.gone,
            refused: counts.refused,
            backing_off: counts.backing_off,
            discovery_due: counts.discovery_due,
            warmup_due: counts.warmup_due,
            revisit_due: counts.revisit_due,
            audit_eligible: counts.audit_eligible,
            expected,
            rate,
            histograms: self.histograms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{History, Known};

    #[test]
    fn only_pages_that_compete_by_score_are_in_the_histograms() {
        let mut columns = StateColumns::default();
        let mut push = |depth: u16, visits: &[(u32, bool)]| {
            let mut history = History::first_fetch(Cycle(1));
            visits.iter().for_each(|(cycle, changed)| history.record(Cycle(*cycle), *changed));
            columns.push(Known { depth, ..Known::default() }, Some(&history));
        };
        push(0, &[(2, false), (3, false)]);
        push(3, &[(2, true), (3, true), (12, true)]);
        push(40, &[(2, true), (3, false), (4, false), (5, false)]);
        push(1, &[(2, true)]);
        columns.push(Known::default(), None);
        let mut counter = PopulationCounter::new(Cycle(13), 2);
        counter.add(&columns);
        let Histograms { visits, change_rate, age, depth } = &counter.histograms;
        assert_eq!(visits, &[0, 0, 2, 1, 0, 0, 0, 0, 0, 0], "n = 2, 3, 4");
        assert_eq!(change_rate, &[1, 0, 0, 1, 0, 0, 0, 0, 0, 1], "X/n = 0, 1, 1/4");
        assert_eq!(age, &[0, 1, 0, 0, 2, 0, 0, 0, 0, 0], "t = 10, 1, 8");
        assert_eq!(depth, &[1, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
        // ΣX = 5 of ΣT = 2 + 11 + 4 + 1, with those in warm-up.
        assert_eq!(counter.rate(), 5.5 / 19.0);
    }
}
