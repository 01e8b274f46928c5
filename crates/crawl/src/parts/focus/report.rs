//! Reports of the plans and rounds of a focused crawl.

use recrawl_focus::live::recall::{AllPending, Recall, wilson};
use serde::{Deserialize, Serialize};

/// A site that is exhausted, with the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExhaustedSite {
    /// Its name.
    pub site: String,
    /// Its newest discovery visits.
    pub visits: u64,
    /// Of these, relevant.
    pub finds: u64,
    /// Σ odds of its URLs that were never fetched: a little more relevant pages than are expected.
    pub pending: f64,
}

/// Facts that a plan knew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FocusFacts {
    /// Digest of the terms and the model.
    pub digest: String,
    /// The order of discovery.
    pub order: String,
    /// Relevant pages known.
    pub relevant: u64,
    /// Pages judged.
    pub judged: u64,
    /// URLs never fetched and due.
    pub due: u64,
    /// Of these, open to more than exploration.
    #[serde(default)]
    pub open: u64,
    /// Probability with which each due URL is explored.
    pub explore: f64,
    /// Never-fetched URLs by expected relevance.
    #[serde(rename = "strata", default)]
    pub pending: AllPending,
    /// Sites that are exhausted.
    pub sites_exhausted: u64,
    /// Some of them, those with the most visits.
    pub exhausted: Vec<ExhaustedSite>,
    /// Groups with a yield.
    pub groups: u64,
    /// Has enough been found (`focus.target_recall`), so that nothing is discovered?
    pub is_satisfied: bool,
    /// The discovery share that was planned with, if it is `"auto"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery_share: Option<f64>,
}

/// Findings of a round, or of a cycle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FocusReport {
    /// Digest of the terms and the model.
    pub digest: String,
    /// The order of discovery.
    pub order: String,
    /// Pages judged for the first time.
    pub discovered: u64,
    /// Of these, relevant.
    pub relevant_found: u64,
    /// relevant_found / discovered; none without any.
    pub harvest_rate: Option<f64>,
    /// Lower end of its 90 % interval.
    pub harvest_low: Option<f64>,
    /// Upper end.
    pub harvest_high: Option<f64>,
    /// Of the discovered pages, drawn uniformly.
    pub explored: u64,
    /// Of these, relevant.
    pub explored_relevant: u64,
    /// Relevant pages known.
    pub relevant_known: u64,
    /// Estimated part of all relevant pages that was found; none while unknown.
    pub recall_estimate: Option<f64>,
    /// Lower end of its 90 % interval.
    pub recall_low: Option<f64>,
    /// Upper end.
    pub recall_high: Option<f64>,
    /// Sites that are exhausted.
    pub sites_exhausted: u64,
    /// Some of them, those with the most visits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exhausted: Vec<ExhaustedSite>,
    /// Has discovery stopped, since enough was found?
    pub is_satisfied: bool,
    /// The discovery share, if it is `"auto"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery_share: Option<f64>,
}

/// Pages judged for the first time in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Discovered {
    /// Their number.
    pub pages: u64,
    /// Of these, relevant.
    pub relevant: u64,
    /// Of these, explored.
    pub explored: u64,
    /// Of the explored, relevant.
    pub explored_relevant: u64,
}

impl FocusReport {
    /// The report of a round.
    pub fn new(
        facts: &FocusFacts,
        discovered: &Discovered,
        relevant_known: u64,
        recall: Option<Recall>,
    ) -> FocusReport {
        let mut report = FocusReport {
            digest: facts.digest.clone(),
            order: facts.order.clone(),
            discovered: discovered.pages,
            relevant_found: discovered.relevant,
            explored: discovered.explored,
            explored_relevant: discovered.explored_relevant,
            relevant_known,
            recall_estimate: recall.map(|recall| recall.estimate),
            recall_low: recall.map(|recall| recall.low),
            recall_high: recall.map(|recall| recall.high),
            sites_exhausted: facts.sites_exhausted,
            exhausted: facts.exhausted.clone(),
            is_satisfied: facts.is_satisfied,
            discovery_share: facts.discovery_share,
            ..FocusReport::default()
        };
        report.harvest();
        report
    }

    /// The report of this and the next round of the same cycle. What was known at the end counts.
    #[must_use]
    pub fn then(&self, next: &FocusReport) -> FocusReport {
        let mut both = FocusReport {
            discovered: self.discovered + next.discovered,
            relevant_found: self.relevant_found + next.relevant_found,
            explored: self.explored + next.explored,
            explored_relevant: self.explored_relevant + next.explored_relevant,
            discovery_share: next.discovery_share.or(self.discovery_share),
            ..next.clone()
        };
        both.harvest();
        both
    }

    fn harvest(&mut self) {
        let interval = wilson(self.relevant_found, self.discovered);
        self.harvest_rate = interval.map(|_| self.relevant_found as f64 / self.discovered as f64);
        self.harvest_low = interval.map(|[low, _]| low);
        self.harvest_high = interval.map(|[_, high]| high);
    }
}
