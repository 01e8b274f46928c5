//! A generation: all that is known of all pages, as of the end of one round. Never changed once it is
//! committed.

pub mod block;
pub mod codec;
pub mod column;
pub mod compaction;
pub mod contents;
pub mod front_coded;
pub mod index;
pub mod manifest;
pub mod open_block;
pub mod origins;
pub mod page_block;
pub mod read_ahead;
pub mod symbols;
pub mod version_1;
pub mod walk;

use crate::file::error::{Damage, ReadError};
use crate::file::format::{FileKind, generation_file};
use crate::file::frames::{FrameReader, FrameSource};
use crate::file::spill::SpillReader;
use crate::generation::index::{BlockFrames, FramedFile};
use crate::generation::manifest::GenerationSummary;
use crate::generation::origins::{OriginIndex, OriginRuns};
use crate::generation::page_block::{BlockExtent, Scratch, gone_and_untried};
use crate::generation::read_ahead::read_ahead;
use crate::generation::walk::{
    BlockReader, Gather, Lookup, PackedBlocks, PageRecords, PageStateBlocks, StateGroup, StateGroups,
};
use crate::storage::Storage;
use recrawl_types::{CanonicalUrl, Cycle, DatedRound, PageRecord, Round, StateColumns};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::thread;

/// Threads that a scan unpacks on: more would wait for the one that works on what they unpack.
const SCAN_THREADS: usize = 2;

/// A committed generation, open for reading. Its files stay readable while it lives, also when a later
/// commit removes their names.
#[derive(Default)]
pub struct Generation {
    summary: GenerationSummary,
    pub(crate) blocks: Vec<BlockFrames>,
    /// The files that hold its blocks' parts, its own and those of older generations.
    pub(crate) files: BTreeMap<FileName, GenerationFile>,
    /// None for the empty generation.
    small: Option<SmallFiles>,
}

/// A file of a generation that has frames of one part.
pub(crate) type FileName = (FramedFile, Round);

/// Such a file, open.
#[derive(Clone)]
pub(crate) struct GenerationFile {
    pub source: FrameSource,
    /// Bytes of it that are a part of this generation.
    pub live: u64,
}

/// What one part of the blocks takes on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartStats {
    /// The part: keys, known, history or content.
    pub name: &'static str,
    /// Files that hold it.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Of these, bytes that belong to the present generation; the rest is garbage, and headers.
    pub live: u64,
}

/// The files that are written anew with every generation.
#[derive(Clone)]
struct SmallFiles {
    index: FrameSource,
    origins: FrameSource,
    /// None when nothing waits.
    waiting: Option<FrameSource>,
}

pub(crate) fn waiting_file(number: Round) -> String {
    generation_file(number, "waiting")
}

impl Generation {
    /// Opens the generation that a manifest names.
    pub(crate) fn open(storage: &dyn Storage, summary: GenerationSummary) -> Result<Generation, ReadError> {
        let number = summary.number;
        if number == Round(0) {
            return Ok(Generation { summary, ..Generation::default() });
        }
        let index = FrameSource::open(storage, &index::file(number), FileKind::Index, number)?;
        let is_old = index.version() < 4;
        let blocks = index::read(index.clone(), number)?;
        let mut files = BTreeMap::new();
        for block in &blocks {
            for part in FramedFile::ALL {
                let place = block.place(part);
                let file = match files.entry((part, place.file)) {
                    Entry::Occupied(file) => file.into_mut(),
                    Entry::Vacant(unopened) => {
                        let name = part.file(place.file);
                        let source = FrameSource::open(storage, &name, part.kind(), place.file)?;
                        unopened.insert(GenerationFile { source, live: 0 })
                    }
                };
                file.live += u64::from(place.length);
            }
        }
        let origins = FrameSource::open(storage, &origins::file(number), FileKind::Origins, number)?;
        let waiting = match summary.waiting {
            0 => None,
            _ => Some(FrameSource::open(storage, &waiting_file(number), FileKind::Waiting, number)?),
        };
        let small = Some(SmallFiles { index, origins, waiting });
        let mut generation = Generation { summary, blocks, files, small };
        if is_old {
            generation.count_gone_and_untried()?;
        }
        let count =
            |of: fn(&BlockFrames) -> u32| generation.blocks.iter().map(|b| u64::from(of(b))).sum::<u64>();
        let counted = (count(|b| b.pages), count(|b| b.visited), count(|b| b.gone), count(|b| b.untried));
        if counted != (summary.pages, summary.visited, summary.gone, generation.summary.untried) {
            let file = storage.locate(&index::file(number));
            return Err(ReadError::damaged(&file, 0, "it does not have as many pages as the manifest says"));
        }
        Ok(generation)
    }

    /// What an index up to version 3 did not say. Read once: the next commit writes it down.
    fn count_gone_and_untried(&mut self) -> Result<(), ReadError> {
        let mut counts = Vec::with_capacity(self.blocks.len());
        let mut states = self.states();
        while let Some((_, columns)) = states.next_block()? {
            counts.push(gone_and_untried(&columns.known));
        }
        for (block, (gone, untried)) in self.blocks.iter_mut().zip(counts) {
            (block.gone, block.untried) = (gone, untried);
        }
        self.summary.untried = self.blocks.iter().map(|b| u64::from(b.untried)).sum();
        Ok(())
    }

    /// The round that made it.
    pub fn number(&self) -> Round {
        self.summary.number
    }

    /// The cycle of that round.
    pub fn cycle(&self) -> Cycle {
        self.summary.cycle
    }

    /// Both.
    pub fn dated(&self) -> DatedRound {
        self.summary.dated()
    }

    /// Known URLs.
    pub fn pages(&self) -> u64 {
        self.summary.pages
    }

    /// Of these, visited at least once.
    pub fn visited(&self) -> u64 {
        self.summary.visited
    }

    /// Of these, confirmed gone.
    pub fn gone(&self) -> u64 {
        self.summary.gone
    }

    /// Counts and sizes.
    pub fn summary(&self) -> &GenerationSummary {
        &self.summary
    }

    /// Its files, and those of older generations that hold a part of it, with their lengths in bytes.
    pub fn files(&self) -> Vec<(String, u64)> {
        self.sources().into_iter().map(|(name, source)| (name, source.length())).collect()
    }

    /// The same files, open.
    pub(crate) fn sources(&self) -> Vec<(String, &FrameSource)> {
        let Some(small) = &self.small else { return Vec::new() };
        let number = self.number();
        let mut files = vec![(index::file(number), &small.index), (origins::file(number), &small.origins)];
        files.extend(small.waiting.as_ref().map(|source| (waiting_file(number), source)));
        files.extend(self.files.iter().map(|((part, at), file)| (part.file(*at), &file.source)));
        files
    }

    /// Tells the system that these bytes of a file will be read soon; nothing when there are none.
    pub(crate) fn tell(&self, part: FramedFile, file: Round, bytes: &Range<u64>) {
        if !bytes.is_empty() {
            self.files[&(part, file)].source.will_read(bytes);
        }
    }

    /// What each part of the blocks takes.
    pub fn parts(&self) -> Vec<PartStats> {
        let of = |part: FramedFile| {
            let mut stats = PartStats { name: part.name(), files: 0, bytes: 0, live: 0 };
            for (_, file) in self.files.iter().filter(|((of, _), _)| *of == part) {
                stats.files += 1;
                stats.bytes += file.source.length();
                stats.live += file.live;
            }
            stats
        };
        FramedFile::ALL.map(of).to_vec()
    }

    /// Blocks of consecutive pages.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The key of the first page of block `at`.
    pub fn first_key(&self, at: usize) -> &[u8] {
        &self.blocks[at].key
    }

    /// Pages of block `at`.
    pub fn block_pages(&self, at: usize) -> usize {
        self.blocks[at].pages as usize
    }

    /// The ordinal of the first page of the block that holds a key, or would; the number of pages if it has none.
    pub fn first_ordinal(&self, key: &[u8]) -> u64 {
        let after = self.blocks.partition_point(|block| &*block.key <= key);
        self.blocks.get(after.saturating_sub(1)).map_or(0, |block| block.first)
    }

    /// Reads blocks as they lie on disk, for a merge.
    pub fn packed_blocks(&self) -> PackedBlocks<'_> {
        PackedBlocks::new(self)
    }

    /// The links that wait to be merged, as they were written, in order; none when none do.
    ///
    /// # Errors
    /// When their file is damaged.
    pub fn waiting(&self) -> Option<SpillReader> {
        let source = self.small.as_ref()?.waiting.clone()?;
        let end = source.length();
        Some(SpillReader::over(FrameReader::over(source, FileKind::Waiting, end)))
    }

    /// Walks the runs of pages of each origin, in order; of a [part](Generation::only), those with pages in it.
    pub fn origin_runs(&self) -> OriginRuns {
        let mut held: Vec<Range<u64>> = Vec::new();
        for block in &self.blocks {
            let end = block.first + u64::from(block.pages);
            match held.last_mut() {
                Some(last) if last.end == block.first => last.end = end,
                _ => held.push(block.first..end),
            }
        }
        OriginRuns::new(self.small.as_ref().map(|small| small.origins.clone()), &self.summary, held)
    }

    /// An index of these runs, for walks that begin anywhere. Reads all of them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn origin_index(&self) -> Result<OriginIndex, ReadError> {
        OriginIndex::read(self.small.as_ref().map(|small| small.origins.clone()), &self.summary)
    }

    /// The ordinals of the pages of a URL's origin. Reads two blocks at most.
    ///
    /// # Errors
    /// When a block cannot be read.
    pub fn pages_of_origin(&self, url: &CanonicalUrl) -> Result<Range<u64>, ReadError> {
        // Keys are ASCII, and no origin's key is a prefix of another's.
        let after = [url.origin_key(), &[u8::MAX]].concat();
        Ok(self.pages_before(url.origin_key())?..self.pages_before(&after)?)
    }

    /// Pages whose keys come before these bytes. Reads one block at most.
    ///
    /// # Errors
    /// When the block cannot be read.
    pub fn pages_before(&self, key: &[u8]) -> Result<u64, ReadError> {
        let before = self.blocks.partition_point(|block| block.key.as_slice() < key);
        let Some(at) = before.checked_sub(1) else { return Ok(0) };
        let block = BlockReader::new(self).read(at, BlockExtent::Known)?.unpack(&mut Scratch::default())?;
        Ok(self.blocks[at].first + block.rows_before(key) as u64)
    }

    /// A part of it: the blocks whose numbers `holds` takes. Ordinals and counts stay, and what lies at a page that is
    /// not in it is unknown.
    #[must_use]
    pub fn only(&self, holds: impl Fn(usize) -> bool) -> Generation {
        let held = self.blocks.iter().enumerate().filter(|(at, _)| holds(*at));
        Generation {
            summary: self.summary,
            blocks: held.map(|(_, block)| block.clone()).collect(),
            files: self.files.clone(),
            small: self.small.clone(),
        }
    }

    /// The number of the block that holds the page with that ordinal.
    pub fn block_of(&self, ordinal: u64) -> usize {
        self.blocks.partition_point(|block| block.first <= ordinal).saturating_sub(1)
    }

    /// Walks the state of all pages, a block at a time, reading nothing else.
    pub fn states(&self) -> PageStateBlocks<'_> {
        PageStateBlocks::new(self, 0)
    }

    /// The same, from the block on that holds the page with that ordinal.
    pub fn states_from(&self, ordinal: u64) -> PageStateBlocks<'_> {
        PageStateBlocks::new(self, self.block_of(ordinal))
    }

    /// Calls `work` with the state of each block, and its keys if asked for, and the ordinal of its first page, in
    /// order, while the next ones are read and unpacked on threads of their own. Ends with the first error of either.
    ///
    /// # Errors
    /// When a block cannot be read, or what `work` returns.
    pub fn scan<E: From<ReadError>>(
        &self,
        with_keys: bool,
        mut work: impl FnMut(u64, &mut StateColumns) -> Result<(), E>,
    ) -> Result<(), E> {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(SCAN_THREADS);
        let fill = |lane| {
            let mut groups = StateGroups::new(self, with_keys, lane, threads);
            move |group: &mut StateGroup| groups.next_into(group)
        };
        read_ahead((0..threads).map(fill).collect(), |group| {
            group.blocks().iter_mut().try_for_each(|(first, columns)| work(*first, columns))
        })
    }

    /// Walks all pages in order.
    pub fn records(&self) -> PageRecords<'_> {
        PageRecords::new(self)
    }

    /// What is known of one URL, and its ordinal. Reads one block.
    ///
    /// # Errors
    /// When the block cannot be read.
    pub fn get(&self, url: &CanonicalUrl) -> Result<Option<(u64, PageRecord)>, ReadError> {
        let key = url.key();
        let Some(at) = self.blocks.partition_point(|b| b.key.as_slice() <= key).checked_sub(1) else {
            return Ok(None);
        };
        let mut block = BlockReader::new(self).read(at, BlockExtent::All)?.unpack(&mut Scratch::default())?;
        Ok(block.row_of(key).map(|row| (self.blocks[at].first + row as u64, block.take_record(row))))
    }

    /// Reads pages by their URLs, which mostly ascend: the last block is kept.
    pub fn lookup(&self) -> Lookup<'_> {
        Lookup::new(self)
    }

    /// The numbers of those pages that are known, of URLs in order.
    ///
    /// # Errors
    /// When a block cannot be read.
    pub fn ordinals(&self, urls: &[CanonicalUrl]) -> Result<Vec<u64>, ReadError> {
        let mut lookup = self.lookup();
        let found = urls.iter().filter_map(|url| lookup.take(url).transpose());
        found.map(|page| page.map(|(ordinal, _)| ordinal)).collect()
    }

    /// Reads the pages with these ordinals, which must ascend. Only their blocks are read.
    pub fn gather<I: Iterator<Item = u64>>(&self, ordinals: I) -> Gather<'_, I> {
        Gather::new(self, ordinals)
    }

    /// Reads every byte and lists all damage.
    pub fn verify(&self) -> Vec<Damage> {
        let mut damage = Vec::new();
        let mut note = |error: ReadError| damage.push(error.into_damage());
        if let Some(Err(error)) = self.small.as_ref().map(|small| index::verify_copy(&small.index)) {
            note(error);
        }
        if let Err(error) = self.verify_origins() {
            note(error);
        }
        if let Err(error) = self.verify_waiting() {
            note(error);
        }
        let (mut reader, mut scratch) = (BlockReader::new(self), Scratch::default());
        let mut last = Vec::new();
        for at in 0..self.blocks.len() {
            match reader.read_next(at).and_then(|packed| packed.unpack(&mut scratch)) {
                Ok(block) => {
                    if !block.has_sound_keys(&last) {
                        note(reader.damaged(at, FramedFile::Keys, "its keys are not URLs, in order"));
                    }
                    if block.gone_and_untried() != (self.blocks[at].gone, self.blocks[at].untried) {
                        let what = "the index has another number of gone or untried pages";
                        note(reader.damaged(at, FramedFile::Known, what));
                    }
                    last = block.key(block.len() - 1).to_vec();
                }
                Err(error) => note(error),
            }
        }
        damage
    }

    fn verify_origins(&self) -> Result<(), ReadError> {
        let mut runs = self.origin_runs();
        while runs.next_run()?.is_some() {}
        Ok(())
    }

    fn verify_waiting(&self) -> Result<(), ReadError> {
        let Some(mut records) = self.waiting() else { return Ok(()) };
        let mut count = 0;
        while records.next_record()?.is_some() {
            count += 1;
        }
        if count != self.summary.waiting {
            return Err(records.damaged("it does not have as many links as the manifest says"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
