//! Why a crawl does not answer.

use std::error::Error;
use std::fmt;

/// Why a question or a change was refused; the console makes problem+json of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is none: 404. What there is none of, and where to look.
    NotFound(String),
    /// It makes no sense, whenever it is asked: 422.
    Invalid {
        /// What is wrong.
        what: String,
        /// Where: a parameter, a field, a place in a text.
        at: String,
        /// What to do about it.
        todo: String,
    },
    /// It makes sense, but not now: 503. What is in the way.
    Busy(String),
    /// The crawl could not do its part: 500. What failed, where, and what to do.
    Failed(String),
}

impl Refusal {
    /// [`Refusal::Invalid`] in fewer words.
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
