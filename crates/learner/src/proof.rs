//! Checks that a simplified formula schedules like the original: both score every page of a replay.

use recrawl_formula::{Basis, Expr, Formula, Program, Protection};
use recrawl_simulation::policy::FormulaPolicy;
use recrawl_simulation::{Dataset, Observed, Policy, Rules, RulesError, Trace, replay};
use recrawl_types::Reads;

/// Replays a formula as bred, and scores the same observations with its simplified form. Returns
/// the trace of the simplified form if all scores were equal, bit for bit or both NaN.
///
/// # Errors
/// If the history cannot be replayed under the rules.
pub fn equal(
    data: &Dataset,
    rules: &Rules,
    [bred, simplified]: [&Expr; 2],
    protection: Protection,
    basis: Basis,
) -> Result<Option<Trace>, RulesError> {
    let program = |expr| Program::compile(expr, protection, basis);
    let mut twins =
        Twins { bred: program(bred), simplified: program(simplified), scores: Vec::new(), unequal: 0 };
    let trace = replay::run(data, rules, &mut twins)?;
    if twins.unequal > 0 {
        return Ok(None);
    }
    // Who reads siblings visits a sample of them in all rounds but the last. If only the bred form reads them, the
    // simplified one, which is written, schedules otherwise.
    let is_sampled = twins.reads().needs_siblings() && !twins.simplified.reads().needs_siblings();
    if is_sampled && rules.rounds.count() > 1 {
        let formula = Formula { protection, basis, ..Formula::new(simplified.clone()) };
        return replay::run(data, rules, &mut FormulaPolicy::new(&formula)).map(Some);
    }
    Ok(Some(trace))
}

struct Twins {
    bred: Program,
    simplified: Program,
    scores: Vec<f64>,
    /// Number of unequal scores.
    unequal: u64,
}

impl Policy for Twins {
    fn name(&self) -> &str {
        "twins"
    }

    fn reads(&self) -> Reads {
        self.bred.reads() | self.simplified.reads()
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        self.simplified.evaluate(observed.columns(), observed.cycle(), &mut self.scores);
        self.bred.evaluate(observed.columns(), observed.cycle(), out);
        let same = |(a, b): &(&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        self.unequal += out.iter().zip(&self.scores).filter(|pair| !same(pair)).count() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, data};
    use proptest::prelude::*;
    use recrawl_formula::{parse, simplify};

    fn proved(bred: &Expr, simplified: &Expr) -> bool {
        let rules = Rules::default();
        equal(&data(40, 20, 4), &rules, [bred, simplified], Protection::Program, Basis::Visits)
            .unwrap()
            .is_some()
    }

    #[test]
    fn a_difference_in_one_score_is_found() {
        let expr = |text: &str| parse(text).unwrap();
        assert!(proved(&expr("t * 1"), &expr("t")));
        assert!(proved(&expr("pow(0 - t, 0.5)"), &expr("pow(-t, 0.5)")), "NaN is NaN");
        assert!(!proved(&expr("t"), &expr("t + 0.000001")));
        assert!(!proved(&expr("t * 2"), &expr("t")), "the same schedule by other scores is not proved");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn what_is_simplified_schedules_as_before(tree in testing::trees(7)) {
            prop_assert!(proved(&tree, &simplify(&tree, Protection::Program)));
        }
    }
}
