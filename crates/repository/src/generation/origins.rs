//! The runs of pages of one origin (scheme, host, port): a small table beside the pages.

use crate::file::bytes::{Malformed, Put, Take};
use crate::file::error::{CommitError, ReadError, WriteError};
use crate::file::format::{FileKind, generation_file};
use crate::file::frames::{FrameReader, FrameSource, FrameWriter};
use crate::generation::codec::{put_key, take_key};
use crate::generation::manifest::GenerationSummary;
use crate::storage::Storage;
use recrawl_types::{CanonicalUrl, Round, UrlError};
use std::iter::Peekable;
use std::ops::Range;
use std::vec::IntoIter;

/// The consecutive pages of one origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginRun {
    /// [`CanonicalUrl::origin_key`] of its pages.
    pub key: Vec<u8>,
    /// Ordinal of its first page.
    pub first: u64,
    /// Its pages.
    pub pages: u64,
    /// Of these, visited.
    pub visited: u64,
}

impl OriginRun {
    /// The origin's own address: the path `/`, whether that page is known or not.
    ///
    /// # Errors
    /// When the key is none, as after damage on disk.
    pub fn home(&self) -> Result<CanonicalUrl, UrlError> {
        CanonicalUrl::from_key(&[&self.key[..], b"/"].concat())
    }
}

/// A frame is closed when it holds this much.
const FRAME: usize = 64 << 10;

pub(crate) fn file(number: Round) -> String {
    generation_file(number, "origins")
}

/// Writes the runs of a generation, from those of the one before and what came to them.
pub(crate) struct OriginWriter {
    frames: FrameWriter,
    payload: Vec<u8>,
    last: Vec<u8>,
    before: OriginRuns,
    /// The next run of the generation before.
    ahead: Option<OriginRun>,
    run: Option<OriginRun>,
    pub origins: u64,
}

impl OriginWriter {
    pub fn create(
        storage: &dyn Storage,
        number: Round,
        before: OriginRuns,
    ) -> Result<OriginWriter, CommitError> {
        let frames = FrameWriter::create(storage, &file(number), FileKind::Origins, number)?;
        let (payload, last) = (Vec::new(), Vec::new());
        let mut writer = OriginWriter { frames, payload, last, before, ahead: None, run: None, origins: 0 };
        writer.read_ahead()?;
        Ok(writer)
    }

    fn read_ahead(&mut self) -> Result<(), ReadError> {
        self.ahead = self.before.next_run()?.cloned();
        Ok(())
    }

    /// Adds pages to an origin, or visited ones to those it has. Origins come in order.
    pub fn add(&mut self, origin: &[u8], pages: u64, visited: u64) -> Result<(), CommitError> {
        if self.run.as_ref().is_none_or(|run| run.key != origin) {
            self.close()?;
            while let Some(run) = self.ahead.take_if(|run| run.key.as_slice() < origin) {
                self.put(run)?;
                self.read_ahead()?;
            }
            let known = self.ahead.take_if(|run| run.key == origin);
            if known.is_some() {
                self.read_ahead()?;
            }
            let new = || OriginRun { key: origin.to_vec(), first: 0, pages: 0, visited: 0 };
            self.run = Some(known.unwrap_or_else(new));
        }
        let run = self.run.as_mut().expect("just made");
        run.pages += pages;
        run.visited += visited;
        Ok(())
    }

    fn close(&mut self) -> Result<(), WriteError> {
        self.run.take().map_or(Ok(()), |run| self.put(run))
    }

    fn put(&mut self, run: OriginRun) -> Result<(), WriteError> {
        assert!(self.last.is_empty() || self.last < run.key, "origins must come in order");
        put_key(&mut self.payload, &self.last, &run.key);
        self.payload.put_varint(run.pages);
        self.payload.put_varint(run.visited);
        self.last = run.key;
        self.origins += 1;
        if self.payload.len() >= FRAME { self.push_frame() } else { Ok(()) }
    }

    fn push_frame(&mut self) -> Result<(), WriteError> {
        self.frames.push(&self.payload)?;
        self.payload.clear();
        self.last.clear();
        Ok(())
    }

    /// Durable but for its name.
    pub fn finish(&mut self) -> Result<u64, CommitError> {
        self.close()?;
        while let Some(run) = self.ahead.take() {
            self.put(run)?;
            self.read_ahead()?;
        }
        if !self.payload.is_empty() {
            self.push_frame()?;
        }
        Ok(self.frames.sync()?)
    }
}

/// A walk over the runs of a generation, in order. It holds one frame of them.
pub struct OriginRuns {
    /// None for the empty generation.
    frames: Option<FrameReader>,
    payload: Vec<u8>,
    at: usize,
    /// The run given last, and the buffer in which the key of the next one is put together.
    run: OriginRun,
    next_key: Vec<u8>,
    /// Runs given so far, and how many there are of runs and of pages.
    given: u64,
    origins: u64,
    pages: u64,
    /// Pages of the generation that is walked, in order: runs without one are passed over.
    held: Peekable<IntoIter<Range<u64>>>,
}

impl OriginRuns {
    pub(crate) fn new(
        source: Option<FrameSource>,
        summary: &GenerationSummary,
        held: Vec<Range<u64>>,
    ) -> OriginRuns {
        let frames = source.map(|source| {
            let end = source.length();
            FrameReader::over(source, FileKind::Origins, end)
        });
        let run = OriginRun { key: Vec::new(), first: 0, pages: 0, visited: 0 };
        let GenerationSummary { origins, pages, .. } = *summary;
        let (payload, next_key, held) = (Vec::new(), Vec::new(), held.into_iter().peekable());
        OriginRuns { frames, payload, at: 0, run, next_key, given: 0, origins, pages, held }
    }

    /// The number of runs before the next one, from the first of the generation on.
    pub fn given(&self) -> u64 {
        self.given
    }

    /// The run of a page, whose ordinal is not below that of a page asked for before; none if there is no such page.
    /// Runs that [`OriginRuns::next_run`] gave count as asked for.
    ///
    /// # Errors
    /// When it cannot be read.
    ///
    /// # Panics
    /// When the ordinals do not ascend.
    pub fn of_page(&mut self, ordinal: u64) -> Result<Option<&OriginRun>, ReadError> {
        assert!(self.run.first <= ordinal, "the ordinals must ascend");
        while self.run.first + self.run.pages <= ordinal {
            if self.next_run()?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(&self.run))
    }

    /// The next run; none at the end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn next_run(&mut self) -> Result<Option<&OriginRun>, ReadError> {
        while self.read_run()? {
            let OriginRun { first, pages, .. } = self.run;
            while self.held.next_if(|held| held.end <= first).is_some() {}
            if self.held.peek().is_some_and(|held| held.start < first + pages) {
                return Ok(Some(&self.run));
            }
        }
        Ok(None)
    }

    /// Reads the next run; false at the end.
    fn read_run(&mut self) -> Result<bool, ReadError> {
        let Some(frames) = &mut self.frames else { return Ok(false) };
        if self.at == self.payload.len() {
            let offset = frames.offset();
            let Some(payload) = frames.next_frame()? else {
                // A file cut between two frames has no other sign of it.
                if (self.given, self.run.first + self.run.pages) != (self.origins, self.pages) {
                    return Err(frames.damaged(offset, "it does not end where the manifest says"));
                }
                return Ok(false);
            };
            self.payload.clear();
            self.payload.extend_from_slice(payload);
            self.at = 0;
        }
        let mut take = Take(&self.payload[self.at..]);
        self.next_key.clear();
        if self.at > 0 {
            self.next_key.extend_from_slice(&self.run.key);
        }
        let next = take_run(&mut take, &mut self.run, &mut self.next_key);
        self.at = self.payload.len() - take.0.len();
        match next {
            Ok(()) => {
                self.given += 1;
                Ok(true)
            }
            Err(Malformed(what)) => Err(frames.damaged(frames.offset(), what)),
        }
    }
}

/// Takes the run that follows `run` in its place. `key` has the key that the next one shares bytes with.
fn take_run(take: &mut Take<'_>, run: &mut OriginRun, key: &mut Vec<u8>) -> Result<(), Malformed> {
    take_key(take, key)?;
    let (pages, visited) = (take.varint()?, take.varint()?);
    let first = run.first + run.pages;
    if first.checked_add(pages).is_none() || pages == 0 || visited > pages || run.key >= *key {
        return Err(Malformed("the origins are not in order"));
    }
    std::mem::swap(&mut run.key, key);
    (run.first, run.pages, run.visited) = (first, pages, visited);
    Ok(())
}

/// Where the frames of a generation's runs begin, so that a walk can begin anywhere. Memory: 24 bytes for some
/// thousand origins.
pub struct OriginIndex {
    source: Option<FrameSource>,
    frames: Vec<FrameStart>,
    origins: u64,
    pages: u64,
}

/// Where a frame begins, the number of its first origin, and the ordinal of that origin's first page.
struct FrameStart {
    offset: u64,
    origin: u64,
    page: u64,
}

impl OriginIndex {
    /// Reads all runs once.
    pub(crate) fn read(
        source: Option<FrameSource>,
        summary: &GenerationSummary,
    ) -> Result<OriginIndex, ReadError> {
        let mut runs = OriginRuns::new(source.clone(), summary, std::iter::once(0..summary.pages).collect());
        let mut frames: Vec<FrameStart> = Vec::new();
        loop {
            let is_first = runs.at == runs.payload.len();
            let offset = runs.frames.as_ref().map_or(0, FrameReader::offset);
            let (origin, page) = (runs.given, runs.run.first + runs.run.pages);
            if runs.next_run()?.is_none() {
                break;
            }
            if is_first {
                frames.push(FrameStart { offset, origin, page });
            }
        }
        Ok(OriginIndex { source, frames, origins: summary.origins, pages: summary.pages })
    }

    /// Number of origins.
    pub fn origins(&self) -> u64 {
        self.origins
    }

    /// Walks the runs from number `origin` on, counted from 0.
    ///
    /// # Errors
    /// When a run cannot be read.
    pub fn walk_from(&self, origin: u64) -> Result<OriginRuns, ReadError> {
        let summary =
            GenerationSummary { origins: self.origins, pages: self.pages, ..GenerationSummary::default() };
        let mut runs =
            OriginRuns::new(self.source.clone(), &summary, std::iter::once(0..self.pages).collect());
        let before = self.frames.partition_point(|frame| frame.origin <= origin);
        if let Some(frame) = before.checked_sub(1).map(|at| &self.frames[at]) {
            runs.frames = runs.frames.map(|frames| frames.from(frame.offset));
            (runs.given, runs.run.first) = (frame.origin, frame.page);
        }
        while runs.given < origin.min(self.origins) {
            runs.next_run()?;
        }
        Ok(runs)
    }
}

#[cfg(test)]
pub(crate) mod tests;
