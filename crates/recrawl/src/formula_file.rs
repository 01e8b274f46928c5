//! The formula in force: by name, by file, or written out; and the one that `formula use` left in the
//! data directory, which a running crawl takes up at the next cycle boundary.

use crate::failure::Failure;
use recrawl_formula::Formula;
use recrawl_formula::builtin::Builtin;
use std::path::{Path, PathBuf};

/// A formula by name, by file (`*.toml`), or written out.
///
/// # Errors
/// In words: no such file, what is wrong in it, or where the expression stops making sense.
pub fn find(text: &str) -> Result<Formula, String> {
    if let Some(builtin) = Builtin::named(text) {
        return Ok(builtin.formula());
    }
    if text.ends_with(".toml") {
        return Formula::load(Path::new(text)).map_err(|e| e.to_string());
    }
    Formula::from_expression(text).map_err(|e| e.to_string())
}

fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("formula.toml")
}

/// The formula that the data directory has of its own.
///
/// # Errors
/// When the file is there and holds no formula.
pub fn of_data_dir(data_dir: &Path) -> Result<Option<Formula>, Failure> {
    let path = path(data_dir);
    if !path.exists() {
        return Ok(None);
    }
    Formula::load(&path).map(Some).map_err(|e| Failure::Work(e.to_string()))
}

/// Makes `formula` the data directory's own: written beside and renamed, so that a running crawl reads
/// the old one or the new one.
///
/// # Errors
/// When the folder takes no file.
pub fn keep_in_data_dir(data_dir: &Path, formula: &Formula) -> Result<(), Failure> {
    let (path, new) = (path(data_dir), data_dir.join("formula.toml.new"));
    let named = |e: std::io::Error| Failure::Work(format!("{}: {e}", path.display()));
    let text = formula.to_toml().map_err(Failure::work)?;
    std::fs::write(&new, text).map_err(named)?;
    std::fs::File::open(&new).and_then(|f| f.sync_all()).map_err(named)?;
    std::fs::rename(&new, &path).map_err(named)
}
