//! The reason why a receiver did not take a message, and the time limit of an answer.

use recrawl_types::Span;
use std::fmt;
use std::time::Duration;
use tokio::time::timeout;

/// Why a receiver did not take a message.
#[derive(Clone, Debug, PartialEq)]
pub enum NotTaken {
    /// It refused the message: it may take others, or a smaller one.
    Refused(String),
    /// It takes none at present.
    Failed(String),
    /// It takes none for so long, as it says.
    Resting(String, Duration),
}

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotTaken::Refused(why) | NotTaken::Failed(why) => f.write_str(why),
            NotTaken::Resting(why, time) => write!(f, "{why}; it asks for {}", Span(*time)),
        }
    }
}

/// What comes of this within the time limit of a message.
pub async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, NotTaken>>,
) -> Result<T, NotTaken> {
    let late = || NotTaken::Failed(format!("no answer within {}", Span(limit)));
    timeout(limit, work).await.unwrap_or_else(|_| Err(late()))
}
