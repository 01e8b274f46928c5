//! A list of changes, newest first.

use serde::Serialize;
use utoipa::ToSchema;

/// Maximum changes of one response that has differences. For each, the archive is read.
pub const MAX_DIFFERENCES: usize = 100;

/// Query of the list of changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageChangeQuery {
    /// Only pages of these patterns, as in `[[notify]]`; none for all. Untrusted.
    pub pages: Vec<String>,
    /// Only these kinds; none for all but `new`. Untrusted.
    pub kinds: Vec<String>,
    /// Only changes of this time or later, in seconds since 1970.
    pub since: u64,
    /// Continue at [`PageChangeList::next`] of an earlier response. Untrusted, as
    /// [`HostQuery::cursor`](super::HostQuery).
    pub cursor: Option<String>,
    /// Maximum rows, at least 1.
    pub limit: usize,
    /// Maximum bytes of a difference; 0 for none, and no title.
    pub max_difference: usize,
}

/// A part of the list of changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PageChangeList {
    /// Changes, newest first. There may be none where many visits were read in vain: then `next` leads on.
    pub changes: Vec<PageChange>,
    /// Cursor of the next part; null at the end.
    pub next: Option<String>,
    /// The first cycle whose visits are kept, and so its changes; null if none are.
    pub since_cycle: Option<u32>,
    /// When a page was visited in that cycle, in seconds since 1970.
    pub since_time: Option<u64>,
}

/// A change that a visit found. The fields are those of a message of `[[notify]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PageChange {
    /// The same in each list.
    pub id: String,
    /// `new`, `back`, `gone`, `not_found`, `failed` or `changed`.
    pub kind: &'static str,
    /// Canonical URL of the page.
    pub url: String,
    /// Cycle of the visit.
    pub cycle: u32,
    /// Its round.
    pub round: u32,
    /// End of the fetch, in seconds since 1970.
    pub time: u64,
    /// HTTP status, where there is one.
    pub status: Option<u16>,
    /// The reason of a page that is missing.
    pub reason: Option<String>,
    /// The page's title, if it was asked for and there is one.
    pub title: Option<String>,
    /// The difference to the text before, as `diff -u` prints it; null if not asked for, or without two texts.
    pub difference: Option<String>,
    /// Was the difference cut?
    pub is_cut: bool,
    /// The reason where a difference was asked for and there is none.
    pub no_text: Option<String>,
    /// Advice on a page that differs at nearly every visit.
    pub hint: Option<String>,
}
