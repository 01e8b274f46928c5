//! Figures of the requisites of a round. Those of an interrupted run are not counted.

use super::{RequisiteRecord, has_failed, is_left_out};
use recrawl_fetcher::FetchResult;
use recrawl_repository::RequisiteChange;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// RequisiteCounts that requests add to.
#[derive(Debug, Default)]
pub struct RequisiteCounts {
    pub(super) requested: AtomicU64,
    pub(super) archived: AtomicU64,
    pub(super) same: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) left_out: AtomicU64,
    bytes: AtomicU64,
}

/// Figures of the requisites of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequisiteFigures {
    /// Requests.
    pub requested: u64,
    /// Bodies and redirects that were archived.
    pub archived: u64,
    /// Answers that were as before.
    pub same: u64,
    /// Refused: by robots.txt, opt-outs, blocks, the scope, the address guard, for size or type, or by the answer itself.
    pub refused: u64,
    /// Answered with an error, or not at all.
    pub failed: u64,
    /// Beyond a limit, or of a host in back-off.
    pub left_out: u64,
    /// Bytes of the bodies that came.
    pub bytes: u64,
}

impl RequisiteFigures {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: RequisiteFigures) -> RequisiteFigures {
        RequisiteFigures {
            requested: self.requested + other.requested,
            archived: self.archived + other.archived,
            same: self.same + other.same,
            refused: self.refused + other.refused,
            failed: self.failed + other.failed,
            left_out: self.left_out + other.left_out,
            bytes: self.bytes + other.bytes,
        }
    }
}

impl RequisiteCounts {
    /// The counts so far.
    pub fn figures(&self) -> RequisiteFigures {
        let RequisiteCounts { requested, archived, same, refused, failed, left_out, bytes } = self;
        let [requested, archived, same, refused, failed, left_out, bytes] =
            [requested, archived, same, refused, failed, left_out, bytes].map(|count| count.load(Relaxed));
        RequisiteFigures { requested, archived, same, refused, failed, left_out, bytes }
    }

    /// Counts an answer.
    pub(super) fn count(&self, result: &FetchResult) {
        if let FetchResult::Page(response) = result {
            self.bytes.fetch_add(response.body.len() as u64, Relaxed);
        }
        let outcome = match result {
            FetchResult::Nothing(outcome) => *outcome,
            FetchResult::Page(response) if response.status >= 400 => {
                self.failed.fetch_add(1, Relaxed);
                self.requested.fetch_add(1, Relaxed);
                return;
            }
            FetchResult::NotModified(_) => {
                self.same.fetch_add(1, Relaxed);
                self.requested.fetch_add(1, Relaxed);
                return;
            }
            FetchResult::Page(_) | FetchResult::Redirect { .. } => {
                self.requested.fetch_add(1, Relaxed);
                return;
            }
        };
        let failed = has_failed(outcome);
        self.requested.fetch_add(u64::from(failed), Relaxed);
        let counter = match () {
            () if failed => &self.failed,
            () if is_left_out(outcome) => &self.left_out,
            () => &self.refused,
        };
        counter.fetch_add(1, Relaxed);
    }

    /// Counts a record.
    pub(super) fn recorded(&self, record: &RequisiteRecord) {
        let counter = match record.change {
            RequisiteChange::Replaced(_) => &self.archived,
            RequisiteChange::Confirmed(_) | RequisiteChange::Failed(_) => &self.same,
        };
        counter.fetch_add(1, Relaxed);
    }
}
