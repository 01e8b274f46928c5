//! The account of a promise, as counted when a cycle was planned.

use super::limits::Binding;
use serde::{Deserialize, Serialize};

/// The pages of a promise at the start of a cycle. Each page is counted in exactly one of `kept`,
/// `late`, `never_visited`, `gone`, `refused`, `backing_off` and `kept_out`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PromiseAccount {
    /// The pages. An older version had a prefix of URLs, without a star.
    #[serde(rename = "match", alias = "prefix")]
    pub pages: String,
    /// The longest gap, in milliseconds.
    pub within_ms: u64,
    /// The share of pages that is promised.
    pub share: f64,
    /// Pages whose gaps stayed within: those that ended since the cycle before began, and the open one.
    pub kept: u64,
    /// Pages with a longer one.
    pub late: u64,
    /// Pages that were never fetched: their first gap begins with their first visit.
    pub never_visited: u64,
    /// Pages that are gone.
    pub gone: u64,
    /// Pages that robots.txt or another rule keeps out, as their records say.
    pub refused: u64,
    /// Pages that are left alone after failures, or whose host is.
    pub backing_off: u64,
    /// Pages kept out that are not refused in their records yet, and those of paused hosts.
    pub kept_out: u64,
    /// kept / (kept + late); none without such pages.
    pub kept_share: Option<f64>,
    /// Cycles between two visits of a page.
    pub every: u32,
    /// Pages planned in the share of promises.
    pub planned: u64,
    /// The limit that keeps the promise from being kept, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Binding>,
}

impl PromiseAccount {
    /// The number of its pages.
    pub fn count(&self) -> u64 {
        self.kept
            + self.late
            + self.never_visited
            + self.gone
            + self.refused
            + self.backing_off
            + self.kept_out
    }

    /// Is the promise kept? Without a page that can be visited, it is.
    pub fn is_kept(&self) -> bool {
        self.kept_share.is_none_or(|kept| kept >= self.share)
    }

    pub(super) fn count_share(&mut self) {
        let counted = self.kept + self.late;
        self.kept_share = (counted > 0).then(|| self.kept as f64 / counted as f64);
    }

    /// Warns of a promise that is broken, or cannot be kept.
    pub fn log(&self) {
        if let Some(binding) = &self.limit {
            tracing::warn!(limit = %binding.limit, "{binding}");
        }
        if let Some(kept) = self.kept_share.filter(|_| !self.is_kept()) {
            tracing::warn!(
                pages = self.pages,
                kept,
                promised = self.share,
                late = self.late,
                "a promise is broken"
            );
        }
    }
}
