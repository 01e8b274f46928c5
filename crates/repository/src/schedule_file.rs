//! A cycle's schedule on disk: entries in frames of one host each, and a table of where they lie.
//!
//! The table is its own file, renamed into place last: a schedule whose table is there is complete.

use crate::bytes::{Malformed, Put, Take};
use crate::codec::{put_entry, put_key, take_entry, take_key};
use crate::error::{ReadError, WriteError};
use crate::format::{FileKind, UNFINISHED, cycle_file, open_frame};
use crate::frames::{FrameReader, FrameWriter, Source};
use crate::storage::Storage;
use recrawl_types::{CanonicalUrl, Cycle, HostRun, ScheduleEntry, ScheduleSource};
use std::io;

/// Entries in a frame at most: what the fetcher reads of a host at a time.
const FRAME_ENTRIES: usize = 32;
/// Bytes after which a frame of the table is closed.
const TABLE_FRAME: usize = 64 << 10;

fn entries_file(cycle: Cycle) -> String {
    cycle_file(cycle, "schedule")
}

fn table_file(cycle: Cycle) -> String {
    cycle_file(cycle, "hosts")
}

/// Where a frame of entries lies: 24 bytes for up to 32 entries.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    start: u64,
    offset: u64,
    length: u32,
}

/// Writes a schedule.
pub struct ScheduleWriter<'s> {
    storage: &'s dyn Storage,
    cycle: Cycle,
    entries: FrameWriter,
    payload: Vec<u8>,
    /// Entries in `payload`.
    held: usize,
    count: u64,
    last: Option<CanonicalUrl>,
    hosts: Vec<HostRun>,
    chunks: Vec<Chunk>,
}

impl<'s> ScheduleWriter<'s> {
    /// Begins the schedule of a cycle, in place of an older one.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(storage: &'s dyn Storage, cycle: Cycle) -> Result<ScheduleWriter<'s>, WriteError> {
        let table = table_file(cycle);
        match storage.remove(&table) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            // Durably: a table must never come back and speak of other entries.
            removed => removed
                .and_then(|()| storage.sync_dir())
                .map_err(WriteError::of(storage.locate(&table), "remove"))?,
        }
        let entries = FrameWriter::create(storage, &entries_file(cycle), FileKind::Schedule, cycle)?;
        let (hosts, chunks) = Default::default();
        Ok(ScheduleWriter {
            storage,
            cycle,
            entries,
            payload: Vec::new(),
            held: 0,
            count: 0,
            last: None,
            hosts,
            chunks,
        })
    }

    /// Appends an entry.
    ///
    /// # Errors
    /// When the disk takes no more, or its URL does not come behind the one before: then the schedule cannot be finished
    /// in the order in which it is read, and is to be made anew.
    pub fn push(&mut self, entry: &ScheduleEntry) -> Result<(), WriteError> {
        let url = &entry.url;
        if self.last.as_ref().is_some_and(|last| last >= url) {
            let what = io::Error::new(io::ErrorKind::InvalidInput, format!("{url} is out of order"));
            return Err(WriteError::of(self.storage.locate(&entries_file(self.cycle)), "add an entry")(what));
        }
        let same_host = self.hosts.last().is_some_and(|run| run.first.same_origin(url));
        if !same_host || self.held == FRAME_ENTRIES {
            self.close_frame()?;
        }
        match self.hosts.last_mut() {
            Some(run) if same_host => run.count += 1,
            _ => self.hosts.push(HostRun { first: url.clone(), start: self.count, count: 1 }),
        }
        let near = match &self.last {
            Some(last) if self.held > 0 => last.key(),
            _ => &[],
        };
        put_entry(&mut self.payload, near, entry);
        self.last = Some(url.clone());
        self.held += 1;
        self.count += 1;
        Ok(())
    }

    fn close_frame(&mut self) -> Result<(), WriteError> {
        if self.held > 0 {
            let (offset, length) = self.entries.push(&self.payload)?;
            self.chunks.push(Chunk { start: self.count - self.held as u64, offset, length });
            self.payload.clear();
            self.held = 0;
        }
        Ok(())
    }

    /// Makes the schedule durable and complete; gives the number of its entries.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn finish(mut self) -> Result<u64, WriteError> {
        self.close_frame()?;
        self.entries.sync()?;
        let name = table_file(self.cycle);
        let unfinished = format!("{name}{UNFINISHED}");
        let mut table = FrameWriter::create(self.storage, &unfinished, FileKind::Schedule, self.cycle)?;
        let mut payload = Vec::new();
        let mut chunks = self.chunks.iter().peekable();
        for run in &self.hosts {
            put_key(&mut payload, &[], run.first.key());
            payload.put_varint(run.count);
            let end = run.start + run.count;
            let mut of_run = Vec::new();
            while let Some(chunk) = chunks.next_if(|c| c.start < end) {
                of_run.push(chunk);
            }
            payload.put_varint(of_run.len() as u64);
            for chunk in of_run {
                payload.put_varint(chunk.offset);
                payload.put_varint(chunk.length.into());
            }
            if payload.len() >= TABLE_FRAME {
                table.push(&payload)?;
                payload.clear();
            }
        }
        if !payload.is_empty() {
            table.push(&payload)?;
        }
        table.sync()?;
        let path = self.storage.locate(&name);
        self.storage.sync_dir().map_err(WriteError::of(&path, "sync"))?;
        self.storage.rename(&unfinished, &name).map_err(WriteError::of(&path, "rename"))?;
        self.storage.sync_dir().map_err(WriteError::of(&path, "sync"))?;
        Ok(self.count)
    }
}

/// A complete schedule, read host by host. Memory: an entry a host and 24 bytes for 32 pages.
pub struct ScheduleFile {
    source: Source,
    hosts: Vec<HostRun>,
    chunks: Vec<Chunk>,
    count: u64,
}

impl ScheduleFile {
    /// Opens the schedule of a cycle; none when there is no complete one.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn open(storage: &dyn Storage, cycle: Cycle) -> Result<Option<ScheduleFile>, ReadError> {
        let mut table = match FrameReader::open(storage, &table_file(cycle), FileKind::Schedule, cycle) {
            Err(e) if e.is_absent() => return Ok(None),
            other => other?,
        };
        let source = Source::open(storage, &entries_file(cycle), FileKind::Schedule, cycle)?;
        let mut file = ScheduleFile { source, hosts: Vec::new(), chunks: Vec::new(), count: 0 };
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
            let first = CanonicalUrl::from_key(&key).map_err(|_| Malformed("a key is no URL's"))?;
            let count = take.varint()?;
            let chunks: u64 = take.varint()?;
            if count == 0 || chunks != count.div_ceil(FRAME_ENTRIES as u64) {
                return Err(Malformed("a host has not the frames of its pages"));
            }
            for i in 0..chunks {
                let start = self.count + i * FRAME_ENTRIES as u64;
                let chunk = Chunk { start, offset: take.varint()?, length: take.narrow()? };
                if chunk.offset.saturating_add(chunk.length.into()) > self.source.length() {
                    return Err(Malformed("its entries end before"));
                }
                self.chunks.push(chunk);
            }
            self.hosts.push(HostRun { first, start: self.count, count });
            self.count += count;
        }
        Ok(())
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
}

#[cfg(test)]
mod tests;
