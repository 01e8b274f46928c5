//! Writes a schedule: the entries of each host in the order in which they are asked for.
//!
//! Entries come in the order of their URLs. Those of one host are put in order in parts of [`PART`], and the frames of its
//! parts are dealt one after the other: so memory stays within one part, and a host of many parts is still asked for the
//! first pages of each part first. For [`ScheduleFile::find`](super::ScheduleFile) the order of URLs is kept beside it.

use super::{FRAME_ENTRIES, TABLE_FRAME, URLS, entries_file, old_table_file, table_file};
use crate::file::bytes::Put;
use crate::file::error::WriteError;
use crate::file::format::{FileKind, UNFINISHED};
use crate::file::frames::FrameWriter;
use crate::generation::codec::{put_entry, put_key};
use crate::storage::Storage;
use recrawl_types::{CanonicalUrl, Round, ScheduleEntry};
use std::io;

/// Entries of a host that are put in order at a time: a multiple of [`FRAME_ENTRIES`].
pub const PART: usize = 1 << 15;

/// An entry with its place in the order of its share.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The entry.
    pub entry: ScheduleEntry,
    /// The lower the earlier.
    pub rank: u64,
}

/// Puts entries of one host in the order in which they are asked for: each of their places once.
type Order<'s> = dyn Fn(&[Ranked]) -> Vec<u32> + 's;

/// Writes a schedule.
pub struct ScheduleWriter<'s> {
    storage: &'s dyn Storage,
    round: Round,
    order: Box<Order<'s>>,
    entries: FrameWriter,
    count: u64,
    /// Entries of the host at hand, in the order of their URLs.
    part: Vec<Ranked>,
    host: Option<HostAtHand>,
    last: Option<CanonicalUrl>,
    table: FrameWriter,
    row: Vec<u8>,
}

/// What is known of the host that is being written.
#[derive(Default)]
struct HostAtHand {
    /// Frames of entries, part by part: where each lies, and its length.
    parts: Vec<Vec<(u64, u32)>>,
    /// In the order of URLs: part, and place in it.
    places: Vec<(u32, u32)>,
    /// The key of the first entry that is asked for.
    first: Vec<u8>,
}

impl<'s> ScheduleWriter<'s> {
    /// Begins the schedule of a round, in place of an older one. Hosts are asked in the order of URLs.
    ///
    /// # Errors
    /// When the files cannot be made.
    pub fn create(storage: &'s dyn Storage, round: Round) -> Result<ScheduleWriter<'s>, WriteError> {
        ScheduleWriter::in_order(storage, round, |pages| (0..pages.len() as u32).collect())
    }

    /// The same; each host is asked in this order.
    ///
    /// # Errors
    /// When the files cannot be made.
    pub fn in_order(
        storage: &'s dyn Storage,
        round: Round,
        order: impl Fn(&[Ranked]) -> Vec<u32> + 's,
    ) -> Result<ScheduleWriter<'s>, WriteError> {
        let mut removed = false;
        for table in [table_file(round), old_table_file(round)] {
            match storage.remove(&table) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                other => {
                    other.map_err(WriteError::during(storage.locate(&table), "remove"))?;
                    removed = true;
                }
            }
        }
        if removed {
            // Durably: a table must never come back and speak of other entries.
            storage.sync_dir().map_err(WriteError::during(storage.locate(&table_file(round)), "remove"))?;
        }
        let entries = FrameWriter::create(storage, &entries_file(round), FileKind::Schedule, round)?;
        let unfinished = format!("{}{UNFINISHED}", table_file(round));
        let table = FrameWriter::create(storage, &unfinished, FileKind::Schedule, round)?;
        let (part, row) = Default::default();
        let (order, host, last) = (Box::new(order), None, None);
        Ok(ScheduleWriter { storage, round, order, entries, count: 0, part, host, last, table, row })
    }

    /// Appends an entry, the first of its share.
    ///
    /// # Errors
    /// As of [`ScheduleWriter::push_ranked`].
    pub fn push(&mut self, entry: &ScheduleEntry) -> Result<(), WriteError> {
        self.push_ranked(Ranked { entry: entry.clone(), rank: 0 })
    }

    /// Appends an entry.
    ///
    /// # Errors
    /// When the disk takes no more, or its URL does not come behind the one before: then the entry is left out.
    pub fn push_ranked(&mut self, ranked: Ranked) -> Result<(), WriteError> {
        let url = &ranked.entry.url;
        if self.last.as_ref().is_some_and(|last| last >= url) {
            let what = io::Error::new(io::ErrorKind::InvalidInput, format!("{url} is out of order"));
            return Err(WriteError::during(self.storage.locate(&entries_file(self.round)), "add an entry")(
                what,
            ));
        }
        if self.last.as_ref().is_some_and(|last| !last.same_origin(url)) {
            self.close_host()?;
        }
        self.last = Some(url.clone());
        self.part.push(ranked);
        self.count += 1;
        if self.part.len() == PART { self.close_part() } else { Ok(()) }
    }

    /// Writes the part at hand.
    fn close_part(&mut self) -> Result<(), WriteError> {
        if self.part.is_empty() {
            return Ok(());
        }
        let order = (self.order)(&self.part);
        let host = self.host.get_or_insert_default();
        let (part, start) = (host.parts.len() as u32, host.places.len());
        if part == 0 {
            host.first = self.part[order[0] as usize].entry.url.key().to_vec();
        }
        host.places.resize(start + order.len(), (part, 0));
        let (mut frames, mut payload) = (Vec::new(), Vec::new());
        for (chunk, pages) in (0u32..).step_by(FRAME_ENTRIES).zip(order.chunks(FRAME_ENTRIES)) {
            let mut near: &[u8] = &[];
            payload.clear();
            for (place, page) in (chunk..).zip(pages) {
                let entry = &self.part[*page as usize].entry;
                put_entry(&mut payload, near, entry);
                near = entry.url.key();
                host.places[start + *page as usize].1 = place;
            }
            let (offset, length) = self.entries.push(&payload)?;
            frames.push((offset, length));
        }
        host.parts.push(frames);
        self.part.clear();
        Ok(())
    }

    /// Writes the row of the host at hand.
    fn close_host(&mut self) -> Result<(), WriteError> {
        self.close_part()?;
        let Some(host) = self.host.take() else { return Ok(()) };
        let dealt = host.deal();
        put_key(&mut self.row, &[], &host.first);
        self.row.put_varint(host.places.len() as u64);
        self.row.put_varint(dealt.len() as u64);
        let mut urls = Vec::new();
        // A host of one frame is looked through.
        if dealt.len() > 1 {
            let mut starts: Vec<Vec<u32>> = host.parts.iter().map(|frames| vec![0; frames.len()]).collect();
            for (at, (part, frame)) in (0u32..).step_by(FRAME_ENTRIES).zip(&dealt) {
                starts[*part][*frame] = at;
            }
            for places in host.places.chunks(URLS) {
                let index = |(part, place): &(u32, u32)| {
                    let (frame, slot) = (place / FRAME_ENTRIES as u32, place % FRAME_ENTRIES as u32);
                    starts[*part as usize][frame as usize] + slot
                };
                let bytes: Vec<u8> = places.iter().flat_map(|place| index(place).to_le_bytes()).collect();
                urls.push(self.entries.push(&bytes)?);
            }
        }
        let frames = dealt.iter().map(|(part, frame)| host.parts[*part][*frame]);
        for (offset, length) in frames.chain(urls) {
            self.row.put_varint(offset);
            self.row.put_varint(length.into());
        }
        if self.row.len() >= TABLE_FRAME {
            self.table.push(&self.row)?;
            self.row.clear();
        }
        Ok(())
    }

    /// Makes the schedule durable and complete; gives the number of its entries.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn finish(mut self) -> Result<u64, WriteError> {
        self.close_host()?;
        self.entries.sync()?;
        if !self.row.is_empty() {
            self.table.push(&self.row)?;
        }
        self.table.sync()?;
        let name = table_file(self.round);
        let path = self.storage.locate(&name);
        self.storage.sync_dir().map_err(WriteError::during(&path, "sync"))?;
        let unfinished = format!("{name}{UNFINISHED}");
        self.storage.rename(&unfinished, &name).map_err(WriteError::during(&path, "rename"))?;
        self.storage.sync_dir().map_err(WriteError::during(&path, "sync"))?;
        Ok(self.count)
    }
}

impl HostAtHand {
    /// The frames in the order in which they are read, as part and place in it: the first of each part, then the second,
    /// and at the end the one that is not full.
    fn deal(&self) -> Vec<(usize, usize)> {
        let all = self
            .parts
            .iter()
            .enumerate()
            .flat_map(|(part, frames)| (0..frames.len()).map(move |frame| (part, frame)));
        let mut dealt: Vec<(usize, usize)> = all.collect();
        let last = dealt.pop();
        dealt.sort_by_key(|(part, frame)| (*frame, *part));
        dealt.extend(last);
        dealt
    }
}
