//! Findings of the visits of a round, beside what was expected of them.

use recrawl_scheduler::{ExpectedChanges, Overlap};
use recrawl_types::{Share, Visit};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Visits that could be compared, with what was expected of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedVisits {
    /// Their number.
    pub visits: u64,
    /// Of these, changed.
    pub changed: u64,
    /// Changes that their own histories and the rate of all pages let expect.
    pub expected: ExpectedChanges,
}

/// The visits of a revisit round, or of a cycle, by what they tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FoundByShare {
    /// Chosen by score.
    pub score: ComparedVisits,
    /// Of these, pages that a compared candidate would not have chosen.
    pub only_in_force: ComparedVisits,
    /// Drawn from the pages that only the candidate would have chosen.
    pub only_candidate: ComparedVisits,
    /// The audit sample.
    pub audit: ComparedVisits,
    /// The panel.
    pub panel: ComparedVisits,
    /// How the choices of the formula in force and the candidate differ; none without a candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
}

impl ComparedVisits {
    fn count(&mut self, has_changed: bool, probability: f64) {
        self.visits += 1;
        self.changed += u64::from(has_changed);
        self.expected.add(probability);
    }
}

impl AddAssign for ComparedVisits {
    fn add_assign(&mut self, other: ComparedVisits) {
        self.visits += other.visits;
        self.changed += other.changed;
        self.expected += other.expected;
    }
}

impl FoundByShare {
    /// Counts a visit, if it stood in the plan and could be compared.
    pub fn add(&mut self, visit: &Visit) {
        let Some(standing) = visit.standing else { return };
        let Some(has_changed) = visit.outcome.has_changed() else { return };
        let expected = f64::from(standing.expected);
        let found = match visit.share {
            Share::Score => &mut self.score,
            Share::Audit(_) => &mut self.audit,
            Share::Panel => &mut self.panel,
            Share::Contested(_) => &mut self.only_candidate,
            _ => return,
        };
        found.count(has_changed, expected);
        if standing.is_only_in_force {
            self.only_in_force.count(has_changed, expected);
        }
    }
}

impl AddAssign for FoundByShare {
    fn add_assign(&mut self, other: FoundByShare) {
        self.score += other.score;
        self.only_in_force += other.only_in_force;
        self.only_candidate += other.only_candidate;
        self.audit += other.audit;
        self.panel += other.panel;
        self.overlap = self.overlap.or(other.overlap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Change, Expected, Failure, Outcome, Standing, UrlRules};

    #[test]
    fn visits_count_for_the_share_that_chose_them_if_they_compared() {
        let url = UrlRules::default().canonicalize("http://a.example/").unwrap();
        let standing = |is_only_in_force| Standing {
            age: 3,
            score: 1.0,
            expected: Expected::from(0.25),
            is_above_cutoff: true,
            is_only_in_force,
        };
        let changed = Outcome::Fetched(Change::Changed);
        let mut found = FoundByShare::default();
        for (share, outcome, standing) in [
            (Share::Score, changed, Some(standing(false))),
            (Share::Score, Outcome::NotModified, Some(standing(true))),
            (Share::Score, changed, None),
            (Share::Score, Outcome::Failed(Failure::Timeout), Some(standing(true))),
            (Share::Score, Outcome::Fetched(Change::First), Some(standing(true))),
            (Share::Audit(0.1), changed, Some(standing(false))),
            (Share::Panel, Outcome::NotModified, Some(standing(false))),
            (Share::Contested(0.1), changed, Some(standing(false))),
            (Share::Warmup, changed, Some(standing(false))),
        ] {
            found.add(&Visit { share, standing, ..Visit::new(url.clone(), outcome) });
        }
        let count = |found: ComparedVisits| (found.visits, found.changed);
        let FoundByShare { score, only_in_force, only_candidate, audit, panel, .. } = found;
        assert_eq!([score, only_in_force, only_candidate].map(count), [(2, 1), (1, 0), (1, 1)]);
        assert_eq!([audit, panel].map(count), [(1, 1), (1, 0)]);
        assert!(
            (score.expected.changes - 0.5).abs() < 1e-4 && (score.expected.variance - 0.375).abs() < 1e-4
        );
    }
}
