//! Failures: the last failed pages, and counts by kind.

use serde::Serialize;
use utoipa::ToSchema;

/// Failures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Errors {
    /// Counts by kind in the running cycle, or in the last one; most frequent first.
    pub kinds: Vec<ErrorCount>,
    /// The last 50 failures since the process started, newest first.
    pub last: Vec<PageError>,
}

/// A kind of failure and its number of pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ErrorCount {
    /// The kind.
    #[serde(flatten)]
    pub kind: ErrorKind,
    /// What it means for the page.
    pub group: ErrorGroup,
    /// Number of pages.
    pub pages: u64,
}

/// What it means for a page that it was not fetched; see docs/outcomes.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorGroup {
    /// It was asked for in vain.
    Failure,
    /// A rule that recrawl obeys keeps it out: robots.txt, the scope, a block, an opt-out, a trap.
    Rule,
    /// It is due as before: the time or the bytes did not suffice.
    Postponed,
}

/// Outcome, as named in docs/outcomes.md and in exported visits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ErrorKind {
    /// `not_found`, `failed`, `robots_denied`, `robots_unreachable`, `refused_address` or
    /// `skipped`.
    pub outcome: String,
    /// Cause of the failure or skip; null if the outcome says it all.
    pub why: Option<String>,
    /// HTTP status, if it decided the outcome.
    pub status: Option<u16>,
}

/// A failed page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PageError {
    /// Time.
    pub at: u64,
    /// URL.
    pub url: String,
    /// Host, as listed by /api/v1/hosts.
    pub host: String,
    /// The kind.
    #[serde(flatten)]
    pub kind: ErrorKind,
    /// Description.
    pub detail: String,
}
