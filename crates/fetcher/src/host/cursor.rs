//! The part of the schedule that belongs to one origin, read in chunks: what keeps memory at O(open
//! hosts) whatever the schedule's length.

use crate::fetch::Run;
use crate::limits::CHUNK;
use crate::outcome::{Condition, FetchError, FetchResult, FetchedPage, Hold};
use recrawl_types::{CanonicalUrl, HostRun, Origin, Outcome, ScheduleEntry};
use std::collections::VecDeque;
use std::time::Duration;

/// A page waiting to be asked for.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub index: Option<u64>,
    pub entry: ScheduleEntry,
    pub hops: u8,
    pub condition: Condition,
    /// See [`FetchedPage::sitemaps`].
    pub sitemaps: Option<Vec<CanonicalUrl>>,
}

impl Waiting {
    /// A page of which nothing is decided yet.
    pub fn of(index: Option<u64>, entry: ScheduleEntry) -> Waiting {
        let (hops, condition) = (entry.record.known.hops, Condition::Unconditional);
        Waiting { index, hops, entry, condition, sitemaps: None }
    }

    /// The page, settled without a request.
    pub fn settled(self, outcome: Outcome, now: u64) -> FetchedPage {
        FetchedPage {
            index: self.index,
            entry: self.entry,
            hops: self.hops,
            result: FetchResult::Nothing(outcome),
            condition: Condition::Unconditional,
            at: now,
            elapsed: Duration::ZERO,
            sitemaps: self.sitemaps,
            hold: Hold::default(),
        }
    }
}

/// The part of the schedule that belongs to one origin, read in chunks.
#[derive(Debug)]
pub struct Cursor {
    run: HostRun,
    /// The next entry to read.
    next: u64,
    /// Entries read and not taken.
    chunk: VecDeque<(u64, ScheduleEntry)>,
}

impl Cursor {
    /// At the run's first entry.
    pub fn new(run: &HostRun) -> Cursor {
        Cursor { next: run.start, run: run.clone(), chunk: VecDeque::new() }
    }

    /// The origin of all its pages.
    pub fn origin(&self) -> Origin {
        Origin::of(&self.run.first)
    }

    /// Lets go of what was read and not taken; it is read again.
    pub fn fold(&mut self) {
        self.next = self.chunk.front().map_or(self.next, |(index, _)| *index);
        self.chunk = VecDeque::new();
    }

    /// Reads on until an entry that is not done is at hand; false at the end.
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
                // An entry of another host would escape this host's politeness.
                return Err(error(std::io::Error::other("its entries are not those of its host")));
            }
            let first = self.next;
            self.next += entries.len() as u64;
            let taken = run.taken();
            let is_due = |index: &u64| !taken.contains(index) && !(run.done)(*index);
            self.chunk.extend((first..).zip(entries).filter(|(index, _)| is_due(index)));
        }
        Ok(!self.chunk.is_empty())
    }

    /// The page at the front, if [`Cursor::fill`] saw one.
    pub fn front(&self) -> Option<&ScheduleEntry> {
        self.chunk.front().map(|(_, entry)| entry)
    }

    /// Is everything read and taken?
    pub fn is_at_end(&self) -> bool {
        self.chunk.is_empty() && self.next == self.run.start + self.run.count
    }

    /// The next page that is not done.
    pub fn next(&mut self, run: &Run) -> Result<Option<Waiting>, FetchError> {
        self.fill(run)?;
        Ok(self.pop())
    }

    /// The page at the front, taken; none before [`Cursor::fill`].
    pub fn pop(&mut self) -> Option<Waiting> {
        let (index, entry) = self.chunk.pop_front()?;
        Some(Waiting::of(Some(index), entry))
    }

    /// Is the entry one of this run?
    pub fn holds(&self, index: u64) -> bool {
        (self.run.start..self.run.start + self.run.count).contains(&index)
    }

    /// Was the entry not read yet?
    pub fn is_ahead(&self, index: u64) -> bool {
        index >= self.next
    }

    /// Takes an entry that was read, out of its turn; none when it was taken already.
    pub fn take(&mut self, index: u64) -> Option<Waiting> {
        let at = self.chunk.binary_search_by_key(&index, |(index, _)| *index).ok()?;
        let (index, entry) = self.chunk.remove(at)?;
        Some(Waiting::of(Some(index), entry))
    }

    /// Entries that were not taken; those that an interrupted run visited are among them until they are read.
    pub fn queue(&self) -> u64 {
        self.run.start + self.run.count - self.next + self.chunk.len() as u64
    }
}
