//! The formula that operators choose.

use super::{logged, unplanned_cycle};
use recrawl_console::view::{Accepted, Change, Effect, FormulaCheck, Refusal};
use recrawl_crawl::data_dir;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::operator::rollback::{self, RolledBack};
use recrawl_crawl::operator::stopped::StoppedCrawl;
use recrawl_crawl::settings::{Settings, formula_file};
use recrawl_formula::{Formula, builtin};

/// The answer to a roll-back without an earlier formula.
pub const NOTHING_BEFORE: &str = "no earlier formula to roll back to: that of the configuration is in force";
/// Back at the configured formula, the configuration decides again.
pub const FROM_CONFIGURATION: &str = " (from the configuration)";

/// Parses a formula from a client: the name of a built-in one, an expression, or the text of a
/// formula file. Never the name of a file.
pub fn parse(text: &str) -> Result<Formula, Refusal> {
    let wrong = |what: String| {
        Refusal::invalid("formula", what, "send a name, an expression or a formula file's text")
    };
    // A file has `key = value` lines; an expression has no `=`.
    let parsed = match text.contains('=') {
        true => Formula::from_toml(text).map_err(|e| e.to_string()),
        false => builtin::resolve(text.trim()).map_err(|e| e.to_string()),
    };
    parsed.map_err(wrong)
}

/// Terminals, cost and warnings of a formula.
pub fn check(text: &str) -> Result<FormulaCheck, Refusal> {
    let formula = parse(text)?;
    let check = formula.check();
    Ok(FormulaCheck {
        name: formula.name.clone(),
        expression: formula.expr.to_string(),
        warnings: check.warnings(),
        simplified: check.simplified,
        terminals: check.terminals.iter().map(|name| (*name).to_owned()).collect(),
        nodes: check.nodes as u64,
        depth: check.depth as u64,
        cost: check.cost as u64,
    })
}

/// The warnings about a formula, as a part of a sentence.
pub fn warnings(formula: &Formula) -> String {
    formula.check().warnings().iter().map(|text| format!("; warning: {text}")).collect()
}

/// Says that a formula is chosen; `source` is appended.
pub fn in_force_from(settings: &Settings, formula: &Formula, cycle: u64, source: &str) -> String {
    let idle = idle(settings, formula);
    format!("{}: in force from cycle {cycle} on{source}{idle}", formula.name)
}

/// Why no formula ranks the pages, or why their importance does not count, if so, as a part of a sentence.
fn idle(settings: &Settings, formula: &Formula) -> String {
    let why = settings.formula_is_idle().or_else(|| settings.importance_is_idle(formula));
    why.map(|why| format!("; {why}")).unwrap_or_default()
}

/// Uses a formula, given as the text of its file, in the data directory of a stopped crawl.
///
/// # Errors
/// When there is no such directory, it is another's, or cannot be written.
pub fn choose_stopped(settings: &Settings, text: &str) -> Result<Accepted, Failure> {
    if !settings.data_dir.is_dir() {
        let text = format!("{}: no such data directory", settings.data_dir.display());
        return Err(Failure::Usage(text));
    }
    data_dir::check_ours(settings)?;
    let formula = Formula::from_toml(text).map_err(Failure::work)?;
    let idle = idle(settings, &formula);
    let detail = format!("{}: in force from the next cycle on{idle}", formula.name);
    logged(settings, &Change::UseFormula { text: text.into() }, || {
        formula_file::keep_in_data_dir(&settings.data_dir, &formula)?;
        Ok(Accepted { did: Effect::NextCycle, detail })
    })
}

/// Uses the previous formula in a stopped crawl.
///
/// # Errors
/// When the data directory cannot be read or written.
pub fn roll_back_stopped(settings: &Settings) -> Result<Accepted, Failure> {
    let stopped = StoppedCrawl::open(settings)?;
    let cycle = u64::from(unplanned_cycle(&stopped)?.0);
    logged(settings, &Change::RollBackFormula, || {
        stopped.decide(|control| {
            let in_force = formula_file::in_force(settings).ok();
            let back = rollback::roll_back(control.chosen(), in_force.as_ref(), settings, cycle)?;
            let Some(RolledBack { formula, is_configured, chosen }) = back else {
                return Ok(Accepted { did: Effect::Already, detail: NOTHING_BEFORE.into() });
            };
            let source = if is_configured { FROM_CONFIGURATION } else { "" };
            match is_configured {
                true => formula_file::forget_in_data_dir(&settings.data_dir)?,
                false => formula_file::keep_in_data_dir(&settings.data_dir, &formula)?,
            }
            control.set_chosen(chosen)?;
            let detail = in_force_from(settings, &formula, cycle, source);
            Ok(Accepted { did: Effect::NextCycle, detail })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_names_formulas_and_never_files() {
        assert_eq!(parse("age").unwrap().name, "age");
        assert_eq!(parse(" t * 2 ").unwrap().expr.to_string(), "t * 2");
        assert_eq!(parse("name = \"x\"\nexpression = \"t + n\"").unwrap().name, "x");
        for text in ["/etc/passwd", "../formula.toml", "config/formulas/age.toml", "", "name = \"x\""] {
            assert!(matches!(parse(text), Err(Refusal::Invalid { .. })), "{text}");
        }
    }

    #[test]
    fn what_to_beware_of_is_said() {
        assert!(check("age").unwrap().warnings.is_empty());
        let warned = check("X / t").unwrap().warnings;
        assert!(warned.iter().any(|w| w.contains("falls with age")), "{warned:?}");
    }
}
