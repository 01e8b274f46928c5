//! Options of learning.

use crate::evaluate::cpu::Meaning;
use crate::fitness::Fitness;
use crate::folds::FoldBy;
use crate::preset::Preset;
use crate::preset::PresetError;
use crate::vocabulary::Vocabulary;
use recrawl_formula::builtin;
use recrawl_formula::terminal::TerminalSet;
use recrawl_formula::{Expr, Formula, Terminal};
use recrawl_simulation::Rules;

/// Options of learning, besides the data.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnOptions {
    /// All parameters of the runs.
    pub preset: Preset,
    /// Number of folds.
    pub folds: usize,
    /// The unit that folds never divide.
    pub fold_by: FoldBy,
    /// Only the fold with this number, from 0.
    pub only_fold: Option<usize>,
    /// The rules of the replays.
    pub rules: Rules,
    /// The fitness to maximise.
    pub fitness: Fitness,
    /// Whether every known policy is replayed on the test parts, for the report. The formula does not depend on it.
    pub all_policies: bool,
    /// Trees of the first generation of every run, as made by [`start`].
    pub start: Vec<Expr>,
    /// Name of the formula.
    pub name: String,
    /// The digest of the data, for the provenance.
    pub data_digest: String,
    /// The day, as YYYY-MM-DD, for the provenance.
    pub date: String,
    /// The version of the program, for the provenance.
    pub program_version: String,
}

impl LearnOptions {
    /// The best of what learning is compared with.
    pub fn best_known(&self) -> &'static str {
        if self.all_policies { "best known policy" } else { "best known formula" }
    }

    /// The formulas that learning is compared with: [`rivals`].
    pub fn rivals(&self) -> Vec<Formula> {
        rivals(self.preset.tree.terminals, &self.fitness)
    }

    /// How expressions become a fitness.
    pub fn meaning(&self) -> Meaning {
        Meaning {
            protection: self.preset.protection,
            basis: self.preset.estimators,
            fitness: self.fitness.clone(),
        }
    }
}

/// Terminals of related pages that are formulas by themselves.
const OF_RELATED_PAGES: [&str; 7] =
    ["p_eb_sib", "p_burst", "u_fresh_sib", "u_harm_sib", "p_next", "u_fresh_next", "u_harm_next"];

/// Every formula of config/formulas that was not learned and reads no signals; with the [terminals](TerminalSet::Related) of
/// related pages, also those of them that are formulas by themselves. Learned ones are omitted, since the pages of the
/// test may have been in their training. Replays of the learner are without signals. For a fitness by importance, each is
/// multiplied by it.
pub fn rivals(terminals: TerminalSet, fitness: &Fitness) -> Vec<Formula> {
    let weighs = fitness.is_by_importance();
    let is_rival = |formula: &Formula| {
        let reads = formula.compile().reads();
        let is_replayed = terminals == TerminalSet::Related || !reads.needs_neighbours();
        is_replayed && !reads.needs_signals() && !formula.provenance.is_learned()
    };
    let related = OF_RELATED_PAGES.iter().map(|name| {
        let text = if weighs { format!("importance * {name}") } else { (*name).to_owned() };
        Formula::from_expression(&text).expect("terminals are expressions")
    });
    let builtin =
        builtin::ALL.iter().map(|builtin| if weighs { builtin.by_importance() } else { builtin.formula() });
    builtin.chain(related).filter(is_rival).collect()
}

/// Terminals, constants and functions of trees: those of the preset, and with a fitness by importance also `importance`.
///
/// # Errors
/// As [`Preset::vocabulary`].
pub fn vocabulary(preset: &Preset, fitness: &Fitness) -> Result<Vocabulary, PresetError> {
    let mut vocabulary = preset.vocabulary()?;
    if fitness.is_by_importance() {
        vocabulary.terminals.push(Terminal::named("importance").expect("it is a terminal"));
    }
    Ok(vocabulary)
}

/// A formula to start from.
#[derive(Clone, Debug, PartialEq)]
pub enum StartFormula {
    /// All built-in formulas that the preset's vocabulary and limits admit.
    Rivals,
    /// One formula.
    Formula(Box<Formula>),
}

/// The trees to start from, each once.
///
/// # Errors
/// If a single formula does not fit the preset, or they exceed the population.
pub fn start(
    preset: &Preset,
    fitness: &Fitness,
    formulas: &[StartFormula],
) -> Result<Vec<Expr>, StartFormulaError> {
    let vocabulary = vocabulary(preset, fitness).expect("presets are checked when they are read");
    let mut trees: Vec<Expr> = Vec::new();
    let mut add = |expr: Expr| {
        if !trees.contains(&expr) {
            trees.push(expr);
        }
    };
    for start in formulas {
        match start {
            StartFormula::Rivals => rivals(preset.tree.terminals, fitness)
                .into_iter()
                .map(|formula| formula.expr)
                .filter(|expr| vocabulary.speaks(expr) && preset.limits().admit(expr))
                .for_each(&mut add),
            StartFormula::Formula(formula) => {
                let name = || formula.name.clone();
                if let Some(word) = vocabulary.foreign(&formula.expr) {
                    let terminals = preset.tree.terminals.name();
                    return Err(StartFormulaError::Foreign { name: name(), word, terminals });
                }
                if !preset.limits().admit(&formula.expr) {
                    return Err(StartFormulaError::TooLarge { name: name(), limits: preset.limits() });
                }
                add(formula.expr.clone());
            }
        }
    }
    if trees.len() > preset.population.size {
        return Err(StartFormulaError::TooMany { trees: trees.len(), size: preset.population.size });
    }
    Ok(trees)
}

/// Why learning cannot start from a formula.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StartFormulaError {
    /// It has a terminal or a function that the preset does not offer.
    #[error(
        "cannot start from '{name}': {word} is not among the {terminals} terminals and the preset's \
         functions; choose other --terminals or another preset"
    )]
    Foreign {
        /// The formula.
        name: String,
        /// The terminal or function.
        word: &'static str,
        /// The set of terminals.
        terminals: &'static str,
    },
    /// It exceeds the limits of the preset.
    #[error("cannot start from '{name}': it exceeds {} nodes or depth {}", .limits.nodes, .limits.depth)]
    TooLarge {
        /// The formula.
        name: String,
        /// The limits.
        limits: crate::tree::TreeLimits,
    },
    /// There are more of them than the population.
    #[error(
        "{trees} start formulas are more than the population of {size}; use a larger --population, or \
         --start-from none"
    )]
    TooMany {
        /// Number of distinct start formulas.
        trees: usize,
        /// Size of the population.
        size: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formula(text: &str) -> StartFormula {
        StartFormula::Formula(Box::new(Formula::from_expression(text).unwrap()))
    }

    #[test]
    fn rivals_are_those_that_the_terminals_can_say() {
        let mut preset = Preset::find("recrawl").unwrap();
        let fitness: Fitness = "freshness".parse().unwrap();
        let texts = |preset: &Preset| {
            let trees =
                start(preset, &fitness, &[StartFormula::Rivals, formula("t * X"), formula("t")]).unwrap();
            trees.iter().map(Expr::to_string).collect::<Vec<_>>()
        };
        let extended = texts(&preset);
        assert!(extended.contains(&"t * X".to_owned()) && extended.contains(&"nad * t".to_owned()));
        assert_eq!(
            extended.len(),
            rivals(TerminalSet::Extended, &fitness).len(),
            "extended terminals can express all of them: {extended:?}"
        );
        for learned in builtin::ALL.iter().map(|b| b.formula()).filter(|f| f.provenance.is_learned()) {
            assert!(
                !extended.contains(&learned.expr.to_string()),
                "{} knows what it is tested on",
                learned.name
            );
        }
        preset.tree.terminals = TerminalSet::Related;
        let related = texts(&preset);
        // The formulas of the objectives read sections, which only related pages have.
        let objectives = ["balanced", "fresh", "changes"].len();
        assert_eq!(related.len(), extended.len() + OF_RELATED_PAGES.len() + objectives, "{related:?}");
        assert!(related.contains(&"p_burst".to_owned()) && !extended.contains(&"p_burst".to_owned()));
        preset.tree.terminals = TerminalSet::Basic;
        let basic = texts(&preset);
        assert!(basic.contains(&"t * X".to_owned()) && !basic.contains(&"nad * t".to_owned()));
        assert_eq!(basic.iter().filter(|text| *text == "t").count(), 1, "each once: {basic:?}");
    }

    #[test]
    fn a_fitness_by_importance_brings_its_terminal_and_weighed_rivals() {
        let preset = Preset::find("recrawl").unwrap();
        let of = |fitness: &str| {
            let fitness: Fitness = fitness.parse().unwrap();
            let trees = start(&preset, &fitness, &[StartFormula::Rivals]).unwrap();
            (vocabulary(&preset, &fitness).unwrap(), trees.iter().map(Expr::to_string).collect::<Vec<_>>())
        };
        let (plain, trees) = of("freshness");
        let (weighed, weighed_trees) = of("0.5*freshness+0.5*freshness_by_importance");
        assert_eq!(weighed.terminals.len(), plain.terminals.len() + 1);
        assert!(trees.contains(&"u_fresh_site".to_owned()));
        assert!(weighed_trees.contains(&"importance * u_fresh_site".to_owned()), "{weighed_trees:?}");
        let importance = Formula::from_expression("importance").unwrap();
        assert!(weighed.speaks(&importance.expr) && !plain.speaks(&importance.expr));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_reason() {
        let mut preset = Preset::find("thesis").unwrap();
        let fitness: Fitness = "freshness".parse().unwrap();
        for (text, says) in [
            ("t * nad", "nad is not among the basic terminals"),
            ("-t", "neg is not among"),
            (&format!("{}t{}", "log(".repeat(10), ")".repeat(10)), "exceeds 512 nodes or depth 10"),
        ] {
            let error = start(&preset, &fitness, &[formula(text)]).expect_err(text).to_string();
            assert!(error.contains(says), "{error}");
        }
        preset.population.size = 1;
        let error = start(&preset, &fitness, &[formula("t"), formula("X")]).unwrap_err().to_string();
        assert!(error.contains("2 start formulas") && error.contains("--start-from none"), "{error}");
    }
}
