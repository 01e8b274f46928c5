//! Entries of a simulation: policies by name, formulas by text or file.

use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::formula_file;
use recrawl_formula::builtin::Builtin;
use recrawl_formula::{Basis, Formula};
use recrawl_simulation::Dataset;
use recrawl_simulation::compare::ReplayRole;
use recrawl_simulation::policy::{ReplayFormula, ReplayPolicy, ReplayPolicyKind};

/// A policy or formula to replay.
pub enum ContestEntry {
    /// A built-in policy, or a bound.
    Known(ReplayPolicyKind),
    /// A formula from the command line.
    Formula(Box<Formula>),
}

impl ContestEntry {
    /// Name in the output.
    pub fn name(&self) -> &str {
        match self {
            ContestEntry::Known(kind) => kind.name,
            ContestEntry::Formula(formula) => &formula.name,
        }
    }

    /// Role in the comparison.
    pub fn role(&self) -> ReplayRole {
        match self {
            ContestEntry::Known(kind) if kind.is_bound() => ReplayRole::Bound,
            ContestEntry::Known(_) => ReplayRole::Baseline,
            ContestEntry::Formula(_) => ReplayRole::Candidate,
        }
    }

    /// Whether it needs the contents of pages.
    pub fn needs_contents(&self) -> bool {
        matches!(self, ContestEntry::Known(kind) if kind.reads_contents())
    }

    /// The policy for a replay of `data`.
    pub fn policy<'a>(&self, data: &'a Dataset, basis: Basis) -> Box<dyn ReplayPolicy + 'a> {
        match self {
            ContestEntry::Known(kind) => kind.build(data, basis),
            ContestEntry::Formula(formula) => Box::new(ReplayFormula::new(formula)),
        }
    }
}

/// All entries without duplicates: policies of `known` (by default those that need no contents), formulas, bounds.
///
/// # Errors
/// When a policy is unknown, or a formula cannot be read.
pub fn all(
    known: &[ReplayPolicyKind],
    names: &[String],
    formulas: &[String],
    basis: Basis,
) -> Result<Vec<ContestEntry>, Failure> {
    let mut kinds: Vec<ReplayPolicyKind> = Vec::new();
    for name in names {
        let kind = *known.iter().find(|kind| kind.name == name).ok_or_else(|| unknown(name, known))?;
        if kinds.iter().all(|there| there.name != kind.name) {
            kinds.push(kind);
        }
    }
    if names.is_empty() {
        kinds = known.iter().copied().filter(|kind| !kind.reads_contents()).collect();
    }
    let mut given: Vec<Formula> = Vec::new();
    for text in formulas {
        let formula = formula(text, basis)?;
        if !given.contains(&formula) {
            given.push(formula);
        }
    }
    let (bounds, honest): (Vec<ReplayPolicyKind>, Vec<ReplayPolicyKind>) =
        kinds.into_iter().partition(ReplayPolicyKind::is_bound);
    let honest = honest.into_iter().map(ContestEntry::Known);
    Ok(honest
        .chain(given.into_iter().map(|formula| ContestEntry::Formula(Box::new(formula))))
        .chain(bounds.into_iter().map(ContestEntry::Known))
        .collect())
}

/// A formula by name or file, which has its own basis, or an expression with `basis`.
fn formula(text: &str, basis: Basis) -> Result<Formula, Failure> {
    let formula = formula_file::find(text).map_err(|e| Failure::Usage(format!("--formula: {e}")))?;
    let is_expression = !text.ends_with(".toml") && Builtin::named(text).is_none();
    Ok(if is_expression { Formula { basis, ..formula } } else { formula })
}

fn unknown(name: &str, known: &[ReplayPolicyKind]) -> Failure {
    let nearest = known
        .iter()
        .map(|kind| (strsim::normalized_damerau_levenshtein(kind.name, &name.to_lowercase()), kind.name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(likeness, _)| *likeness > 0.4);
    let hint = nearest.map(|(_, near)| format!(" (did you mean `{near}`?)")).unwrap_or_default();
    let names: Vec<&str> = known.iter().map(|kind| kind.name).collect();
    Failure::Usage(format!(
        "--policy {name}: unknown policy{hint}; available: {}; for an expression use --formula",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_simulation::policy::ALL;

    fn names(policies: &[&str], formulas: &[&str]) -> Result<Vec<String>, String> {
        let own = |words: &[&str]| words.iter().map(|&w| w.to_owned()).collect::<Vec<_>>();
        let entries = all(ALL, &own(policies), &own(formulas), Basis::Visits).map_err(|e| e.to_string())?;
        Ok(entries.iter().map(|entry| entry.name().to_owned()).collect())
    }

    #[test]
    fn each_takes_part_once_and_bounds_come_last() {
        let listed = names(&["oracle", "nad", "age", "nad"], &["t * X", "default", "t*X"]).unwrap();
        assert_eq!(listed, ["nad", "age", "t * X", "default", "oracle"]);
        let by_default = names(&[], &[]).unwrap();
        assert_eq!(by_default.len(), ALL.len());
        assert_eq!(names(&[], &["t"]).unwrap().len(), by_default.len() + 1);
    }

    #[test]
    fn unknown_names_are_told_the_nearest() {
        let says = names(&["p_gama"], &[]).unwrap_err();
        assert!(says.contains("p_gama") && says.contains("`p_gamma`"), "{says}");
        assert!(names(&["t * X"], &[]).unwrap_err().contains("--formula"));
        assert!(names(&[], &["t * Y"]).unwrap_err().contains("--formula"));
        assert!(names(&[], &["defualt"]).unwrap_err().contains("did you mean 'default'?"));
        assert!(names(&[], &["none.toml"]).unwrap_err().contains("none.toml"));
    }
}
