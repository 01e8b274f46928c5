//! Ways through a generation: its states alone, all its pages, chosen pages, blocks as they lie on disk.

use crate::file::bytes::Malformed;
use crate::file::error::ReadError;
use crate::file::format::open_frame;
use crate::file::frames::FrameSource;
use crate::generation::block::{take_block_history, take_block_known};
use crate::generation::front_coded::take_keys;
use crate::generation::index::{FramePlace, FramedFile};
use crate::generation::page_block::{BlockExtent, PackedBlock, PackedFrame, PageBlock, Scratch};
use crate::generation::{FileName, Generation};
use recrawl_types::{CanonicalUrl, PageRecord, StateColumns, Visited};
use std::collections::BTreeMap;
use std::ops::Range;

/// A walk says so many blocks before that it will read one: a few MiB of states.
const BLOCKS_AHEAD: usize = 512;
/// Frames this near to each other are announced as one piece, with what lies between: a page of the system's.
const NEAR: u64 = 4 << 10;

/// Reads frames of blocks, and says before which ones it will read: only these are fetched, and not the garbage that
/// lies between them. Of each file the frames are in the order of blocks, so that a walk in this order reads every file from
/// front to back.
pub(crate) struct BlockReader<'g> {
    generation: &'g Generation,
    /// The blocks of a walk before this one were announced.
    walked: usize,
    /// In each file the piece that was announced last, and of which the system was not yet told.
    announced: BTreeMap<FileName, Range<u64>>,
    buffer: Vec<u8>,
}

impl<'g> BlockReader<'g> {
    pub fn new(generation: &'g Generation) -> BlockReader<'g> {
        BlockReader { generation, walked: 0, announced: BTreeMap::new(), buffer: Vec::new() }
    }

    /// Says that block `at` will be read. Blocks are announced in order.
    pub fn announce(&mut self, at: usize, parts: &[FramedFile]) {
        for &part in parts {
            let place = self.generation.blocks[at].place(part);
            let frame = place.offset..place.offset + u64::from(place.length);
            let piece = self.announced.entry((part, place.file)).or_default();
            if frame.start >= piece.end && frame.start - piece.end <= NEAR && !piece.is_empty() {
                piece.end = frame.end;
            } else {
                self.generation.tell(part, place.file, piece);
                *piece = frame;
            }
        }
    }

    /// Announces what a walk over all blocks will read next, when it is at block `at`.
    fn walk(&mut self, at: usize, parts: &[FramedFile]) {
        let end = self.generation.blocks.len().min(at + BLOCKS_AHEAD);
        // Half of them at a time, that pieces may be long.
        if self.walked < end && self.walked <= at + BLOCKS_AHEAD / 2 {
            (self.walked.max(at)..end).for_each(|next| self.announce(next, parts));
            self.walked = end;
        }
    }

    /// Tells the system of what holds `place`, if it was not yet told.
    fn tell(&mut self, part: FramedFile, place: FramePlace) -> &'g FrameSource {
        let generation = self.generation;
        if let Some(piece) = self.announced.get_mut(&(part, place.file)).filter(|p| p.contains(&place.offset))
        {
            generation.tell(part, place.file, piece);
            piece.start = piece.end;
        }
        &generation.files[&(part, place.file)].source
    }

    /// A frame as it lies on disk.
    pub fn frame(
        &mut self,
        part: FramedFile,
        place: FramePlace,
    ) -> Result<(&'g FrameSource, &[u8]), ReadError> {
        let source = self.tell(part, place);
        self.buffer.resize(place.length as usize, 0);
        source.read_exact(&mut self.buffer, place.offset)?;
        Ok((source, &self.buffer))
    }

    /// Reads block `at`.
    pub fn read(&mut self, at: usize, extent: BlockExtent) -> Result<PackedBlock, ReadError> {
        let block = &self.generation.blocks[at];
        let mut frames = [const { None }; 4];
        for &part in extent.parts() {
            let place = block.place(part);
            let source = self.tell(part, place);
            let mut bytes = vec![0; place.length as usize];
            source.read_exact(&mut bytes, place.offset)?;
            frames[part as usize] = Some(PackedFrame { source: source.clone(), offset: place.offset, bytes });
        }
        Ok(PackedBlock {
            pages: block.pages as usize,
            visited: block.visited as usize,
            key: block.key.clone(),
            frames,
        })
    }

    /// Reads block `at` on a walk over all blocks.
    pub fn read_next(&mut self, at: usize) -> Result<PackedBlock, ReadError> {
        self.walk(at, &FramedFile::ALL);
        self.read(at, BlockExtent::All)
    }

    /// Reads and checks one frame and gives its payload to `take`, with the version of its file.
    fn part<T>(
        &mut self,
        at: usize,
        part: FramedFile,
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
    pub fn damaged(&self, at: usize, part: FramedFile, what: &str) -> ReadError {
        let place = self.generation.blocks[at].place(part);
        self.generation.files[&(part, place.file)].source.damaged(place.offset, what)
    }
}

/// Blocks as they lie on disk, in ascending order.
pub struct PackedBlocks<'g>(BlockReader<'g>);

impl<'g> PackedBlocks<'g> {
    pub(crate) fn new(generation: &'g Generation) -> PackedBlocks<'g> {
        PackedBlocks(BlockReader::new(generation))
    }

    /// Says that block `at` will be read, so that it may be fetched meanwhile.
    pub fn announce(&mut self, at: usize, extent: BlockExtent) {
        self.0.announce(at, extent.parts());
    }

    /// Reads block `at`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&mut self, at: usize, extent: BlockExtent) -> Result<PackedBlock, ReadError> {
        self.0.read(at, extent)
    }
}

/// The state of all pages, a block at a time.
pub struct PageStateBlocks<'g> {
    next: usize,
    parts: &'static [FramedFile],
    blocks: BlockReader<'g>,
    columns: StateColumns,
    scratch: Vec<u8>,
    places: Vec<usize>,
}

impl<'g> PageStateBlocks<'g> {
    /// From a block on.
    pub(crate) fn new(generation: &'g Generation, next: usize) -> PageStateBlocks<'g> {
        PageStateBlocks {
            next,
            parts: &[FramedFile::Known, FramedFile::History],
            blocks: BlockReader::new(generation),
            columns: StateColumns::default(),
            scratch: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Reads the keys too.
    #[must_use]
    pub fn with_keys(mut self, with_keys: bool) -> PageStateBlocks<'g> {
        if with_keys {
            self.parts = &[FramedFile::Keys, FramedFile::Known, FramedFile::History];
        }
        self
    }

    /// Announces nothing: for one who wants a block or two.
    #[must_use]
    pub fn without_read_ahead(mut self) -> PageStateBlocks<'g> {
        self.blocks.walked = usize::MAX;
        self
    }

    /// The next block, with the ordinal of its first page; none at the end. What is no part of a record,
    /// such as the rates of sites, is for the caller to fill in.
    ///
    /// # Errors
    /// When the block cannot be read.
    pub fn next_block(&mut self) -> Result<Option<(u64, &mut StateColumns)>, ReadError> {
        self.block(self.next)
    }

    /// The block that holds the page with this key, if it is known, with the ordinal of its first page, and whether
    /// the block was read now: the last one is kept as the caller left it. None before the first page.
    ///
    /// # Errors
    /// When the block cannot be read.
    pub fn block_of(&mut self, key: &[u8]) -> Result<Option<(u64, &mut StateColumns, bool)>, ReadError> {
        let blocks = &self.blocks.generation.blocks;
        let before = blocks.partition_point(|block| block.key.as_slice() <= key);
        let Some(at) = before.checked_sub(1) else { return Ok(None) };
        if self.next == at + 1 && !self.columns.is_empty() {
            return Ok(Some((blocks[at].first, &mut self.columns, false)));
        }
        Ok(self.block(at)?.map(|(first, columns)| (first, columns, true)))
    }

    /// Block `at`, from which the walk goes on; none beyond the end.
    fn block(&mut self, at: usize) -> Result<Option<(u64, &mut StateColumns)>, ReadError> {
        let Some(block) = self.blocks.generation.blocks.get(at) else { return Ok(None) };
        let (rows, columns, places) = (block.pages as usize, &mut self.columns, &mut self.places);
        columns.clear();
        self.blocks.walk(at, self.parts);
        if self.parts.contains(&FramedFile::Keys) {
            self.blocks.part(at, FramedFile::Keys, &mut self.scratch, |payload, _| {
                take_keys(payload, rows, &mut columns.keys)
            })?;
        }
        self.blocks.part(at, FramedFile::Known, &mut self.scratch, |payload, version| {
            take_block_known(payload, version, rows, columns)
        })?;
        if columns.visited.iter().filter(|&&v| v).count() != block.visited as usize {
            let what = "the index has another number of visited pages";
            return Err(self.blocks.damaged(at, FramedFile::Known, what));
        }
        self.blocks.part(at, FramedFile::History, &mut self.scratch, |payload, version| {
            take_block_history(payload, version, places, columns)
        })?;
        self.next = at + 1;
        Ok(Some((block.first, &mut self.columns)))
    }
}

/// Blocks of a group.
const GROUP_BLOCKS: usize = 4;

/// The state of a few consecutive blocks, each with the ordinal of its first page.
#[derive(Default)]
pub(crate) struct StateGroup {
    blocks: Vec<(u64, StateColumns)>,
    /// So many of them were read.
    filled: usize,
}

impl StateGroup {
    pub fn blocks(&mut self) -> &mut [(u64, StateColumns)] {
        &mut self.blocks[..self.filled]
    }
}

/// The states of every so many-th group.
pub(crate) struct StateGroups<'g> {
    states: PageStateBlocks<'g>,
    /// The number of the next group.
    next: usize,
    step: usize,
}

impl<'g> StateGroups<'g> {
    pub fn new(generation: &'g Generation, with_keys: bool, first: usize, step: usize) -> StateGroups<'g> {
        StateGroups { states: PageStateBlocks::new(generation, 0).with_keys(with_keys), next: first, step }
    }

    /// Reads the next group; false where there is none.
    pub fn next_into(&mut self, group: &mut StateGroup) -> Result<bool, ReadError> {
        group.filled = 0;
        group.blocks.resize_with(GROUP_BLOCKS, Default::default);
        let first = self.next * GROUP_BLOCKS;
        self.next += self.step;
        for at in first..first + GROUP_BLOCKS {
            let Some((ordinal, columns)) = self.states.block(at)? else { break };
            let block = &mut group.blocks[group.filled];
            block.0 = ordinal;
            std::mem::swap(columns, &mut block.1);
            group.filled += 1;
        }
        Ok(group.filled > 0)
    }
}

/// A page as [`PageRecords`] gives it: ordinal, key, record.
pub type Row<'r> = (u64, &'r [u8], PageRecord);

/// All pages in order.
pub struct PageRecords<'g> {
    /// The block to read next.
    next: usize,
    /// The row to give next, of the block before that.
    row: usize,
    blocks: BlockReader<'g>,
    block: PageBlock,
    scratch: Scratch,
}

impl<'g> PageRecords<'g> {
    pub(crate) fn new(generation: &'g Generation) -> PageRecords<'g> {
        PageRecords {
            next: 0,
            row: 0,
            blocks: BlockReader::new(generation),
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
            self.block = self.blocks.read_next(self.next)?.unpack(&mut self.scratch)?;
            self.next += 1;
        }
        let row = self.row;
        self.row += 1;
        let record = self.block.take_record(row);
        let first = self.blocks.generation.blocks[self.next - 1].first;
        Ok(Some((first + row as u64, self.block.key(row), record)))
    }
}

/// Reads pages by their URLs. The last block is kept, so that pages of one block cost one read.
pub struct Lookup<'g> {
    blocks: BlockReader<'g>,
    /// The number of `block`.
    at: Option<usize>,
    block: PageBlock,
    scratch: Scratch,
}

impl<'g> Lookup<'g> {
    pub(crate) fn new(generation: &'g Generation) -> Lookup<'g> {
        let (block, scratch) = (PageBlock::default(), Scratch::default());
        Lookup { blocks: BlockReader::new(generation), at: None, block, scratch }
    }

    /// The number and record of a page; none if it is not known. Each page can be taken once while its block is the last one.
    ///
    /// # Errors
    /// When its block cannot be read.
    pub fn take(&mut self, url: &CanonicalUrl) -> Result<Option<(u64, PageRecord)>, ReadError> {
        let Some((at, row)) = self.row_of(url)? else { return Ok(None) };
        let first = self.blocks.generation.blocks[at].first;
        Ok(Some((first + row as u64, self.block.take_record(row))))
    }

    /// What is known of a visited page, which stays and can be asked for again; none if it was never visited, or was taken.
    ///
    /// # Errors
    /// When its block cannot be read.
    pub fn visited(&mut self, url: &CanonicalUrl) -> Result<Option<&Visited>, ReadError> {
        let found = self.row_of(url)?;
        Ok(found.and_then(|(_, row)| self.block.visited(row)))
    }

    /// The number of a page's block, which is the last one now, and its row there.
    fn row_of(&mut self, url: &CanonicalUrl) -> Result<Option<(usize, usize)>, ReadError> {
        let (key, generation) = (url.key(), self.blocks.generation);
        let before = generation.blocks.partition_point(|block| block.key.as_slice() <= key);
        let Some(at) = before.checked_sub(1) else { return Ok(None) };
        if self.at != Some(at) {
            self.at = None;
            self.block = self.blocks.read(at, BlockExtent::All)?.unpack(&mut self.scratch)?;
            self.at = Some(at);
        }
        Ok(self.block.row_of(key).map(|row| (at, row)))
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
            blocks: BlockReader::new(generation),
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
        let at = generation.block_of(ordinal);
        if self.at != Some(at) {
            self.block = self.blocks.read(at, BlockExtent::All)?.unpack(&mut self.scratch)?;
            self.at = Some(at);
        }
        let row = (ordinal - generation.blocks[at].first) as usize;
        let url = CanonicalUrl::from_key(self.block.key(row))
            .map_err(|_| self.blocks.damaged(at, FramedFile::Keys, "a key is not a URL"))?;
        Ok(Some((ordinal, url, self.block.take_record(row))))
    }
}
