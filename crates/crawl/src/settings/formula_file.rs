//! Finds the formula in force: by name, file or expression, or as the `formula.toml` that `recrawl
//! formula use` writes to the data directory. A running crawl reads that file between cycles.

use crate::failure::Failure;
use crate::settings::Settings;
use recrawl_formula::Formula;
use recrawl_formula::builtin;
use recrawl_types::Reads;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Finds a formula by name or file (`*.toml`), or parses an expression.
///
/// # Errors
/// A message: no such file, what is wrong in it, or the column of the syntax error.
pub fn find(text: &str) -> Result<Formula, String> {
    if text.ends_with(".toml") {
        return Formula::load(Path::new(text)).map_err(|e| e.to_string());
    }
    builtin::resolve(text).map_err(|e| e.to_string())
}

/// Finds a formula that a crawl can use.
///
/// # Errors
/// A message: as of [`find`], or it reads what a crawl does not have.
pub fn find_for_crawl(text: &str) -> Result<Formula, String> {
    find(text).and_then(usable)
}

/// The formula, if a crawl can use it.
///
/// # Errors
/// When it reads the model of the next change, which so far only simulations have.
pub fn usable(formula: Formula) -> Result<Formula, String> {
    let terminals = formula.expr.terminals();
    match terminals.iter().find(|terminal| (terminal.reads)(formula.basis).contains(Reads::NEXT_CHANGE)) {
        None => Ok(formula),
        Some(terminal) => Err(format!(
            "{} is learned in simulations only, and a crawl has no model for it; p_burst, u_fresh_sib and u_harm_sib \
             are the like for a crawl",
            terminal.name
        )),
    }
}

fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("formula.toml")
}

/// The formula in force: the one from the command line, else that of the data directory, else the
/// configured one.
///
/// # Errors
/// When the data directory has a formula file that is not valid.
pub fn in_force(settings: &Settings) -> Result<Formula, Failure> {
    let path = path(&settings.data_dir);
    if settings.formula_is_given || !path.exists() {
        return Ok(settings.formula.clone());
    }
    let formula = Formula::load(&path).map_err(Failure::work)?;
    usable(formula).map_err(|e| Failure::Work(format!("{}: {e}", path.display())))
}

/// Removes the data directory's formula, so that the configured one is in force again.
///
/// # Errors
/// When the file cannot be removed.
pub fn forget_in_data_dir(data_dir: &Path) -> Result<(), Failure> {
    match std::fs::remove_file(path(data_dir)) {
        Err(e) if e.kind() != ErrorKind::NotFound => {
            Err(Failure::Work(format!("cannot remove {}: {e}", path(data_dir).display())))
        }
        _ => Ok(()),
    }
}

/// Writes `formula` to the data directory, atomically: a running crawl reads the old or the new
/// one.
///
/// # Errors
/// When the file cannot be written.
pub fn keep_in_data_dir(data_dir: &Path, formula: &Formula) -> Result<(), Failure> {
    formula.save(&path(data_dir)).map_err(Failure::work)
}
