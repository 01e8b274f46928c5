//! Errors of reading and writing formulas.

use crate::{Expr, ParseError};
use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a formula cannot be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum FormulaError {
    /// The file cannot be read.
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// The file cannot be written.
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// A file is invalid.
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: Box<FormulaError>,
    },
    /// The text is too long for a formula.
    TooLong {
        /// Maximum bytes.
        limit: u64,
    },
    /// Not TOML, or not the keys of a formula file.
    Toml(Box<toml::de::Error>),
    /// The text is not an expression.
    Expression {
        /// Its text.
        text: String,
        /// What is wrong with it, and where.
        cause: ParseError,
    },
    /// The expression cannot be written: it exceeds a limit of the parser or has a constant that is
    /// not finite.
    Unprintable(ParseError),
    /// The list of terminals differs from the expression's.
    Terminals {
        /// The list in the file.
        listed: Vec<String>,
        /// The terminals of the expression.
        used: Vec<&'static str>,
    },
    /// The name is empty, too long, or has control characters.
    Name(String),
}

impl fmt::Display for FormulaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormulaError::Read { path, cause } => {
                write!(f, "cannot read formula file {}: {cause}", path.display())
            }
            FormulaError::Write { path, cause } => {
                write!(f, "cannot write formula file {}: {cause}", path.display())
            }
            FormulaError::File { path, cause } => write!(f, "formula file {}: {cause}", path.display()),
            FormulaError::TooLong { limit } => {
                write!(f, "a formula file has at most {limit} bytes; is this the right file?")
            }
            // The message of the TOML reader has several lines, which show the position.
            FormulaError::Toml(cause) => write!(f, "{}", cause.to_string().trim_end()),
            FormulaError::Expression { text, cause } => write!(f, "expression '{text}', {cause}"),
            FormulaError::Unprintable(cause) => write!(f, "the expression cannot be written down: {cause}"),
            FormulaError::Terminals { listed, used } => write!(
                f,
                "terminals = [{}], but the expression uses [{}]; correct the list or leave it out",
                listed.join(", "),
                used.join(", ")
            ),
            FormulaError::Name(name) => write!(
                f,
                "name {name:?}: a name has 1 to {} bytes and no control characters",
                Expr::MAX_BYTES
            ),
        }
    }
}

impl Error for FormulaError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            FormulaError::Read { cause, .. } | FormulaError::Write { cause, .. } => Some(cause),
            FormulaError::File { cause, .. } => Some(cause),
            FormulaError::Toml(cause) => Some(cause),
            FormulaError::Expression { cause, .. } | FormulaError::Unprintable(cause) => Some(cause),
            _ => None,
        }
    }
}
