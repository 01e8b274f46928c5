//! Estimates for a population of pages from a cycle's visits.

use super::Tally;
use crate::page_rules::PageRules;
use crate::parts::improve::arms::{ArmsFacts, Division};
use crate::report::facts::Facts;
use recrawl_estimation::{Audited, Estimate, HostResponses, Interval, Population, Sample, Weighted};
use recrawl_types::{CanonicalUrl, Change, Outcome, ScheduleEntry, Share, Skip, Standing, Visit};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// The audit sample of one cycle. Pages without a response are counted, but left out of estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AuditTally {
    /// Same as at the last visit.
    pub unchanged: Weighted,
    /// Changed since.
    pub changed: Weighted,
    /// Answered with 404 or 410: the stored page no longer exists.
    pub not_found: Weighted,
    /// Failed, forbidden, refused or skipped.
    pub unanswered: Weighted,
}

impl AddAssign for AuditTally {
    fn add_assign(&mut self, other: AuditTally) {
        self.unchanged += other.unchanged;
        self.changed += other.changed;
        self.not_found += other.not_found;
        self.unanswered += other.unanswered;
    }
}

impl AuditTally {
    /// Counts a page drawn with this probability.
    pub fn add(&mut self, outcome: Outcome, probability: f64) {
        let of = match (outcome.change(), outcome) {
            (Some(Change::Unchanged), _) => &mut self.unchanged,
            (Some(Change::Changed), _) => &mut self.changed,
            (_, Outcome::NotFound(_)) => &mut self.not_found,
            _ => &mut self.unanswered,
        };
        of.count(probability);
    }

    /// Pages that changed or no longer exist.
    fn stale(&self) -> Weighted {
        self.changed + self.not_found
    }

    /// Pages whose response shows whether the stored state is fresh.
    pub fn answered(&self) -> Weighted {
        self.unchanged + self.stale()
    }

    /// The freshness of a population of this size, from the pages with a response.
    pub fn freshness(&self, population: Option<u64>, response: &HostResponses) -> Option<Estimate> {
        Estimate::of_answered(self.unchanged, self.stale(), population, response)
    }

    /// Bounds of the freshness given the pages without a response: the lower end of the interval if
    /// all of them are stale, and the upper end if all are fresh (Manski 1989). None without a
    /// sample.
    pub fn freshness_bounds(&self, population: Option<u64>) -> Option<[f64; 2]> {
        let AuditTally { unchanged, unanswered, .. } = *self;
        let low = Estimate::from_sample(unchanged, self.stale() + unanswered, population)?.low;
        Some([low, Estimate::from_sample(unchanged + unanswered, self.stale(), population)?.high])
    }
}

/// Host by host, which pages had a response: for the intervals of [`Estimates`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PageResponses {
    freshness: HostResponses,
    /// Of the audit sample, without pages that no longer exist.
    audit: HostResponses,
    score: HostResponses,
    /// The audit sample beside what was expected of it; empty unless the plan was measured.
    #[serde(default, skip_serializing_if = "Sample::is_empty")]
    beside_expected: Sample,
    /// The same of the candidate's places and of the control's; empty unless the plan has arms.
    #[serde(default, skip_serializing_if = "are_empty")]
    of_arms: [Sample; 2],
}

fn are_empty(samples: &[Sample; 2]) -> bool {
    samples.iter().all(Sample::is_empty)
}

impl PageResponses {
    /// Counts a visit, for its arm too if there are any.
    pub fn add(&mut self, visit: &Visit, arms: Option<&ArmsFacts>, rules: &PageRules) {
        self.count(&visit.url, visit.share, visit.standing, visit.outcome, (arms, rules));
    }

    fn count(
        &mut self,
        url: &CanonicalUrl,
        share: Share,
        standing: Option<Standing>,
        outcome: Outcome,
        (arms, rules): (Option<&ArmsFacts>, &PageRules),
    ) {
        let host = &*url.host();
        let has_changed = outcome.has_changed();
        let is_gone = matches!(outcome, Outcome::NotFound(_));
        match share {
            Share::Audit(probability) => {
                let is_fresh = if is_gone { Some(false) } else { has_changed.map(|changed| !changed) };
                self.freshness.count(host, is_fresh, probability);
                if let Some(standing) = standing {
                    let (changed, expected) = (is_fresh.map(|fresh| !fresh), standing.expected.into());
                    let page = Audited { changed, expected, probability };
                    self.beside_expected.count(host, page);
                    if let Some(arms) = arms {
                        arms.count(&mut self.of_arms, url, page, || rules.importance(url));
                    }
                }
                if !is_gone {
                    self.audit.count(host, has_changed, probability);
                }
            }
            Share::Score if !is_gone => self.score.count(host, has_changed, 1.0),
            _ => {}
        }
    }
}

/// Shares of pages with 95 % intervals; none without a sample. Pages without a response are assumed
/// to be like the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimates {
    /// Share of pages unchanged since their last visit, before the cycle's visits, among those due
    /// to compete by score on hosts with free places.
    pub freshness: Option<Estimate>,
    /// Bounds of the freshness given the pages without a response.
    pub freshness_bounds: Option<[f64; 2]>,
    /// Share of changed pages among the same, without those that no longer exist.
    pub audit_change_rate: Option<Estimate>,
    /// Share of changed pages among those chosen by score. Without failures it is exact: low and
    /// high equal the share.
    pub change_rate: Option<Estimate>,
    /// The freshness again, by what was expected of every page and found beyond it in the audit sample. The 95 % interval
    /// is value ± 1.96·√variance. None unless the plan was measured (`improve.mode`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjusted_freshness: Option<Interval>,
    /// The same for the sites of a candidate and of the control; none unless these arms were planned apart or counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arms_freshness: Option<[Option<Interval>; 2]>,
}

/// The basis of a cycle's estimates: the visits of the rounds since its pages were chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CycleSample {
    audit: AuditTally,
    score_visits: u64,
    score_changed: u64,
    responses: PageResponses,
    /// Pages from which the audit sample was drawn, and pages chosen by score; none if unknown.
    audit_eligible: Option<u64>,
    by_score: Option<u64>,
    /// The population of the audit sample, with the changes expected in it; none unless the plan was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    population: Option<Population>,
    /// The arms of the sites, if they were planned apart or counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arms: Option<ArmsFacts>,
}

impl CycleSample {
    /// The visits of one round.
    pub fn new(tally: &Tally, responses: PageResponses, facts: &Facts) -> CycleSample {
        let Tally { audit, score_visits, score_changed, .. } = *tally;
        let Facts { audit_eligible, by_score, arms, .. } = *facts;
        let population = facts.population.as_ref().map(|population| Population {
            pages: population.audit_eligible,
            expected: population.expected.changes,
        });
        CycleSample {
            audit,
            score_visits,
            score_changed,
            responses,
            audit_eligible,
            by_score,
            population,
            arms,
        }
    }

    /// The arms of the sites, if they were planned apart or counted.
    pub fn division(&self) -> Option<Division> {
        self.arms.as_ref().map(|arms| arms.division)
    }

    /// Adds the visits of a later round of the cycle.
    pub fn add(&mut self, later: &CycleSample) {
        self.audit += later.audit;
        self.score_visits += later.score_visits;
        self.score_changed += later.score_changed;
        self.by_score = self.by_score.zip(later.by_score).map(|(chosen, more)| chosen + more);
        self.responses.beside_expected.add(&later.responses.beside_expected);
        self.responses
            .of_arms
            .iter_mut()
            .zip(&later.responses.of_arms)
            .for_each(|(own, later)| own.add(later));
        self.responses.freshness += &later.responses.freshness;
        self.responses.audit += &later.responses.audit;
        self.responses.score += &later.responses.score;
    }

    /// Counts a page that was chosen, and of which nothing is known yet.
    pub fn add_unanswered(&mut self, entry: &ScheduleEntry, rules: &PageRules) {
        let outcome = Outcome::Skipped(Skip::Deadline);
        if let Share::Audit(probability) = entry.share {
            self.audit.add(outcome, probability);
        }
        let to_count = (self.arms.as_ref(), rules);
        self.responses.count(&entry.url, entry.share, entry.standing, outcome, to_count);
    }
}

impl Estimates {
    /// These estimates. Where one is missing, that of the earlier rounds.
    pub fn or(self, before: Estimates) -> Estimates {
        Estimates {
            freshness: self.freshness.or(before.freshness),
            freshness_bounds: self.freshness_bounds.or(before.freshness_bounds),
            audit_change_rate: self.audit_change_rate.or(before.audit_change_rate),
            change_rate: self.change_rate.or(before.change_rate),
            adjusted_freshness: self.adjusted_freshness.or(before.adjusted_freshness),
            arms_freshness: self.arms_freshness.or(before.arms_freshness),
        }
    }

    /// From the visits to the pages that were chosen.
    pub fn from_sample(sample: &CycleSample) -> Estimates {
        let CycleSample { audit, score_visits, score_changed, responses, .. } = sample;
        let CycleSample { audit_eligible, by_score, population, arms, .. } = sample;
        let changed_pages = population.and_then(|population| responses.beside_expected.changed(population));
        let AuditTally { unchanged, changed, .. } = *audit;
        Estimates {
            freshness: audit.freshness(*audit_eligible, &responses.freshness),
            freshness_bounds: audit.freshness_bounds(*audit_eligible),
            audit_change_rate: Estimate::of_answered(changed, unchanged, *audit_eligible, &responses.audit),
            change_rate: Estimate::of_answered(
                Weighted::certain(*score_changed),
                Weighted::certain(score_visits - score_changed),
                *by_score,
                &responses.score,
            ),
            adjusted_freshness: changed_pages
                .map(|changed| Interval { value: 1.0 - changed.value, ..changed }),
            arms_freshness: arms.as_ref().map(|arms| arms.freshness(&responses.of_arms)),
        }
    }
}

#[cfg(test)]
mod tests;
