//! `recrawl formula`: lists, shows, checks and selects score formulas.

use super::control::tell;
use super::{print, print_json, print_labelled};
use crate::action;
use crate::action::formula::warnings;
use crate::cli::FormulaCommand;
use recrawl_console::view::{Change, Effect};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::{Settings, formula_file};
use recrawl_formula::{Formula, builtin};
use serde_json::{Value, json};

pub fn run(command: &FormulaCommand) -> Result<(), Failure> {
    match command {
        FormulaCommand::List(on) => {
            let settings = on.at.settings()?;
            list(&formula_file::in_force(&settings)?, settings.formula_is_idle(), on.json)
        }
        FormulaCommand::Show { formula, json } => {
            let formula = formula_file::find(formula).map_err(Failure::Usage)?;
            if *json {
                return print_json(&document(&formula));
            }
            print(formula.to_toml().map_err(Failure::work)?.trim_end())
        }
        FormulaCommand::Check { formula, json } => {
            check(&formula_file::find(formula).map_err(Failure::Usage)?, *json)
        }
        FormulaCommand::Use { formula: text, on } => {
            let formula = formula_file::find(text).map_err(Failure::Usage)?;
            let mut settings = on.at.settings()?;
            settings.files.push(text.into());
            use_formula(&settings, &formula, on.json)
        }
        FormulaCommand::Rollback(on) => {
            let made = action::make(&on.at.settings()?, &Change::RollBackFormula)?;
            match made.did {
                Effect::Already => Err(Failure::Work(made.detail)),
                _ => tell(&made, on.json),
            }
        }
    }
}

fn use_formula(settings: &Settings, formula: &Formula, as_json: bool) -> Result<(), Failure> {
    let text = formula.to_toml().map_err(Failure::work)?;
    let made = action::make(settings, &Change::UseFormula { text })?;
    if as_json {
        return print_json(&made);
    }
    let said = made.detail;
    // The warnings come below.
    print_labelled(said.strip_suffix(&*warnings(formula)).unwrap_or(&said))?;
    formula.check().warnings().iter().try_for_each(|text| print_labelled(format!("warning     {text}")))
}

fn document(formula: &Formula) -> Value {
    json!({"name": formula.name, "expression": formula.expr.to_string(), "description": formula.description,
           "protection": formula.protection.to_string(), "basis": formula.basis.to_string()})
}

fn list(in_force: &Formula, idle: Option<String>, as_json: bool) -> Result<(), Failure> {
    let mut formulas: Vec<Formula> = builtin::ALL.iter().map(|b| b.formula()).collect();
    if !formulas.contains(in_force) {
        formulas.push(in_force.clone());
    }
    if as_json {
        let entry = |f: &Formula| {
            let mut entry = document(f);
            entry["in_force"] = json!(idle.is_none() && f == in_force);
            entry
        };
        return print_json(&formulas.iter().map(entry).collect::<Vec<_>>());
    }
    let width = formulas.iter().map(|f| f.name.len()).max().unwrap_or(0);
    for formula in &formulas {
        let mark = if idle.is_none() && formula == in_force { '*' } else { ' ' };
        print(format!("{mark} {:width$}  {}", formula.name, formula.expr))?;
    }
    print(idle.unwrap_or_else(|| "* in force for the cycles planned from now on".into()))
}

fn check(formula: &Formula, as_json: bool) -> Result<(), Failure> {
    let check = formula.check();
    if as_json {
        return print_json(
            &json!({"name": formula.name, "expression": formula.expr.to_string(), "check": check}),
        );
    }
    print_labelled(format!("expression  {}", formula.expr))?;
    if let Some(simpler) = &check.simplified {
        print_labelled(format!("simplified  {simpler}"))?;
    }
    print_labelled(format!("terminals   {}", check.terminals.join(" ")))?;
    print_labelled(format!("protection  {}, estimators by {}", formula.protection, formula.basis))?;
    print_labelled(format!(
        "size        {} nodes, depth {}, {} operations per page",
        check.nodes, check.depth, check.cost
    ))?;
    let warnings = check.warnings();
    warnings.iter().try_for_each(|text| print_labelled(format!("warning     {text}")))?;
    if !warnings.is_empty() {
        Ok(())
    } else {
        print_labelled(
            "ok          finite, increases with age, starves no page (on the tested grid of states)",
        )
    }
}
