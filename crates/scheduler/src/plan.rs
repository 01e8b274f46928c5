//! What a cycle visits.

use crate::Chosen;

/// What a cycle visits, and how it came to that.
pub struct Plan {
    /// The ordinals of the pages, ascending, each with the share that chose it: [`Counts::chosen`] of them.
    pub chosen: Chosen,
    /// The lowest score that was chosen by score (NaN where pages without a score were); none when no
    /// page was.
    pub cutoff: Option<f64>,
    /// How many pages there were of each kind.
    pub counts: Counts,
}

/// How many pages were scanned, how many of them stood at each gate (together: all), and how many were
/// chosen by each share (together: [`Counts::chosen`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// Pages scanned.
    pub pages: u64,
    /// Of these, gone.
    pub gone: u64,
    /// Of these, refused by a rule.
    pub refused: u64,
    /// Of these, left alone after failures.
    pub backing_off: u64,
    /// Of these, never fetched and due.
    pub discovery_due: u64,
    /// Of these, in their warm-up and due.
    pub warmup_due: u64,
    /// Of these, due to compete by score.
    pub revisit_due: u64,
    /// Of these, those that the audit sample was drawn from: all but the pages of hosts whose warm-up takes all their
    /// places.
    pub audit_eligible: u64,
    /// Chosen because never fetched.
    pub discovery: u64,
    /// Chosen for their warm-up.
    pub warmup: u64,
    /// Chosen for the audit sample.
    pub audit: u64,
    /// Chosen because they are announced as changed.
    pub announced: u64,
    /// Chosen by score.
    pub score: u64,
}

impl Counts {
    /// How many pages were chosen.
    pub fn chosen(&self) -> u64 {
        self.discovery + self.warmup + self.audit + self.announced + self.score
    }
}
