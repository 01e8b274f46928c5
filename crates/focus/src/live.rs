//! The expected relevance of untried links in a running crawl, which keeps seven bytes a known URL.
//!
//! A link is judged twice. When it is found, a mixture of what its page and anchor show gives log odds that are kept with its
//! target. When a round is planned, a second mixture joins these with what visits showed since: of the links beside it
//! ([groups](yields)), of its site, of the crawl. So a visit raises its siblings, as FS-2 does, without touching them. The
//! second mixture learns from tried links; the first stays as it was fitted.
//!
//! All features are fixed, so the models of all crawls can be compared.

mod gamma;
pub mod labels;
pub mod recall;
pub mod scorer;
pub mod stop;
pub mod yields;

use crate::classifier::Assessment;
use crate::evidence::LinkEvidence;
use crate::logistic::{Weights, logistic};
use crate::policy::{FocusPolicy, FocusRule, When};
use libm::{log, log1p};
use serde::{Deserialize, Serialize};
use yields::Yield;

/// Names of the features of a link when it is found.
pub const FOUND: [&str; 10] = [
    "constant",
    "parent relevance",
    "parent genre",
    "parent content",
    "anchor genre",
    "anchor genre share",
    "anchor content",
    "anchor empty",
    "url terms",
    "framed",
];

/// Names of the features of an untried URL when a round is planned.
pub const PLANNED: [&str; 8] =
    ["constant", "links", "tunnel", "depth", "group yield", "group visits", "site yield", "crawl yield"];

/// How steeply a page becomes relevant around the threshold.
const STEEPNESS: f64 = 10.0;
/// Log odds of a pinned order's scores stay within those of this and its complement.
const LEAST: f64 = 1e-4;

/// The page that has a link.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parent {
    /// What the classifier says of it.
    pub verdict: Assessment,
    /// From which relevance on a page is relevant.
    pub threshold: f64,
}

impl Parent {
    /// Is the page relevant, from 0 to 1: ½ at the threshold.
    fn relevance(&self) -> f64 {
        logistic(STEEPNESS * (self.verdict.relevance - self.threshold))
    }
}

/// The features that a link itself shows, and the page that has it: that page's relevance, genre and content, four of the
/// anchor, the URL's terms, and whether the link stands in the page's frame.
pub fn shown_features(relevance: f64, verdict: &Assessment, link: &LinkEvidence) -> [f64; 9] {
    let flag = |is: bool| f64::from(u8::from(is));
    [
        log(relevance + 0.01) - log(0.02),
        verdict.genre,
        verdict.content,
        flag(link.genre > 0.0),
        link.genre,
        flag(link.content > 0.0),
        flag(link.words.is_empty()),
        link.url,
        flag(link.framed),
    ]
}

/// The features of a link when it is found, in the order of [`FOUND`].
pub fn found_features(parent: &Parent, link: &LinkEvidence) -> [f64; FOUND.len()] {
    let mut features = [1.0; FOUND.len()];
    features[1..].copy_from_slice(&shown_features(parent.relevance(), &parent.verdict, link));
    features
}

/// What is known of an untried URL when a round is planned.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UntriedUrl {
    /// Log odds that were kept when links to it were found.
    pub links: f64,
    /// Irrelevant pages in a row on the way.
    pub tunnel: u8,
    /// Links from a seed.
    pub depth: u16,
    /// What its group yielded.
    pub group: Yield,
    /// What its site yielded.
    pub site: Yield,
    /// What the crawl yielded.
    pub all: Yield,
}

/// The features of an untried URL, in the order of [`PLANNED`].
pub fn planned_features(url: &UntriedUrl) -> [f64; PLANNED.len()] {
    let mean = url.all.shrunk(0.01);
    let site = url.site.shrunk(mean);
    [
        1.0,
        url.links,
        f64::from(url.tunnel.min(8)) / 8.0,
        log1p(f64::from(url.depth)),
        log(url.group.shrunk(site) / site),
        log1p(url.group.visits as f64),
        log(site / mean),
        log(mean) - log(0.02),
    ]
}

/// Both mixtures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveModel {
    /// Of [`FOUND`].
    pub found: Weights<{ FOUND.len() }>,
    /// Of [`PLANNED`].
    pub planned: Weights<{ PLANNED.len() }>,
    /// Tried links that the second mixture has learned from.
    pub lessons: u64,
}

impl Default for LiveModel {
    /// As `examples/live_weights.rs` fitted them on 162 course sites, to the classifier's verdicts on seven topics. What that
    /// corpus cannot tell is set by hand: 1 for URL terms, 0 for frames and empty anchors.
    fn default() -> LiveModel {
        LiveModel {
            found: Weights([-4.428, 0.772, 0.0, 0.0, 0.542, 0.670, 1.275, 0.0, 1.0, 0.0]),
            planned: Weights([-0.275, 0.294, -0.144, -2.371, 0.518, -0.012, 0.591, 0.851]),
            lessons: 0,
        }
    }
}

/// Step of an update.
pub const RATE: f64 = 0.003;
/// Greatest weight, 1 / propensity, of a tried link.
pub const MAX_WEIGHT: f64 = 20.0;
/// By how much a visit moves a weight at most, however low the log odds of its link are.
const MAX_STEP: f64 = 0.05;

impl LiveModel {
    /// Log odds of a link that is found.
    pub fn found(&self, parent: &Parent, link: &LinkEvidence) -> f64 {
        self.found.logit(&found_features(parent, link))
    }

    /// Log odds of an untried URL.
    pub fn planned(&self, url: &UntriedUrl) -> f64 {
        self.planned.logit(&planned_features(url))
    }

    /// Moves the second mixture by a tried link, which was chosen with this probability.
    pub fn learn(&mut self, url: &UntriedUrl, is_relevant: bool, propensity: f64) {
        let features = planned_features(url);
        let weight = (1.0 / propensity).clamp(1.0, MAX_WEIGHT);
        let error = f64::from(u8::from(is_relevant)) - logistic(self.planned.logit(&features));
        for (weight_of, feature) in self.planned.0.iter_mut().zip(features) {
            *weight_of += (RATE * weight * error * feature).clamp(-MAX_STEP, MAX_STEP);
        }
        self.lessons += 1;
    }
}

/// An order of discovery in a running crawl.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscoveryOrder {
    policy: &'static FocusPolicy,
    change_threshold: f64,
}

impl DiscoveryOrder {
    /// All names.
    pub fn names() -> Vec<&'static str> {
        let is_live = |policy: &&FocusPolicy| is_live(policy.rule);
        crate::policy::ALL.iter().filter(is_live).map(|policy| policy.name).collect()
    }

    /// The order of this name. None if no order has it, or if a crawl in rounds cannot follow that order.
    pub fn named(name: &str, change_threshold: f64) -> Option<DiscoveryOrder> {
        let policy = crate::policy::named(name).filter(|policy| is_live(policy.rule))?;
        Some(DiscoveryOrder { policy, change_threshold })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.policy.name
    }

    /// Is it a rule of the thesis, which knows scores and no mixtures?
    pub fn is_of_thesis(&self) -> bool {
        self.policy.is_of_thesis()
    }

    /// Does it rank by what is expected?
    pub fn is_by_expectation(&self) -> bool {
        self.policy.rule != FocusRule::Breadth
    }

    /// The log odds to keep with the target of a link. By a rule of the thesis, they are those of the score that the page
    /// gives to its children (§4.4).
    pub fn found(&self, model: &LiveModel, parent: &Parent, link: &LinkEvidence) -> f64 {
        match self.policy.rule {
            FocusRule::Scores { children, .. } => logit(self.passed(children, parent.verdict.relevance)),
            _ => model.found(parent, link),
        }
    }

    /// The log odds by which an untried URL is ranked. By a rule of the thesis, they are those of the greater score that its
    /// page and its siblings give to it; its group stands for the siblings.
    pub fn planned(&self, model: &LiveModel, url: &UntriedUrl) -> f64 {
        match self.policy.rule {
            FocusRule::Scores { siblings, .. } => {
                url.links.max(logit(self.passed(siblings, url.group.mean())))
            }
            _ => model.planned(url),
        }
    }

    fn passed(&self, when: When, score: f64) -> f64 {
        match when {
            When::Never => 0.0,
            When::Always => score,
            When::AboveThreshold if score >= self.change_threshold => score,
            When::AboveThreshold => 0.0,
        }
    }
}

fn is_live(rule: FocusRule) -> bool {
    matches!(rule, FocusRule::Scores { .. } | FocusRule::Breadth | FocusRule::Learned)
}

/// The log odds of a score.
pub fn logit(score: f64) -> f64 {
    let score = score.clamp(LEAST, 1.0 - LEAST);
    log(score / (1.0 - score))
}

#[cfg(test)]
mod tests;
