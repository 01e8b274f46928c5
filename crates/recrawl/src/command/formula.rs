//! `recrawl formula`: lists, shows, checks and selects score formulas.

use super::{control, print, print_json, print_labelled};
use crate::audit;
use crate::cli::FormulaCommand;
use crate::daemon::Daemon;
use crate::serve::formulas;
use recrawl_console::view::{Accepted, Change, Did};
use recrawl_crawl::data_dir;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::operator::rollback::{self, RolledBack};
use recrawl_crawl::operator::stopped::StoppedCrawl;
use recrawl_crawl::settings::{Settings, formula_file};
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
            use_formula(&settings, &formula)
        }
        FormulaCommand::Rollback { at } => roll_back(&at.settings()?),
    }
}

fn use_formula(settings: &Settings, formula: &Formula) -> Result<(), Failure> {
    let text = formula.to_toml().map_err(Failure::work)?;
    let said = match Daemon::in_charge(&settings.data_dir)? {
        Some(daemon) => {
            let accepted = daemon.change("PUT", "/api/v1/formula", Some(&json!({"text": text})))?;
            let detail = accepted.detail;
            detail.strip_suffix(&*formulas::warnings(formula)).map(str::to_owned).unwrap_or(detail)
        }
        None => {
            if !settings.data_dir.is_dir() {
                let text = format!("{}: no such data directory", settings.data_dir.display());
                return Err(Failure::Usage(text));
            }
            data_dir::check_ours(settings)?;
            let idle = settings.formula_is_idle().map(|why| format!("; {why}")).unwrap_or_default();
            let said = format!("{}: in force from the next cycle on{idle}", formula.name);
            audit::logged(&settings.data_dir, &Change::UseFormula { text }, || {
                formula_file::keep_in_data_dir(&settings.data_dir, formula)?;
                Ok((said.clone(), Accepted { did: Did::NextCycle, detail: said }))
            })?
        }
    };
    print_labelled(&said)?;
    formula.check().warnings().iter().try_for_each(|text| print_labelled(format!("warning     {text}")))
}

fn roll_back(settings: &Settings) -> Result<(), Failure> {
    if let Some(daemon) = Daemon::in_charge(&settings.data_dir)? {
        return control::tell(&daemon.change("DELETE", "/api/v1/formula", None)?, false);
    }
    let stopped = StoppedCrawl::open(settings)?;
    let generation = stopped.repository.current();
    let planned = open_read::in_progress(&*stopped.storage, &generation, Some(&stopped.tables))?;
    // The first cycle that is not yet planned.
    let last = planned.and_then(|planned| planned.cycle).unwrap_or_else(|| generation.cycle());
    let cycle = u64::from(last.next().0);
    let accepted = audit::logged(&settings.data_dir, &Change::RollBackFormula, || {
        let made = stopped.decide(|control| {
            let in_force = formula_file::in_force(settings).ok();
            let back = rollback::roll_back(control.chosen(), in_force.as_ref(), settings, cycle)?;
            let Some(RolledBack { formula, is_configured, chosen }) = back else {
                return Ok(Accepted { did: Did::Already, detail: formulas::NOTHING_BEFORE.into() });
            };
            let source = if is_configured { formulas::FROM_CONFIGURATION } else { "" };
            match is_configured {
                true => formula_file::forget_in_data_dir(&settings.data_dir)?,
                false => formula_file::keep_in_data_dir(&settings.data_dir, &formula)?,
            }
            control.set_chosen(chosen)?;
            let detail = formulas::in_force_from(settings, &formula, cycle, source);
            Ok(Accepted { did: Did::NextCycle, detail })
        })?;
        Ok((made.clone(), made))
    })?;
    control::tell(&accepted, false)
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
