//! The runs of pages of one origin (scheme, host, port): a small table beside the pages.

use crate::bytes::{Malformed, Put, Take};
use crate::codec::{put_key, take_key};
use crate::error::{ReadError, WriteError};
use crate::format::{FileKind, generation_file};
use crate::frames::{FrameReader, FrameWriter, Source};
use crate::manifest::Summary;
use crate::storage::Storage;
use recrawl_types::{CanonicalUrl, Cycle, UrlError};

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

pub(crate) fn file(number: Cycle) -> String {
    generation_file(number, "origins")
}

/// Gathers the runs while pages are written, and writes each when the next begins.
pub(crate) struct OriginWriter {
    frames: FrameWriter,
    payload: Vec<u8>,
    last: Vec<u8>,
    run: Option<OriginRun>,
    pub origins: u64,
}

/// The part of a key that all pages of an origin share: up to port and scheme behind the first zero.
fn origin_of(key: &[u8]) -> &[u8] {
    let host = key.iter().position(|&b| b == 0).unwrap_or(key.len());
    &key[..(host + 4).min(key.len())]
}

impl OriginWriter {
    pub fn create(storage: &dyn Storage, number: Cycle) -> Result<OriginWriter, WriteError> {
        let frames = FrameWriter::create(storage, &file(number), FileKind::Origins, number)?;
        Ok(OriginWriter { frames, payload: Vec::new(), last: Vec::new(), run: None, origins: 0 })
    }

    pub fn push(&mut self, ordinal: u64, key: &[u8], visited: bool) -> Result<(), WriteError> {
        let same = self.run.as_ref().is_some_and(|run| key.starts_with(&run.key));
        if !same {
            self.close()?;
            self.run = Some(OriginRun { key: origin_of(key).to_vec(), first: ordinal, pages: 0, visited: 0 });
        }
        let run = self.run.as_mut().expect("just made");
        run.pages += 1;
        run.visited += u64::from(visited);
        Ok(())
    }

    fn close(&mut self) -> Result<(), WriteError> {
        let Some(run) = self.run.take() else { return Ok(()) };
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
    pub fn finish(&mut self) -> Result<u64, WriteError> {
        self.close()?;
        if !self.payload.is_empty() {
            self.push_frame()?;
        }
        self.frames.sync()
    }
}

/// Reads all runs, in order.
pub(crate) fn read(source: Source, summary: &Summary) -> Result<Vec<OriginRun>, ReadError> {
    let end = source.length();
    let mut frames = FrameReader::over(source, FileKind::Origins, end);
    let mut runs: Vec<OriginRun> = Vec::new();
    loop {
        let offset = frames.offset();
        let Some(payload) = frames.next_frame()? else {
            let pages = runs.last().map_or(0, |run| run.first + run.pages);
            // A file cut between two frames has no other sign of it.
            if (runs.len() as u64, pages) != (summary.origins, summary.pages) {
                return Err(frames.damaged(offset, "it does not end where the manifest says"));
            }
            return Ok(runs);
        };
        if let Err(Malformed(what)) = take_runs(payload, &mut runs) {
            return Err(frames.damaged(offset, what));
        }
    }
}

fn take_runs(payload: &[u8], runs: &mut Vec<OriginRun>) -> Result<(), Malformed> {
    let mut take = Take(payload);
    let mut key = Vec::new();
    while !take.0.is_empty() {
        take_key(&mut take, &mut key)?;
        let (pages, visited) = (take.varint()?, take.varint()?);
        let first = runs.last().map_or(0, |run: &OriginRun| run.first + run.pages);
        if first.checked_add(pages).is_none()
            || pages == 0
            || visited > pages
            || runs.last().is_some_and(|run| run.key >= key)
        {
            return Err(Malformed("the origins are not in order"));
        }
        runs.push(OriginRun { key: key.clone(), first, pages, visited });
    }
    Ok(())
}
