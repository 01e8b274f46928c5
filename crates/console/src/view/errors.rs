//! Pages that were not got: what went wrong last, and how often what did.

use serde::Serialize;
use utoipa::ToSchema;

/// Pages that were not got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Errors {
    /// How many of each kind in the running cycle, or in the last where none runs; the most frequent first. What was
    /// skipped is counted too.
    pub kinds: Vec<ErrorCount>,
    /// The last ones since the process began, newest first; at most 50. What was skipped is not among them: it was not
    /// asked for.
    pub last: Vec<PageError>,
}

/// A kind of failure, and how many pages met it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ErrorCount {
    /// The kind.
    #[serde(flatten)]
    pub kind: ErrorKind,
    /// How many pages.
    pub pages: u64,
}

/// How it ended, in the words of docs/outcomes.md and of the visits that are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ErrorKind {
    /// `not_found`, `failed`, `robots_denied`, `robots_unreachable`, `refused_address` or `skipped`.
    pub outcome: String,
    /// What made it fail, or why it was skipped; none where the outcome says it all.
    pub why: Option<String>,
    /// The server's status, where that is what decided.
    pub status: Option<u16>,
}

/// One page that was not got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PageError {
    /// When.
    pub at: u64,
    /// Its URL.
    pub url: String,
    /// Its host, as lists of hosts call it.
    pub host: String,
    /// The kind.
    #[serde(flatten)]
    pub kind: ErrorKind,
    /// The same in words.
    pub detail: String,
}
