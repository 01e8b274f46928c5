//! The error of a command: one line and an exit code.

use std::fmt;

/// Why a command could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// Wrong arguments or configuration; nothing was changed. Exit code 2.
    Usage(String),
    /// Failure while working: what, where, what to do. Exit code 1.
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

    /// The exit code, 1 or 2.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Work(_) => 1,
            Failure::Usage(_) => 2,
        }
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

impl From<recrawl_simulation::DatasetError> for Failure {
    fn from(error: recrawl_simulation::DatasetError) -> Failure {
        if error.is_usage() { Failure::usage(error) } else { Failure::work(error) }
    }
}

/// What to do about a disk error; the repository's own errors include it.
fn advice(kind: std::io::ErrorKind) -> &'static str {
    match kind {
        std::io::ErrorKind::StorageFull => "; free disk space and restart, nothing is lost",
        std::io::ErrorKind::ReadOnlyFilesystem => "; mount the disk read-write and restart",
        _ => "",
    }
}
