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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{DIVISION, Tally};
    use recrawl_repository::Generation;
    use recrawl_repository::storage::{MemoryStorage, Storage};
    use recrawl_types::{Cycle, DatedRound};
    use recrawl_verifier::MergeReport;
    use std::sync::Arc;

    fn commit(repository: &mut Repository, cycle: u32, fetched: u64, name: &str) {
        let round = DatedRound { round: repository.current().number().next(), cycle: Cycle(cycle) };
        let merged = MergeReport { pages: fetched, ..MergeReport::default() };
        let started = u64::from(cycle) * 1000 + fetched;
        let report = RoundReport::without_visits("t", round, started, &merged, started + 500);
        let tally = Tally { fetched, ..Tally::default() };
        let report = RoundReport { tally, of_k: fetched, stopped_by: name.into(), ..report };
        let empty = Generation::default();
        let next = repository.begin(&empty, round.cycle).unwrap();
        repository.commit(next, &report.to_json()).unwrap();
    }

    #[test]
    fn cycles_are_added_up_and_what_two_have_in_common_counts_once() {
        let open = || {
            let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
            Repository::open(storage).unwrap()
        };
        let (mut first, mut second) = (open(), open());
        // The second was divided off in cycle 2.
        for repository in [&mut first, &mut second] {
            commit(repository, 1, 100, "schedule");
            commit(repository, 2, 200, "schedule");
        }
        commit(&mut first, 2, 70, DIVISION);
        commit(&mut second, 2, 30, DIVISION);
        commit(&mut first, 3, 7, "schedule");
        commit(&mut second, 3, 5, "schedule");
        let joined = joined_reports(&[&first, &second], Round(9)).unwrap();
        let told: Vec<_> = joined
            .iter()
            .map(|report| (report.round, report.cycle, report.tally.fetched, report.is_of_crawl()))
            .collect();
        assert_eq!(
            told,
            [(4, 1, 100, true), (5, 2, 200, true), (6, 2, 70, false), (7, 2, 30, false), (8, 3, 12, true)]
        );
        let last = &joined[4];
        assert_eq!((last.of_k, last.pages_known, last.started, last.ended()), (12, 12, 3005, 3507));
        // They are longer than those of the first, and are its reports all the same.
        let mut file = first.begin_reports().unwrap();
        joined.iter().for_each(|report| file.push(&report.to_json()).map(drop).unwrap());
        first.put_reports(file).unwrap();
        let storage = first.storage().clone();
        drop(first);
        let first = Repository::open(storage).unwrap();
        assert_eq!((crate::open_read::last_rounds(&first).unwrap(), first.verify()), (joined, vec![]));
    }
}
