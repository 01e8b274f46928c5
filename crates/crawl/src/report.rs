//! The report of a round, counted from its visit log, so the same after any number of
//! interruptions. The reports of a cycle's rounds add up to that of the cycle.

mod bursts;
pub mod cycle_totals;
mod estimates;
pub mod facts;
pub mod history;
pub mod hosts;
pub(crate) mod joined;
mod tally;
pub mod watch;

pub use bursts::{Bursts, SiblingVisits};
pub use estimates::{AuditTally, CycleSample, Estimates, PageResponses};
pub use tally::{ByImportance, Tally};

use crate::parts::focus::report::FocusReport;
use crate::parts::improve::found::FoundByShare;
use crate::parts::improve::population::ScorePopulation;
use crate::parts::promises::account::PromiseAccount;
use crate::report::facts::Facts;
use crate::round::RoundKind;
use recrawl_fetcher::StoppedBy;
use recrawl_types::DatedRound;
use recrawl_verifier::MergeReport;
use serde::{Deserialize, Serialize};

/// `formula` and `stopped_by` in the report of an import.
pub const IMPORT: &str = "import";
/// `stopped_by` in the report of a round that ended a first look.
pub const FIRST_LOOK: &str = "first_look";
/// `formula` and `stopped_by` in the report of a takedown.
pub const TAKEDOWN: &str = "takedown";
/// `formula` and `stopped_by` in the report of a partition that dropped what another one has.
pub const DIVISION: &str = "division";
/// [`RoundReport::stopped_by`] after partitions were put together.
pub const JOINING: &str = "merge";

/// The report of a round: one object per line with `--json`, stored with the generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundReport {
    /// The cycle.
    pub cycle: u32,
    /// The round; 0 in reports of older versions, in which it has the number of the cycle.
    #[serde(default)]
    pub round: u32,
    /// The purpose of the round.
    #[serde(default)]
    pub kind: RoundKind,
    /// Number of rounds that this report adds up.
    #[serde(default = "one")]
    pub rounds: u32,
    /// Pages in the schedule.
    pub scheduled: u64,
    /// Of these, pages that the round did not reach: the next one visits or plans them.
    #[serde(default)]
    pub carried: u64,
    /// Of these, pages planned within k.
    #[serde(default)]
    pub of_k: u64,
    /// Revisit rounds of the cycle (`cycle.rounds`) that were still to come.
    #[serde(default)]
    pub revisits_left: u32,
    /// Counts of the visits.
    #[serde(flatten)]
    pub tally: Tally,
    /// Pages confirmed gone in this cycle.
    pub gone: u64,
    /// Links to previously unknown URLs.
    pub links_new: u64,
    /// Linked URLs that wait for the merge of a later cycle (`storage.link_wait`).
    pub links_pending: u64,
    /// URLs known after the cycle.
    pub pages_known: u64,
    /// Of these, fetched at least once.
    pub pages_visited: u64,
    /// Live URLs that were never requested; in reports before format 4, those due in the next
    /// cycle.
    #[serde(alias = "never_fetched")]
    pub never_tried: u64,
    /// score_changed / score_visits; none if no page was chosen by score.
    pub change_rate: Option<f64>,
    /// ChangeRate and freshness by importance; none unless some page has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_importance: Option<ByImportance>,
    /// Share of changed pages in the population of the audit sample:
    /// [`Estimates::audit_change_rate`].
    pub audit_change_rate: Option<f64>,
    /// Pages from which the audit sample was drawn; none if unknown.
    #[serde(default)]
    pub audit_eligible: Option<u64>,
    /// Estimates with intervals.
    #[serde(default)]
    pub estimates: Estimates,
    /// The lowest score that was selected; none without a score share.
    pub cutoff: Option<f64>,
    /// Bursts among siblings when the round was planned, if the formula reads siblings.
    #[serde(default, skip_serializing_if = "Bursts::is_none")]
    pub bursts: Bursts,
    /// All pages, as the plan of the cycle's first round saw them; none unless it was measured (`improve.mode`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<ScorePopulation>,
    /// Accounts of promises when the cycle began (`[[promises]]`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promises: Vec<PromiseAccount>,
    /// Findings of a focused crawl (`[focus]`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<FocusReport>,
    /// Visits beside what was expected of them, if the plan was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundByShare>,
    /// Name of the formula.
    pub formula: String,
    /// Random seed for ties and samples (`--random-seed`); 0 in reports of older versions, and if
    /// nothing was crawled.
    #[serde(default)]
    pub random_seed: u64,
    /// Start time, in milliseconds since 1970.
    pub started: u64,
    /// Start time of the cycle; 0 in reports of older versions, whose cycle has one round.
    #[serde(default)]
    pub cycle_started: u64,
    /// Duration, interruptions included.
    pub seconds: f64,
    /// `schedule` (all done), `slow_hosts` (the rest is carried into the next round), `deadline` or
    /// `byte_budget`; [`IMPORT`] or [`TAKEDOWN`] if nothing was crawled.
    pub stopped_by: String,
}

impl RoundReport {
    /// The report of an [`IMPORT`] or [`TAKEDOWN`], which visits nothing.
    pub fn without_visits(
        name: &str,
        round: DatedRound,
        started: u64,
        merged: &MergeReport,
        now: u64,
    ) -> RoundReport {
        let facts = Facts::without_plan(round, started, name);
        let (nothing, nobody) = (Tally::default(), CycleSample::default());
        let report = RoundReport::new(&facts, nothing, &nobody, merged, StoppedBy::End, now);
        RoundReport { stopped_by: name.into(), ..report }
    }

    /// The report of a round to be committed at `now` (milliseconds since 1970). Its estimates are from
    /// `sample`.
    pub fn new(
        facts: &Facts,
        mut tally: Tally,
        sample: &CycleSample,
        merged: &MergeReport,
        stopped_by: StoppedBy,
        now: u64,
    ) -> RoundReport {
        // Redirect targets and second visits of a page are only compared by the merge.
        tally.decide(merged.decided_first, merged.decided_changed, merged.decided_unchanged);
        let estimates = Estimates::from_sample(sample);
        RoundReport {
            cycle: facts.cycle.0,
            round: facts.round().round.0,
            kind: facts.kind,
            rounds: 1,
            scheduled: facts.scheduled,
            carried: 0,
            of_k: facts.of_k,
            revisits_left: facts.revisits_left,
            gone: merged.newly_gone,
            links_new: merged.links_new,
            links_pending: merged.links_waiting,
            pages_known: merged.pages,
            pages_visited: merged.visited,
            never_tried: merged.never_tried,
            change_rate: ratio(tally.score_changed, tally.score_visits),
            by_importance: tally.by_importance(),
            audit_change_rate: estimates.audit_change_rate.map(|estimate| estimate.share),
            audit_eligible: facts.audit_eligible,
            estimates,
            // JSON has no infinity.
            cutoff: facts.cutoff.filter(|c| c.is_finite()),
            bursts: facts.bursts.clone(),
            population: facts.population.clone(),
            promises: facts.promises.clone(),
            focus: None,
            found: None,
            formula: facts.formula.clone(),
            random_seed: facts.random_seed,
            started: facts.started,
            cycle_started: facts.cycle_started(),
            seconds: now.saturating_sub(facts.started) as f64 / 1000.0,
            stopped_by: match stopped_by {
                StoppedBy::Deadline => "deadline".into(),
                StoppedBy::ByteBudget => "byte_budget".into(),
                StoppedBy::SlowHosts => "slow_hosts".into(),
                StoppedBy::FirstLook => FIRST_LOOK.into(),
                StoppedBy::End | StoppedBy::Stop => "schedule".into(),
            },
            tally,
        }
    }

    /// Is this the report of a crawl? Imports and takedowns are commits without visits, so they do
    /// not count for the cycle period or the ChangeRate.
    pub fn is_of_crawl(&self) -> bool {
        ![IMPORT, TAKEDOWN, DIVISION, JOINING].contains(&&*self.stopped_by)
    }

    /// Did visits end, and none with a page? Pages left for the next round are no reason.
    pub fn fetched_nothing(&self) -> bool {
        self.tally.fetched == 0 && self.tally.all_failed() + self.tally.all_skipped() > 0
    }

    /// The start of the cycle, in milliseconds since 1970.
    pub fn cycle_started(&self) -> u64 {
        if self.cycle_started == 0 { self.started } else { self.cycle_started }
    }

    /// Its end, in milliseconds since 1970.
    pub fn ended(&self) -> u64 {
        self.started + (self.seconds * 1000.0) as u64
    }

    /// Adds the report of the next round, of the same cycle.
    pub fn add(&mut self, next: &RoundReport) {
        let ended = next.started.saturating_sub(self.started) as f64 / 1000.0 + next.seconds;
        self.scheduled = (self.scheduled + next.scheduled).saturating_sub(self.carried);
        self.tally += &next.tally;
        self.bursts.then(&next.bursts);
        *self = RoundReport {
            round: next.round,
            rounds: self.rounds + next.rounds,
            carried: next.carried,
            of_k: self.of_k + next.of_k,
            revisits_left: next.revisits_left,
            gone: self.gone + next.gone,
            links_new: self.links_new + next.links_new,
            links_pending: next.links_pending,
            pages_known: next.pages_known,
            pages_visited: next.pages_visited,
            never_tried: next.never_tried,
            change_rate: ratio(self.tally.score_changed, self.tally.score_visits),
            by_importance: self.tally.by_importance(),
            // The lowest score that the cycle chose is that of its last revisit round.
            cutoff: next.cutoff.filter(|_| next.kind == RoundKind::Revisit).or(self.cutoff),
            audit_change_rate: next.audit_change_rate.or(self.audit_change_rate),
            estimates: next.estimates.or(self.estimates),
            seconds: ended.max(self.seconds),
            stopped_by: next.stopped_by.clone(),
            tally: std::mem::take(&mut self.tally),
            bursts: std::mem::take(&mut self.bursts),
            focus: match (&self.focus, &next.focus) {
                (Some(focus), Some(next)) => Some(focus.then(next)),
                (focus, next) => next.clone().or_else(|| focus.clone()),
            },
            found: match (self.found, next.found) {
                (Some(mut found), Some(more)) => {
                    found += more;
                    Some(found)
                }
                (found, more) => found.or(more),
            },
            ..self.clone()
        };
    }

    /// Is this the report of a later round of the same cycle? An import or takedown is a cycle of its own.
    pub fn is_continued_by(&self, next: &RoundReport) -> bool {
        self.cycle == next.cycle && self.is_of_crawl() == next.is_of_crawl()
    }

    /// Logs the report as one line.
    pub fn log(&self) {
        tracing::info!(
            cycle = self.cycle,
            round = self.round,
            kind = self.kind.name(),
            scheduled = self.scheduled,
            fetched = self.tally.fetched,
            changed = self.tally.changed,
            failed = self.tally.all_failed(),
            skipped = self.tally.all_skipped(),
            known = self.pages_known,
            seconds = self.seconds,
            "round committed"
        );
        if let Some(SiblingVisits { folder, visits, changes, expected, .. }) = self.bursts.strongest.first() {
            tracing::debug!(groups = self.bursts.groups, folder, visits, changes, expected, "burst");
        }
    }

    /// The report as committed, and as printed with `--json`.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a report is plain data")
    }
}

fn one() -> u32 {
    1
}

/// part / whole; none if `whole` is 0.
pub fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Change, Failure, Importance, Outcome, Share, Skip, UrlRules, Visit};

    fn visit(outcome: Outcome, share: Share) -> Visit {
        Visit {
            index: Some(0),
            share,
            bytes: 10,
            ..Visit::new(UrlRules::default().canonicalize("http://a.example/").unwrap(), outcome)
        }
    }

    #[test]
    fn only_visits_that_the_score_chose_enter_the_change_rate() {
        let mut tally = Tally::default();
        for (outcome, share) in [
            (Outcome::Fetched(Change::First), Share::Discovery),
            (Outcome::Fetched(Change::Changed), Share::Warmup),
            (Outcome::Fetched(Change::Changed), Share::Score),
            (Outcome::NotModified, Share::Score),
            (Outcome::Redirected(Change::Changed), Share::Score),
            (Outcome::Fetched(Change::Unchanged), Share::Audit(0.1)),
            (Outcome::Failed(Failure::Timeout), Share::Audit(0.1)),
            (Outcome::NotFound(410), Share::Audit(0.5)),
            (Outcome::Fetched(Change::Undecided), Share::Followed),
            (Outcome::Failed(Failure::Timeout), Share::Score),
            (Outcome::NotFound(404), Share::Score),
            (Outcome::RobotsDenied, Share::Score),
            (Outcome::RobotsUnreachable(Some(Failure::Connect)), Share::Score),
            (Outcome::Skipped(Skip::Deadline), Share::Score),
        ] {
            tally.add(&visit(outcome, share), 0);
        }
        tally.decide(1, 0, 0);
        assert_eq!((tally.score_visits, tally.score_changed), (3, 2));
        assert_eq!((tally.audit_visits, tally.audit_changed), (1, 0));
        assert_eq!((tally.changed, tally.unchanged, tally.not_modified), (3, 2, 1));
        assert_eq!((tally.fetched, tally.first_visits, tally.warmup_visits), (7, 2, 1));
        assert_eq!((tally.failed, tally.not_found, tally.robots_denied, tally.skipped), (2, 2, 1, 1));
        assert_eq!(tally.robots_unreachable, 1, "a host that is down denied nothing");
        assert_eq!((tally.all_failed(), tally.all_skipped()), (5, 2 + tally.refused));
        let AuditTally { unchanged, changed, not_found, unanswered } = tally.audit;
        assert_eq!([unchanged, changed, not_found, unanswered].map(|part| part.pages), [1, 0, 1, 1]);
        assert_eq!((unchanged.weight.value(), not_found.weight.value()), (10.0, 2.0));
        assert_eq!(tally.first_visits + tally.changed + tally.unchanged, tally.fetched);
        assert_eq!(ratio(tally.score_changed, tally.score_visits), Some(2.0 / 3.0));
        assert_eq!(ratio(0, 0), None);
    }

    /// The fields that a source declares from this line on.
    fn fields<'s>(source: &'s str, begin: &str) -> Vec<&'s str> {
        let body = source.split_once(begin).unwrap().1.split_once("\n}").unwrap().0;
        let name = |line: &'s str| Some(line.trim_start().trim_start_matches("pub ").split_once(": ")?.0);
        let is_name = |name: &&str| name.bytes().all(|c| c == b'_' || c.is_ascii_lowercase());
        body.lines().filter_map(name).filter(is_name).collect()
    }

    #[test]
    fn the_page_of_outputs_names_each_field_of_a_report() {
        let page = include_str!("../../../docs/outputs.md");
        let tally = fields(include_str!("report/tally.rs"), "\ntally! {\n");
        let report = fields(include_str!("report.rs"), "\npub struct RoundReport {\n");
        assert!(tally.len() > 50 && report.len() > 25, "{tally:?} {report:?}");
        for field in tally.into_iter().chain(report).filter(|field| *field != "tally") {
            assert!(
                page.contains(&format!("`{field}`")),
                "docs/outputs.md does not name the figure `{field}`"
            );
        }
    }

    #[test]
    fn pages_count_by_their_importance_and_by_one_they_count_alike() {
        let visits = [
            (Outcome::Fetched(Change::Changed), Share::Score),
            (Outcome::NotModified, Share::Score),
            (Outcome::Fetched(Change::Changed), Share::Score),
            (Outcome::NotFound(404), Share::Score),
            (Outcome::Fetched(Change::Undecided), Share::Score),
            (Outcome::Fetched(Change::Unchanged), Share::Audit(0.1)),
            (Outcome::Fetched(Change::Changed), Share::Audit(0.2)),
            (Outcome::NotFound(410), Share::Audit(0.5)),
            (Outcome::Failed(Failure::Timeout), Share::Audit(0.1)),
            (Outcome::Fetched(Change::Unchanged), Share::Panel),
        ];
        let counted = |importances: [f64; 10]| {
            let mut tally = Tally::default();
            for ((outcome, share), importance) in visits.into_iter().zip(importances) {
                tally.add(&visit(outcome, share), 0);
                tally.weigh(&visit(outcome, share), Importance::new(importance).unwrap());
            }
            tally
        };
        let alike = counted([1.0; 10]);
        let usual = ratio(alike.score_changed, alike.score_visits);
        let fresh = alike.audit.freshness(None, &Default::default()).map(|estimate| estimate.share);
        assert_eq!(alike.by_importance(), Some(ByImportance { change_rate: usual, freshness: fresh }));
        let weighed = counted([5.0, 9.0, 0.5, 9.0, 9.0, 4.0, 2.0, 1.0, 9.0, 9.0]).by_importance().unwrap();
        assert_eq!(weighed.change_rate, Some(5.5 / 3.0));
        // 4/0.1 of 4/0.1 + 2/0.2 + 1/0.5.
        assert_eq!(weighed.freshness, Some(40.0 / 52.0));
        let nothing = counted([0.0; 10]).by_importance();
        assert_eq!(nothing, Some(ByImportance { change_rate: Some(0.0), freshness: None }));
        let mut other = Tally::default();
        other += &alike;
        other += &alike;
        assert_eq!(other.by_importance(), alike.by_importance());
        assert_eq!(Tally::default().by_importance(), None);
    }
}
