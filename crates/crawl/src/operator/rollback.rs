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
    chosen: Vec<ChosenFormula>,
    in_force: Option<&Formula>,
    settings: &Settings,
    from_cycle: u64,
) -> Result<Option<RolledBack>, Failure> {
    let target = target(&chosen, in_force, settings)?;
    Ok(target.and_then(|target| roll_back_to(target, chosen, in_force, settings, from_cycle)))
}

/// The formula to which [`roll_back`] goes; none if there is no earlier one.
///
/// # Errors
/// When a stored formula cannot be read.
pub fn target(
    chosen: &[ChosenFormula],
    in_force: Option<&Formula>,
    settings: &Settings,
) -> Result<Option<Formula>, Failure> {
    let is_chosen = in_force.is_some_and(|formula| is_last(chosen, formula));
    let before = if is_chosen { &chosen[..chosen.len() - 1] } else { chosen };
    match before.last() {
        Some(last) => Formula::from_toml(&last.toml).map(Some).map_err(Failure::work),
        // A choice beside a stopped crawl is not in the history: the configuration decided before it.
        None => Ok(Some(settings.formula.clone()).filter(|formula| in_force != Some(formula))),
    }
}

/// Rolls back as far as this formula; none if that was done before. So it may be done twice.
pub fn roll_back_to(
    target: Formula,
    mut chosen: Vec<ChosenFormula>,
    in_force: Option<&Formula>,
    settings: &Settings,
    from_cycle: u64,
) -> Option<RolledBack> {
    let before = chosen.len();
    while !chosen.is_empty() && !is_last(&chosen, &target) {
        chosen.pop();
    }
    if in_force == Some(&target) && chosen.len() == before {
        return None;
    }
    if let Some(last) = chosen.last_mut() {
        last.from_cycle = Some(from_cycle);
    }
    let is_configured = target == settings.formula;
    Some(RolledBack { formula: target, is_configured, chosen })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::operator::control::Mark;
    use recrawl_formula::builtin;

    fn settings() -> Settings {
        Settings::check(Config::default()).unwrap()
    }

    /// Decisions of a fleet may be made again, from an earlier one on: they end alike.
    #[test]
    fn what_was_rolled_back_to_a_formula_may_be_so_again_and_what_came_behind_it() {
        let settings = settings();
        let formula = |text: &str| builtin::resolve(text).unwrap();
        let entry = |text: &str| ChosenFormula {
            toml: formula(text).to_toml().unwrap(),
            mark: Mark { who: "anna".into(), at: 1 },
            from_cycle: None,
        };
        let texts = |chosen: &[ChosenFormula]| chosen.iter().map(|one| one.toml.clone()).collect::<Vec<_>>();
        let begun = vec![entry("t + 1"), entry("t + 2"), entry("t + 3")];
        let in_force = formula("t + 3");
        let back = target(&begun, Some(&in_force), &settings).unwrap().unwrap();
        assert_eq!(back, formula("t + 2"));
        let to = |chosen: Vec<ChosenFormula>, in_force: &Formula| {
            roll_back_to(back.clone(), chosen, Some(in_force), &settings, 9)
        };
        let RolledBack { formula: now, is_configured, chosen } = to(begun.clone(), &in_force).unwrap();
        assert_eq!((&now, is_configured, texts(&chosen)), (&back, false, texts(&begun[..2])));
        assert!(to(chosen.clone(), &now).is_none(), "a second time");
        // The file was written before a crash, and the history was not.
        assert_eq!(texts(&to(begun.clone(), &now).unwrap().chosen), texts(&begun[..2]));
        // Behind a choice that was made since, which is made again then.
        let later = [&chosen[..], &[entry("t + 4")]].concat();
        assert_eq!(texts(&to(later, &formula("t + 4")).unwrap().chosen), texts(&begun[..2]));
    }

    #[test]
    fn the_last_step_back_is_to_the_configuration() {
        let settings = settings();
        let other = builtin::resolve("t + 1").unwrap();
        let back = roll_back(Vec::new(), Some(&other), &settings, 9).unwrap().unwrap();
        assert_eq!((&back.formula, back.is_configured), (&settings.formula, true));
        assert!(roll_back(Vec::new(), Some(&settings.formula), &settings, 9).unwrap().is_none());
    }
}
