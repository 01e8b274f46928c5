//! Counts of visits.

use super::AuditTally;
use recrawl_estimation::Weighted;
use recrawl_types::{Change, Importance, Outcome, OutcomeEffect, Share, Skip, Visit};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

macro_rules! tally {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// Counts of the visits of a round, or of the rounds of a cycle.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Tally {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl AddAssign<&Tally> for Tally {
            fn add_assign(&mut self, other: &Tally) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

tally! {
    /// Visits: pages fetched, not modified or redirected.
    fetched: u64,
    /// Of these, first successful fetches.
    first_visits: u64,
    /// Visits due for a page's warm-up.
    warmup_visits: u64,
    /// Visits that found a change, in any share.
    changed: u64,
    /// Visits that found no change.
    unchanged: u64,
    /// Of these, 304 responses.
    not_modified: u64,
    /// Of the visits, redirects.
    redirected: u64,
    /// Visits chosen by score that could be compared.
    score_visits: u64,
    /// Of these, changed.
    score_changed: u64,
    /// Visits of the uniform audit sample that could be compared.
    audit_visits: u64,
    /// Of these, changed.
    audit_changed: u64,
    /// Visits announced by a trusted date that could be compared.
    announced_visits: u64,
    /// Of these, changed.
    announced_changed: u64,
    /// Visits of the panel that could be compared.
    #[serde(skip_serializing_if = "is_zero")]
    panel_visits: u64,
    /// Of these, changed.
    #[serde(skip_serializing_if = "is_zero")]
    panel_changed: u64,
    /// Visits drawn from the pages that only one of two formulas chooses, if they could be compared.
    #[serde(skip_serializing_if = "is_zero")]
    contested_visits: u64,
    /// Of these, changed.
    #[serde(skip_serializing_if = "is_zero")]
    contested_changed: u64,
    /// Visits that kept a promise and could be compared.
    #[serde(skip_serializing_if = "is_zero")]
    promised_visits: u64,
    /// Visits that pings brought in beyond the plan, with any outcome.
    #[serde(skip_serializing_if = "is_zero")]
    pinged: u64,
    /// 404 and 410.
    not_found: u64,
    /// Requested without a result.
    failed: u64,
    /// Forbidden by robots.txt.
    robots_denied: u64,
    /// Not requested, since robots.txt of the host could not be fetched. Older reports have them in
    /// `robots_denied`.
    #[serde(skip_serializing_if = "is_zero")]
    robots_unreachable: u64,
    /// Refused addresses.
    refused: u64,
    /// Visits with an effect on their page's record: all but those skipped for a passing reason.
    conclusive: u64,
    /// Of these, visits to never-fetched URLs that the schedule had as such.
    discoveries: u64,
    /// Requests of detours for a cookie beyond one a visit, in the last run of a round.
    #[serde(skip_serializing_if = "is_zero")]
    asked_again: u64,
    /// Documents of which a command made text, in the last run of a round.
    #[serde(skip_serializing_if = "is_zero")]
    converted: u64,
    /// Documents of which a command made none.
    #[serde(skip_serializing_if = "is_zero")]
    not_converted: u64,
    /// Requests of requisites, in the last run of a round.
    #[serde(skip_serializing_if = "is_zero")]
    requisites_requested: u64,
    /// Bodies and redirects of requisites that were archived.
    #[serde(skip_serializing_if = "is_zero")]
    requisites_archived: u64,
    /// Requisites that were as before.
    #[serde(skip_serializing_if = "is_zero")]
    requisites_same: u64,
    /// Requisites refused, by a rule of the crawl, or for their size or type.
    #[serde(skip_serializing_if = "is_zero")]
    requisites_refused: u64,
    /// Requisites that brought an error or no answer.
    #[serde(skip_serializing_if = "is_zero")]
    requisites_failed: u64,
    /// Requisites beyond a limit, or on a host in back-off.
    #[serde(skip_serializing_if = "is_zero")]
    requisites_left_out: u64,
    /// Scheduled but not requested, or not read.
    skipped: u64,
    /// Of these, on hosts that opted out.
    opted_out: u64,
    /// Of these, never fetched because their pattern is cut off as a trap.
    trapped: u64,
    /// Of these, blocked by an operator.
    blocked: u64,
    /// Of these, requested and left out for their media type.
    #[serde(skip_serializing_if = "is_zero")]
    media_type: u64,
    /// Fetched pages with `noindex`.
    noindex: u64,
    /// Fetched pages with `nofollow`.
    nofollow: u64,
    /// Fetched pages with `noarchive`.
    noarchive: u64,
    /// Fetched pages that name another page as canonical.
    duplicates: u64,
    /// Fetched pages of which a rule (`[[pages]]`) left no text.
    #[serde(skip_serializing_if = "is_zero")]
    without_text: u64,
    /// Links found, duplicates included.
    links_seen: u64,
    /// Of these, links of pages that had the same ones when their links were merged before.
    #[serde(skip_serializing_if = "is_zero")]
    links_repeated: u64,
    /// Further links, skipped for their shape, such as by `scope.max_segments`.
    links_filtered: u64,
    /// Further links, skipped because their pattern is cut off as a trap.
    links_trapped: u64,
    /// Bytes of the bodies.
    bytes: u64,
    /// Outcomes of the audit sample, each page weighted by its probability.
    audit: AuditTally,
    /// Of `score_visits`, those whose pages were weighed; 0 unless some page has an importance of its own.
    #[serde(skip_serializing_if = "is_zero")]
    weighed_visits: u64,
    /// Importance of their pages that changed, in thousandths.
    #[serde(skip_serializing_if = "is_zero")]
    weighed_changed: u64,
    /// Pages of the audit sample whose copy is current, weighted by their importance as well.
    #[serde(skip_serializing_if = "is_nobody")]
    weighed_current: Weighted,
    /// The same of pages that changed or no longer exist.
    #[serde(skip_serializing_if = "is_nobody")]
    weighed_stale: Weighted,
}

/// The figures of a report in which pages count by their importance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ByImportance {
    /// Importance of the pages of `score_changed`, per visit.
    pub change_rate: Option<f64>,
    /// Share of the importance of pages unchanged since their last visit, before the visits, by the audit sample.
    pub freshness: Option<f64>,
}

fn is_nobody(sample: &Weighted) -> bool {
    sample.pages == 0
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Tally {
    /// The column "failed" of tables: visits that asked the host and got no page.
    pub fn all_failed(&self) -> u64 {
        self.failed + self.not_found + self.robots_unreachable
    }

    /// The column "skipped" of tables: visits that a rule or a limit ended.
    pub fn all_skipped(&self) -> u64 {
        self.robots_denied + self.refused + self.skipped
    }

    /// Counts one visit with this many links. [`Change::Undecided`] is counted by [`Tally::decide`]
    /// once the verifier has decided.
    pub fn add(&mut self, visit: &Visit, links: usize) {
        self.bytes += visit.bytes;
        self.links_seen += links as u64 + u64::from(visit.left_out.repeated);
        self.links_repeated += u64::from(visit.left_out.repeated);
        self.links_filtered += u64::from(visit.left_out.filtered);
        self.links_trapped += u64::from(visit.left_out.trapped);
        if visit.outcome.effect() != OutcomeEffect::Nothing {
            self.conclusive += 1;
            self.discoveries += u64::from(matches!(visit.share, Share::Discovery | Share::Explored(_)));
        }
        self.pinged += u64::from(visit.share == Share::Announced && visit.index.is_none());
        if let Share::Audit(probability) = visit.share {
            self.audit.add(visit.outcome, probability);
        }
        match visit.outcome {
            Outcome::Fetched(change) => {
                self.wishes(visit);
                self.compared(change, visit.share);
            }
            Outcome::Redirected(change) => {
                self.redirected += 1;
                self.compared(change, visit.share);
            }
            Outcome::NotModified => {
                self.not_modified += 1;
                self.compared(Change::Unchanged, visit.share);
            }
            Outcome::NotFound(_) => self.not_found += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::RobotsDenied => self.robots_denied += 1,
            Outcome::RobotsUnreachable(_) => self.robots_unreachable += 1,
            Outcome::RefusedAddress(_) => self.refused += 1,
            Outcome::Skipped(skip) => {
                self.skipped += 1;
                self.opted_out += u64::from(skip == Skip::OptedOut);
                self.trapped += u64::from(skip == Skip::Trap);
                self.blocked += u64::from(skip == Skip::Blocked);
                self.media_type += u64::from(skip == Skip::MediaType);
            }
        }
    }

    /// Counts a visit by the importance of its page, beside [`Tally::add`].
    pub fn weigh(&mut self, visit: &Visit, importance: Importance) {
        let is_gone = matches!(visit.outcome, Outcome::NotFound(_));
        let changed = if is_gone { Some(true) } else { visit.outcome.has_changed() };
        match (visit.share, changed) {
            (Share::Score, Some(changed)) if !is_gone => {
                self.weighed_visits += 1;
                self.weighed_changed += if changed { importance.thousandths() } else { 0 };
            }
            // A page that does not count is no part of the sample.
            (Share::Audit(probability), Some(changed)) if importance.thousandths() > 0 => {
                let of = if changed { &mut self.weighed_stale } else { &mut self.weighed_current };
                of.count(probability / importance.value());
            }
            _ => {}
        }
    }

    /// The figures by importance; none unless pages were weighed.
    pub fn by_importance(&self) -> Option<ByImportance> {
        let visits = self.weighed_visits;
        let change_rate = (visits > 0).then(|| self.weighed_changed as f64 / 1_000.0 / visits as f64);
        let [current, stale] = [self.weighed_current, self.weighed_stale].map(|of| of.weight.value());
        let freshness = (current + stale > 0.0).then(|| current / (current + stale));
        (change_rate.is_some() || freshness.is_some()).then_some(ByImportance { change_rate, freshness })
    }

    fn wishes(&mut self, visit: &Visit) {
        let Some(consent) = visit.content.as_ref().map(|content| &content.consent) else { return };
        self.noindex += u64::from(consent.forbids_index(visit.at / 1000));
        self.nofollow += u64::from(consent.nofollow);
        self.noarchive += u64::from(consent.noarchive);
        self.duplicates += u64::from(consent.canonical.other().is_some());
    }

    fn compared(&mut self, change: Change, share: Share) {
        self.fetched += 1;
        let changed = match change {
            Change::First => {
                self.first_visits += 1;
                return;
            }
            Change::Undecided => return,
            Change::Changed => true,
            Change::Unchanged => false,
        };
        let count = |changed_or_not: &mut u64, visits: &mut u64| {
            *visits += 1;
            *changed_or_not += u64::from(changed);
        };
        match share {
            Share::Score => count(&mut self.score_changed, &mut self.score_visits),
            Share::Audit(_) => count(&mut self.audit_changed, &mut self.audit_visits),
            Share::Warmup => self.warmup_visits += 1,
            Share::Announced => count(&mut self.announced_changed, &mut self.announced_visits),
            Share::Panel => count(&mut self.panel_changed, &mut self.panel_visits),
            Share::Contested(_) => count(&mut self.contested_changed, &mut self.contested_visits),
            Share::Promised => self.promised_visits += 1,
            Share::Discovery | Share::Explored(_) | Share::Followed | Share::Asked => {}
        }
        if changed {
            self.changed += 1;
        } else {
            self.unchanged += 1;
        }
    }

    /// Counts the verifier's decisions about pages whose record was not available before.
    pub fn decide(&mut self, first: u64, changed: u64, unchanged: u64) {
        self.first_visits += first;
        self.changed += changed;
        self.unchanged += unchanged;
    }
}
