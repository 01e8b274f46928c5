//! What a cycle's visits say of more pages than were visited.

use super::Tally;
use crate::plan::Facts;
use recrawl_scheduler::{Estimate, Weighted};
use recrawl_types::{Change, Outcome};
use serde::{Deserialize, Serialize};

/// The audit sample of one cycle. Pages that gave no answer are told, and left out of estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AuditTally {
    /// As they were seen last.
    pub unchanged: Weighted,
    /// Changed since.
    pub changed: Weighted,
    /// Answered with 404 or 410: the copy is of a page that is not there.
    pub not_found: Weighted,
    /// Failed, forbidden, refused or skipped.
    pub unanswered: Weighted,
}

impl AuditTally {
    /// Counts a page of the sample that was drawn with this probability.
    pub fn add(&mut self, outcome: Outcome, probability: f64) {
        let of = match (outcome.change(), outcome) {
            (Some(Change::Unchanged), _) => &mut self.unchanged,
            (Some(Change::Changed), _) => &mut self.changed,
            (_, Outcome::NotFound(_)) => &mut self.not_found,
            _ => &mut self.unanswered,
        };
        of.count(probability);
    }

    /// Pages that were changed, or are not there any more.
    fn stale(&self) -> Weighted {
        self.changed + self.not_found
    }

    /// Pages whose answer says whether the copy is fresh.
    pub fn answered(&self) -> Weighted {
        self.unchanged + self.stale()
    }

    /// The freshness of the population of so many pages, by those that answered.
    pub fn freshness(&self, population: Option<u64>) -> Option<Estimate> {
        Estimate::of(self.unchanged, self.stale(), population)
    }

    /// The lowest and the highest freshness that pages without an answer leave possible: the lower end of the interval if
    /// none of them is fresh, the upper end if all are (Manski 1989). None without a sample.
    pub fn freshness_bounds(&self, population: Option<u64>) -> Option<[f64; 2]> {
        let AuditTally { unchanged, unanswered, .. } = *self;
        let low = Estimate::of(unchanged, self.stale() + unanswered, population)?.low;
        Some([low, Estimate::of(unchanged + unanswered, self.stale(), population)?.high])
    }
}

/// Shares of pages with their intervals of 95 %; none where there is no sample. Pages that gave no answer are taken to be
/// like those that did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimates {
    /// Pages that are as they were seen last, before the cycle's visits, of those that were due to compete by score and
    /// whose hosts had places left.
    pub freshness: Option<Estimate>,
    /// The lowest and the highest freshness that pages without an answer leave possible.
    pub freshness_bounds: Option<[f64; 2]>,
    /// Changed pages of the same, those left out that are not there any more.
    pub audit_change_rate: Option<Estimate>,
    /// Changed pages of those that the score chose. Without failures it is a count: low and high are the share.
    pub change_rate: Option<Estimate>,
}

impl Estimates {
    /// Of a cycle's counts.
    pub fn of(tally: &Tally, facts: &Facts) -> Estimates {
        let AuditTally { unchanged, changed, .. } = tally.audit;
        let unchanged_by_score = tally.score_visits - tally.score_changed;
        Estimates {
            freshness: tally.audit.freshness(facts.audit_eligible),
            freshness_bounds: tally.audit.freshness_bounds(facts.audit_eligible),
            audit_change_rate: Estimate::of(changed, unchanged, facts.audit_eligible),
            change_rate: Estimate::of(
                Weighted::certain(tally.score_changed),
                Weighted::certain(unchanged_by_score),
                facts.by_score,
            ),
        }
    }
}

#[cfg(test)]
mod tests;
