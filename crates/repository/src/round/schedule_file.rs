//! A round's schedule on disk: entries in frames of one host each, and a table of where they lie.
//!
//! The table is its own file, renamed into place last: a schedule whose table is there is complete. Entries of a host lie
//! in the order in which they are asked for; where they have more than one frame, their order by URL lies behind them.
//! A schedule that an older program began has another table: its entries are in the order of URLs.

mod writer;

pub use writer::{Ranked, ScheduleWriter};

use crate::file::bytes::{Malformed, Take};
use crate::file::error::ReadError;
use crate::file::format::{FileKind, open_frame, round_file};
use crate::file::frames::{FrameReader, FrameSource};
use crate::generation::codec::{take_entry, take_key};
use crate::storage::Storage;
use recrawl_types::{CanonicalUrl, HostRun, Round, ScheduleEntry, SchedulePlace, ScheduleSource};
use std::cmp::Ordering;
use std::io;

/// Entries in a frame at most: what the fetcher reads of a host at a time.
const FRAME_ENTRIES: usize = 32;
/// Entries in a frame of the order by URL, 4 bytes each.
const URLS: usize = 4096;
/// Bytes after which a frame of the table is closed.
const TABLE_FRAME: usize = 64 << 10;

fn entries_file(round: Round) -> String {
    round_file(round, "schedule")
}

fn table_file(round: Round) -> String {
    round_file(round, "queues")
}

/// The table of older programs.
fn old_table_file(round: Round) -> String {
    round_file(round, "hosts")
}

/// Where a frame lies: 24 bytes for up to 32 entries, and for up to 4,096 in their order by URL.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    start: u64,
    offset: u64,
    length: u32,
}

/// A complete schedule, read host by host. Memory: an entry a host and 25 bytes for 32 pages.
pub struct ScheduleFile {
    source: FrameSource,
    hosts: Vec<HostRun>,
    chunks: Vec<Chunk>,
    /// The order by URL, of hosts with more than one chunk.
    urls: Vec<Chunk>,
    /// Are all entries in that order anyway?
    is_by_url: bool,
    count: u64,
}

impl ScheduleFile {
    /// Opens the schedule of a round; none when there is no complete one.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn open(storage: &dyn Storage, round: Round) -> Result<Option<ScheduleFile>, ReadError> {
        let open = |name: &str| match FrameReader::open(storage, name, FileKind::Schedule, round) {
            Err(e) if e.is_absent() => Ok(None),
            other => other.map(Some),
        };
        let (table, is_by_url) = match open(&table_file(round))? {
            Some(table) => (Some(table), false),
            None => (open(&old_table_file(round))?, true),
        };
        let Some(mut table) = table else { return Ok(None) };
        let source = FrameSource::open(storage, &entries_file(round), FileKind::Schedule, round)?;
        let (hosts, chunks, urls) = Default::default();
        let mut file = ScheduleFile { source, hosts, chunks, urls, is_by_url, count: 0 };
        loop {
            let offset = table.offset();
            let Some(payload) = table.next_frame()? else { return Ok(Some(file)) };
            if let Err(Malformed(what)) = file.take_runs(payload) {
                return Err(table.damaged(offset, what));
            }
        }
    }

    fn take_runs(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let mut take = Take(payload);
        while !take.0.is_empty() {
            let mut key = Vec::new();
            take_key(&mut take, &mut key)?;
            let first = CanonicalUrl::from_key(&key).map_err(|_| Malformed("a key is not a URL"))?;
            let count = take.varint()?;
            let chunks: u64 = take.varint()?;
            if count == 0 || chunks != count.div_ceil(FRAME_ENTRIES as u64) {
                return Err(Malformed("the frames of a host do not match its pages"));
            }
            for i in 0..chunks {
                let chunk = self.take_chunk(&mut take, i * FRAME_ENTRIES as u64)?;
                self.chunks.push(chunk);
            }
            let urls = if self.is_by_url || chunks == 1 { 0 } else { count.div_ceil(URLS as u64) };
            for i in 0..urls {
                let chunk = self.take_chunk(&mut take, i * URLS as u64)?;
                self.urls.push(chunk);
            }
            self.hosts.push(HostRun { first, start: self.count, count });
            self.count += count;
        }
        Ok(())
    }

    /// Takes the place of a frame that begins with this entry of the host at hand.
    fn take_chunk(&self, take: &mut Take<'_>, first: u64) -> Result<Chunk, Malformed> {
        let chunk = Chunk { start: self.count + first, offset: take.varint()?, length: take.narrow()? };
        if chunk.offset.saturating_add(chunk.length.into()) > self.source.length() {
            return Err(Malformed("its entries end too early"));
        }
        Ok(chunk)
    }

    /// The index of the host's entry at this place in the order by URL.
    fn index_by_url(&self, host: &HostRun, place: u64) -> Result<u64, ReadError> {
        if self.is_by_url {
            return Ok(host.start + place);
        }
        let chunk = self.urls[self.urls.partition_point(|c| c.start <= host.start + place) - 1];
        let mut frame = vec![0; chunk.length as usize];
        self.source.read_exact(&mut frame, chunk.offset)?;
        let mut scratch = Vec::new();
        let mut index = || {
            let indexes = open_frame(&frame, FileKind::Schedule, &mut scratch)?;
            let at = (host.start + place - chunk.start) as usize * 4;
            let index = indexes.get(at..at + 4).ok_or(Malformed("its order by URL ends too early"))?;
            let index = u64::from(Take(index).u32()?);
            if index < host.count {
                Ok(host.start + index)
            } else {
                Err(Malformed("a host has no entry with this index"))
            }
        };
        index().map_err(|Malformed(what)| self.source.damaged(chunk.offset, what))
    }

    fn read_chunk(&self, chunk: Chunk, entries: &mut Vec<ScheduleEntry>) -> Result<(), ReadError> {
        let mut frame = vec![0; chunk.length as usize];
        self.source.read_exact(&mut frame, chunk.offset)?;
        let mut scratch = Vec::new();
        let mut all = || {
            let mut take = Take(open_frame(&frame, FileKind::Schedule, &mut scratch)?);
            let mut key = Vec::new();
            while !take.0.is_empty() {
                entries.push(take_entry(&mut take, &mut key, self.source.version())?);
            }
            Ok(())
        };
        all().map_err(|Malformed(what)| self.source.damaged(chunk.offset, what))
    }
}

impl ScheduleSource for ScheduleFile {
    fn hosts(&self) -> &[HostRun] {
        &self.hosts
    }

    fn len(&self) -> u64 {
        self.count
    }

    fn read(&self, host: &HostRun, start: u64, max: usize) -> io::Result<Vec<ScheduleEntry>> {
        let end = (host.start + host.count).min(start.saturating_add(max as u64));
        let mut entries = Vec::new();
        if start < host.start || start >= end {
            return Ok(entries);
        }
        let mut at = self.chunks.partition_point(|c| c.start <= start) - 1;
        let skip = (start - self.chunks[at].start) as usize;
        while at < self.chunks.len() && self.chunks[at].start < end {
            self.read_chunk(self.chunks[at], &mut entries)?;
            at += 1;
        }
        entries.truncate((end - start) as usize + skip);
        entries.drain(..skip.min(entries.len()));
        Ok(entries)
    }

    /// Two binary searches: over the hosts in memory, and over the host's order by URL where it lies.
    fn find(&self, url: &CanonicalUrl) -> io::Result<Option<SchedulePlace>> {
        let found = self.hosts.binary_search_by(|run| run.first.origin_key().cmp(url.origin_key()));
        let Ok(at) = found else { return Ok(None) };
        let host = &self.hosts[at];
        if !self.is_by_url && host.count <= FRAME_ENTRIES as u64 {
            let entries = (host.start..).zip(self.read(host, host.start, FRAME_ENTRIES)?);
            let found = entries.into_iter().find(|(_, entry)| entry.url == *url);
            return Ok(found.map(|(index, entry)| SchedulePlace { host: at, index, entry }));
        }
        let (mut low, mut high) = (0, host.count);
        while low < high {
            let place = low + (high - low) / 2;
            let index = self.index_by_url(host, place)?;
            let entry = self.read(host, index, 1)?.pop();
            let entry = entry.ok_or_else(|| io::Error::other("it ends too early"))?;
            match entry.url.cmp(url) {
                Ordering::Equal => return Ok(Some(SchedulePlace { host: at, index, entry })),
                Ordering::Less => low = place + 1,
                Ordering::Greater => high = place,
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
