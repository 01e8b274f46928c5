//! How long reports are kept: those of the last rounds one by one, those of older rounds added up by cycle.

use crate::failure::Failure;
use crate::report::RoundReport;
use recrawl_repository::{FrameWriter, Repository};

/// Rounds whose reports are kept one by one, at least. As many more are committed before older ones are added up.
pub const KEPT_ROUNDS: u32 = 10_000;
/// Cycles whose reports are kept: at one an hour, five years.
pub const KEPT_CYCLES: u32 = 50_000;

/// Adds up the reports of old rounds, if there are many.
///
/// # Errors
/// When reports cannot be read or written. The old ones stay then.
pub fn shorten(repository: &mut Repository) -> Result<(), Failure> {
    if is_due(repository, KEPT_ROUNDS, KEPT_CYCLES)? {
        shorten_to(repository, KEPT_ROUNDS, KEPT_CYCLES)?;
    }
    Ok(())
}

fn is_due(repository: &Repository, rounds: u32, cycles: u32) -> Result<bool, Failure> {
    let now = repository.current().dated();
    if now.round.0 < rounds {
        return Ok(false);
    }
    // Cycles of one round each are as long when they are added up.
    let can_be_shorter = now.round.0.saturating_sub(now.cycle.0) >= rounds || now.cycle.0 >= cycles + rounds;
    let replaced = repository.reports_replaced().map_err(Failure::work)?;
    Ok(can_be_shorter && now.round.since(replaced) >= rounds)
}

fn shorten_to(repository: &mut Repository, rounds: u32, cycles: u32) -> Result<(), Failure> {
    let now = repository.current().dated();
    let Some(last) = last(repository)? else { return Ok(()) };
    // A cycle that goes on is planned by what its rounds did.
    let is_recent = |report: &RoundReport| {
        now.round.0 - report.round.min(now.round.0) < rounds || report.cycle_started() >= last.cycle_started()
    };
    let mut reports = repository.reports().map_err(Failure::work)?;
    let mut shorter = repository.begin_reports().map_err(Failure::work)?;
    let mut cycle: Option<RoundReport> = None;
    while let Some(bytes) = reports.next_report().map_err(Failure::work)? {
        let report: RoundReport = serde_json::from_slice(bytes).map_err(Failure::work)?;
        if is_recent(&report) {
            push(&mut shorter, cycle.take())?;
            shorter.push(bytes).map_err(Failure::work)?;
        } else if now.cycle.0.saturating_sub(report.cycle) < cycles {
            match &mut cycle {
                Some(cycle) if cycle.is_continued_by(&report) => cycle.add(&report),
                cycle => push(&mut shorter, cycle.replace(report))?,
            }
        }
    }
    push(&mut shorter, cycle)?;
    repository.replace_reports(shorter).map_err(Failure::work)?;
    Ok(())
}

fn last(repository: &Repository) -> Result<Option<RoundReport>, Failure> {
    let (mut reports, mut last) = (repository.reports().map_err(Failure::work)?, Vec::new());
    while let Some(bytes) = reports.next_report().map_err(Failure::work)? {
        last.clear();
        last.extend_from_slice(bytes);
    }
    match last.is_empty() {
        true => Ok(None),
        false => serde_json::from_slice(&last).map_err(Failure::work),
    }
}

fn push(shorter: &mut FrameWriter, cycle: Option<RoundReport>) -> Result<(), Failure> {
    let Some(cycle) = cycle else { return Ok(()) };
    shorter.push(&cycle.to_json()).map_err(Failure::work)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SoFar;
    use crate::open_read::{add_round, last_rounds};
    use crate::report::facts::Facts;
    use crate::report::{CycleSample, Tally};
    use crate::round::RoundKind;
    use recrawl_fetcher::StoppedBy;
    use recrawl_repository::Generation;
    use recrawl_repository::storage::{MemoryStorage, Storage};
    use recrawl_types::{Cycle, DatedRound, Round};
    use recrawl_verifier::MergeReport;
    use std::collections::VecDeque;
    use std::sync::Arc;

    /// Commits `rounds` rounds in each of `cycles` cycles.
    fn crawl(cycles: u32, rounds: u32) -> (Arc<dyn Storage>, Repository) {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let mut repository = Repository::open(storage.clone()).unwrap();
        for (cycle, nth) in (1..=cycles).flat_map(|cycle| (0..rounds).map(move |nth| (cycle, nth))) {
            let round = Round(repository.current().number().0 + 1);
            let started = u64::from(round.0) * 1000;
            let facts = Facts::without_plan(DatedRound { cycle: Cycle(cycle), round }, started, "t");
            let tally = Tally { fetched: u64::from(round.0), ..Tally::default() };
            let merged = MergeReport::default();
            let report = RoundReport::new(
                &facts,
                tally,
                &CycleSample::default(),
                &merged,
                StoppedBy::End,
                started + 700,
            );
            let kind = if nth == 0 { RoundKind::Revisit } else { RoundKind::Fill };
            let cycle_started = u64::from(round.0 - nth) * 1000;
            let report =
                RoundReport { kind, cycle_started, change_rate: Some(0.1 + f64::from(round.0)), ..report };
            let empty = Generation::default();
            let writer = repository.begin(&empty, Cycle(cycle)).unwrap();
            repository.commit(writer, &report.to_json()).unwrap();
        }
        (storage, repository)
    }

    fn by_cycle(repository: &Repository) -> Vec<RoundReport> {
        let mut cycles = VecDeque::new();
        last_rounds(repository)
            .unwrap()
            .into_iter()
            .for_each(|round| add_round(&mut cycles, round, usize::MAX));
        cycles.into()
    }

    fn rounds(repository: &Repository) -> Vec<(u32, u32)> {
        last_rounds(repository).unwrap().iter().map(|report| (report.round, report.rounds)).collect()
    }

    fn so_far(repository: &Repository) -> SoFar {
        let mut so_far = SoFar::default();
        last_rounds(repository).unwrap().iter().for_each(|report| so_far.add(report));
        so_far
    }

    #[test]
    fn cycles_stay_what_they_were_and_the_last_rounds_stay_one_by_one() {
        let (storage, mut repository) = crawl(6, 4);
        let before = (by_cycle(&repository), so_far(&repository));
        assert!(is_due(&repository, 10, 100).unwrap());
        shorten_to(&mut repository, 10, 100).unwrap();
        assert_eq!((by_cycle(&repository), so_far(&repository)), before);
        let mut expected = vec![(4, 4), (8, 4), (12, 4), (14, 2)];
        expected.extend((15..=24).map(|round| (round, 1)));
        assert_eq!(rounds(&repository), expected);
        assert!(!is_due(&repository, 10, 100).unwrap(), "not again at once");
        drop(repository);
        let again = Repository::open(storage).unwrap();
        assert_eq!((rounds(&again), again.verify()), (expected, vec![]));
        assert!(!is_due(&again, 10, 100).unwrap(), "nor after a start");
    }

    #[test]
    fn the_cycle_that_goes_on_keeps_its_rounds_and_old_cycles_are_removed() {
        let (_, mut repository) = crawl(5, 7);
        let before = so_far(&repository);
        shorten_to(&mut repository, 3, 2).unwrap();
        assert_eq!(so_far(&repository), before);
        let expected: Vec<_> = [(28, 7)].into_iter().chain((29..=35).map(|round| (round, 1))).collect();
        assert_eq!(rounds(&repository), expected);
    }

    #[test]
    fn what_would_take_no_less_room_stays_and_is_not_tried_each_time() {
        let (_, mut repository) = crawl(20, 1);
        assert!(!is_due(&repository, 5, 100).unwrap(), "no cycle has two rounds");
        let before = rounds(&repository);
        shorten_to(&mut repository, 5, 100).unwrap();
        assert_eq!(rounds(&repository), before);
        assert_eq!(repository.reports_replaced().unwrap(), Round(20));
    }
}
