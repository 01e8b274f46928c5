//! Entries of a simulation: policies by name, formulas by text or file.

use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::formula_file;
use recrawl_formula::builtin::Builtin;
use recrawl_formula::{Basis, Formula};
use recrawl_simulation::Dataset;
use recrawl_simulation::compare::Role;
use recrawl_simulation::policy::{self, ClusterOptions, FormulaPolicy, Policy, PolicyKind};

/// A policy or formula to replay.
pub enum Entry {
    /// A built-in policy, or a bound.
    Known(PolicyKind),
    /// A formula from the command line.
    Formula(Box<Formula>),
}

impl Entry {
    /// Name in the output.
    pub fn name(&self) -> &str {
        match self {
            Entry::Known(kind) => kind.name,
            Entry::Formula(formula) => &formula.name,
        }
    }

    /// Role in the comparison.
    pub fn role(&self) -> Role {
        match self {
            Entry::Known(kind) if kind.is_bound() => Role::Bound,
            Entry::Known(_) => Role::Baseline,
            Entry::Formula(_) => Role::Candidate,
        }
    }

    /// Whether it needs the contents of pages.
    pub fn needs_contents(&self) -> bool {
        matches!(self, Entry::Known(kind) if kind.reads_contents())
    }

    /// Whether it has clusters of pages.
    pub fn has_clusters(&self) -> bool {
        matches!(self, Entry::Known(kind) if kind.has_clusters())
    }

    /// The policy for a replay of `data`.
    pub fn policy<'a>(
        &self,
        data: &'a Dataset,
        basis: Basis,
        clusters: &ClusterOptions,
    ) -> Box<dyn Policy + 'a> {
        match self {
            Entry::Known(kind) => kind.build_with(data, basis, clusters),
            Entry::Formula(formula) => Box::new(FormulaPolicy::new(formula)),
        }
    }
}

/// All entries without duplicates: built-in (by default those that need no contents) policies, formulas, bounds.
///
/// # Errors
/// When a policy is unknown, or a formula cannot be read.
pub fn all(names: &[String], formulas: &[String], basis: Basis) -> Result<Vec<Entry>, Failure> {
    let mut kinds: Vec<PolicyKind> = Vec::new();
    for name in names {
        let kind = PolicyKind::named(name).ok_or_else(|| unknown(name))?;
        if kinds.iter().all(|known| known.name != kind.name) {
            kinds.push(kind);
        }
    }
    if names.is_empty() {
        kinds = policy::of_any_data();
    }
    let mut given: Vec<Formula> = Vec::new();
    for text in formulas {
        let formula = formula(text, basis)?;
        if !given.contains(&formula) {
            given.push(formula);
        }
    }
    let (bounds, known): (Vec<PolicyKind>, Vec<PolicyKind>) =
        kinds.into_iter().partition(PolicyKind::is_bound);
    let known = known.into_iter().map(Entry::Known);
    Ok(known
        .chain(given.into_iter().map(|formula| Entry::Formula(Box::new(formula))))
        .chain(bounds.into_iter().map(Entry::Known))
        .collect())
}

/// A formula by name or file, which has its own basis, or an expression with `basis`.
fn formula(text: &str, basis: Basis) -> Result<Formula, Failure> {
    let formula = formula_file::find(text).map_err(|e| Failure::Usage(format!("--formula: {e}")))?;
    let is_expression = !text.ends_with(".toml") && Builtin::named(text).is_none();
    Ok(if is_expression { Formula { basis, ..formula } } else { formula })
}

fn unknown(name: &str) -> Failure {
    let nearest = policy::ALL
        .iter()
        .map(|kind| (strsim::normalized_damerau_levenshtein(kind.name, &name.to_lowercase()), kind.name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(likeness, _)| *likeness > 0.4);
    let hint = nearest.map(|(_, near)| format!(" (did you mean `{near}`?)")).unwrap_or_default();
    let names: Vec<&str> = policy::ALL.iter().map(|kind| kind.name).collect();
    Failure::Usage(format!(
        "--policy {name}: unknown policy{hint}; available: {}; for an expression use --formula",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(policies: &[&str], formulas: &[&str]) -> Result<Vec<String>, String> {
        let own = |words: &[&str]| words.iter().map(|&w| w.to_owned()).collect::<Vec<_>>();
        let entries = all(&own(policies), &own(formulas), Basis::Visits).map_err(|e| e.to_string())?;
        Ok(entries.iter().map(|entry| entry.name().to_owned()).collect())
    }

    #[test]
    fn each_takes_part_once_and_bounds_come_last() {
        let listed = names(&["oracle", "nad", "age", "nad"], &["t * X", "default", "t*X"]).unwrap();
        assert_eq!(listed, ["nad", "age", "t * X", "default", "oracle"]);
        let by_default = names(&[], &[]).unwrap();
        assert_eq!(by_default.len(), policy::ALL.iter().filter(|kind| !kind.reads_contents()).count());
        assert!(!by_default.contains(&"lb".to_owned()) && names(&["lb"], &[]).unwrap() == ["lb"]);
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
