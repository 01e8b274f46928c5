//! Reports of partitions that are put together: those of one cycle are added up, side by side.

use super::{RoundReport, ratio};
use crate::failure::Failure;
use recrawl_repository::Repository;
use recrawl_types::Round;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The reports of all, oldest first, with numbers that end before `next`. What partitions have in common, since one was divided off
/// from the other, counts once.
///
/// # Errors
/// When reports cannot be read.
pub(crate) fn joined_reports(parts: &[&Repository], next: Round) -> Result<Vec<RoundReport>, Failure> {
    let (mut known, mut groups) = (BTreeSet::new(), BTreeMap::<_, RoundReport>::new());
    for (at, part) in parts.iter().enumerate() {
        let (mut all, mut reports) = (Vec::new(), part.reports().map_err(Failure::work)?);
        while let Some(bytes) = reports.next_report().map_err(Failure::work)? {
            let report: RoundReport = serde_json::from_slice(bytes).map_err(Failure::work)?;
            all.push((report, bytes.to_vec()));
        }
        let mut of_cycle = BTreeMap::<u32, usize>::new();
        for (report, bytes) in all.into_iter().rev() {
            let is_of_crawl = report.is_of_crawl();
            let before_end = of_cycle.entry(report.cycle).or_default();
            let nth = *before_end;
            *before_end += usize::from(is_of_crawl);
            if !known.insert(bytes) {
                continue;
            }
            // A commit without visits is one for itself.
            let alone = (!is_of_crawl).then_some((at, report.round));
            match groups.entry((report.cycle, Reverse(nth), alone)) {
                std::collections::btree_map::Entry::Vacant(none) => _ = none.insert(report),
                std::collections::btree_map::Entry::Occupied(mut sum) => sum.get_mut().add_beside(&report),
            }
        }
    }
    let mut joined: Vec<RoundReport> = groups.into_values().collect();
    let mut number = next.0;
    for report in joined.iter_mut().rev() {
        number = number.saturating_sub(1).max(1);
        report.round = number;
    }
    Ok(joined)
}

impl RoundReport {
    /// Adds the report of another partition's round, of the same cycle. Estimates cannot be added: their samples are gone.
    pub(crate) fn add_beside(&mut self, other: &RoundReport) {
        let (started, ended) = (self.started.min(other.started), self.ended().max(other.ended()));
        self.tally += &other.tally;
        *self = RoundReport {
            rounds: self.rounds.max(other.rounds),
            scheduled: self.scheduled + other.scheduled,
            carried: self.carried + other.carried,
            of_k: self.of_k + other.of_k,
            revisits_left: self.revisits_left.max(other.revisits_left),
            gone: self.gone + other.gone,
            links_new: self.links_new + other.links_new,
            links_pending: self.links_pending + other.links_pending,
            pages_known: self.pages_known + other.pages_known,
            pages_visited: self.pages_visited + other.pages_visited,
            never_tried: self.never_tried + other.never_tried,
            change_rate: ratio(self.tally.score_changed, self.tally.score_visits),
            by_importance: self.tally.by_importance(),
            audit_change_rate: None,
            audit_eligible: self.audit_eligible.zip(other.audit_eligible).map(|(own, more)| own + more),
            estimates: super::Estimates::default(),
            cutoff: self.cutoff.into_iter().chain(other.cutoff).reduce(f64::min),
            started,
            cycle_started: self.cycle_started().min(other.cycle_started()),
            seconds: ended.saturating_sub(started) as f64 / 1000.0,
            tally: std::mem::take(&mut self.tally),
            ..self.clone()
        };
    }
}
