//! The gain of formulas over the best known formula of each data set.

use super::SeveralSets;
use crate::evaluate::Evaluate;
use crate::evaluate::cpu::Replays;
use crate::fitness::{first_highest, mean};
use crate::learn::LearnError;
use crate::work::Work;
use recrawl_formula::{Expr, Formula};
use recrawl_simulation::Dataset;

/// Evaluates formulas by their gain in each set: (f − b)/|b|, with the fitness f of the formula and b of a known one on
/// the same part of the set. So neither the number of pages of a set nor its rate of change gives it weight.
pub(super) struct Gains<'a> {
    /// By set: its replays, and the fitness b.
    sets: Vec<(Replays<'a>, f64)>,
}

impl<'a> Gains<'a> {
    /// Over a known formula for each set.
    ///
    /// # Errors
    /// If a part cannot be replayed, or the fitness of its known formula is 0.
    pub fn over(
        sets: &'a SeveralSets<'a>,
        parts: &[&'a Dataset],
        known: &[Formula],
    ) -> Result<Gains<'a>, LearnError> {
        let of_set = |(&part, known): (&&'a Dataset, &Formula)| {
            let replays = replays(sets, part)?;
            let fitness = mean(&replays.evaluate(std::slice::from_ref(&known.expr))[0]);
            Ok((replays, not_zero(fitness, part)?))
        };
        Ok(Gains { sets: parts.iter().zip(known).map(of_set).collect::<Result<_, LearnError>>()? })
    }
}

/// The best known formula of each training part: the first of those with the highest mean fitness.
///
/// # Errors
/// If a part cannot be replayed.
pub(super) fn best_known(sets: &SeveralSets<'_>, train: &[&Dataset]) -> Result<Vec<Formula>, LearnError> {
    let rivals = sets.options.rivals();
    let exprs: Vec<Expr> = rivals.iter().map(|formula| formula.expr.clone()).collect();
    let of_part = |&part: &&Dataset| {
        let fitness: Vec<f64> =
            replays(sets, part)?.evaluate(&exprs).iter().map(|cycles| mean(cycles)).collect();
        Ok(rivals[first_highest(&fitness).expect("there are known formulas")].clone())
    };
    train.iter().map(of_part).collect()
}

/// The relative gain of a fitness over another, which is not 0.
pub(super) fn gain(fitness: f64, known: f64) -> f64 {
    (fitness - known) / known.abs()
}

/// The fitness, if a gain over it can be told.
pub(super) fn not_zero(fitness: f64, part: &Dataset) -> Result<f64, LearnError> {
    if fitness == 0.0 { Err(LearnError::NoGain.in_set(&part.name)) } else { Ok(fitness) }
}

fn replays<'a>(sets: &'a SeveralSets<'a>, part: &'a Dataset) -> Result<Replays<'a>, LearnError> {
    let SeveralSets { options, meaning, pool, .. } = sets;
    let replays = Replays::new(part, &options.rules, meaning, pool, sets.sets.len());
    replays.map_err(|cause| LearnError::Replay(cause).in_set(&part.name))
}

impl Evaluate for Gains<'_> {
    fn evaluate(&self, exprs: &[Expr]) -> Vec<Vec<f64>> {
        let mut gains = vec![Vec::with_capacity(self.sets.len()); exprs.len()];
        for (replays, known) in &self.sets {
            for (gains, cycles) in gains.iter_mut().zip(replays.evaluate(exprs)) {
                gains.push(gain(mean(&cycles), *known));
            }
        }
        gains
    }

    fn work(&self) -> Work {
        self.sets.iter().fold(Work::default(), |sum, (replays, _)| sum + replays.work())
    }
}
