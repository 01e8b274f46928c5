//! Why a command ends without having done its work: one line, and an exit code.

use std::fmt;

/// The end of a command that could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// The words or the configuration are wrong; nothing was touched. Exit code 2.
    Usage(String),
    /// It failed while working: what, where, what to do. Exit code 1.
    Work(String),
}

impl From<recrawl_repository::ReadError> for Failure {
    fn from(e: recrawl_repository::ReadError) -> Failure {
        Failure::work(e)
    }
}

impl Failure {
    /// A failure while working on something with a name.
    pub fn work(what: impl fmt::Display) -> Failure {
        Failure::Work(what.to_string())
    }

    /// Wrong words.
    pub fn usage(what: impl fmt::Display) -> Failure {
        Failure::Usage(what.to_string())
    }

    /// 1 or 2.
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
        // One line, whatever a cause had to say.
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

/// What to do about a disk; the repository's own errors say it themselves.
fn advice(kind: std::io::ErrorKind) -> &'static str {
    match kind {
        std::io::ErrorKind::StorageFull => "; make room and start again, nothing is lost",
        std::io::ErrorKind::ReadOnlyFilesystem => "; mount the disk for writing and start again",
        _ => "",
    }
}
