//! The part of the schedule that belongs to one origin, read in chunks: this keeps memory at O(open
//! hosts) for any length of the schedule.

use crate::host::detour::Detour;
use crate::net::limits::CHUNK;
use crate::outcome::chain::Chain;
use crate::outcome::{Condition, FetchError, FetchResult, FetchedPage, Hold};
use crate::run::Run;
use crate::run::resources::Ticket;
use recrawl_types::{CanonicalUrl, HostRun, Origin, Outcome, ScheduleEntry};
use std::collections::VecDeque;
use std::time::Duration;

/// A page to request.
#[derive(Clone, Debug)]
pub struct QueuedPage {
    pub index: Option<u64>,
    pub entry: ScheduleEntry,
    pub hops: u8,
    pub condition: Condition,
    /// See [`FetchedPage::sitemaps`].
    pub sitemaps: Option<Vec<CanonicalUrl>>,
    /// The waiter, if it is no page but a resource of one.
    pub ticket: Option<Ticket>,
    /// The redirects behind which it is requested.
    pub chain: Option<Box<Chain>>,
    /// The pages that wait for it.
    pub detour: Option<Box<Detour>>,
}

impl QueuedPage {
    pub fn new(index: Option<u64>, entry: ScheduleEntry) -> QueuedPage {
        let (hops, condition) = (entry.record.known.hops, Condition::Unconditional);
        QueuedPage { index, hops, entry, condition, sitemaps: None, ticket: None, chain: None, detour: None }
    }

    /// May it be requested from public addresses only?
    pub fn is_public_only(&self) -> bool {
        self.ticket.as_ref().is_some_and(|ticket| ticket.manner.is_public_only)
    }

    /// Ends the page without a request, and with it those that wait for it.
    pub fn finish(mut self, outcome: Outcome, now: u64) -> Vec<FetchedPage> {
        let mut detour = self.detour.take().map(|detour| *detour).unwrap_or_default();
        // What was answered is no less true because the page is not requested again.
        let answered =
            detour.answered.take().map(|answered| FetchedPage { sitemaps: self.sitemaps.take(), ..answered });
        detour.end(answered.unwrap_or_else(|| FetchedPage {
            index: self.index,
            entry: self.entry,
            hops: self.hops,
            result: FetchResult::Nothing(outcome),
            condition: Condition::Unconditional,
            at: now,
            elapsed: Duration::ZERO,
            sitemaps: self.sitemaps,
            hold: Hold::default(),
        }))
    }
}

/// Reads the entries of one origin in chunks.
#[derive(Debug)]
pub struct Cursor {
    run: HostRun,
    /// Index of the next entry to read.
    next: u64,
    /// Entries that were read and not taken.
    chunk: VecDeque<(u64, ScheduleEntry)>,
}

impl Cursor {
    pub fn new(run: &HostRun) -> Cursor {
        Cursor { next: run.start, run: run.clone(), chunk: VecDeque::new() }
    }

    /// The first entry of its origin.
    pub fn start(&self) -> u64 {
        self.run.start
    }

    pub fn origin(&self) -> Origin {
        Origin::from_url(&self.run.first)
    }

    /// Frees the entries that were read and not taken. They are read again later.
    pub fn unload(&mut self) {
        self.next = self.chunk.front().map_or(self.next, |(index, _)| *index);
        self.chunk = VecDeque::new();
    }

    /// Reads on until an entry that is not done is in memory; false at the end.
    pub fn fill(&mut self, run: &Run) -> Result<bool, FetchError> {
        let end = self.run.start + self.run.count;
        while self.chunk.is_empty() && self.next < end {
            let max = CHUNK.min((end - self.next) as usize);
            let error = |source| FetchError::Schedule { index: self.next, source };
            let entries = run.schedule.read(&self.run, self.next, max).map_err(error)?;
            let sound = !entries.is_empty()
                && entries.len() <= max
                && entries.iter().all(|e| e.url.same_origin(&self.run.first));
            if !sound {
                // An entry of another host would bypass that host's politeness.
                return Err(error(std::io::Error::other("its entries belong to another host")));
            }
            let first = self.next;
            self.next += entries.len() as u64;
            let taken = run.taken_early();
            let is_due = |index: &u64| !taken.contains(index) && !(run.done)(*index);
            self.chunk.extend((first..).zip(entries).filter(|(index, _)| is_due(index)));
        }
        Ok(!self.chunk.is_empty())
    }

    /// The first page that [`Cursor::fill`] read.
    pub fn front(&self) -> Option<&ScheduleEntry> {
        self.chunk.front().map(|(_, entry)| entry)
    }

    /// Are all entries read and taken?
    pub fn is_at_end(&self) -> bool {
        self.chunk.is_empty() && self.next == self.run.start + self.run.count
    }

    /// The entries that are not done, without reading them.
    pub fn rest(self, run: &Run) -> Vec<u64> {
        let (taken, unread) = (run.taken_early(), self.next..self.run.start + self.run.count);
        let unread = unread.filter(|index| !taken.contains(index) && !(run.done)(*index));
        self.chunk.iter().map(|(index, _)| *index).chain(unread).collect()
    }

    /// Takes the first page that [`Cursor::fill`] read.
    pub fn pop(&mut self) -> Option<QueuedPage> {
        let (index, entry) = self.chunk.pop_front()?;
        Some(QueuedPage::new(Some(index), entry))
    }

    /// Does the entry belong to this run?
    pub fn contains(&self, index: u64) -> bool {
        (self.run.start..self.run.start + self.run.count).contains(&index)
    }

    pub fn is_unread(&self, index: u64) -> bool {
        index >= self.next
    }

    /// Takes an entry from the chunk; none if it was taken already.
    pub fn take(&mut self, index: u64) -> Option<QueuedPage> {
        let at = self.chunk.binary_search_by_key(&index, |(index, _)| *index).ok()?;
        let (index, entry) = self.chunk.remove(at)?;
        Some(QueuedPage::new(Some(index), entry))
    }

    /// Number of entries that were not taken. It includes unread entries that an interrupted run
    /// visited.
    pub fn pages_left(&self) -> u64 {
        self.run.start + self.run.count - self.next + self.chunk.len() as u64
    }
}
