//! Errors of reading and writing formulas.

use crate::{Expr, ParseError};
use recrawl_types::Size;
use std::io;
use std::path::PathBuf;

/// Why a formula cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormulaError {
    /// The file cannot be read.
    #[error("cannot read formula file {}: {cause}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write formula file {}: {cause}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// A file is invalid.
    #[error("formula file {}: {cause}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        cause: Box<FormulaError>,
    },
    /// The text is too long for a formula.
    #[error("a formula file has at most {}; is this the right file?", Size(*.limit))]
    TooLong {
        /// Maximum bytes.
        limit: u64,
    },
    /// Not TOML, or not the keys of a formula file.
    // The message of the TOML reader has several lines, which show the position.
    #[error("{}", .0.to_string().trim_end())]
    Toml(#[source] Box<toml::de::Error>),
    /// The text is not an expression.
    #[error("expression '{text}', {cause}")]
    Expression {
        /// Its text.
        text: String,
        /// What is wrong with it, and where.
        #[source]
        cause: ParseError,
    },
    /// The expression cannot be written: it exceeds a limit of the parser or has a constant that is
    /// not finite.
    #[error("the expression cannot be written down: {0}")]
    Unprintable(#[source] ParseError),
    /// The list of terminals differs from the expression's.
    #[error(
        "terminals = [{}], but the expression uses [{}]; correct the list or leave it out",
        .listed.join(", "),
        .used.join(", ")
    )]
    Terminals {
        /// The list in the file.
        listed: Vec<String>,
        /// The terminals of the expression.
        used: Vec<&'static str>,
    },
    /// The name is empty, too long, or has control characters.
    #[error("name {0:?}: a name has 1 to {max} bytes and no control characters", max = Expr::MAX_BYTES)]
    Name(String),
}
