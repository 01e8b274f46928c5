//! Selects the formula to write, by comparing the formulas of the folds with each other and with
//! known formulas.

use super::{FoldResult, Judge, TestedPolicy};
use crate::evaluate::Evaluate;
use crate::evaluate::cpu::Meaning;
use crate::fitness::{first_highest, mean};
use crate::folds::{Fold, Folds};
use crate::learn::LearnError;
use crate::policy_result::Paired;
use recrawl_formula::{Expr, Formula};
use recrawl_simulation::compare::CHANGES_NEEDED;
use recrawl_simulation::policy::ReplayFormula;
use recrawl_simulation::{Rules, replay};

/// Comparison of the folds' formulas with each other and with the best known formula.
///
/// A formula's gain on the validation part that selected it says almost nothing about its rank on
/// other pages, since parts differ more than formulas do. So each fold's formula is replayed on the
/// validation parts of all other folds. There all formulas meet the same pages and days, and each
/// had as many of them in its training.
///
/// The gain over known formulas is measured on the test parts, which no formula has seen.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldComparison {
    /// For each fold, the gain of its formula over the known one: the mean over the validation
    /// parts of the other folds. With a single fold, over its own.
    pub gains: Vec<f64>,
    /// The known formula with the best mean fitness over the validation parts of all folds.
    pub known: Formula,
    /// The gain of the folds' formulas over it on their test parts: the mean over folds and cycles.
    pub gain: f64,
    /// Its standard error: the larger of that over cycles and that over draws of sites; infinite if
    /// neither is known.
    pub error: f64,
    /// The changes that all this rests on.
    pub changes: FoldChanges,
}

/// Changes after the warm-up in the parts of the folds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldChanges {
    /// In the training part with the fewest.
    pub training: u64,
    /// In the validation part with the fewest.
    pub validation: u64,
    /// In all test parts together.
    pub test: u64,
}

impl FoldChanges {
    /// Of the folds with these numbers.
    pub(crate) fn count(
        folds: &Folds<'_>,
        numbers: impl Iterator<Item = usize>,
        rules: &Rules,
    ) -> FoldChanges {
        let mut sum = FoldChanges { training: u64::MAX, validation: u64::MAX, test: 0 };
        for number in numbers {
            let Fold { train, validation, test } = folds.fold(number);
            let [train, validation, test] =
                [train, validation, test].map(|part| part.changes_after_warmup(rules));
            sum.training = sum.training.min(train);
            sum.validation = sum.validation.min(validation);
            sum.test += test;
        }
        sum
    }

    /// Can formulas be told apart in training, and on the test parts?
    pub fn are_enough(&self) -> bool {
        self.training.min(self.test) >= CHANGES_NEEDED
    }

    /// How many there are, in a sentence.
    pub fn text(&self) -> String {
        let FoldChanges { training, validation, test } = self;
        let all = format!(
            "changes after the warm-up: {training} in training and {validation} in validation, in the fold with the \
             fewest, and {test} in all test parts"
        );
        match self.are_enough() {
            true => all,
            false => format!(
                "{all}; too few to tell formulas apart: with fewer than {CHANGES_NEEDED} in training or test, twice as many \
                 found changes can be chance"
            ),
        }
    }
}

impl FoldComparison {
    /// The index of the fold with the highest gain, the first of equal ones.
    pub fn best(&self) -> usize {
        first_highest(&self.gains).expect("at least one fold")
    }

    /// Whether learning gained more than one standard error over the known formula, and enough changes say so.
    pub fn is_worth_it(&self) -> bool {
        self.changes.are_enough() && self.gain > self.error
    }
}

/// Formulas on the validation part of each fold: their fitness or gain.
pub(crate) struct Validated {
    /// A row for each part: the known formulas first, then those of the folds.
    pub parts: Vec<Vec<f64>>,
    /// Number of known formulas.
    pub known: usize,
}

impl Validated {
    /// The known formula with the highest mean over all parts.
    pub fn best_known(&self) -> usize {
        let over_all = |at: usize| mean(&self.parts.iter().map(|part| part[at]).collect::<Vec<_>>());
        let means: Vec<f64> = (0..self.known).map(over_all).collect();
        first_highest(&means).expect("there are known formulas")
    }

    /// For each fold's formula the mean of `value`, of a part and the formula's own entry, over the parts of the other
    /// folds; with a single fold, over its own.
    pub fn on_others(&self, value: impl Fn(&[f64], f64) -> f64) -> Vec<f64> {
        let of_fold = |fold: usize| {
            let others =
                self.parts.iter().enumerate().filter(|(part, _)| *part != fold || self.parts.len() == 1);
            mean(&others.map(|(_, part)| value(part, part[self.known + fold])).collect::<Vec<_>>())
        };
        (0..self.parts.len()).map(of_fold).collect()
    }
}

impl Judge<'_> {
    /// Replays each fold's formula on the validation parts of the others, and the best known
    /// formula on all test parts, which are returned too.
    pub(super) fn across(
        &self,
        folds: &Folds<'_>,
        results: &[FoldResult],
    ) -> Result<(FoldComparison, Vec<TestedPolicy>), LearnError> {
        let known = self.options.rivals();
        let chosen: Vec<Expr> =
            results.iter().map(|fold| fold.choices[fold.chosen].candidate.simplified.clone()).collect();
        let exprs: Vec<Expr> = known.iter().map(|formula| formula.expr.clone()).chain(chosen).collect();
        let mut parts = Vec::with_capacity(results.len());
        for fold in results {
            let validation = folds.fold(fold.fold).validation;
            let values = self.evaluator(&validation)?.evaluate(&exprs);
            parts.push(values.iter().map(|cycles| mean(cycles)).collect());
        }
        let validated = Validated { parts, known: known.len() };
        let best = validated.best_known();
        let Meaning { protection, basis, .. } = *self.meaning;
        let known = Formula { protection, basis, ..known[best].clone() };
        let tested = self.on_tests(folds, results, &known)?;
        let learned: Vec<&TestedPolicy> =
            results.iter().map(|fold| &fold.choices[fold.chosen].test).collect();
        let of_known: Vec<&TestedPolicy> = tested.iter().collect();
        let paired = Paired::compare([&learned, &of_known], &self.meaning.fitness, self.options.rules.seed);
        let gains = validated.on_others(|part, fitness| fitness - part[best]);
        let (gain, error) = (paired.over_cycles.mean, paired.error());
        let changes = FoldChanges::count(folds, results.iter().map(|fold| fold.fold), &self.options.rules);
        Ok((FoldComparison { gains, known, gain, error, changes }, tested))
    }

    /// A known formula on the test part of each fold.
    fn on_tests(
        &self,
        folds: &Folds<'_>,
        results: &[FoldResult],
        known: &Formula,
    ) -> Result<Vec<TestedPolicy>, LearnError> {
        let of_fold = |fold: &FoldResult| {
            let part = folds.fold(fold.fold).test;
            let trace = replay::run(&part, &self.options.rules, &mut ReplayFormula::new(known));
            Ok(self.tested(&known.name, false, trace.map_err(LearnError::Rules)?))
        };
        results.iter().map(of_fold).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn across(gains: &[f64], gain: f64, error: f64) -> FoldComparison {
        let known = Formula::from_expression("t").unwrap();
        let changes = FoldChanges { training: 24, validation: 0, test: 24 };
        FoldComparison { gains: gains.to_vec(), known, gain, error, changes }
    }

    #[test]
    fn the_first_of_the_best_is_taken_and_only_beyond_a_standard_error() {
        assert_eq!(across(&[0.1, 0.3, -0.2, 0.3], 0.0, 0.0).best(), 1);
        assert!(across(&[0.1], 0.02, 0.01).is_worth_it());
        assert!(!across(&[0.1], 0.01, 0.01).is_worth_it() && !across(&[0.1], -0.5, 0.01).is_worth_it());
        assert!(!across(&[0.1], 9.0, f64::INFINITY).is_worth_it(), "nothing is known of the error");
        for (training, test) in [(23, 1000), (1000, 23), (0, 0)] {
            let changes = FoldChanges { training, test, validation: 1000 };
            let few = FoldComparison { changes, ..across(&[0.1], 0.02, 0.01) };
            assert!(!few.is_worth_it() && changes.text().contains("too few"), "{changes:?}");
        }
    }
}
