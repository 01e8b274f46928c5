//! The pages that a round did not reach, for the next round of its cycle.
//!
//! The file has the number of that next round, in the order of URLs. It is written before the commit of
//! the round that did not reach them, and is void if that commit never happens.

use crate::file::bytes::{Malformed, Put, Take};
use crate::file::error::{ReadError, WriteError};
use crate::file::format::{FileKind, round_file};
use crate::file::frames::{FrameReader, FrameSource, FrameWriter};
use crate::generation::codec::{put_entry, take_entry};
use crate::round::schedule_file::Ranked;
use crate::storage::Storage;
use recrawl_types::Round;
use std::collections::VecDeque;

/// Entries in a frame.
const FRAME_ENTRIES: usize = 256;

fn file(round: Round) -> String {
    round_file(round, "carried")
}

/// Writes the pages carried into a round.
pub struct CarriedWriter {
    frames: FrameWriter,
    payload: Vec<u8>,
    near: Vec<u8>,
    /// Entries in the frame at hand.
    held: usize,
    count: u64,
}

impl CarriedWriter {
    /// Begins the file of this round, in place of an older one.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(storage: &dyn Storage, round: Round) -> Result<CarriedWriter, WriteError> {
        let frames = FrameWriter::create(storage, &file(round), FileKind::Schedule, round)?;
        let (payload, near, held, count) = Default::default();
        Ok(CarriedWriter { frames, payload, near, held, count })
    }

    /// Appends a page with its place in the order of its host. Pages come in the order of their URLs.
    ///
    /// # Errors
    /// When the disk takes no more.
    pub fn push(&mut self, Ranked { entry, rank }: &Ranked) -> Result<(), WriteError> {
        self.payload.put_varint(*rank);
        put_entry(&mut self.payload, &self.near, entry);
        self.near.clear();
        self.near.extend_from_slice(entry.url.key());
        (self.held, self.count) = (self.held + 1, self.count + 1);
        if self.held == FRAME_ENTRIES { self.close_frame() } else { Ok(()) }
    }

    fn close_frame(&mut self) -> Result<(), WriteError> {
        if self.held > 0 {
            self.frames.push(&self.payload)?;
            self.payload.clear();
            self.near.clear();
            self.held = 0;
        }
        Ok(())
    }

    /// Makes the file durable, up to its name, which the commit syncs; gives the number of pages.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn finish(mut self) -> Result<u64, WriteError> {
        self.close_frame()?;
        self.frames.sync()?;
        Ok(self.count)
    }
}

/// Reads the pages carried into a round.
pub struct CarriedPages {
    frames: FrameReader,
    version: u32,
    read: VecDeque<Ranked>,
}

impl CarriedPages {
    /// Opens the file of this round; none if nothing was carried into it.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn open(storage: &dyn Storage, round: Round) -> Result<Option<CarriedPages>, ReadError> {
        let source = match FrameSource::open(storage, &file(round), FileKind::Schedule, round) {
            Err(e) if e.is_absent() => return Ok(None),
            other => other?,
        };
        let (version, end) = (source.version(), source.length());
        let frames = FrameReader::over(source, FileKind::Schedule, end);
        Ok(Some(CarriedPages { frames, version, read: VecDeque::new() }))
    }

    /// The next page, with the record that it had when it was planned; none at the end.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_page(&mut self) -> Result<Option<Ranked>, ReadError> {
        while self.read.is_empty() {
            let offset = self.frames.offset();
            let Some(payload) = self.frames.next_frame()? else { return Ok(None) };
            if let Err(Malformed(what)) = take_entries(payload, self.version, &mut self.read) {
                return Err(self.frames.damaged(offset, what));
            }
        }
        Ok(self.read.pop_front())
    }
}

fn take_entries(payload: &[u8], version: u32, entries: &mut VecDeque<Ranked>) -> Result<(), Malformed> {
    let (mut take, mut key) = (Take(payload), Vec::new());
    while !take.0.is_empty() {
        let rank = take.varint()?;
        entries.push_back(Ranked { entry: take_entry(&mut take, &mut key, version)?, rank });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryStorage;
    use crate::testing::entry;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const ROUND: Round = Round(4);

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn what_was_carried_comes_back_whole(mut entries in vec(entry(), 0..600)) {
            entries.sort_by(|a, b| a.url.cmp(&b.url));
            entries.dedup_by(|a, b| a.url == b.url);
            let entries: Vec<Ranked> = (0..).zip(entries).map(|(rank, entry)| Ranked { entry, rank }).collect();
            let storage = MemoryStorage::new();
            prop_assert!(CarriedPages::open(&storage, ROUND).unwrap().is_none());
            let mut writer = CarriedWriter::create(&storage, ROUND).unwrap();
            entries.iter().try_for_each(|entry| writer.push(entry)).unwrap();
            prop_assert_eq!(writer.finish().unwrap(), entries.len() as u64);
            let mut pages = CarriedPages::open(&storage, ROUND).unwrap().unwrap();
            let mut back = Vec::new();
            while let Some(entry) = pages.next_page().unwrap() {
                back.push(entry);
            }
            prop_assert_eq!(back, entries);
            prop_assert!(CarriedPages::open(&storage, Round(5)).unwrap().is_none());
        }
    }
}
