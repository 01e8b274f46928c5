//! Writes a generation: blocks in order, each carried from the one before, or packed anew.

use crate::file::error::{CommitError, WriteError};
use crate::file::format::{FileKind, check_frame};
use crate::file::frames::FrameWriter;
use crate::file::spill::SpillWriter;
use crate::generation::block::{BLOCK_PAGES, is_whole, renew};
use crate::generation::compaction::{Usage, to_empty};
use crate::generation::index::{self, BlockFrames, FramePlace, FramedFile};
use crate::generation::manifest::GenerationSummary;
use crate::generation::origins::OriginWriter;
use crate::generation::page_block::{Changed, PackedPages, PageBlock};
use crate::generation::symbols::Symbols;
use crate::generation::walk::BlockReader;
use crate::generation::{FileName, Generation, waiting_file};
use crate::kept::entries::EntryWriter;
use crate::kept::file::StoredKind;
use crate::kept::hosts::StoredHost;
use crate::kept::visits::StoredVisit;
use crate::storage::Storage;
use recrawl_types::{CanonicalUrl, Cycle, DatedRound, PageRecord, Round};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A generation in the making. Nothing of it counts before [`Repository::commit`](crate::Repository::commit).
pub struct GenerationWriter<'g> {
    storage: Arc<dyn Storage>,
    /// The generation that blocks are carried from.
    base: &'g Generation,
    /// Files of it whose frames are copied, so that they can go.
    emptied: BTreeSet<FileName>,
    reader: BlockReader<'g>,
    /// By [`FramedFile`]; made when there is something to put in.
    files: [Option<FrameWriter>; 4],
    origins: OriginWriter,
    waiting: Option<SpillWriter>,
    /// None when the visits of the cycle are not kept.
    kept: Option<EntryWriter>,
    /// None as long as nothing is kept of hosts.
    kept_hosts: Option<EntryWriter>,
    blocks: Vec<BlockFrames>,
    summary: GenerationSummary,
    /// Pages pushed one by one.
    open: PageBlock,
    /// Those of the keys that were packed last.
    symbols: Arc<Symbols>,
}

impl<'g> GenerationWriter<'g> {
    pub(crate) fn create(
        storage: Arc<dyn Storage>,
        base: &'g Generation,
        number: Round,
        cycle: Cycle,
        keep_visits: bool,
    ) -> Result<GenerationWriter<'g>, CommitError> {
        let origins = OriginWriter::create(&*storage, number, base.origin_runs())?;
        let kept = keep_visits
            .then(|| EntryWriter::create(&*storage, StoredKind::Visits, DatedRound { round: number, cycle }))
            .transpose()?;
        Ok(GenerationWriter {
            storage,
            base,
            emptied: emptied(base),
            reader: BlockReader::new(base),
            files: [const { None }; 4],
            origins,
            waiting: None,
            kept,
            kept_hosts: None,
            blocks: Vec::with_capacity(base.blocks.len()),
            summary: GenerationSummary {
                number,
                cycle,
                is_focused: base.summary().is_focused,
                ..GenerationSummary::default()
            },
            open: PageBlock::default(),
            symbols: Arc::default(),
        })
    }

    /// The generation's number.
    pub fn number(&self) -> Round {
        self.summary.number
    }

    /// Takes block `at` of the generation before as it is, by reference.
    ///
    /// # Errors
    /// When the block lies in a file that is emptied, and cannot be copied.
    ///
    /// # Panics
    /// When it does not come behind the block before.
    pub fn carry(&mut self, at: usize) -> Result<(), CommitError> {
        let mut block = self.base.blocks[at].clone();
        for part in FramedFile::ALL {
            block.places[part as usize] = self.keep(part, at)?;
        }
        self.add(block);
        Ok(())
    }

    /// Writes what block `at` of the generation before has become.
    ///
    /// # Errors
    /// When the disk takes no more, or what is as it was cannot be copied.
    ///
    /// # Panics
    /// When it does not come behind the block before.
    pub fn replace(&mut self, at: usize, pages: PackedPages) -> Result<(), CommitError> {
        self.put(Some(at), pages)
    }

    /// Writes blocks of new pages.
    ///
    /// # Errors
    /// When the disk takes no more.
    ///
    /// # Panics
    /// When they do not come behind the block before, or were not packed whole.
    pub fn append(&mut self, pages: PackedPages) -> Result<(), CommitError> {
        self.put(None, pages)
    }

    fn put(&mut self, at: Option<usize>, pages: PackedPages) -> Result<(), CommitError> {
        for piece in pages.0 {
            self.summary.is_focused |= piece.is_focused;
            let mut places = [FramePlace::default(); 4];
            for (part, frame) in FramedFile::ALL.into_iter().zip(piece.frames) {
                places[part as usize] = match frame {
                    Some(frame) => self.write(part, &frame)?,
                    None => self.keep(part, at.expect("what was there is carried from a block"))?,
                };
            }
            self.add(BlockFrames {
                first: self.summary.pages,
                pages: piece.pages,
                visited: piece.visited,
                gone: piece.gone,
                untried: piece.untried,
                key: piece.key,
                places,
            });
        }
        Ok(())
    }

    /// The place of a part of block `at` that stays as it is.
    fn keep(&mut self, part: FramedFile, at: usize) -> Result<FramePlace, CommitError> {
        let block = &self.base.blocks[at];
        let place = block.place(part);
        if !self.emptied.contains(&(part, place.file)) {
            return Ok(place);
        }
        let (source, frame) = self.reader.frame(part, place)?;
        // Neither damage nor a form of another version may be copied into a file that looks new.
        let rows = if part == FramedFile::Known { block.pages } else { block.visited } as usize;
        let frame = match source.version() {
            version if is_whole(part, version) => {
                check_frame(frame, part.kind()).map(|()| Cow::Borrowed(frame))
            }
            version => renew(frame, part, version, rows).map(Cow::Owned),
        };
        let frame = frame.map_err(|what| source.damaged(place.offset, what.0))?;
        let (offset, length) =
            part_file(&mut self.files, &*self.storage, part, self.summary.number)?.push_packed(&frame)?;
        Ok(FramePlace { file: self.summary.number, offset, length })
    }

    fn write(&mut self, part: FramedFile, frame: &[u8]) -> Result<FramePlace, CommitError> {
        let file = self.summary.number;
        let (offset, length) = part_file(&mut self.files, &*self.storage, part, file)?.push_packed(frame)?;
        Ok(FramePlace { file, offset, length })
    }

    fn add(&mut self, mut block: BlockFrames) {
        assert!(
            self.blocks.last().is_none_or(|last| last.key < block.key),
            "pages must be written in ascending order"
        );
        let summary = &mut self.summary;
        block.first = summary.pages;
        summary.pages += u64::from(block.pages);
        summary.visited += u64::from(block.visited);
        summary.gone += u64::from(block.gone);
        summary.untried += u64::from(block.untried);
        self.blocks.push(block);
    }

    /// Says that blocks written have more pages of an origin, or more visited ones, than the generation before.
    /// Origins come in order.
    ///
    /// # Errors
    /// When the disk takes no more, or the origins of the generation before cannot be read.
    pub fn add_to_origin(&mut self, origin: &[u8], pages: u64, visited: u64) -> Result<(), CommitError> {
        self.origins.add(origin, pages, visited)
    }

    /// Appends a new page to a generation that nothing is carried to: it packs the blocks and counts the origins.
    ///
    /// # Errors
    /// When the disk takes no more.
    ///
    /// # Panics
    /// When the key does not come behind the one before.
    pub fn push(&mut self, key: &[u8], record: &PageRecord) -> Result<(), CommitError> {
        let pages = self.open.len();
        assert!(pages == 0 || self.open.key(pages - 1) < key, "pages must be written in ascending order");
        self.add_to_origin(CanonicalUrl::origin_of(key), 1, u64::from(record.visited.is_some()))?;
        if pages == BLOCK_PAGES {
            self.close_block()?;
        }
        self.open.push(key, record.clone());
        Ok(())
    }

    fn close_block(&mut self) -> Result<(), CommitError> {
        let pages = std::mem::take(&mut self.open).pack_near(Changed::ALL, BLOCK_PAGES, &mut self.symbols);
        self.append(pages)
    }

    /// Keeps a link for a later merge, in whatever form. Links come in order.
    ///
    /// # Errors
    /// When the disk takes no more.
    pub fn wait(&mut self, link: &[u8]) -> Result<(), WriteError> {
        if self.waiting.is_none() {
            let number = self.summary.number;
            let frames =
                FrameWriter::create(&*self.storage, &waiting_file(number), FileKind::Waiting, number)?;
            self.waiting = Some(SpillWriter::over(frames));
        }
        self.summary.waiting += 1;
        self.waiting.as_mut().expect("just made").push(link)
    }

    /// Keeps a visit of the cycle that makes this generation, where visits are kept.
    ///
    /// # Errors
    /// When the disk takes no more.
    ///
    /// # Panics
    /// When its URL comes before that of the visit before.
    pub fn keep_visit(&mut self, visit: &StoredVisit) -> Result<(), WriteError> {
        self.kept.as_mut().map_or(Ok(()), |kept| kept.push(visit))
    }

    /// Keeps what a host was asked in the round that makes this generation.
    ///
    /// # Errors
    /// When the disk takes no more.
    ///
    /// # Panics
    /// When it does not come behind the one before.
    pub fn keep_host(&mut self, host: &StoredHost) -> Result<(), WriteError> {
        if self.kept_hosts.is_none() {
            let GenerationSummary { number: round, cycle, .. } = self.summary;
            self.kept_hosts =
                Some(EntryWriter::create(&*self.storage, StoredKind::Hosts, DatedRound { round, cycle })?);
        }
        self.kept_hosts.as_mut().expect("just made").push(host)
    }

    /// Counts of what was written so far.
    pub fn summary(&self) -> &GenerationSummary {
        &self.summary
    }

    /// Makes everything durable but the names.
    pub(crate) fn finish(mut self) -> Result<GenerationSummary, CommitError> {
        if !self.open.is_empty() {
            self.close_block()?;
        }
        let mut bytes = index::write(&*self.storage, self.summary.number, &self.blocks)?;
        bytes += self.origins.finish()?;
        if let Some(waiting) = self.waiting {
            bytes += waiting.finish_synced()?;
        }
        for file in self.files.iter_mut().flatten() {
            bytes += file.sync()?;
        }
        if let Some(kept) = &mut self.kept {
            kept.finish()?;
        }
        if let Some(hosts) = &mut self.kept_hosts {
            hosts.finish()?;
        }
        bytes += carried_bytes(self.base, &self.blocks);
        self.summary.origins = self.origins.origins;
        self.summary.bytes = bytes;
        Ok(self.summary)
    }
}

/// The file of a part, made when it is asked for first.
fn part_file<'a>(
    files: &'a mut [Option<FrameWriter>; 4],
    storage: &dyn Storage,
    part: FramedFile,
    number: Round,
) -> Result<&'a mut FrameWriter, WriteError> {
    let file = &mut files[part as usize];
    if file.is_none() {
        *file = Some(FrameWriter::create(storage, &part.file(number), part.kind(), number)?);
    }
    Ok(file.as_mut().expect("just made"))
}

/// Bytes of the files of older generations that these blocks have parts in.
fn carried_bytes(base: &Generation, blocks: &[BlockFrames]) -> u64 {
    let names: BTreeSet<FileName> =
        blocks.iter().flat_map(|block| FramedFile::ALL.map(|part| (part, block.place(part).file))).collect();
    names.iter().filter_map(|name| base.files.get(name)).map(|file| file.source.length()).sum()
}

/// The files of `base` whose frames the next generation copies.
fn emptied(base: &Generation) -> BTreeSet<FileName> {
    let of = |part: FramedFile| {
        let files = base.files.iter().filter(|(name, _)| name.0 == part);
        let usage = |((_, file), open): (&FileName, &crate::generation::GenerationFile)| Usage {
            file: *file,
            bytes: open.source.length(),
            live: open.live,
        };
        to_empty(files.map(usage).collect()).into_iter().map(move |file| (part, file))
    };
    FramedFile::ALL.into_iter().flat_map(of).collect()
}
