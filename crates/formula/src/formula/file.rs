//! Formula files.

use super::{Formula, FormulaError, Provenance};
use crate::{Basis, Expr, Protection, parse};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;

/// Maximum bytes of a formula file: an expression at its limit, and space for the rest.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// The keys of a formula file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FormulaKeys {
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    description: String,
    expression: String,
    /// Redundant, for readers and other programs; optional.
    terminals: Option<Vec<String>>,
    #[serde(default)]
    protection: Protection,
    #[serde(default)]
    estimators: Basis,
    #[serde(default)]
    provenance: Provenance,
}

impl Formula {
    /// Parses a formula file. Keys: `name`, `expression`, and optionally `description`,
    /// `terminals`, `protection`, `estimators` (the basis) and the table `provenance`.
    ///
    /// # Errors
    /// Unknown keys, an invalid expression, a list of terminals that differs from the expression's.
    pub fn from_toml(text: &str) -> Result<Formula, FormulaError> {
        let keys: FormulaKeys = toml::from_str(text).map_err(|e| FormulaError::Toml(Box::new(e)))?;
        check_name(&keys.name)?;
        let expr = parse(&keys.expression)
            .map_err(|cause| FormulaError::Expression { text: keys.expression.clone(), cause })?;
        if let Some(listed) = keys.terminals {
            let used: Vec<_> = expr.terminals().iter().map(|t| t.name).collect();
            let same = listed.len() == used.len() && used.iter().all(|u| listed.iter().any(|l| l == u));
            if !same {
                return Err(FormulaError::Terminals { listed, used });
            }
        }
        Ok(Formula {
            name: keys.name,
            description: keys.description,
            expr,
            protection: keys.protection,
            basis: keys.estimators,
            provenance: keys.provenance,
        })
    }

    /// The text of a formula file that [`Formula::from_toml`] reads back as the same formula.
    ///
    /// # Errors
    /// If it could not be read back: an expression beyond the parser's limits or with a constant
    /// that is not finite, or a bad name.
    pub fn to_toml(&self) -> Result<String, FormulaError> {
        check_name(&self.name)?;
        let expression = self.expr.to_string();
        parse(&expression).map_err(FormulaError::Unprintable)?;
        let keys = FormulaKeys {
            name: self.name.clone(),
            description: self.description.clone(),
            expression,
            terminals: Some(self.expr.terminals().iter().map(|t| t.name.to_owned()).collect()),
            protection: self.protection,
            estimators: self.basis,
            provenance: self.provenance.clone(),
        };
        Ok(toml::to_string(&keys).expect("strings, numbers and one table can be written as TOML"))
    }

    /// Reads a formula file.
    ///
    /// # Errors
    /// As [`Formula::from_toml`], and if the file cannot be read; all name the file.
    pub fn load(path: &Path) -> Result<Formula, FormulaError> {
        let read = |cause| FormulaError::Read { path: path.to_owned(), cause };
        let within = |cause| FormulaError::File { path: path.to_owned(), cause: Box::new(cause) };
        let mut text = String::new();
        let file = fs::File::open(path).map_err(read)?;
        file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(read)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(within(FormulaError::TooLong { limit: MAX_FILE_BYTES }));
        }
        Formula::from_toml(&text).map_err(within)
    }

    /// Writes a formula file atomically: to a temporary file, which is then renamed.
    ///
    /// # Errors
    /// As [`Formula::to_toml`], and if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), FormulaError> {
        let text = self.to_toml()?;
        let beside = path.with_extension("toml.new");
        let write = || -> std::io::Result<()> {
            let mut file = fs::File::create(&beside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, path)
        };
        write().map_err(|cause| FormulaError::Write { path: path.to_owned(), cause })
    }
}

fn check_name(name: &str) -> Result<(), FormulaError> {
    let sound = !name.is_empty() && name.len() <= Expr::MAX_BYTES && !name.chars().any(char::is_control);
    if sound { Ok(()) } else { Err(FormulaError::Name(name.to_owned())) }
}
