//! Checks a formula before it schedules anything.

mod grid;

use crate::{Expr, Formula, Program, Protection};
use recrawl_types::{Cycle, History, Known, StateColumns};
use serde::Serialize;

/// The report of [`Formula::check`]. Findings are about a grid of records: n from 0 to two thousand
/// million, X from 0 to n, changes early, late and spread, t from 1 to two thousand million cycles.
/// The rates of all sites, siblings and pages together are 0.05 changes per cycle; there is no burst.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The terminals of the expression.
    pub terminals: Vec<&'static str>,
    /// Number of nodes of the expression as written.
    pub nodes: usize,
    /// Its depth; a single terminal has depth 1.
    pub depth: usize,
    /// Steps per page of the simplified program.
    pub cost: usize,
    /// The simplified expression, if it differs.
    pub simplified: Option<String>,
    /// A record whose score is infinite or NaN. Such pages still have a rank: infinities at the
    /// ends, NaN last.
    pub not_finite: Option<GridSample>,
    /// Two ages of one record, where the score at the later one is lower or NaN.
    pub falls_with_age: Option<[GridSample; 2]>,
    /// A page that never changed and whose score never rises with age: if others score higher, it
    /// may never be visited again.
    pub starves: Option<GridSample>,
    /// Logarithms that are constant on the grid although their arguments are not: the protection
    /// hides their values.
    pub flat_logs: Vec<String>,
    /// The protection of logarithms.
    protection: Protection,
}

/// A record of the grid, and its score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GridSample {
    /// Compared visits.
    pub n: u32,
    /// Number of these that found a change.
    #[serde(rename = "X")]
    pub x: u32,
    /// Cycles since the last visit.
    pub t: u32,
    /// The score.
    pub score: f64,
}

impl Check {
    /// The warnings as sentences; empty without findings.
    pub fn warnings(&self) -> Vec<String> {
        let not_finite = self.not_finite.map(|at| {
            format!(
                "the score is not finite at n = {}, X = {}, t = {}: {} (NaN ranks below every number)",
                at.n, at.x, at.t, at.score
            )
        });
        let falls = self.falls_with_age.map(|[young, old]| {
            format!(
                "the score falls with age: at n = {}, X = {} from {} at t = {} to {} at t = {}",
                young.n, young.x, young.score, young.t, old.score, old.t
            )
        });
        let starves = self.starves.map(|at| {
            format!(
                "pages that never changed are never visited again: at X = 0, n = {} the score never rises with age; at t = {} it is {}",
                at.n, at.t, at.score
            )
        });
        let flat = self.flat_logs.iter().map(|log| {
            format!(
                "{log} is the same for every page: with protection `{}`, {}",
                self.protection,
                self.protection.flat_log()
            )
        });
        [not_finite, falls, starves].into_iter().flatten().chain(flat).collect()
    }

    /// Checks a formula.
    pub(crate) fn run(formula: &Formula) -> Check {
        let simple = crate::simplify(&formula.expr, formula.protection);
        let program = formula.compile();
        let mut check = Check {
            terminals: formula.expr.terminals().iter().map(|t| t.name).collect(),
            nodes: formula.expr.nodes(),
            depth: formula.expr.depth(),
            cost: program.cost(),
            simplified: (simple != formula.expr).then(|| simple.to_string()),
            not_finite: None,
            falls_with_age: None,
            starves: None,
            flat_logs: flat_logs(formula),
            protection: formula.protection,
        };
        for history in grid::histories() {
            let ages = score_ages(&program, &history);
            let odd = ages.iter().find(|s| !s.score.is_finite());
            check.not_finite = check.not_finite.or(odd.copied());
            let falls = ages.windows(2).find(|pair| !pair[1].is_at_least(&pair[0]));
            check.falls_with_age = check.falls_with_age.or(falls.map(|pair| [pair[0], pair[1]]));
            let never_changed = (1..=grid::LONG).contains(&history.visits) && history.changes == 0;
            if never_changed && !ages.iter().any(|s| s.score > ages[0].score) {
                check.starves = check.starves.or(ages.last().copied());
            }
        }
        check
    }
}

/// The logarithms of an expression that are constant on the grid, each once.
fn flat_logs(formula: &Formula) -> Vec<String> {
    let histories = grid::histories();
    let is_constant = |expr: &Expr| {
        let program = Program::compile(expr, formula.protection, formula.basis);
        let mut scores = histories.iter().flat_map(|history| score_ages(&program, history)).map(|s| s.score);
        let first = scores.next();
        scores.all(|score| Some(score) == first)
    };
    let (mut flat, mut left) = (Vec::new(), vec![&formula.expr]);
    while let Some(expr) = left.pop() {
        left.extend(expr.arguments().iter().rev());
        let Expr::Call(function, arguments) = expr else { continue };
        let text = || expr.to_string();
        if function.name == "log"
            && is_constant(expr)
            && !is_constant(&arguments[0])
            && !flat.contains(&text())
        {
            flat.push(text());
        }
    }
    flat
}

/// The relative error of a score, at most: sums of a few terms near the limit of a saturating formula.
const ROUNDING: f64 = 1e-12;

impl GridSample {
    /// Whether this score is not lower than the other, but for rounding; false if either is NaN.
    fn is_at_least(&self, other: &GridSample) -> bool {
        self.score >= other.score - ROUNDING * other.score.abs()
    }
}

/// The scores of one record at every age of the grid.
fn score_ages(program: &Program, history: &History) -> Vec<GridSample> {
    let mut columns = StateColumns::default();
    columns.push(Known::default(), Some(history));
    (columns.global_rate, columns.site_rate) = (grid::RATES.global, vec![grid::RATES.site]);
    (columns.sibling_rate, columns.burst) = (vec![grid::RATES.site], vec![1.0]);
    columns.section_rate = vec![grid::RATES.site];
    let mut score = Vec::with_capacity(1);
    grid::AGES
        .iter()
        .map(|&t| {
            program.evaluate(&columns, Cycle(history.last.0 + t), &mut score);
            GridSample { n: history.visits, x: history.changes, t, score: score[0] }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Basis, Protection};

    fn check(text: &str) -> Check {
        Formula::from_expression(text).unwrap().check()
    }

    #[test]
    fn a_gain_that_saturates_does_not_fall() {
        for gain in ["u_fresh_site", "u_harm_site", "u_age_site", "u_fresh_signal", "p_eb_site"] {
            assert_eq!(check(gain).falls_with_age, None, "{gain}");
        }
        assert!(check("u_fresh_site - t / 1000").falls_with_age.is_some());
    }

    #[test]
    fn the_default_formula_has_no_findings() {
        let check = check("t * (X + 0.1) / (n + 1)");
        assert_eq!(check.terminals, ["n", "X", "t"]);
        assert_eq!((check.nodes, check.depth, check.cost), (9, 4, 7));
        assert_eq!((check.not_finite, check.falls_with_age, check.starves), (None, None, None));
    }

    #[test]
    fn infinities_and_nan_are_found_with_a_record_that_shows_them() {
        let infinite = check("exp(t)").not_finite.unwrap();
        assert!(infinite.t > 709 && infinite.score == f64::INFINITY);
        assert!(check("pow(X - n, 0.5)").not_finite.unwrap().score.is_nan());
        assert_eq!(check("log(t) / X").not_finite, None, "division and logarithm are protected");
        let thesis =
            Formula { protection: Protection::Thesis, ..Formula::from_expression("log(-t)").unwrap() };
        assert!(thesis.check().not_finite.unwrap().score.is_nan());
    }

    /// The score of a page that never changed may fall; it does not stay.
    #[test]
    fn a_page_that_starves_is_told_by_a_score_that_never_rises() {
        for text in ["1 - t", "t * X"] {
            let warnings = check(text).warnings();
            assert!(
                warnings.iter().any(|text| text.contains("the score never rises with age")),
                "{warnings:?}"
            );
        }
    }

    #[test]
    fn a_score_that_falls_with_age_is_found() {
        let [before, after] = check("X / t").falls_with_age.unwrap();
        assert!(before.t < after.t && before.score > after.score && before.n == after.n);
        assert_eq!(check("1 - exp(-t)").falls_with_age, None, "it stands still at 1 but never falls");
        assert!(check("pow(-t, 0.5)").falls_with_age.is_some(), "NaN is no score to rise from");
    }

    #[test]
    fn formulas_that_starve_pages_are_found_in_both_bases() {
        for text in ["t * X", "cg", "nad * t", "p_gad", "7", "X - t"] {
            let starved = check(text).starves.unwrap_or_else(|| panic!("{text} starves nobody"));
            assert_eq!(starved.x, 0, "{text}");
        }
        for text in ["t", "t * (nad + 0.01)", "log(t + 1) + 100 * X"] {
            for basis in Basis::ALL {
                let formula = Formula { basis, ..Formula::from_expression(text).unwrap() };
                assert_eq!(formula.check().starves, None, "{text} {basis}");
            }
        }
    }

    #[test]
    fn a_logarithm_of_a_probability_is_told_to_be_constant_where_it_is() {
        let program = check("t * log(p_eb) + log(p_eb_site) * log(t + 1) - log(p_eb)");
        assert_eq!(program.flat_logs, ["log(p_eb)", "log(p_eb_site)"]);
        let warnings = program.warnings();
        assert!(
            warnings.iter().any(|w| w.contains("log(p_eb) is the same") && w.contains("|x| ≤ 1")),
            "{warnings:?}"
        );
        for text in ["log(t)", "log(2)", "log(X)", "log(100 * p_eb)"] {
            assert!(check(text).flat_logs.is_empty(), "{text}");
        }
        for protection in [Protection::Thesis, Protection::Journal] {
            let formula = Formula { protection, ..Formula::from_expression("log(p_eb)").unwrap() };
            assert!(formula.check().flat_logs.is_empty(), "{protection}");
        }
        let negative =
            Formula { protection: Protection::Journal, ..Formula::from_expression("log(-t)").unwrap() };
        assert!(negative.check().warnings().iter().any(|w| w.contains("x ≤ 0")));
    }

    #[test]
    fn the_cost_is_that_of_the_simplified_program() {
        let check = check("t * 1 - -(2 + 3)");
        assert_eq!((check.nodes, check.cost), (8, 2));
        assert_eq!(check.simplified.as_deref(), Some("t - -5"));
    }
}
