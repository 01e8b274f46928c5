//! The parameters of a plan.

use crate::policy::{Policy, PolicyKind};
use recrawl_formula::Formula;
use recrawl_types::Cycle;
use std::convert::Infallible;
use std::error::Error;
use std::io;

/// How ties between equal scores are broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// Lower ordinal first. Comparable between programs, but it favours sites that sort first.
    Index,
    /// By a seeded shuffle of the pages, which differs in every cycle.
    #[default]
    Hash,
}

/// The parameters of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanRequest {
    /// The cycle to plan.
    pub cycle: Cycle,
    /// k: number of pages to choose, without the warm-up.
    pub pages: u64,
    /// Share of k for URLs that were never fetched, 0 to 1.
    pub discovery_share: f64,
    /// Share of k for pages that are announced as changed (`is_announced` of
    /// [`Known`](recrawl_types::Known)), 0 to 1. The caller sets `is_announced` only for trusted
    /// announcements.
    pub announced_share: f64,
    /// Share of k for a uniform sample of the pages that compete by score, 0 to 1.
    pub audit_share: f64,
    /// Minimum number of URLs that were never fetched, even if it exceeds k.
    pub discovery_min: u64,
    /// Number of visits after the first fetch that are due at once, whatever the score.
    pub warmup: u32,
    /// Maximum number of pages per host in the cycle, including the warm-up and earlier rounds; none for no limit.
    pub max_per_host: Option<u64>,
    /// The same in this round alone.
    pub max_per_host_in_round: Option<u64>,
    /// Chooses at most one page of a group of [siblings](recrawl_types::StateColumns::siblings) by score, beside
    /// announced pages: a sample, after which a later round of the cycle knows where changes are. The caller fills in
    /// the groups.
    pub samples_siblings: bool,
    /// Sums up the changes that are expected in the population of the audit sample. The caller fills in
    /// [`StateColumns::global_rate`](recrawl_types::StateColumns::global_rate).
    pub sums_expected: bool,
    /// Probability with which each URL that was never fetched and is due is explored: visited before others of its share,
    /// whatever is expected of it. 0 for none.
    pub explore: f64,
    /// The round, which varies what is explored within a cycle.
    pub round: u32,
    /// Seed of all randomness in the plan, together with the cycle.
    pub seed: u64,
    /// How ties between equal scores are broken.
    pub ties: Ties,
    /// Scores the pages.
    pub policy: PolicyKind,
}

/// The division of k before the pages are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShareTargets {
    pub audit: u64,
    pub announced: u64,
    pub discovery: u64,
    pub score: u64,
}

impl PlanRequest {
    /// The policy of this formula, prepared for the cycle.
    pub fn policy(&self, formula: &Formula) -> Box<dyn Policy> {
        let mut policy = (self.policy.build)(formula);
        policy.prepare(self.cycle, self.seed);
        policy
    }

    /// Divides k: first the audit share, then the announced and discovery shares, and the rest for
    /// the score.
    pub(crate) fn targets(&self) -> ShareTargets {
        let part = |share: f64| (share * self.pages as f64).round() as u64;
        let audit = part(self.audit_share).min(self.pages);
        let announced = part(self.announced_share).min(self.pages - audit);
        let discovery = part(self.discovery_share).min(self.pages - audit - announced);
        ShareTargets { audit, announced, discovery, score: self.pages - audit - announced - discovery }
    }

    /// Pages chosen by score, unless other shares are not filled.
    pub fn score_places(&self) -> u64 {
        self.targets().score
    }

    pub(crate) fn check(&self) -> Result<(), PlanError> {
        let shares = [
            ("discovery_share", self.discovery_share),
            ("announced_share", self.announced_share),
            ("audit_share", self.audit_share),
        ];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(PlanError::Share { name, share });
            }
        }
        if shares.iter().map(|(_, share)| share).sum::<f64>() > 1.0 {
            return Err(PlanError::Shares {
                discovery: self.discovery_share,
                announced: self.announced_share,
                audit: self.audit_share,
            });
        }
        Ok(())
    }
}

/// Why a plan cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A share is not between 0 and 1.
    #[error("{name} = {share}: a share is between 0 and 1")]
    Share {
        /// The configuration key.
        name: &'static str,
        /// Its value.
        share: f64,
    },
    /// The sum of the shares exceeds 1.
    #[error(
        "discovery_share = {discovery}, announced_share = {announced} and audit_share = {audit} are \
         together more than 1; lower one"
    )]
    Shares {
        /// The discovery share.
        discovery: f64,
        /// The announced share.
        announced: f64,
        /// The audit share.
        audit: f64,
    },
    /// The number of pages of the hosts differs from that of the scan.
    #[error(
        "the generation's hosts have {} than the {pages} pages scanned: it is damaged; \
         run `recrawl repository verify`",
        if *.more { "more pages" } else { "fewer pages" }
    )]
    Hosts {
        /// Pages scanned.
        pages: u64,
        /// Do the hosts have more pages? If not, fewer.
        more: bool,
    },
    /// The hosts could not be read.
    #[error("cannot read the hosts: {0}")]
    Read(#[source] Box<dyn Error + Send + Sync>),
    /// A spilled run could not be written or read.
    #[error("cannot spill the plan: {0}")]
    Spill(#[from] io::Error),
}

/// Hosts that are in memory cannot fail to be read.
impl From<Infallible> for PlanError {
    fn from(never: Infallible) -> PlanError {
        match never {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;
    use proptest::prelude::*;

    #[test]
    fn shares_that_cannot_be_are_refused() {
        for (discovery_share, audit_share, says) in [
            (1.5, 0.0, "discovery_share = 1.5: a share is between 0 and 1"),
            (0.0, -0.1, "audit_share = -0.1: a share"),
            (f64::NAN, 0.0, "discovery_share = NaN: a share"),
            (
                0.7,
                0.4,
                "discovery_share = 0.7, announced_share = 0 and audit_share = 0.4 are together more than 1",
            ),
        ] {
            let bad = PlanRequest { discovery_share, audit_share, ..request() };
            let error = bad.check().unwrap_err().to_string();
            assert!(error.starts_with(says), "{error}");
        }
        assert!(PlanRequest { discovery_share: 0.6, audit_share: 0.4, ..request() }.check().is_ok());
    }

    #[test]
    fn k_is_divided_as_the_shares_say() {
        let targets = |pages, discovery_share, audit_share, discovery_min| {
            let shares = PlanRequest { discovery_share, audit_share, announced_share: 0.0, ..request() };
            let t = PlanRequest { pages, discovery_min, ..shares }.targets();
            (t.audit, t.discovery, t.score)
        };
        assert_eq!(targets(100, 0.2, 0.05, 0), (5, 20, 75));
        assert_eq!(targets(100, 0.2, 0.05, 50), (5, 20, 75), "the minimum takes nothing from the score");
        assert_eq!(targets(1, 0.5, 0.5, 0), (1, 0, 0));
        assert_eq!(targets(0, 0.5, 0.5, 9), (0, 0, 0));
    }

    proptest! {
        #[test]
        fn the_parts_make_up_k(pages: u64, d in 0.0..=1.0f64, a in 0.0..=1.0f64, n in 0.0..=1.0f64, discovery_min: u64) {
            let (audit_share, announced_share) = (a * (1.0 - d), n * (1.0 - a) * (1.0 - d));
            let all = PlanRequest { pages, discovery_share: d, audit_share, announced_share, discovery_min, ..request() };
            let t = all.targets();
            let parts = [t.audit, t.announced, t.discovery, t.score].map(u128::from);
            prop_assert_eq!(parts.iter().sum::<u128>(), u128::from(pages));
        }
    }
}
