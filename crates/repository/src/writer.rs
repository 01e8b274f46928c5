//! Writes a generation: pages in ascending order, blocks as they fill.

use crate::block::{
    BLOCK_PAGES, is_gone, put_block_content, put_block_history, put_block_key, put_block_known,
};
use crate::error::WriteError;
use crate::frames::FrameWriter;
use crate::index::{self, Block, Part, Place};
use crate::kept_visits::{KeptVisit, KeptWriter};
use crate::manifest::Summary;
use crate::origins::OriginWriter;
use crate::storage::Storage;
use recrawl_types::{Content, Cycle, History, Known, PageRecord};
use std::sync::Arc;

/// A generation in the making. Nothing of it counts before [`Repository::commit`](crate::Repository::commit).
pub struct GenerationWriter {
    storage: Arc<dyn Storage>,
    files: [FrameWriter; 4],
    origins: OriginWriter,
    /// None when the visits of the cycle are not kept.
    kept: Option<KeptWriter>,
    blocks: Vec<Block>,
    summary: Summary,
    open: OpenBlock,
    last: Vec<u8>,
    payload: Vec<u8>,
}

/// The block that is filling.
#[derive(Default)]
struct OpenBlock {
    first_key: Vec<u8>,
    keys: Vec<u8>,
    visited: Vec<bool>,
    known: Vec<Known>,
    histories: Vec<History>,
    contents: Vec<Content>,
}

impl GenerationWriter {
    pub(crate) fn create(
        storage: Arc<dyn Storage>,
        number: Cycle,
        keep_visits: bool,
    ) -> Result<GenerationWriter, WriteError> {
        let file = |part: Part| FrameWriter::create(&*storage, &part.file(number), part.kind(), number);
        let files = [file(Part::Keys)?, file(Part::Known)?, file(Part::History)?, file(Part::Content)?];
        let origins = OriginWriter::create(&*storage, number)?;
        let kept = keep_visits.then(|| KeptWriter::create(&*storage, number)).transpose()?;
        Ok(GenerationWriter {
            storage,
            files,
            origins,
            kept,
            blocks: Vec::new(),
            summary: Summary { number, ..Summary::default() },
            open: OpenBlock::default(),
            last: Vec::new(),
            payload: Vec::new(),
        })
    }

    /// The generation's number.
    pub fn number(&self) -> Cycle {
        self.summary.number
    }

    /// Appends a page.
    ///
    /// # Errors
    /// When the disk takes no more.
    ///
    /// # Panics
    /// When the key does not come behind the one before.
    pub fn push(&mut self, key: &[u8], record: &PageRecord) -> Result<(), WriteError> {
        assert!(
            self.summary.pages == 0 || self.last.as_slice() < key,
            "pages must be written in ascending order"
        );
        if self.open.known.len() == BLOCK_PAGES {
            self.close_block()?;
        }
        let open = &mut self.open;
        if open.known.is_empty() {
            open.first_key.extend_from_slice(key);
            put_block_key(&mut open.keys, &[], key);
        } else {
            put_block_key(&mut open.keys, &self.last, key);
        }
        open.visited.push(record.visited.is_some());
        open.known.push(record.known);
        if let Some(visited) = &record.visited {
            open.histories.push(visited.history);
            open.contents.push(visited.content.clone());
        }
        self.origins.push(self.summary.pages, key, record.visited.is_some())?;
        self.last.clear();
        self.last.extend_from_slice(key);
        self.summary.pages += 1;
        self.summary.visited += u64::from(record.visited.is_some());
        self.summary.gone += u64::from(is_gone(&record.known));
        Ok(())
    }

    /// Keeps a visit of the cycle that makes this generation, where visits are kept.
    ///
    /// # Errors
    /// When the disk takes no more.
    ///
    /// # Panics
    /// When its URL comes before that of the visit before.
    pub fn keep_visit(&mut self, visit: &KeptVisit) -> Result<(), WriteError> {
        self.kept.as_mut().map_or(Ok(()), |kept| kept.push(visit))
    }

    fn close_block(&mut self) -> Result<(), WriteError> {
        let open = &mut self.open;
        let pages = open.known.len() as u32;
        let mut block = Block {
            first: self.summary.pages - u64::from(pages),
            pages,
            visited: open.histories.len() as u32,
            key: std::mem::take(&mut open.first_key),
            places: [Place::default(); 4],
        };
        for part in Part::ALL {
            self.payload.clear();
            match part {
                Part::Keys => self.payload.append(&mut open.keys),
                Part::Known => put_block_known(&mut self.payload, &open.visited, &open.known),
                Part::History => put_block_history(&mut self.payload, &open.histories),
                Part::Content => put_block_content(&mut self.payload, &open.contents),
            }
            let (offset, length) = self.files[part as usize].push(&self.payload)?;
            block.places[part as usize] = Place { offset, length };
        }
        open.visited.clear();
        open.known.clear();
        open.histories.clear();
        open.contents.clear();
        self.blocks.push(block);
        Ok(())
    }

    /// Makes everything durable but the names.
    pub(crate) fn finish(mut self) -> Result<Summary, WriteError> {
        if !self.open.known.is_empty() {
            self.close_block()?;
        }
        let mut bytes = index::write(&*self.storage, self.summary.number, &self.blocks)?;
        bytes += self.origins.finish()?;
        for file in &mut self.files {
            bytes += file.sync()?;
        }
        if let Some(kept) = &mut self.kept {
            kept.finish()?;
        }
        self.summary.origins = self.origins.origins;
        self.summary.bytes = bytes;
        Ok(self.summary)
    }
}
