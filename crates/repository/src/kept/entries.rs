//! Files of what committed rounds left, one a kind and round, in the order of URLs: frames of entries, and at the end how
//! many entries there are.

use crate::file::bytes::{Malformed, Put, Take};
use crate::file::error::{CommitError, ReadError, WriteError};
use crate::file::format::UNFINISHED;
use crate::file::frames::{FrameReader, FrameWriter};
use crate::generation::codec::put_key;
use crate::kept::file::StoredKind;
use crate::storage::Storage;
use recrawl_types::{CanonicalUrl, DatedRound, Round};
use std::borrow::Cow;
use std::marker::PhantomData;

/// A frame is closed when it holds this much.
const FRAME: usize = 64 << 10;

/// One entry of such a file.
pub trait StoredEntry: Sized {
    /// The kind of its file.
    const KIND: StoredKind;
    /// May several entries have the same URL?
    const REPEATS: bool;
    /// Said of a file with more or fewer entries than it says.
    const MISCOUNT: &'static str;

    /// Its place among others.
    fn url(&self) -> Cow<'_, CanonicalUrl>;

    /// Writes what follows the key of its URL.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads the next entry of a frame, with its key.
    ///
    /// # Errors
    /// When the bytes are no entry.
    fn take(take: &mut Take<'_>, key: &mut Vec<u8>) -> Result<Self, Malformed>;
}

/// Writes the file of a round.
pub(crate) struct EntryWriter {
    frames: FrameWriter,
    payload: Vec<u8>,
    last: Vec<u8>,
    /// Entries in `payload`.
    held: u64,
    total: u64,
}

impl EntryWriter {
    pub fn create(
        storage: &dyn Storage,
        kind: StoredKind,
        kept: DatedRound,
    ) -> Result<EntryWriter, WriteError> {
        EntryWriter::create_as(storage, &kind.file(kept), kind, kept.round)
    }

    pub fn create_as(
        storage: &dyn Storage,
        name: &str,
        kind: StoredKind,
        round: Round,
    ) -> Result<EntryWriter, WriteError> {
        let frames = FrameWriter::create(storage, name, kind.file_kind(), round)?;
        Ok(EntryWriter { frames, payload: Vec::new(), last: Vec::new(), held: 0, total: 0 })
    }

    /// Appends an entry, which must come behind the last one.
    pub fn push<T: StoredEntry>(&mut self, entry: &T) -> Result<(), WriteError> {
        let (url, last) = (entry.url(), self.last.as_slice());
        // Frames of a damaged file may have changed places: what can be read of it is kept as it is.
        let is_in_order = self.held == 0 || if T::REPEATS { last <= url.key() } else { last < url.key() };
        assert!(is_in_order, "{url} is out of order");
        put_key(&mut self.payload, if self.held > 0 { last } else { &[] }, url.key());
        entry.put(&mut self.payload);
        self.last.clear();
        self.last.extend_from_slice(url.key());
        self.held += 1;
        if self.payload.len() >= FRAME { self.close_frame() } else { Ok(()) }
    }

    fn close_frame(&mut self) -> Result<(), WriteError> {
        self.frames.push(&self.payload)?;
        self.payload.clear();
        self.total += std::mem::take(&mut self.held);
        Ok(())
    }

    /// Durable but for its name.
    pub fn finish(&mut self) -> Result<(), WriteError> {
        if self.held > 0 {
            self.close_frame()?;
        }
        // An empty key is no URL's: it says that this is the end, and how many entries came before it.
        put_key(&mut self.payload, &[], &[]);
        self.payload.put_varint(self.total);
        self.frames.push(&self.payload)?;
        self.frames.sync().map(|_| ())
    }
}

/// The entries of a frame, as far as they can be read.
pub(crate) fn entries_in<T: StoredEntry>(payload: &[u8]) -> Vec<T> {
    let (mut take, mut key) = (Take(payload), Vec::new());
    std::iter::from_fn(|| T::take(&mut take, &mut key).ok()).collect()
}

/// The entries of one round, in the order of URLs. Memory: a frame, whatever their number.
pub struct StoredEntries<T> {
    pub(super) frames: FrameReader,
    /// The frame being read, of which `taken` bytes are read.
    pub(super) payload: Vec<u8>,
    pub(super) taken: usize,
    pub(super) offset: u64,
    pub(super) key: Vec<u8>,
    /// Where reading began.
    pub(super) began: u64,
    /// Entries taken; none where reading began in the midst.
    pub(super) total: Option<u64>,
    pub(super) ended: bool,
    pub(super) entries: PhantomData<T>,
}

impl<T: StoredEntry> StoredEntries<T> {
    /// None when the round's file is not kept.
    pub(crate) fn open(
        storage: &dyn Storage,
        kept: DatedRound,
    ) -> Result<Option<StoredEntries<T>>, ReadError> {
        let kind = T::KIND.file_kind();
        let frames = match FrameReader::open(storage, &T::KIND.file(kept), kind, kept.round) {
            Err(e) if e.is_absent() => return Ok(None),
            other => other?,
        };
        let (payload, taken, offset, key, began) = Default::default();
        let (total, ended, entries) = (Some(0), false, PhantomData);
        Ok(Some(StoredEntries { frames, payload, taken, offset, key, began, total, ended, entries }))
    }

    /// The next entry; none at the end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn next_entry(&mut self) -> Result<Option<T>, ReadError> {
        while !self.ended {
            if self.taken < self.payload.len() {
                let entry = self.take();
                return entry.map_err(|Malformed(what)| self.frames.damaged(self.offset, what));
            }
            self.next_frame()?;
        }
        Ok(None)
    }

    /// Reads the next frame.
    pub(super) fn next_frame(&mut self) -> Result<(), ReadError> {
        self.offset = self.frames.offset();
        let Some(payload) = self.frames.next_frame()? else {
            return Err(self.frames.damaged(self.offset, "it has no end"));
        };
        self.payload.clear();
        self.payload.extend_from_slice(payload);
        (self.taken, self.key) = (0, Vec::new());
        Ok(())
    }

    /// Does the file end here? An empty key is no URL's.
    pub(super) fn is_at_end_mark(&self) -> bool {
        self.taken == 0 && self.payload.starts_with(&[0, 0])
    }

    pub(super) fn count(&mut self) {
        self.total.iter_mut().for_each(|total| *total += 1);
    }

    /// The next entry of the frame, or none where the file ends.
    pub(super) fn take(&mut self) -> Result<Option<T>, Malformed> {
        let mut take = Take(&self.payload[self.taken..]);
        if self.is_at_end_mark() {
            take.slice(2)?;
            let total = take.varint()?;
            take.end()?;
            if self.total.is_some_and(|taken| taken != total) || !self.frames.is_at_end() {
                return Err(Malformed(T::MISCOUNT));
            }
            self.ended = true;
            return Ok(None);
        }
        let entry = T::take(&mut take, &mut self.key)?;
        self.taken = self.payload.len() - take.0.len();
        self.count();
        Ok(Some(entry))
    }
}

/// Removes the entries of a round that `is_meant` chooses, and gives their number: a new file is renamed over the old one.
/// With `only_count`, nothing is written.
pub(crate) fn remove<T: StoredEntry>(
    storage: &dyn Storage,
    kept: DatedRound,
    is_meant: &dyn Fn(&T) -> bool,
    only_count: bool,
) -> Result<u64, CommitError> {
    let (mut meant, mut total) = (0, 0);
    let Some(mut entries) = StoredEntries::open(storage, kept)? else { return Ok(0) };
    while let Some(entry) = entries.next_entry()? {
        meant += u64::from(is_meant(&entry));
        total += 1;
    }
    if meant == 0 || only_count {
        return Ok(meant);
    }
    let name = T::KIND.file(kept);
    let part = format!("{name}{UNFINISHED}");
    let mut writer = EntryWriter::create_as(storage, &part, T::KIND, kept.round)?;
    let Some(mut entries) = StoredEntries::open(storage, kept)? else { return Ok(0) };
    while let Some(entry) = entries.next_entry()? {
        if !is_meant(&entry) {
            writer.push(&entry)?;
        }
    }
    writer.finish()?;
    debug_assert_eq!(writer.total, total - meant);
    drop(writer);
    storage.rename(&part, &name).map_err(WriteError::during(storage.locate(&part), "rename"))?;
    storage.sync_dir().map_err(WriteError::during(storage.locate(""), "sync"))?;
    Ok(meant)
}
