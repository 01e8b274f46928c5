//! Gathers a batch: sorted in memory, spilled to disk in sorted runs when it exceeds its limit.

use crate::BatchError;
use crate::found::FoundLinks;
use crate::gathered::LinkBuffer;
use crate::runs::BatchRuns;
use crate::sorted::SortedBatch;
use crate::touch::Links;
use recrawl_repository::VisitReader;
use recrawl_repository::codec::LinkRef;
use recrawl_repository::storage::Storage;
use recrawl_types::{CanonicalUrl, Cycle, DatedRound, LogRecord, OutcomeEffect, ScheduleSource, Visit};
use std::collections::HashSet;
use std::sync::Arc;
use std::thread;

/// Limits of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Memory limit in bytes, by an estimate that errs upwards. Beyond it the batch is spilled as a
    /// sorted run. With 0, each link and visit becomes a run.
    pub memory_bytes: usize,
}

impl Default for BatchLimits {
    /// 256 MiB: about two and a half million links.
    fn default() -> BatchLimits {
        BatchLimits { memory_bytes: 256 << 20 }
    }
}

/// The visits and links of a cycle, gathered in the order of the log.
#[derive(Debug)]
pub struct Batch {
    limits: BatchLimits,
    cycle: Cycle,
    gathered: LinkBuffer,
    /// Origins with a visited page or a seed, also those already spilled; one small entry each.
    main: HashSet<Box<[u8]>>,
    runs: BatchRuns,
    threads: usize,
}

impl Batch {
    /// An empty batch of a round that spills to `storage`.
    pub fn new(storage: Arc<dyn Storage>, round: DatedRound, limits: BatchLimits) -> Batch {
        Batch::with_runs_from(storage, round, limits, 0)
    }

    /// The same whose runs have numbers from `first` on.
    pub(crate) fn with_runs_from(
        storage: Arc<dyn Storage>,
        round: DatedRound,
        limits: BatchLimits,
        first: u32,
    ) -> Batch {
        let threads = thread::available_parallelism().map_or(1, |n| n.get());
        Batch {
            limits,
            cycle: round.cycle,
            gathered: LinkBuffer::with_limit(limits.memory_bytes),
            main: HashSet::new(),
            runs: BatchRuns::new(storage, round, first),
            threads,
        }
    }

    /// Sorts on `threads` threads; the result does not depend on their number.
    #[cfg(test)]
    pub(crate) fn on_threads(self, threads: usize) -> Batch {
        Batch { threads, ..self }
    }

    /// Adds the cycle's whole log, which another thread reads. `observe` gets each visit and its
    /// number of links, in log order; also those of pages that the log says were skipped, which
    /// `schedule` names. `admit` decides whether a link is added; seeds always are.
    ///
    /// # Errors
    /// If reading the log or the schedule, or writing a run fails. Drop the batch then.
    pub fn add_log(
        &mut self,
        log: VisitReader,
        schedule: &dyn ScheduleSource,
        mut observe: impl FnMut(&Visit, usize),
        mut admit: impl FnMut(&LinkRef<'_>) -> bool,
    ) -> Result<(), BatchError> {
        log.scan(|chunk| {
            for (record, links) in chunk.drain() {
                match &record {
                    LogRecord::Seeds(_) => self.add_apart(record, links)?,
                    LogRecord::Skipped(skipped) => skipped.each(schedule, |visit| {
                        observe(&visit, 0);
                        self.add_visit(Box::new(visit))
                    })?,
                    LogRecord::Visit(visit) => {
                        observe(visit, links.len());
                        self.add_apart(record, links.filter(&mut admit))?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// If writing a run fails. Drop the batch then; the log still has every record.
    ///
    /// # Panics
    /// If the record is of skipped pages, which only their schedule names.
    pub fn add(&mut self, mut record: LogRecord) -> Result<(), BatchError> {
        let links = match &mut record {
            LogRecord::Visit(visit) => std::mem::take(&mut visit.links),
            LogRecord::Seeds(links) => std::mem::take(links),
            LogRecord::Skipped(_) => panic!("skipped pages come with a log"),
        };
        self.add_apart(record, links.iter().map(LinkRef::from))
    }

    /// Adds links that another crawl found, as if this one had found them in its round.
    ///
    /// # Errors
    /// If writing a run fails. Drop the batch then.
    pub fn add_found(&mut self, key: &[u8], found: FoundLinks) -> Result<(), BatchError> {
        for links in found.parts() {
            self.gathered.add_links(key, &links);
            self.spill_if_full()?;
        }
        Ok(())
    }

    /// Adds a link, not of a seed.
    pub(crate) fn add_link(&mut self, link: &LinkRef<'_>) -> Result<(), BatchError> {
        self.gathered.add_links(link.key, &Links::from_link(link, false, self.cycle));
        self.spill_if_full()
    }

    /// Adds a record whose links are passed separately.
    fn add_apart<'l>(
        &mut self,
        record: LogRecord,
        links: impl Iterator<Item = LinkRef<'l>>,
    ) -> Result<(), BatchError> {
        let is_seed = matches!(record, LogRecord::Seeds(_));
        for link in links {
            if is_seed {
                self.note_main(CanonicalUrl::origin_of(link.key));
            }
            self.gathered.add_links(link.key, &Links::from_link(&link, is_seed, self.cycle));
            self.spill_if_full()?;
        }
        if let LogRecord::Visit(visit) = record { self.add_visit(visit) } else { Ok(()) }
    }

    fn add_visit(&mut self, visit: Box<Visit>) -> Result<(), BatchError> {
        // A page that is only skipped needs no block, so its origin's links need not hurry.
        if visit.outcome.effect() != OutcomeEffect::Nothing {
            self.note_main(visit.url.origin_key());
        }
        self.gathered.add_visit(visit);
        self.spill_if_full()
    }

    fn note_main(&mut self, origin: &[u8]) {
        if !self.main.contains(origin) {
            self.main.insert(origin.into());
        }
    }

    fn spill_if_full(&mut self) -> Result<(), BatchError> {
        if self.gathered.bytes() > self.limits.memory_bytes || !self.gathered.has_room() {
            self.gathered.sort(self.threads);
            self.runs.spill(&mut self.gathered)?;
            self.gathered.clear();
        }
        Ok(())
    }

    /// Ends the batch and opens its runs.
    ///
    /// # Errors
    /// If a run cannot be opened.
    pub fn finish(mut self) -> Result<SortedBatch, BatchError> {
        self.gathered.sort(self.threads);
        SortedBatch::open(self.runs, self.gathered, self.main)
    }
}

#[cfg(test)]
mod tests;
