//! Errors of [`CrawlView`](super::CrawlView).

use recrawl_types::Span;

/// Why a read or a change failed; the console turns it into problem+json.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// 404: what does not exist, and where to look.
    #[error("{0}")]
    NotFound(String),
    /// 422: invalid.
    #[error("{at}: {what}; {todo}")]
    Invalid {
        /// What is wrong.
        what: String,
        /// Where: a parameter, a field, a position in a text.
        at: String,
        /// What to do.
        todo: String,
    },
    /// 409: impossible in the present state, and what to do.
    #[error("{what}; {todo}")]
    Conflict {
        /// Why.
        what: String,
        /// What to do.
        todo: String,
    },
    /// 503: temporarily impossible, and why.
    #[error("{0}")]
    Busy(String),
    /// 403: the sender may not do this, and why.
    #[error("{0}")]
    Forbidden(String),
    /// 429: beyond a limit per time.
    #[error("{what}; retry after {}", Span::seconds((*.seconds).into()).rounded_up())]
    TooMany {
        /// The limit.
        what: String,
        /// Seconds until the next try.
        seconds: u32,
    },
    /// 500: what failed, where, and what to do.
    #[error("{0}")]
    Failed(String),
}

impl Refusal {
    /// Creates [`Refusal::Failed`].
    pub fn failed(error: impl std::fmt::Display) -> Refusal {
        Refusal::Failed(error.to_string())
    }

    /// Creates [`Refusal::Conflict`].
    pub fn conflict(what: impl Into<String>, todo: impl Into<String>) -> Refusal {
        Refusal::Conflict { what: what.into(), todo: todo.into() }
    }

    /// Creates [`Refusal::Invalid`].
    pub fn invalid(at: impl Into<String>, what: impl Into<String>, todo: impl Into<String>) -> Refusal {
        Refusal::Invalid { what: what.into(), at: at.into(), todo: todo.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_as_long_as_told_is_not_refused_again() {
        let refusal = |seconds| Refusal::TooMany { what: "too many".into(), seconds }.to_string();
        assert_eq!(refusal(60), "too many; retry after 1 min");
        assert_eq!(refusal(62), "too many; retry after 1.1 min");
    }
}
