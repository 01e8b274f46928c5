//! The formula in force: by name, by file, or written out; and the one that `formula use` left in the
//! data directory, which a running crawl takes up at the next cycle boundary.

use crate::failure::Failure;
use crate::settings::Settings;
use recrawl_formula::Formula;
use recrawl_formula::builtin;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A formula by name, by file (`*.toml`), or written out.
///
/// # Errors
/// In words: no such file, what is wrong in it, or where the expression stops making sense.
pub fn find(text: &str) -> Result<Formula, String> {
    if text.ends_with(".toml") {
        return Formula::load(Path::new(text)).map_err(|e| e.to_string());
    }
    builtin::resolve(text).map_err(|e| e.to_string())
}

fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("formula.toml")
}

/// The formula in force: the one given on the command line, the data directory's own, or the configured
/// one.
///
/// # Errors
/// When the data directory's own is there and holds no formula.
pub fn in_force(settings: &Settings) -> Result<Formula, Failure> {
    let path = path(&settings.data_dir);
    if settings.formula_is_given || !path.exists() {
        return Ok(settings.formula.clone());
    }
    Formula::load(&path).map_err(Failure::work)
}

/// Leaves the data directory without a formula of its own: the configured one holds again, and changes with it.
///
/// # Errors
/// When the file cannot be removed.
pub fn forget_in_data_dir(data_dir: &Path) -> Result<(), Failure> {
    match std::fs::remove_file(path(data_dir)) {
        Err(e) if e.kind() != ErrorKind::NotFound => {
            Err(Failure::Work(format!("{}: {e}", path(data_dir).display())))
        }
        _ => Ok(()),
    }
}

/// Makes `formula` the data directory's own; a running crawl reads the old one or the new one.
///
/// # Errors
/// When the folder takes no file.
pub fn keep_in_data_dir(data_dir: &Path, formula: &Formula) -> Result<(), Failure> {
    formula.save(&path(data_dir)).map_err(Failure::work)
}
