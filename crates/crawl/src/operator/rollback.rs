//! Roll-back of the formula: the history of choices says which one was in force before.

use crate::failure::Failure;
use crate::operator::control::ChosenFormula;
use crate::settings::Settings;
use recrawl_formula::Formula;

/// State that a roll-back puts in force.
pub struct RolledBack {
    /// The formula of the next cycle.
    pub formula: Formula,
    /// Is it the configured one? Then formula.toml is removed, and the configuration decides again.
    pub is_configured: bool,
    /// The history of choices, without those that are rolled back.
    pub chosen: Vec<ChosenFormula>,
}

/// Is this the formula that was chosen last?
pub fn is_last(chosen: &[ChosenFormula], formula: &Formula) -> bool {
    chosen.last().and_then(|last| Formula::from_toml(&last.toml).ok()).as_ref() == Some(formula)
}

/// Rolls back to the last chosen formula if another one is in force since, or else to the one before it, at last to that of
/// the configuration; none if that is in force. `from_cycle` is the first cycle that it ranks.
///
/// # Errors
/// When a stored formula cannot be read.
pub fn roll_back(
    mut chosen: Vec<ChosenFormula>,
    in_force: Option<&Formula>,
    settings: &Settings,
    from_cycle: u64,
) -> Result<Option<RolledBack>, Failure> {
    if in_force.is_some_and(|formula| is_last(&chosen, formula)) {
        chosen.pop();
    }
    let Some(last) = chosen.last_mut() else {
        // A choice beside a stopped crawl is not in the history: the configuration decided before it.
        let is_other = in_force.is_none_or(|formula| *formula != settings.formula);
        let formula = settings.formula.clone();
        return Ok(is_other.then_some(RolledBack { formula, is_configured: true, chosen }));
    };
    let formula = Formula::from_toml(&last.toml).map_err(Failure::work)?;
    last.from_cycle = Some(from_cycle);
    let is_configured = formula == settings.formula;
    Ok(Some(RolledBack { formula, is_configured, chosen }))
}
