//! A generation's index: where each block lies, and the key that it begins with.
//!
//! It is held in memory: some 120 bytes a block, 12 MB for a hundred million pages.

use crate::block::BLOCK_PAGES;
use crate::bytes::{Malformed, Put, Take};
use crate::codec::{put_key, take_key};
use crate::error::{ReadError, WriteError};
use crate::format::{FileKind, generation_file};
use crate::frames::{FrameReader, FrameWriter, Source};
use crate::storage::Storage;
use recrawl_types::Cycle;

/// The files of a generation that have a frame for each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Keys,
    Known,
    History,
    Content,
}

impl Part {
    pub const ALL: [Part; 4] = [Part::Keys, Part::Known, Part::History, Part::Content];

    pub fn kind(self) -> FileKind {
        match self {
            Part::Keys => FileKind::Keys,
            Part::Known => FileKind::Known,
            Part::History => FileKind::History,
            Part::Content => FileKind::Content,
        }
    }

    /// The name of the generation's file.
    pub fn file(self, number: Cycle) -> String {
        let part = match self {
            Part::Keys => "keys",
            Part::Known => "known",
            Part::History => "history",
            Part::Content => "content",
        };
        generation_file(number, part)
    }
}

/// Where a frame lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub offset: u64,
    pub length: u32,
}

/// One block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// Ordinal of its first page.
    pub first: u64,
    pub pages: u32,
    pub visited: u32,
    /// The key of its first page.
    pub key: Vec<u8>,
    /// By [`Part`].
    pub places: [Place; 4],
}

impl Block {
    pub fn place(&self, part: Part) -> Place {
        self.places[part as usize]
    }
}

/// Index entries in a frame.
const BLOCKS_A_FRAME: usize = 1024;

pub(crate) fn file(number: Cycle) -> String {
    generation_file(number, "index")
}

/// Writes the index; durable but for its name.
pub(crate) fn write(storage: &dyn Storage, number: Cycle, blocks: &[Block]) -> Result<u64, WriteError> {
    let mut frames = FrameWriter::create(storage, &file(number), FileKind::Index, number)?;
    let mut payload = Vec::new();
    for part in blocks.chunks(BLOCKS_A_FRAME) {
        payload.clear();
        let mut last: &[u8] = &[];
        for block in part {
            payload.put_varint(block.pages.into());
            payload.put_varint(block.visited.into());
            put_key(&mut payload, last, &block.key);
            for place in block.places {
                payload.put_varint(place.offset);
                payload.put_varint(place.length.into());
            }
            last = &block.key;
        }
        frames.push(&payload)?;
    }
    frames.sync()
}

/// Reads the index.
pub(crate) fn read(source: Source) -> Result<Vec<Block>, ReadError> {
    let end = source.length();
    let mut frames = FrameReader::over(source, FileKind::Index, end);
    let mut blocks = Vec::new();
    let mut first = 0;
    loop {
        let offset = frames.offset();
        let Some(payload) = frames.next_frame()? else { return Ok(blocks) };
        if let Err(Malformed(what)) = take_blocks(payload, &mut first, &mut blocks) {
            return Err(frames.damaged(offset, what));
        }
    }
}

fn take_blocks(payload: &[u8], first: &mut u64, blocks: &mut Vec<Block>) -> Result<(), Malformed> {
    let mut take = Take(payload);
    let mut key = Vec::new();
    while !take.0.is_empty() {
        let (pages, visited): (u32, u32) = (take.narrow()?, take.narrow()?);
        take_key(&mut take, &mut key)?;
        let mut places = [Place::default(); 4];
        for place in &mut places {
            *place = Place { offset: take.varint()?, length: take.narrow()? };
        }
        if pages == 0
            || pages as usize > BLOCK_PAGES
            || visited > pages
            || blocks.last().is_some_and(|b: &Block| b.key >= key)
        {
            return Err(Malformed("the index is not in order"));
        }
        blocks.push(Block { first: *first, pages, visited, key: key.clone(), places });
        *first += u64::from(pages);
    }
    Ok(())
}
