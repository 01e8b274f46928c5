//! Errors of the crawls, with remedies.

use super::mockweb::Violations;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

/// Why a crawl stopped.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// A file or folder, and what is wrong with it.
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, String),
    /// The mock web failed.
    #[error("mock web: {0}")]
    MockWeb(String),
    /// The crawler failed.
    #[error("recrawl failed ({status}): {}; see {}", last_line(.log), .log.display())]
    Program {
        /// Its exit status.
        status: String,
        /// Its log.
        log: PathBuf,
    },
    /// The report of the crawler is invalid.
    #[error("{0}")]
    Report(String),
    /// The data directory belongs to another recording.
    #[error(
        "this data directory holds a crawl of {}; use another one, or start over with CLEAN=1",
        .0.as_deref().unwrap_or("the bundled recording")
    )]
    OtherRecording(Option<String>),
    /// The crawler broke a rule.
    #[error(
        "the mock web counted {} requests against robots.txt and {} hosts with concurrent requests",
        .0.robots, .0.politeness
    )]
    Violations(Violations),
}

impl CrawlError {
    /// Something is wrong with a file or folder.
    pub fn file(path: &Path, why: impl Display) -> CrawlError {
        CrawlError::File(path.into(), why.to_string())
    }
}

/// The last line of a log that has text.
fn last_line(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().rfind(|l| !l.trim().is_empty()).unwrap_or("no output").to_owned()
}
