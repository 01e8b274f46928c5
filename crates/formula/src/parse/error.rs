//! Why and where a text is not an expression.

use crate::Expr;
use recrawl_types::Size;
use std::fmt;

/// Why a text is not an expression.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("column {column}: {problem}")]
pub struct ParseError {
    /// Position in bytes from the beginning of the text.
    pub at: usize,
    /// Position in characters, counted from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: ParseProblem,
}

/// The problem with a text that is not an expression.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ParseProblem {
    /// More than [`Expr::MAX_BYTES`] bytes.
    TooLong,
    /// Deeper than [`Expr::MAX_DEPTH`].
    TooDeep,
    /// More than [`Expr::MAX_NODES`] nodes.
    TooManyNodes,
    /// A value is missing.
    NoValue {
        /// What was found instead.
        found: String,
    },
    /// A symbol is missing.
    Expected {
        /// The symbol.
        what: &'static str,
        /// What was found instead.
        found: String,
    },
    /// Text after the end of the expression.
    Unexpected {
        /// What was found.
        found: String,
    },
    /// Neither a terminal nor, before a parenthesis, a function.
    Unknown {
        /// The name.
        name: String,
        /// A suggestion.
        nearest: Option<&'static str>,
    },
    /// One word that is neither a formula nor an expression.
    UnknownFormula {
        /// The word.
        name: String,
        /// A suggestion.
        nearest: Option<&'static str>,
    },
    /// A function without arguments.
    NotCalled {
        /// The function.
        name: &'static str,
    },
    /// A terminal before a parenthesis.
    NoFunction {
        /// The terminal.
        name: &'static str,
    },
    /// A function has too few or too many arguments.
    Arity {
        /// The function.
        name: &'static str,
        /// Its arity.
        takes: usize,
    },
    /// It begins like a number but is none.
    BadNumber {
        /// The text.
        text: String,
    },
    /// A number beyond the range of `f64`.
    NumberTooLarge {
        /// The text.
        text: String,
    },
}

impl ParseError {
    pub(super) fn new(text: &str, at: usize, problem: ParseProblem) -> ParseError {
        // The length limit may be in the middle of a character.
        let at = (0..=at.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
        ParseError { at, column: text[..at].chars().count() + 1, problem }
    }

    /// The text with a caret below the position: two lines without a final line end.
    pub fn caret(&self, text: &str) -> String {
        // Line ends and tabs would shift the caret.
        let line: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
        format!("{line}\n{:>width$}", '^', width = self.column)
    }
}

impl fmt::Display for ParseProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseProblem::TooLong => write!(f, "an expression has at most {}", Size(Expr::MAX_BYTES as u64)),
            ParseProblem::TooDeep => {
                write!(f, "nested too deep: an expression has a depth of at most {}", Expr::MAX_DEPTH)
            }
            ParseProblem::TooManyNodes => {
                write!(f, "an expression has at most {} terminals, constants and functions", Expr::MAX_NODES)
            }
            ParseProblem::NoValue { found } => write!(f, "a value should stand here, not {found}"),
            ParseProblem::Expected { what, found } => write!(f, "expected {what}, found {found}"),
            ParseProblem::Unexpected { found } => write!(f, "expected an operator or the end, found {found}"),
            ParseProblem::Unknown { name, nearest: Some(nearest) } => {
                write!(f, "unknown name '{name}'; did you mean '{nearest}'?")
            }
            ParseProblem::Unknown { name, nearest: None } => {
                write!(f, "unknown name '{name}'; known are")?;
                for (i, terminal) in crate::terminal::ALL.iter().enumerate() {
                    write!(f, "{} {}", if i > 0 { "," } else { "" }, terminal.name)?;
                }
                for function in crate::function::ALL {
                    if function.syntax == crate::function::FunctionSyntax::Call {
                        write!(f, ", {}()", function.name)?;
                    }
                }
                Ok(())
            }
            ParseProblem::UnknownFormula { name, nearest } => {
                write!(f, "'{name}' is neither a formula's name nor an expression; ")?;
                match nearest {
                    Some(nearest) => write!(f, "did you mean '{nearest}'?"),
                    None => {
                        let names: Vec<&str> =
                            crate::builtin::ALL.iter().map(|builtin| builtin.name).collect();
                        write!(f, "formulas are {}", names.join(", "))
                    }
                }
            }
            ParseProblem::NotCalled { name } => write!(f, "{name} is a function: write {name}(...)"),
            ParseProblem::NoFunction { name } => {
                write!(f, "{name} is a value, not a function; is a '*' missing?")
            }
            ParseProblem::Arity { name, takes: 1 } => write!(f, "{name} takes one argument"),
            ParseProblem::Arity { name, takes } => write!(f, "{name} takes {takes} arguments"),
            ParseProblem::BadNumber { text } => write!(f, "'{text}' is not a number"),
            ParseProblem::NumberTooLarge { text } => write!(f, "the number {text} is too large"),
        }
    }
}
