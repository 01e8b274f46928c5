//! Errors of [`CrawlView`](super::CrawlView).

use std::error::Error;
use std::fmt;

/// Why a read or a change failed; the console turns it into problem+json.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 404: what does not exist, and where to look.
    NotFound(String),
    /// 422: invalid.
    Invalid {
        /// What is wrong.
        what: String,
        /// Where: a parameter, a field, a position in a text.
        at: String,
        /// What to do.
        todo: String,
    },
    /// 503: temporarily impossible, and why.
    Busy(String),
    /// 500: what failed, where, and what to do.
    Failed(String),
}

impl Refusal {
    /// Creates [`Refusal::Invalid`].
    pub fn invalid(at: impl Into<String>, what: impl Into<String>, todo: impl Into<String>) -> Refusal {
        Refusal::Invalid { what: what.into(), at: at.into(), todo: todo.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotFound(text) | Refusal::Busy(text) | Refusal::Failed(text) => f.write_str(text),
            Refusal::Invalid { what, at, todo } => write!(f, "{at}: {what}; {todo}"),
        }
    }
}

impl Error for Refusal {}
