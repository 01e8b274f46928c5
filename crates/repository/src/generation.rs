//! A generation: all that is known of all pages, as of the end of one cycle. Never changed once it is
//! committed.

use crate::block::{KeyWalk, take_block_content, take_block_history, take_block_known};
use crate::bytes::Malformed;
use crate::error::{Damage, ReadError};
use crate::format::{FileKind, open_frame};
use crate::frames::{Source, Window};
use crate::index::{self, Block, Part};
use crate::manifest::Summary;
use crate::origins::{self, OriginRun};
use crate::storage::Storage;
use recrawl_types::{CanonicalUrl, Content, Cycle, PageRecord, StateColumns, Visited};

/// A committed generation, open for reading. Its files stay readable while it lives, also when a later
/// commit removes their names.
#[derive(Default)]
pub struct Generation {
    summary: Summary,
    blocks: Vec<Block>,
    index_bytes: u64,
    /// By [`Part`]; none for the empty generation.
    files: Option<[Source; 4]>,
    origins: Option<Source>,
}

impl Generation {
    /// Opens the generation that a manifest names.
    pub(crate) fn open(storage: &dyn Storage, summary: Summary) -> Result<Generation, ReadError> {
        let number = summary.number;
        if number == Cycle(0) {
            return Ok(Generation { summary, ..Generation::default() });
        }
        let index = Source::open(storage, &index::file(number), FileKind::Index, number)?;
        let index_bytes = index.length();
        let blocks = index::read(index)?;
        let pages: u64 = blocks.iter().map(|b| u64::from(b.pages)).sum();
        let open = |part: Part| Source::open(storage, &part.file(number), part.kind(), number);
        let files = [open(Part::Keys)?, open(Part::Known)?, open(Part::History)?, open(Part::Content)?];
        let origins = Source::open(storage, &origins::file(number), FileKind::Origins, number)?;
        let visited: u64 = blocks.iter().map(|b| u64::from(b.visited)).sum();
        if (pages, visited) != (summary.pages, summary.visited) {
            let file = storage.locate(&index::file(number));
            return Err(ReadError::damaged(&file, 0, "it does not have as many pages as the manifest says"));
        }
        Ok(Generation { summary, blocks, index_bytes, files: Some(files), origins: Some(origins) })
    }

    /// The cycle that made it.
    pub fn number(&self) -> Cycle {
        self.summary.number
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
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Its files with their lengths in bytes.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn files(&self) -> Result<Vec<(String, u64)>, ReadError> {
        let Some(parts) = &self.files else { return Ok(Vec::new()) };
        let mut files = Vec::new();
        files.push((index::file(self.number()), self.index_bytes));
        let origins = self.origins.as_ref().map_or(0, Source::length);
        files.push((origins::file(self.number()), origins));
        files.extend(Part::ALL.map(|part| (part.file(self.number()), parts[part as usize].length())));
        Ok(files)
    }

    /// The runs of pages of each origin, in order: held in memory, some 60 bytes each.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn origins(&self) -> Result<Vec<OriginRun>, ReadError> {
        self.origins.as_ref().map_or(Ok(Vec::new()), |source| origins::read(source.clone(), &self.summary))
    }

    /// Walks the state of all pages, a block at a time, reading nothing else.
    pub fn states(&self) -> States<'_> {
        States {
            generation: self,
            next: 0,
            blocks: BlockReader::new(self, true),
            columns: StateColumns::default(),
        }
    }

    /// Walks all pages in order.
    pub fn records(&self) -> Records<'_> {
        Records {
            generation: self,
            next: 0,
            row: 0,
            blocks: BlockReader::new(self, true),
            loaded: Loaded::default(),
        }
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
        let mut reader = BlockReader::new(self, false);
        let mut loaded = Loaded::default();
        reader.load(&self.blocks[at], &mut loaded)?;
        for row in 0..loaded.rows() {
            reader.step_key(&self.blocks[at], &mut loaded)?;
            if loaded.key == key {
                return Ok(Some((self.blocks[at].first + row as u64, loaded.record(row))));
            }
            if loaded.key.as_slice() > key {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Reads the pages with these ordinals, which must ascend. Only their blocks are read.
    pub fn gather<I: Iterator<Item = u64>>(&self, ordinals: I) -> Gather<'_, I> {
        Gather {
            generation: self,
            ordinals,
            blocks: BlockReader::new(self, false),
            block: None,
            loaded: Loaded::default(),
            stepped: 0,
        }
    }

    /// Reads every byte and lists all damage.
    pub fn verify(&self) -> Vec<Damage> {
        let mut damage = Vec::new();
        let mut note = |error: ReadError| damage.push(error.into_damage());
        if let Err(error) = self.origins() {
            note(error);
        }
        let mut reader = BlockReader::new(self, true);
        let mut loaded = Loaded::default();
        let mut last = Vec::new();
        for block in &self.blocks {
            let keys = reader
                .load(block, &mut loaded)
                .and_then(|()| reader.verify_keys(block, &mut loaded, &mut last));
            if let Err(error) = keys {
                note(error);
            }
        }
        damage
    }
}

/// Reads frames of blocks.
struct BlockReader<'g> {
    files: Option<&'g [Source; 4]>,
    windows: [Window; 4],
    scratch: Vec<u8>,
    places: Vec<usize>,
}

/// A block unpacked.
#[derive(Default)]
struct Loaded {
    keys: Vec<u8>,
    /// Bytes of `keys` walked so far.
    walked: usize,
    key: Vec<u8>,
    columns: StateColumns,
    /// By row: the place of a visited page in `contents`.
    contents: Vec<Option<Content>>,
}

impl Loaded {
    fn rows(&self) -> usize {
        self.columns.len()
    }

    /// The record of a row; its content is moved out.
    fn record(&mut self, row: usize) -> PageRecord {
        let content = self.contents[row].take();
        let visited = self.columns.history(row).zip(content);
        PageRecord {
            known: self.columns.known[row],
            visited: visited.map(|(history, content)| Visited { history, content }),
        }
    }
}

impl<'g> BlockReader<'g> {
    fn new(generation: &'g Generation, sequential: bool) -> BlockReader<'g> {
        let window = || if sequential { Window::sequential() } else { Window::exact() };
        BlockReader {
            files: generation.files.as_ref(),
            windows: [window(), window(), window(), window()],
            scratch: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Reads and checks one frame and gives its payload to `take`.
    fn part<T>(
        &mut self,
        block: &Block,
        part: Part,
        take: impl FnOnce(&[u8]) -> Result<T, Malformed>,
    ) -> Result<T, ReadError> {
        let source = &self.files.expect("a generation with blocks has files")[part as usize];
        let place = block.place(part);
        let frame = self.windows[part as usize].get(source, place.offset, place.length as usize)?;
        open_frame(frame, part.kind(), &mut self.scratch)
            .and_then(take)
            .map_err(|Malformed(what)| source.damaged(place.offset, what))
    }

    /// The state columns of a block, in place of what `columns` holds.
    fn columns(&mut self, block: &Block, columns: &mut StateColumns) -> Result<(), ReadError> {
        columns.clear();
        let rows = block.pages as usize;
        self.part(block, Part::Known, |payload| take_block_known(payload, rows, columns))?;
        let visited = columns.visited.iter().filter(|&&v| v).count();
        if visited != block.visited as usize {
            return Err(self.damaged(block, Part::Known, "the index tells another number of visited pages"));
        }
        let version =
            self.files.expect("a generation with blocks has files")[Part::History as usize].version();
        let mut places = std::mem::take(&mut self.places);
        let history = self.part(block, Part::History, |payload| {
            take_block_history(payload, version, 0, &mut places, columns)
        });
        self.places = places;
        history
    }

    /// All of a block, in place of what `loaded` holds; nothing after an error.
    fn load(&mut self, block: &Block, loaded: &mut Loaded) -> Result<(), ReadError> {
        let filled = self.fill(block, loaded);
        if filled.is_err() {
            *loaded = Loaded::default();
        }
        filled
    }

    fn fill(&mut self, block: &Block, loaded: &mut Loaded) -> Result<(), ReadError> {
        self.columns(block, &mut loaded.columns)?;
        let keys = &mut loaded.keys;
        keys.clear();
        self.part(block, Part::Keys, |payload| {
            keys.extend_from_slice(payload);
            Ok(())
        })?;
        (loaded.walked, loaded.key) = (0, Vec::new());
        let visited = block.visited as usize;
        let contents = self.part(block, Part::Content, |payload| take_block_content(payload, visited))?;
        let mut contents = contents.into_iter();
        loaded.contents.clear();
        loaded
            .contents
            .extend(loaded.columns.visited.iter().map(|&v| if v { contents.next() } else { None }));
        Ok(())
    }

    /// Moves `loaded.key` on by one.
    fn step_key(&self, block: &Block, loaded: &mut Loaded) -> Result<(), ReadError> {
        let mut walk = KeyWalk::new(&loaded.keys[loaded.walked..]);
        walk.step(&mut loaded.key).map_err(|Malformed(what)| self.damaged(block, Part::Keys, what))?;
        loaded.walked = loaded.keys.len() - walk.left();
        Ok(())
    }

    /// Are the keys of a block URLs, in order behind `last`, and as many as the block has pages?
    fn verify_keys(&self, block: &Block, loaded: &mut Loaded, last: &mut Vec<u8>) -> Result<(), ReadError> {
        for row in 0..loaded.rows() {
            self.step_key(block, loaded)?;
            let is_first = row == 0 && loaded.key != block.key;
            if is_first || CanonicalUrl::from_key(&loaded.key).is_err() || *last >= loaded.key {
                return Err(self.damaged(block, Part::Keys, "its keys are not those of the index, in order"));
            }
            last.clone_from(&loaded.key);
        }
        if loaded.walked < loaded.keys.len() {
            return Err(self.damaged(block, Part::Keys, "it has more keys than pages"));
        }
        Ok(())
    }

    fn damaged(&self, block: &Block, part: Part, what: &str) -> ReadError {
        let source = &self.files.expect("a generation with blocks has files")[part as usize];
        source.damaged(block.place(part).offset, what)
    }
}

/// The state of all pages, a block at a time.
pub struct States<'g> {
    generation: &'g Generation,
    next: usize,
    blocks: BlockReader<'g>,
    columns: StateColumns,
}

impl States<'_> {
    /// The next block, with the ordinal of its first page; none at the end. What is no part of a record,
    /// the rates of sites, is for the caller to fill in.
    ///
    /// # Errors
    /// When the block cannot be read.
    pub fn next_block(&mut self) -> Result<Option<(u64, &mut StateColumns)>, ReadError> {
        let Some(block) = self.generation.blocks.get(self.next) else { return Ok(None) };
        self.blocks.columns(block, &mut self.columns)?;
        self.next += 1;
        Ok(Some((block.first, &mut self.columns)))
    }
}

/// A page as [`Records`] gives it: ordinal, key, record.
pub type Row<'r> = (u64, &'r [u8], PageRecord);

/// All pages in order.
pub struct Records<'g> {
    generation: &'g Generation,
    /// The block to load next.
    next: usize,
    /// The row to give next, of the block before that.
    row: usize,
    blocks: BlockReader<'g>,
    loaded: Loaded,
}

impl Records<'_> {
    /// The next page: ordinal, key, record; none at the end.
    ///
    /// # Errors
    /// When its block cannot be read.
    pub fn next_record(&mut self) -> Result<Option<Row<'_>>, ReadError> {
        if self.row == self.loaded.rows() {
            let Some(block) = self.generation.blocks.get(self.next) else { return Ok(None) };
            self.row = 0;
            self.blocks.load(block, &mut self.loaded)?;
            self.next += 1;
        }
        let block = &self.generation.blocks[self.next - 1];
        self.blocks.step_key(block, &mut self.loaded)?;
        let row = self.row;
        self.row += 1;
        let record = self.loaded.record(row);
        Ok(Some((block.first + row as u64, &self.loaded.key, record)))
    }
}

/// Chosen pages in order.
pub struct Gather<'g, I> {
    generation: &'g Generation,
    ordinals: I,
    blocks: BlockReader<'g>,
    /// The block in `loaded`.
    block: Option<usize>,
    loaded: Loaded,
    /// Keys of it walked so far.
    stepped: usize,
}

impl<I: Iterator<Item = u64>> Gather<'_, I> {
    /// The next chosen page; none when there are no more ordinals.
    ///
    /// # Errors
    /// When its block cannot be read.
    ///
    /// # Panics
    /// When the ordinals do not ascend, or one is of no page.
    pub fn next_page(&mut self) -> Result<Option<(u64, CanonicalUrl, PageRecord)>, ReadError> {
        let Some(ordinal) = self.ordinals.next() else { return Ok(None) };
        assert!(ordinal < self.generation.pages(), "page {ordinal} of {}", self.generation.pages());
        let at = self.generation.blocks.partition_point(|b| b.first <= ordinal) - 1;
        let block = &self.generation.blocks[at];
        if self.block != Some(at) {
            assert!(self.block.is_none_or(|before| before < at), "the ordinals must ascend");
            self.blocks.load(block, &mut self.loaded)?;
            (self.block, self.stepped) = (Some(at), 0);
        }
        let row = (ordinal - block.first) as usize;
        assert!(row >= self.stepped, "the ordinals must ascend");
        while self.stepped <= row {
            self.blocks.step_key(block, &mut self.loaded)?;
            self.stepped += 1;
        }
        let url = CanonicalUrl::from_key(&self.loaded.key)
            .map_err(|_| self.blocks.damaged(block, Part::Keys, "a key is no URL's"))?;
        Ok(Some((ordinal, url, self.loaded.record(row))))
    }
}

#[cfg(test)]
mod tests;
