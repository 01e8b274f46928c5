//! Putting the data directories of several partitions together, in scratch folders that nobody else uses.
//!
//! Ranges do not overlap, and come in the order of URLs. So pages, visits and rows of hosts are put one behind another; what counts
//! all pages is added up. The folder of the partition with the highest round takes in the others.

use super::links::marks_before;
use super::range::refuse_in_progress;
use crate::crawl::ARCHIVE_END;
use crate::failure::Failure;
use crate::operator::control::joined as control;
use crate::operator::stopped::StoppedCrawl;
use crate::parts::seed_hosts;
use crate::report::cycle_totals::CycleTotals;
use crate::report::facts::Facts;
use crate::report::joined::joined_reports;
use crate::report::{JOINING, RoundReport};
use crate::settings::Settings;
use crate::stored::{self, keep, kept};
use joined_files::{join_copies, join_messages};
use recrawl_archive::{ArchiveEnd, ArchiveMark, WarcFiles, add_renumbered, opener};
use recrawl_fleet::RunMarks;
use recrawl_repository::storage::Storage;
use recrawl_repository::{
    CarriedPages, CarriedWriter, Generation, JoinedRound, Repository, is_untried, join_kept,
};
use recrawl_types::{ArchivePosition, DatedRound, PageRecord};
use recrawl_verifier::{BatchLimits, FoundLinks, MergeReport, SortedWaiting, WaitingLinks};
use rounds::aligned;
use std::cmp::Reverse;

mod joined_files;
mod rounds;

/// Takes a link, by key and value; false if it refuses it.
pub(super) type TakesLink<'t> = dyn FnMut(&[u8], &[u8]) -> Result<bool, Failure> + 't;

/// Gives the links that a partition has not applied, by its place and its marks.
pub(super) type GivesLinks<'g> = dyn FnMut(usize, RunMarks, &mut TakesLink<'_>) -> Result<(), Failure> + 'g;

/// Folders that were put together.
pub(super) struct JoinedFolders {
    /// The place of the folder that has all.
    pub base: usize,
    /// Its crawl.
    pub crawl: StoppedCrawl,
}

/// The parts while they are put together.
struct Joining {
    /// In the order of URLs.
    parts: Vec<StoppedCrawl>,
    base: usize,
    /// Numbers that are added to those of each part's WARC files.
    shifts: Vec<u32>,
    /// The round by which they are put together.
    round: DatedRound,
    now: u64,
}

/// Puts these folders together, in the order of URLs. What is stopped on the way is of no use.
///
/// # Errors
/// When a round is in progress in one of them, or something cannot be read or written.
pub(super) fn join_folders(
    parts: &[Settings],
    links: &mut GivesLinks<'_>,
    now: u64,
) -> Result<JoinedFolders, Failure> {
    let opened = parts.iter().map(StoppedCrawl::open).collect::<Result<Vec<_>, _>>()?;
    opened.iter().try_for_each(refuse_in_progress)?;
    let last: Vec<DatedRound> = opened.iter().map(|part| part.repository.current().dated()).collect();
    let base = (0..last.len()).max_by_key(|at| (last[*at].round, Reverse(*at))).unwrap_or_default();
    let cycle = last.iter().map(|last| last.cycle).max().unwrap_or_default();
    let round = DatedRound { round: last[base].round.next(), cycle };
    let mut joining = Joining { shifts: vec![0; opened.len()], parts: opened, base, round, now };
    joining.archives(parts)?;
    joining.beside_pages()?;
    let limits = BatchLimits { memory_bytes: parts[base].config.storage.batch_memory.0 as usize };
    let waiting = joining.waiting(&last, limits, links)?;
    joining.carried(&last)?;
    let tables = &joining.parts[base].tables;
    CycleTotals::hand_on_joined(joining.parts.iter().map(|part| &part.tables).zip(&last), tables, round)?;
    tables.flush()?;
    joining.pages(waiting)?;
    let Joining { mut parts, base, .. } = joining;
    Ok(JoinedFolders { base, crawl: parts.swap_remove(base) })
}

impl Joining {
    fn base(&self) -> &StoppedCrawl {
        &self.parts[self.base]
    }

    fn others(&self) -> impl Iterator<Item = (usize, &StoppedCrawl)> {
        self.parts.iter().enumerate().filter(|(at, _)| *at != self.base)
    }

    /// Puts the WARC files of the others behind those of the base.
    fn archives(&mut self, settings: &[Settings]) -> Result<(), Failure> {
        let archives =
            settings.iter().map(|part| opener::create(&part.data_dir)).collect::<Result<Vec<_>, _>>()?;
        let mut highest = Vec::new();
        let mut has_mark = false;
        for (part, archive) in self.parts.iter().zip(&archives) {
            let mark: Option<ArchiveMark> = kept(&part.tables, ARCHIVE_END)?;
            has_mark |= mark.is_some();
            if mark.is_some_and(|mark| mark.is_open) {
                return Err(Failure::Work(format!(
                    "{}: its last archive was not closed; start a process of the fleet that finishes it first",
                    archive.locate("")
                )));
            }
            let newest = WarcFiles::in_storage(&**archive)?.newest();
            // Newer files may have been moved away, and pages name them all the same.
            highest.push(newest.max(mark.map_or(0, |mark| mark.end.number)));
        }
        let mut end = highest[self.base];
        for at in (0..self.parts.len()).filter(|at| *at != self.base) {
            self.shifts[at] = end;
            add_renumbered(&*archives[self.base], &*archives[at], end, self.now)?;
            let number = end.checked_add(highest[at]);
            end = number.ok_or_else(|| Failure::Work("the archives have too many files".into()))?;
        }
        if has_mark {
            let (archive, files) = (&archives[self.base], WarcFiles::in_storage(&*archives[self.base])?);
            let length = files.name(end).ok().map(|name| archive.open(name)?.length()).transpose()?;
            let end = ArchiveEnd { number: end, length: length.unwrap_or_default() };
            keep(&self.base().tables, ARCHIVE_END, &ArchiveMark { end, is_open: false })?;
        }
        Ok(())
    }

    fn moved(&self, at: usize, position: ArchivePosition) -> ArchivePosition {
        ArchivePosition { file: position.file.saturating_add(self.shifts[at]), ..position }
    }

    /// Puts all together that is beside the pages.
    fn beside_pages(&mut self) -> Result<(), Failure> {
        let rounds = self.kept_rounds()?;
        join_messages(&self.parts, self.base, &rounds, self.round.round)?;
        let order: Vec<usize> = std::iter::once(self.base).chain(self.others().map(|(at, _)| at)).collect();
        let place = |at: usize| order.iter().position(|of| *of == at).unwrap_or_default();
        let storages: Vec<&dyn Storage> = order.iter().map(|at| &*self.parts[*at].storage).collect();
        let by_place = |round: &JoinedRound| JoinedRound {
            parts: round.parts.iter().map(|(at, of_part)| (place(*at), *of_part)).collect(),
            ..round.clone()
        };
        join_kept(&storages, &rounds.iter().map(by_place).collect::<Vec<_>>()).map_err(Failure::work)?;
        let storages: Vec<&dyn Storage> = self.parts.iter().map(|part| &*part.storage).collect();
        join_copies(&storages, self.base)?;
        let base = self.base();
        for (at, part) in self.others() {
            base.tables.add_rows(&part.tables, &|position| self.moved(at, position))?;
            control::add_waiting(&base.tables, &part.tables)?;
            seed_hosts::add_failing(&base.tables, &part.tables)?;
            stored::add_seed_sites(&base.tables, stored::seed_sites(&part.tables, &[])?)?;
            Facts::join(&base.tables, &part.tables)?;
        }
        let decided = self.parts.iter().map(|part| part.decided.clone()).reduce(|all, more| all.and(more));
        decided.unwrap_or_default().write(&*base.storage)?;
        let reports: Vec<&Repository> = self.parts.iter().map(|part| &part.repository).collect();
        let reports = joined_reports(&reports, self.round.round)?;
        let repository = &mut self.parts[self.base].repository;
        let mut file = repository.begin_reports().map_err(Failure::work)?;
        reports
            .iter()
            .try_for_each(|report| file.push(&report.to_json()).map(drop))
            .map_err(Failure::work)?;
        repository.put_reports(file).map_err(Failure::work)
    }

    /// The rounds whose visits are kept, with new numbers, oldest first.
    fn kept_rounds(&self) -> Result<Vec<JoinedRound>, Failure> {
        let mut rounds = Vec::new();
        for part in &self.parts {
            let kept = part.repository.kept();
            let mut of_part = kept.list()?;
            of_part.extend(kept.list_hosts()?);
            of_part.sort_unstable();
            of_part.dedup();
            rounds.push(of_part);
        }
        Ok(aligned(&rounds, self.round.round))
    }

    /// The links that wait in each, and those that others sent and it has not applied.
    fn waiting(
        &self,
        last: &[DatedRound],
        limits: BatchLimits,
        links: &mut GivesLinks<'_>,
    ) -> Result<SortedWaiting, Failure> {
        let mut waiting = WaitingLinks::new(self.base().storage.clone(), self.round, limits);
        for (at, part) in self.parts.iter().enumerate() {
            let marks = marks_before(&part.tables, last[at].round.next())?;
            let mut take = |key: &[u8], value: &[u8]| -> Result<bool, Failure> {
                let Ok(found) = FoundLinks::read(value) else { return Ok(false) };
                waiting.add_found(key, found).map_err(Failure::work)?;
                Ok(true)
            };
            links(at, marks, &mut take)?;
        }
        let waited = self.parts.iter().filter_map(|part| part.repository.current().waiting());
        waiting.finish(waited.collect::<Vec<_>>()).map_err(Failure::work)
    }

    /// Puts together what the last round of each did not reach.
    fn carried(&self, last: &[DatedRound]) -> Result<(), Failure> {
        let mut writer: Option<CarriedWriter> = None;
        let storage = &*self.base().storage;
        for (part, last) in self.parts.iter().zip(last).filter(|(_, last)| last.cycle == self.round.cycle) {
            let Some(mut carried) = CarriedPages::open(&*part.storage, last.round.next())? else { continue };
            if writer.is_none() {
                writer =
                    Some(CarriedWriter::create(storage, self.round.round.next()).map_err(Failure::work)?);
            }
            let writer = writer.as_mut().expect("just made");
            while let Some(page) = carried.next_page()? {
                writer.push(&page).map_err(Failure::work)?;
            }
        }
        writer.map_or(Ok(()), |writer| writer.finish().map_err(Failure::work).map(drop))
    }

    /// Commits a generation with the pages of all, and the links that wait.
    fn pages(&mut self, mut waiting: SortedWaiting) -> Result<(), Failure> {
        let nothing = Generation::default();
        let mut next = self.base().repository.begin(&nothing, self.round.cycle).map_err(Failure::work)?;
        let mut merged = MergeReport::default();
        for (at, part) in self.parts.iter().enumerate() {
            let generation = part.repository.current();
            let mut records = generation.records();
            while let Some((_, key, mut record)) = records.next_record()? {
                self.move_record(at, &mut record);
                merged.pages += 1;
                merged.visited += u64::from(record.visited.is_some());
                merged.never_tried += u64::from(is_untried(&record.known));
                next.push(key, &record).map_err(Failure::work)?;
            }
        }
        while let Some(record) = waiting.next_record().map_err(Failure::work)? {
            merged.links_waiting += 1;
            next.wait(record).map_err(Failure::work)?;
        }
        waiting.remove().map_err(Failure::work)?;
        let report = RoundReport::without_visits(JOINING, self.round, self.now, &merged, self.now);
        self.parts[self.base].repository.commit(next, &report.to_json()).map_err(Failure::work)
    }

    fn move_record(&self, at: usize, record: &mut PageRecord) {
        let content = record.visited.as_mut().map(|visited| &mut visited.content);
        if let Some(position) = content.and_then(|content| content.archive.as_mut()) {
            *position = self.moved(at, *position);
        }
    }
}
