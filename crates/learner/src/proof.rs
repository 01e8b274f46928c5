//! Checks that a simplified formula schedules like the original: both score every page of a replay, or every state of
//! pages.

use crate::learn::LearnError;
use recrawl_formula::{Basis, Expr, Formula, Program, Protection};
use recrawl_simulation::fast::{ReplayScratch, Replayer};
use recrawl_simulation::policy::ReplayFormula;
use recrawl_simulation::{Dataset, Observed, ReplayPolicy, Rules, RulesError, Trace, replay};
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
        return replay::run(data, rules, &mut ReplayFormula::new(&formula)).map(Some);
    }
    Ok(Some(trace))
}

/// Whether both forms score every page of a replay equally, as [`equal`] checks. The pages of a state have one score, so
/// states are compared, if the formulas read nothing that states lack.
///
/// # Errors
/// If the history cannot be replayed under the rules.
pub fn is_equal(
    data: &Dataset,
    rules: &Rules,
    forms: [&Expr; 2],
    protection: Protection,
    basis: Basis,
) -> Result<bool, LearnError> {
    let programs = forms.map(|expr| Program::compile(expr, protection, basis));
    let reads = programs[0].reads() | programs[1].reads();
    let by_page = || equal(data, rules, forms, protection, basis).map(|trace| trace.is_some());
    if rules.rounds.count() > 1 {
        return by_page().map_err(LearnError::Rules);
    }
    let replayer = Replayer::new(data, rules).map_err(LearnError::Replay)?.with_memo(0);
    if !replayer.replays(reads) {
        return by_page().map_err(LearnError::Rules);
    }
    Ok(replayer.score_alike(programs.each_ref(), &mut ReplayScratch::default()))
}

struct Twins {
    bred: Program,
    simplified: Program,
    scores: Vec<f64>,
    /// Number of unequal scores.
    unequal: u64,
}

impl ReplayPolicy for Twins {
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
    use recrawl_formula::terminal::TerminalSet;
    use recrawl_formula::{Function, parse, simplify};
    use recrawl_types::Importance;

    /// Both proofs must agree.
    fn proved(bred: &Expr, simplified: &Expr) -> bool {
        let (mut data, rules, forms) = (data(40, 20, 4), Rules::default(), [bred, simplified]);
        data.weigh(|name| Importance::new(if name.ends_with('3') { 7.5 } else { 1.0 }).unwrap());
        let by_page = equal(&data, &rules, forms, Protection::Program, Basis::Visits).unwrap().is_some();
        let by_state = is_equal(&data, &rules, forms, Protection::Program, Basis::Visits).unwrap();
        assert_eq!(by_state, by_page, "{bred} and {simplified}");
        by_page
    }

    #[test]
    fn a_difference_in_one_score_is_found() {
        let expr = |text: &str| parse(text).unwrap();
        assert!(proved(&expr("t * 1"), &expr("t")));
        assert!(proved(&expr("pow(0 - t, 0.5)"), &expr("pow(-t, 0.5)")), "NaN is NaN");
        assert!(!proved(&expr("t"), &expr("t + 0.000001")));
        assert!(!proved(&expr("t * 2"), &expr("t")), "the same schedule by other scores is not proved");
        assert!(proved(&expr("importance * t * 1"), &expr("importance * t")));
        assert!(!proved(&expr("importance * t"), &expr("t")));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn what_is_simplified_schedules_as_before(tree in testing::trees(7)) {
            prop_assert!(proved(&tree, &simplify(&tree, Protection::Program)));
        }

        /// States find a difference where pages find one.
        #[test]
        fn states_tell_formulas_apart_as_pages_do(
            tree in testing::trees_of(TerminalSet::Extended, 5), other in testing::trees_of(TerminalSet::Extended, 4), part in 0.0..1.0f64,
        ) {
            proved(&tree, &other);
            let call = |name, arguments| Expr::Call(Function::named(name).unwrap(), arguments);
            let flag = call("max", vec![other, Expr::Constant(part)]);
            proved(&tree, &call("add", vec![tree.clone(), call("sub", vec![flag, Expr::Constant(part)])]));
        }
    }
}
