//! Errors of the crawls, with remedies.

use super::mockweb::Violations;
use std::fmt::{self, Display};
use std::fs;
use std::path::{Path, PathBuf};

/// Why a crawl stopped.
#[derive(Debug)]
pub enum CrawlError {
    /// A file or folder, and what is wrong with it.
    File(PathBuf, String),
    /// The mock web failed.
    MockWeb(String),
    /// The crawler failed.
    Program {
        /// Its exit status.
        status: String,
        /// Its log.
        log: PathBuf,
    },
    /// The report of the crawler is invalid.
    Report(String),
    /// The data directory belongs to another recording.
    OtherRecording(Option<String>),
    /// The crawler broke a rule.
    Violations(Violations),
}

impl CrawlError {
    /// Something is wrong with a file or folder.
    pub fn file(path: &Path, why: impl Display) -> CrawlError {
        CrawlError::File(path.into(), why.to_string())
    }
}

impl Display for CrawlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CrawlError::File(path, why) => write!(f, "{}: {why}", path.display()),
            CrawlError::MockWeb(why) => write!(f, "mock web: {why}"),
            CrawlError::Program { status, log } => {
                let text = fs::read_to_string(log).unwrap_or_default();
                let last = text.lines().rfind(|l| !l.trim().is_empty()).unwrap_or("no output");
                write!(f, "recrawl failed ({status}): {last}; see {}", log.display())
            }
            CrawlError::Report(why) => f.write_str(why),
            CrawlError::OtherRecording(held) => {
                let held = held.as_deref().unwrap_or("the bundled recording");
                write!(
                    f,
                    "this data directory holds a crawl of {held}; use another one, or start over with CLEAN=1"
                )
            }
            CrawlError::Violations(v) => write!(
                f,
                "the mock web counted {} requests against robots.txt and {} hosts with concurrent requests",
                v.robots, v.politeness
            ),
        }
    }
}

impl std::error::Error for CrawlError {}
