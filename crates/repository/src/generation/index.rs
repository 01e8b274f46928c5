//! A generation's index: where each part of each block lies, and the key that the block begins with.
//!
//! A part may lie in the file of an older generation: what a merge did not touch is carried by reference. The
//! index is held in memory: some 150 bytes a block, 15 MB for a hundred million pages. In its file it stands twice: it alone
//! tells which states are whose, and is small.

use crate::file::bytes::{Malformed, Put, Take};
use crate::file::error::{ReadError, WriteError};
use crate::file::format::{FileKind, HEADER_BYTES, generation_file};
use crate::file::frames::{FrameReader, FrameSource, FrameWriter, Window};
use crate::generation::block::MAX_BLOCK_PAGES;
use crate::generation::codec::{put_key, take_key};
use crate::storage::Storage;
use recrawl_types::Round;

/// The files of a generation that have a frame for each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FramedFile {
    Keys,
    Known,
    History,
    Content,
}

impl FramedFile {
    pub const ALL: [FramedFile; 4] =
        [FramedFile::Keys, FramedFile::Known, FramedFile::History, FramedFile::Content];

    pub fn kind(self) -> FileKind {
        match self {
            FramedFile::Keys => FileKind::Keys,
            FramedFile::Known => FileKind::Known,
            FramedFile::History => FileKind::History,
            FramedFile::Content => FileKind::Content,
        }
    }

    /// What its files' names end with.
    pub fn name(self) -> &'static str {
        match self {
            FramedFile::Keys => "keys",
            FramedFile::Known => "known",
            FramedFile::History => "history",
            FramedFile::Content => "content",
        }
    }

    /// The name of the generation's file.
    pub fn file(self, number: Round) -> String {
        generation_file(number, self.name())
    }
}

/// Where a frame lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FramePlace {
    /// The generation that wrote it.
    pub file: Round,
    pub offset: u64,
    pub length: u32,
}

/// One block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockFrames {
    /// Ordinal of its first page.
    pub first: u64,
    pub pages: u32,
    pub visited: u32,
    pub gone: u32,
    /// Pages that no fetch was ever tried of.
    pub untried: u32,
    /// The key of its first page.
    pub key: Vec<u8>,
    /// By [`FramedFile`].
    pub places: [FramePlace; 4],
}

impl BlockFrames {
    pub fn place(&self, part: FramedFile) -> FramePlace {
        self.places[part as usize]
    }
}

/// Index entries in a frame.
const BLOCKS_A_FRAME: usize = 1024;
/// Bytes of index and copy that are compared at a time.
const COMPARED: usize = 4096;

pub(crate) fn file(number: Round) -> String {
    generation_file(number, "index")
}

/// Writes the index, and then the same frames again; durable but for its name.
pub(crate) fn write(storage: &dyn Storage, number: Round, blocks: &[BlockFrames]) -> Result<u64, WriteError> {
    let mut frames = FrameWriter::create(storage, &file(number), FileKind::Index, number)?;
    let mut payload = Vec::new();
    for part in blocks.chunks(BLOCKS_A_FRAME).chain(blocks.chunks(BLOCKS_A_FRAME)) {
        payload.clear();
        let mut last: &[u8] = &[];
        for block in part {
            payload.put_varint(block.pages.into());
            payload.put_varint(block.visited.into());
            payload.put_varint(block.gone.into());
            payload.put_varint(block.untried.into());
            put_key(&mut payload, last, &block.key);
            for place in block.places {
                payload.put_varint(number.since(place.file).into());
                payload.put_varint(place.offset);
                payload.put_varint(place.length.into());
            }
            last = &block.key;
        }
        frames.push(&payload)?;
    }
    frames.sync()
}

/// Reads the index of generation `number`. Up to version 3 it tells neither how many pages are gone nor how many
/// are untried, all parts lie in the generation's own files, and it stands there once.
pub(crate) fn read(source: FrameSource, number: Round) -> Result<Vec<BlockFrames>, ReadError> {
    let (end, is_old) = (first_end(&source), source.version() < 4);
    let mut frames = FrameReader::over(source, FileKind::Index, end);
    let mut blocks = Vec::new();
    loop {
        let offset = frames.offset();
        let Some(payload) = frames.next_frame()? else { return Ok(blocks) };
        if let Err(Malformed(what)) = take_blocks(payload, number, is_old, &mut blocks) {
            return Err(frames.damaged(offset, what));
        }
    }
}

/// Where the index ends that is read; behind it there is its copy.
fn first_end(source: &FrameSource) -> u64 {
    let header = HEADER_BYTES as u64;
    if source.version() < 4 { source.length() } else { header + source.length().saturating_sub(header) / 2 }
}

/// Is the copy as the index?
pub(crate) fn verify_copy(source: &FrameSource) -> Result<(), ReadError> {
    let middle = first_end(source);
    let (mut index, mut copy) = (Window::default(), Window::default());
    let mut at = HEADER_BYTES as u64;
    while at < middle && middle < source.length() {
        let length = (middle - at).min(COMPARED as u64);
        let offset = at + middle - HEADER_BYTES as u64;
        if index.get(source, at, length as usize)? != copy.get(source, offset, length as usize)? {
            return Err(source.damaged(offset, "the copy of the index differs from the index"));
        }
        at += length;
    }
    Ok(())
}

/// Takes the entries of a frame.
pub(crate) fn take_blocks(
    payload: &[u8],
    number: Round,
    is_old: bool,
    blocks: &mut Vec<BlockFrames>,
) -> Result<(), Malformed> {
    let mut take = Take(payload);
    let mut key = Vec::new();
    while !take.0.is_empty() {
        let (pages, visited): (u32, u32) = (take.narrow()?, take.narrow()?);
        let (gone, untried) = if is_old { (0, 0) } else { (take.narrow()?, take.narrow()?) };
        take_key(&mut take, &mut key)?;
        let mut places = [FramePlace::default(); 4];
        for place in &mut places {
            let age: u32 = if is_old { 0 } else { take.narrow()? };
            let file = number.0.checked_sub(age).filter(|&file| file > 0);
            let file = Round(file.ok_or(Malformed("a part refers to a generation before the first"))?);
            *place = FramePlace { file, offset: take.varint()?, length: take.narrow()? };
        }
        let first = blocks.last().map_or(0, |b: &BlockFrames| b.first + u64::from(b.pages));
        if pages == 0
            || pages as usize > MAX_BLOCK_PAGES
            || visited.max(gone).max(untried) > pages
            || blocks.last().is_some_and(|b: &BlockFrames| b.key >= key)
        {
            return Err(Malformed("the index is not in order"));
        }
        blocks.push(BlockFrames { first, pages, visited, gone, untried, key: key.clone(), places });
    }
    Ok(())
}
