//! The error of a crawl: one line, and whether the order or the work was at fault.

use std::fmt;

/// Why something could not be done.
#[derive(Debug)]
pub enum Failure {
    /// Wrong arguments or configuration; nothing was changed.
    Usage(String),
    /// Failure while working: what, where, what to do.
    Work(String),
}

impl From<recrawl_repository::ReadError> for Failure {
    fn from(e: recrawl_repository::ReadError) -> Failure {
        Failure::work(e)
    }
}

impl Failure {
    /// A failure while working.
    pub fn work(what: impl fmt::Display) -> Failure {
        Failure::Work(what.to_string())
    }

    /// A failure of the arguments or the configuration.
    pub fn usage(what: impl fmt::Display) -> Failure {
        Failure::Usage(what.to_string())
    }

    /// Are the arguments or the configuration at fault?
    pub fn is_usage(&self) -> bool {
        matches!(self, Failure::Usage(_))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Usage(text) | Failure::Work(text)) = self;
        // Always a single line, whatever the cause.
        f.write_str(&text.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("; "))
    }
}

impl std::error::Error for Failure {}

impl From<crate::config::ConfigError> for Failure {
    fn from(error: crate::config::ConfigError) -> Failure {
        Failure::usage(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::Work(format!("{error}{}", advice(error.kind())))
    }
}

impl From<recrawl_fetcher::FetchError> for Failure {
    fn from(error: recrawl_fetcher::FetchError) -> Failure {
        use recrawl_fetcher::FetchError::{Host, Schedule};
        let advice = match &error {
            Host { source, .. } | Schedule { source, .. } => advice(source.kind()),
            _ => "",
        };
        Failure::Work(format!("{error}{advice}"))
    }
}

/// Advice about a disk error; the repository's own errors include it.
fn advice(kind: std::io::ErrorKind) -> &'static str {
    match kind {
        std::io::ErrorKind::StorageFull => "; free disk space and restart, nothing is lost",
        std::io::ErrorKind::ReadOnlyFilesystem => "; mount the disk read-write and restart",
        _ => "",
    }
}
