//! `recrawl formula`: lists, shows, checks and selects score formulas.

use super::{print, print_json};
use crate::audit;
use crate::cli::FormulaCommand;
use recrawl_console::view::{Accepted, Change, Did};
use recrawl_crawl::data_dir;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::formula_file;
use recrawl_formula::{Formula, builtin};
use serde_json::json;

pub fn run(command: &FormulaCommand) -> Result<(), Failure> {
    match command {
        FormulaCommand::List { at, json } => {
            let settings = at.settings()?;
            list(&formula_file::in_force(&settings)?, settings.formula_is_idle(), *json)
        }
        FormulaCommand::Show { formula } => {
            let formula = formula_file::find(formula).map_err(Failure::Usage)?;
            print(formula.to_toml().map_err(Failure::work)?.trim_end())
        }
        FormulaCommand::Check { formula, json } => {
            check(&formula_file::find(formula).map_err(Failure::Usage)?, *json)
        }
        FormulaCommand::Use { formula: text, at } => {
            let formula = formula_file::find(text).map_err(Failure::Usage)?;
            let mut settings = at.settings()?;
            settings.files.push(text.into());
            if !settings.data_dir.is_dir() {
                let text = format!("{}: no such data directory", settings.data_dir.display());
                return Err(Failure::Usage(text));
            }
            data_dir::check_ours(&settings)?;
            let change = Change::UseFormula { text: formula.to_toml().map_err(Failure::work)? };
            let idle = settings.formula_is_idle().map(|why| format!("; {why}")).unwrap_or_default();
            let said = format!("{}: in force from the next cycle on{idle}", formula.name);
            audit::logged(&settings.data_dir, &change, || {
                formula_file::keep_in_data_dir(&settings.data_dir, &formula)?;
                Ok(((), Accepted { did: Did::NextCycle, detail: said.clone() }))
            })?;
            print(&said)?;
            formula.check().warnings().iter().try_for_each(|text| print(format!("warning     {text}")))
        }
    }
}

fn list(in_force: &Formula, idle: Option<String>, as_json: bool) -> Result<(), Failure> {
    let mut formulas: Vec<Formula> = builtin::ALL.iter().map(|b| b.formula()).collect();
    if !formulas.contains(in_force) {
        formulas.push(in_force.clone());
    }
    if as_json {
        let entry = |f: &Formula| {
            json!({"name": f.name, "expression": f.expr.to_string(), "description": f.description,
                   "protection": f.protection.to_string(), "basis": f.basis.to_string(),
                   "in_force": idle.is_none() && f == in_force})
        };
        return print_json(&formulas.iter().map(entry).collect::<Vec<_>>());
    }
    let width = formulas.iter().map(|f| f.name.len()).max().unwrap_or(0);
    for formula in &formulas {
        let mark = if idle.is_none() && formula == in_force { '*' } else { ' ' };
        print(format!("{mark} {:width$}  {}", formula.name, formula.expr))?;
    }
    print(idle.unwrap_or_else(|| "* in force".into()))
}

fn check(formula: &Formula, as_json: bool) -> Result<(), Failure> {
    let check = formula.check();
    if as_json {
        return print_json(
            &json!({"name": formula.name, "expression": formula.expr.to_string(), "check": check}),
        );
    }
    print(format!("expression  {}", formula.expr))?;
    if let Some(simpler) = &check.simplified {
        print(format!("simplified  {simpler}"))?;
    }
    print(format!("terminals   {}", check.terminals.join(" ")))?;
    print(format!("protection  {}, estimators by {}", formula.protection, formula.basis))?;
    print(format!(
        "size        {} nodes, depth {}, {} operations per page",
        check.nodes, check.depth, check.cost
    ))?;
    let warnings = check.warnings();
    warnings.iter().try_for_each(|text| print(format!("warning     {text}")))?;
    if !warnings.is_empty() {
        Ok(())
    } else {
        print("ok          finite, increases with age, starves no page (on the tested grid of states)")
    }
}
