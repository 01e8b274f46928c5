//! Finds the formula in force: by name, file or expression, or as the `formula.toml` that `recrawl
//! formula use` writes to the data directory. A running crawl reads that file between cycles.

use crate::failure::Failure;
use crate::settings::Settings;
use recrawl_formula::Formula;
use recrawl_formula::builtin;
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

fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("formula.toml")
}

/// The formula in force: the one from the command line, else that of the data directory, else the
/// configured one.
///
/// # Errors
/// When the data directory has a formula file that is not valid.
pub fn in_force(settings: &Settings) -> Result<Formula, Failure> {
    if let Some(problem) = &settings.ranking_problem {
        return Err(Failure::Work(problem.clone()));
    }
    match of_data_dir(settings) {
        None => Ok(settings.formula.clone()),
        Some(path) => Formula::load(&path).map_err(Failure::work),
    }
}

/// The file of the data directory that has the formula in force; none if the configuration or the command line has it.
pub fn of_data_dir(settings: &Settings) -> Option<PathBuf> {
    Some(path(&settings.data_dir)).filter(|path| !settings.formula_is_given && path.exists())
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

/// Takes over the formula of another data directory, which may have none.
///
/// # Errors
/// When the file cannot be read or written.
pub fn take_over(data_dir: &Path, other: &Path) -> Result<(), Failure> {
    match std::fs::copy(path(other), path(data_dir)) {
        Err(e) if e.kind() == ErrorKind::NotFound => forget_in_data_dir(data_dir),
        copied => copied.map(drop).map_err(Failure::from),
    }
}
