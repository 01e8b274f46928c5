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
        let line = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("; ");
        f.write_str(&without_numbers(&line))
    }
}

impl std::error::Error for Failure {}

/// Without the numbers that the system's errors have behind their words.
fn without_numbers(line: &str) -> String {
    let mut parts = line.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.split_once(')') {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => text + rest,
        _ => text + " (os error " + part,
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_are_words() {
        let missing = std::io::Error::from_raw_os_error(2);
        let told =
            Failure::work(format!("cannot read a: {missing}; cannot read b: {missing}\n (os error of mine)"));
        let words = "No such file or directory";
        assert_eq!(
            told.to_string(),
            format!("cannot read a: {words}; cannot read b: {words}; (os error of mine)")
        );
    }
}
