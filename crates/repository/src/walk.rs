//! Ways through a generation: its states alone, all its pages, chosen pages, blocks as they lie on disk.

use crate::block::{take_block_history, take_block_known};
use crate::bytes::Malformed;
use crate::error::ReadError;
use crate::format::open_frame;
use crate::frames::{Source, Window};
use crate::generation::{FileName, Generation};
use crate::index::{Part, Place};
use crate::page_block::{Extent, PackedBlock, PackedFrame, PageBlock, Scratch};
use recrawl_types::{CanonicalUrl, PageRecord, StateColumns};
use std::collections::BTreeMap;

/// Reads frames of blocks. Of each file the frames are in the order of blocks, so that a walk in this order reads
/// every file from front to back.
pub(crate) struct BlockReader<'g> {
    generation: &'g Generation,
    is_sequential: bool,
    windows: BTreeMap<FileName, Window>,
}

impl<'g> BlockReader<'g> {
    /// For reading all blocks in order.
    pub fn sequential(generation: &'g Generation) -> BlockReader<'g> {
        BlockReader { generation, is_sequential: true, windows: BTreeMap::new() }
    }

    /// For reading a few blocks.
    pub fn exact(generation: &'g Generation) -> BlockReader<'g> {
        BlockReader { is_sequential: false, ..BlockReader::sequential(generation) }
    }

    /// A frame as it lies on disk.
    pub fn frame(&mut self, part: Part, place: Place) -> Result<(&'g Source, &[u8]), ReadError> {
        let name = (part, place.file);
        let source = &self.generation.files[&name].source;
        let is_sequential = self.is_sequential;
        let window = self
            .windows
            .entry(name)
            .or_insert_with(|| if is_sequential { Window::sequential() } else { Window::exact() });
        Ok((source, window.get(source, place.offset, place.length as usize)?))
    }

    /// Reads block `at`.
    pub fn read(&mut self, at: usize, extent: Extent) -> Result<PackedBlock, ReadError> {
        let block = &self.generation.blocks[at];
        let mut frames = [const { None }; 4];
        for &part in extent.parts() {
            let place = block.place(part);
            let (source, bytes) = self.frame(part, place)?;
            frames[part as usize] =
                Some(PackedFrame { source: source.clone(), offset: place.offset, bytes: bytes.to_vec() });
        }
        Ok(PackedBlock {
            pages: block.pages as usize,
            visited: block.visited as usize,
            key: block.key.clone(),
            frames,
        })
    }

    /// Reads and checks one frame and gives its payload to `take`, with the version of its file.
    fn part<T>(
        &mut self,
        at: usize,
        part: Part,
        scratch: &mut Vec<u8>,
        take: impl FnOnce(&[u8], u32) -> Result<T, Malformed>,
    ) -> Result<T, ReadError> {
        let place = self.generation.blocks[at].place(part);
        let (source, frame) = self.frame(part, place)?;
        open_frame(frame, part.kind(), scratch)
            .and_then(|payload| take(payload, source.version()))
            .map_err(|Malformed(what)| source.damaged(place.offset, what))
    }

    /// Says that a part of block `at` is damaged.
    pub fn damaged(&self, at: usize, part: Part, what: &str) -> ReadError {
        let place = self.generation.blocks[at].place(part);
        self.generation.files[&(part, place.file)].source.damaged(place.offset, what)
    }
}

/// Blocks as they lie on disk, in ascending order.
pub struct PackedBlocks<'g>(BlockReader<'g>);

impl<'g> PackedBlocks<'g> {
    pub(crate) fn new(generation: &'g Generation) -> PackedBlocks<'g> {
        PackedBlocks(BlockReader::sequential(generation))
    }

    /// Reads block `at`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&mut self, at: usize, extent: Extent) -> Result<PackedBlock, ReadError> {
        self.0.read(at, extent)
    }
}

/// The state of all pages, a block at a time.
pub struct States<'g> {
    next: usize,
    blocks: BlockReader<'g>,
    columns: StateColumns,
    scratch: Vec<u8>,
    places: Vec<usize>,
}

impl<'g> States<'g> {
    pub(crate) fn new(generation: &'g Generation) -> States<'g> {
        States {
            next: 0,
            blocks: BlockReader::sequential(generation),
            columns: StateColumns::default(),
            scratch: Vec::new(),
            places: Vec::new(),
        }
    }

    /// The next block, with the ordinal of its first page; none at the end. What is no part of a record,
    /// the rates of sites, is for the caller to fill in.
    ///
    /// # Errors
    /// When the block cannot be read.
    pub fn next_block(&mut self) -> Result<Option<(u64, &mut StateColumns)>, ReadError> {
        let at = self.next;
        let Some(block) = self.blocks.generation.blocks.get(at) else { return Ok(None) };
        let (rows, columns, places) = (block.pages as usize, &mut self.columns, &mut self.places);
        columns.clear();
        self.blocks.part(at, Part::Known, &mut self.scratch, |payload, _| {
            take_block_known(payload, rows, columns)
        })?;
        if columns.visited.iter().filter(|&&v| v).count() != block.visited as usize {
            let what = "the index tells another number of visited pages";
            return Err(self.blocks.damaged(at, Part::Known, what));
        }
        self.blocks.part(at, Part::History, &mut self.scratch, |payload, version| {
            take_block_history(payload, version, 0, places, columns)
        })?;
        self.next += 1;
        Ok(Some((block.first, &mut self.columns)))
    }
}

/// A page as [`Records`] gives it: ordinal, key, record.
pub type Row<'r> = (u64, &'r [u8], PageRecord);

/// All pages in order.
pub struct Records<'g> {
    /// The block to read next.
    next: usize,
    /// The row to give next, of the block before that.
    row: usize,
    blocks: BlockReader<'g>,
    block: PageBlock,
    scratch: Scratch,
}

impl<'g> Records<'g> {
    pub(crate) fn new(generation: &'g Generation) -> Records<'g> {
        Records {
            next: 0,
            row: 0,
            blocks: BlockReader::sequential(generation),
            block: PageBlock::default(),
            scratch: Scratch::default(),
        }
    }

    /// The next page: ordinal, key, record; none at the end.
    ///
    /// # Errors
    /// When its block cannot be read.
    pub fn next_record(&mut self) -> Result<Option<Row<'_>>, ReadError> {
        if self.row == self.block.len() {
            if self.next == self.blocks.generation.blocks.len() {
                return Ok(None);
            }
            // Nothing of a block is given after an error.
            (self.row, self.block) = (0, PageBlock::default());
            self.block = self.blocks.read(self.next, Extent::All)?.unpack(&mut self.scratch)?;
            self.next += 1;
        }
        let row = self.row;
        self.row += 1;
        let record = self.block.take_record(row);
        let first = self.blocks.generation.blocks[self.next - 1].first;
        Ok(Some((first + row as u64, self.block.key(row), record)))
    }
}

/// Chosen pages in order.
pub struct Gather<'g, I> {
    ordinals: I,
    blocks: BlockReader<'g>,
    /// The number of `block`.
    at: Option<usize>,
    block: PageBlock,
    /// The ordinal that must not be asked for again.
    last: Option<u64>,
    scratch: Scratch,
}

impl<'g, I: Iterator<Item = u64>> Gather<'g, I> {
    pub(crate) fn new(generation: &'g Generation, ordinals: I) -> Gather<'g, I> {
        Gather {
            ordinals,
            blocks: BlockReader::exact(generation),
            at: None,
            block: PageBlock::default(),
            last: None,
            scratch: Scratch::default(),
        }
    }

    /// The next chosen page; none when there are no more ordinals.
    ///
    /// # Errors
    /// When its block cannot be read.
    ///
    /// # Panics
    /// When the ordinals do not ascend, or one is of no page.
    pub fn next_page(&mut self) -> Result<Option<(u64, CanonicalUrl, PageRecord)>, ReadError> {
        let Some(ordinal) = self.ordinals.next() else { return Ok(None) };
        let generation = self.blocks.generation;
        assert!(ordinal < generation.pages(), "page {ordinal} of {}", generation.pages());
        assert!(self.last.is_none_or(|last| last < ordinal), "the ordinals must ascend");
        self.last = Some(ordinal);
        let at = generation.blocks.partition_point(|b| b.first <= ordinal) - 1;
        if self.at != Some(at) {
            self.block = self.blocks.read(at, Extent::All)?.unpack(&mut self.scratch)?;
            self.at = Some(at);
        }
        let row = (ordinal - generation.blocks[at].first) as usize;
        let url = CanonicalUrl::from_key(self.block.key(row))
            .map_err(|_| self.blocks.damaged(at, Part::Keys, "a key is no URL's"))?;
        Ok(Some((ordinal, url, self.block.take_record(row))))
    }
}
