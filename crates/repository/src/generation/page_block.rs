//! A block in memory: as its four frames, or unpacked into pages. Packing and unpacking touch no file, so any
//! thread may do them.

use crate::file::bytes::Malformed;
use crate::file::error::ReadError;
use crate::file::format::{open_frame, put_frame, put_raw_frame};
use crate::file::frames::FrameSource;
use crate::generation::block::{
    BLOCK_PAGES, is_focused, is_gone, put_block_history, put_block_known, take_block_known, take_histories,
};
use crate::generation::contents::{Packable, StoredContents, put_contents};
use crate::generation::front_coded::{FrontCoded, take_keys};
use crate::generation::index::FramedFile;
use crate::generation::symbols::Symbols;
use recrawl_types::{CanonicalUrl, Cycle, History, KeyRows, Known, PageRecord, StateColumns, Visited};
use std::sync::Arc;

/// How much of a block is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockExtent {
    /// Keys, and what every known page has.
    Known,
    /// Also what visited pages have.
    All,
}

impl BlockExtent {
    pub(crate) fn parts(self) -> &'static [FramedFile] {
        match self {
            BlockExtent::Known => &[FramedFile::Keys, FramedFile::Known],
            BlockExtent::All => &FramedFile::ALL,
        }
    }
}

/// A frame as it lies on disk, not yet checked.
pub(crate) struct PackedFrame {
    pub source: FrameSource,
    pub offset: u64,
    pub bytes: Vec<u8>,
}

/// A block as it lies on disk, not yet checked.
pub struct PackedBlock {
    pub(crate) pages: usize,
    pub(crate) visited: usize,
    pub(crate) key: Vec<u8>,
    /// By [`FramedFile`]; those of the [`BlockExtent`] that was read.
    pub(crate) frames: [Option<PackedFrame>; 4],
}

/// Buffers for unpacking, to be used again and again.
#[derive(Default)]
pub struct Scratch {
    pub(crate) payload: Vec<u8>,
    places: Vec<usize>,
    columns: StateColumns,
}

impl PackedBlock {
    /// Checks and unpacks what was read.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn unpack(&self, scratch: &mut Scratch) -> Result<PageBlock, ReadError> {
        let mut block = PageBlock::default();
        self.part(FramedFile::Keys, &mut scratch.payload, |payload, _| {
            take_keys(payload, self.pages, &mut block.keys)
        })?;
        if block.key(0) != self.key {
            return Err(self.damaged(FramedFile::Keys, "its first key differs from the index"));
        }
        (block.visited, block.known) = self.known(scratch)?;
        if self.frames[FramedFile::History as usize].is_none() {
            return Ok(block);
        }
        let histories = self.histories(scratch)?;
        let contents = self.part(FramedFile::Content, &mut scratch.payload, |payload, _| {
            StoredContents::take(payload, self.visited)
        })?;
        let mut past = (0..)
            .zip(histories)
            .map(|(row, history)| Box::new(Visited { history, content: contents.get(row) }));
        block.past = block.visited.iter().map(|&v| if v { past.next() } else { None }).collect();
        Ok(block)
    }

    /// Which pages were visited, and what every known page has.
    pub(crate) fn known(&self, scratch: &mut Scratch) -> Result<(Vec<bool>, Vec<Known>), ReadError> {
        let columns = &mut scratch.columns;
        columns.clear();
        self.part(FramedFile::Known, &mut scratch.payload, |payload, version| {
            take_block_known(payload, version, self.pages, columns)
        })?;
        if columns.visited.iter().filter(|&&v| v).count() != self.visited {
            return Err(self.damaged(FramedFile::Known, "the index has another number of visited pages"));
        }
        Ok((std::mem::take(&mut columns.visited), std::mem::take(&mut columns.known)))
    }

    /// The histories of visited pages.
    pub(crate) fn histories(&self, scratch: &mut Scratch) -> Result<Vec<History>, ReadError> {
        let Scratch { payload, places, columns } = scratch;
        self.part(FramedFile::History, payload, |payload, version| {
            take_histories(payload, version, self.visited, places, columns)
        })
    }

    pub(crate) fn part<T>(
        &self,
        part: FramedFile,
        scratch: &mut Vec<u8>,
        take: impl FnOnce(&[u8], u32) -> Result<T, Malformed>,
    ) -> Result<T, ReadError> {
        let frame = self.frame(part);
        open_frame(&frame.bytes, part.kind(), scratch)
            .and_then(|payload| take(payload, frame.source.version()))
            .map_err(|Malformed(what)| frame.source.damaged(frame.offset, what))
    }

    pub(crate) fn frame(&self, part: FramedFile) -> &PackedFrame {
        self.frames[part as usize].as_ref().expect("the part was read")
    }

    pub(crate) fn damaged(&self, part: FramedFile, what: &str) -> ReadError {
        let frame = self.frame(part);
        frame.source.damaged(frame.offset, what)
    }
}

/// Consecutive pages, unpacked: as many as there is memory for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageBlock {
    keys: KeyRows,
    visited: Vec<bool>,
    known: Vec<Known>,
    /// By row; empty when only [`BlockExtent::Known`] was read.
    past: Vec<Option<Box<Visited>>>,
}

impl PageBlock {
    /// Pages.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Is there no page?
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The key of the page in `row`.
    pub fn key(&self, row: usize) -> &[u8] {
        self.keys.get(row)
    }

    /// The row of the page with this key.
    pub fn row_of(&self, key: &[u8]) -> Option<usize> {
        self.keys.row_of(key)
    }

    /// Rows whose keys come before these bytes.
    pub(crate) fn rows_before(&self, key: &[u8]) -> usize {
        self.keys.rows_before(key)
    }

    /// What is known of the page in `row` if it was visited, and not taken.
    ///
    /// # Panics
    /// When only [`BlockExtent::Known`] was read.
    pub(crate) fn visited(&self, row: usize) -> Option<&Visited> {
        self.past[row].as_deref()
    }

    /// Moves the record of the page in `row` out; its history and content are there no more.
    ///
    /// # Panics
    /// When only [`BlockExtent::Known`] was read.
    pub fn take_record(&mut self, row: usize) -> PageRecord {
        PageRecord { known: self.known[row], visited: self.past[row].take().map(|visited| *visited) }
    }

    /// Appends a page, whose key comes behind those before it.
    pub fn push(&mut self, key: &[u8], record: PageRecord) {
        self.keys.push(key);
        self.known.push(record.known);
        self.visited.push(record.visited.is_some());
        self.past.push(record.visited.map(Box::new));
    }

    /// Gone pages, and those that no fetch was ever tried of.
    pub(crate) fn gone_and_untried(&self) -> (u32, u32) {
        gone_and_untried(&self.known)
    }

    /// Are all keys those of URLs, and behind `last`?
    pub(crate) fn has_sound_keys(&self, last: &[u8]) -> bool {
        (self.is_empty() || self.key(0) > last)
            && (0..self.len()).all(|row| CanonicalUrl::from_key(self.key(row)).is_ok())
    }

    /// Packs the block. What `changed` says is as it was on disk is not packed again. A block of more than twice
    /// `block_pages` is cut into blocks of so many or nearly so.
    ///
    /// # Panics
    /// When it has more pages, or other visited ones, than `changed` allows, or no page at all, or when
    /// `block_pages` is 0 or more than [`BLOCK_PAGES`].
    pub fn pack(&self, changed: Changed, block_pages: usize) -> PackedPages {
        self.pack_near(changed, block_pages, &mut Arc::default())
    }

    /// The same, with the symbols of the block before if they suit the keys; gives those of the last one.
    pub(crate) fn pack_near(
        &self,
        changed: Changed,
        block_pages: usize,
        symbols: &mut Arc<Symbols>,
    ) -> PackedPages {
        assert!(!self.is_empty(), "a block has pages");
        assert!((1..=BLOCK_PAGES).contains(&block_pages), "blocks of {block_pages} pages");
        if self.len() <= 2 * block_pages {
            return PackedPages(vec![self.pack_rows(0..self.len(), changed, symbols)]);
        }
        assert_eq!(changed, Changed::ALL, "what is cut must be packed anew");
        let pieces = self.len().div_ceil(block_pages);
        let cut = |piece: usize| piece * self.len() / pieces;
        PackedPages((0..pieces).map(|i| self.pack_rows(cut(i)..cut(i + 1), changed, symbols)).collect())
    }

    fn pack_rows(
        &self,
        rows: std::ops::Range<usize>,
        changed: Changed,
        symbols: &mut Arc<Symbols>,
    ) -> PackedPiece {
        let mut keys = FrontCoded::default();
        if changed.keys {
            keys = FrontCoded::packed(&self.keys, rows.clone(), symbols);
            *symbols = keys.symbols().clone();
        }
        let past: Vec<_> = if changed.past {
            assert_eq!(self.past.len(), self.len(), "the pasts were read");
            let visited = self.past[rows.clone()].iter().flatten();
            visited.map(|v| (&v.history, Packable::Given(&v.content))).collect()
        } else {
            Vec::new()
        };
        let (known, visited) = (&self.known[rows.clone()], &self.visited[rows.clone()]);
        pack_piece(self.key(rows.start), &keys, known, visited, &past, changed)
    }
}

/// Packs what changed of a block.
pub(crate) fn pack_piece(
    first: &[u8],
    keys: &FrontCoded,
    known: &[Known],
    visited: &[bool],
    past: &[(&History, Packable<'_>)],
    changed: Changed,
) -> PackedPiece {
    let (mut payload, mut frames) = (Vec::new(), [const { None }; 4]);
    let mut pack = |part: FramedFile, payload: &[u8]| {
        let mut frame = Vec::new();
        // Keys in codes hold nothing that LZ4 would find.
        let is_coded = part == FramedFile::Keys && !keys.symbols().is_empty();
        let put = if is_coded { put_raw_frame } else { put_frame };
        put(&mut frame, part.kind(), payload);
        frames[part as usize] = Some(frame);
    };
    if changed.keys {
        pack(FramedFile::Keys, keys.bytes());
    }
    if changed.keys || changed.known || changed.past {
        put_block_known(&mut payload, visited, known);
        pack(FramedFile::Known, &payload);
    }
    if changed.past {
        payload.clear();
        put_block_history(&mut payload, &past.iter().map(|of| of.0).collect::<Vec<_>>());
        pack(FramedFile::History, &payload);
        payload.clear();
        put_contents(&mut payload, &past.iter().map(|of| of.1).collect::<Vec<_>>());
        pack(FramedFile::Content, &payload);
    }
    let (gone, untried) = gone_and_untried(known);
    PackedPiece {
        key: first.to_vec(),
        pages: known.len() as u32,
        visited: visited.iter().filter(|&&v| v).count() as u32,
        gone,
        untried,
        is_focused: is_focused(known),
        frames,
    }
}

/// Gone pages, and those that no fetch was ever tried of.
pub(crate) fn gone_and_untried(known: &[Known]) -> (u32, u32) {
    let count = |is: fn(&Known) -> bool| known.iter().filter(|known| is(known)).count() as u32;
    (count(is_gone), count(is_untried))
}

/// Was no fetch ever tried of the page?
pub fn is_untried(known: &Known) -> bool {
    known.last_attempt == Cycle(0) && !is_gone(known)
}

/// Which parts of a block are no longer as on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// There are new pages, or fewer.
    pub keys: bool,
    /// What every known page has.
    pub known: bool,
    /// What visited pages have.
    pub past: bool,
}

impl Changed {
    /// All parts.
    pub const ALL: Changed = Changed { keys: true, known: true, past: true };
}

/// Blocks to be written.
pub struct PackedPages(pub(crate) Vec<PackedPiece>);

/// One block to be written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PackedPiece {
    pub key: Vec<u8>,
    pub pages: u32,
    pub visited: u32,
    pub gone: u32,
    pub untried: u32,
    /// Has it the columns of a focused crawl?
    pub is_focused: bool,
    /// By [`FramedFile`]; none for what is as it was.
    pub frames: [Option<Vec<u8>>; 4],
}

#[cfg(test)]
mod tests;
