//! What can still be read of a damaged repository, written into a new one. The damaged one is only read.
//!
//! The index says where each block lies, so a block that is damaged costs its own pages: where its keys are sound the
//! URLs stay, and what every known page has where that is sound too. All keys files are read beside it, in the
//! same order: a URL that an earlier state of a block had is one that this state had, since none is ever taken
//! away. They fill in what a damaged index or block leaves open.

mod found;
mod known_keys;

pub use found::{LostRange, SalvageError, Salvaged};

use crate::decisions;
use crate::file::bytes::Take;
use crate::file::error::{CommitError, Damage, OpenError, WriteError};
use crate::file::format::{FileKind, MANIFEST, REPORTS, number_in, open_frame};
use crate::file::frames::{FrameSource, FrameWriter};
use crate::file::sound_frames::{SoundFrames, open_anyhow};
use crate::generation::block::take_block_known;
use crate::generation::index::{self, BlockFrames, FramedFile};
use crate::generation::manifest::{self, Manifest};
use crate::generation::origins;
use crate::generation::page_block::{PackedBlock, PackedFrame, PageBlock, Scratch};
use crate::generation::{FileName, Generation, waiting_file};
use crate::kept;
use crate::kept::entries::{EntryWriter, StoredEntry, entries_in};
use crate::kept::hosts::StoredHost;
use crate::kept::visits::StoredVisit;
use crate::repository::writer::GenerationWriter;
use crate::storage::Storage;
use known_keys::{KnownKeys, keys_in};
use recrawl_types::{CanonicalUrl, Cycle, Known, PageRecord, Round, StateColumns};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Writes into the empty `to` all that can be read of what is committed in `from`. The cycle in progress is left out:
/// its pages are asked for again. `older` gives the text of what operators decided, where the folder is of a version that
/// had no file for it; where that cannot be read, the new repository has none, and is not opened for writing until it has.
/// `mend` may change the record of a page that is saved whole, by its key.
///
/// # Errors
/// [`SalvageError`]. Damage in `from` is none.
pub fn salvage(
    from: &dyn Storage,
    to: &Arc<dyn Storage>,
    older: &dyn Fn() -> Option<String>,
    mend: &dyn Fn(&[u8], &mut PageRecord),
) -> Result<Salvaged, SalvageError> {
    let list = |storage: &dyn Storage| {
        storage.list().map_err(crate::file::error::ReadError::io(storage.locate(""))).map_err(OpenError::Read)
    };
    if !list(&**to)?.is_empty() {
        return Err(SalvageError::Occupied(to.locate("")));
    }
    let _lock = to.lock().map_err(WriteError::during(to.locate(""), "lock"))?;
    let names = list(from)?;
    // From here on the folder is not empty: no other process may take it for a repository.
    let mut found = Salvaged::default();
    let manifest = match manifest::read(from) {
        Ok(Some(manifest)) => Some(manifest),
        Ok(None) => {
            let (file, what) = (from.locate(MANIFEST), "it is missing".into());
            found.damage.push(Damage { file, offset: 0, what });
            None
        }
        Err(OpenError::Read(error)) => {
            found.damage.push(error.into_damage());
            None
        }
        // Only a manifest says what was committed. Without one, the newest whole generation is it.
        Err(other) => return Err(other.into()),
    };
    found.by_manifest = manifest.is_some();
    found.generation = match &manifest {
        Some(manifest) => manifest.summary.number,
        None => newest(from, &names).ok_or_else(|| SalvageError::Nothing(from.locate("")))?,
    };
    found.cycle = match &manifest {
        Some(manifest) => manifest.summary.cycle,
        None => latest_cycle(&names, found.generation),
    };
    if found.generation == Round(0) {
        return Err(SalvageError::Nothing(from.locate("")));
    }
    let empty = Generation::default();
    // Begun from nothing: no block of the new repository may lie in a file of the damaged one.
    let mut writer = GenerationWriter::create(to.clone(), &empty, found.generation, found.cycle, false)?;
    SalvagedPages::new(from, &names, &mut found, mend).save(&mut writer)?;
    look_at_origins(from, &mut found);
    // Without a manifest nobody knows how many pages there were: the damaged blocks alone tell.
    let expected = manifest.map_or(0, |m| m.summary.pages);
    let of_blocks = found.lost_ranges.iter().map(|range| range.pages).sum();
    found.lost = expected.saturating_sub(found.whole + found.urls_only).max(of_blocks);
    if manifest.is_none_or(|m| m.summary.waiting > 0) {
        save_waiting(from, &names, &mut writer, &mut found)?;
    }
    let summary = writer.finish()?;
    let reports = save_reports(from, &**to, manifest.map(|m| m.reports), &mut found)?;
    found.visits = save_kept::<StoredVisit>(from, &**to, &names, &mut found)?;
    // Without decisions the new repository takes no crawl, which could fetch again what was taken down.
    save_kept::<StoredHost>(from, &**to, &names, &mut found)?;
    let decided = match decisions::read(from) {
        Ok(None) if manifest.is_some_and(|m| !m.has_decisions) => older(),
        Ok(text) => text,
        Err(_) => None,
    };
    found.has_decisions = decided.is_some();
    match decided {
        Some(text) => decisions::write(&**to, &text)?,
        None => found.damage.extend(decisions::check(from).err()),
        // Last: an interrupted salvage leaves no manifest, and so no repository.
    }
    manifest::write(&**to, &Manifest { summary, reports, has_decisions: true })?;
    found.damage.sort_by(|a, b| (&a.file, a.offset).cmp(&(&b.file, b.offset)));
    found.damage.dedup_by(|a, b| (&a.file, a.offset) == (&b.file, b.offset));
    Ok(found)
}

/// Without a manifest: the newest generation whose index can be read and names nothing that is not there; else the
/// newest of any file.
fn newest(from: &dyn Storage, names: &[String]) -> Option<Round> {
    let mut numbers: Vec<Round> = names.iter().filter_map(|n| number_in(n, "generation")).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let length =
        |(part, file): FileName| Some(FrameSource::open_unchecked(from, &part.file(file)).ok()?.length());
    let is_there = |number: &&Round| {
        let blocks = read_index(from, **number, &mut Vec::new());
        let mut lengths = BTreeMap::new();
        let mut holds = |block: &BlockFrames, part: FramedFile| {
            let (place, name) = (block.place(part), (part, block.place(part).file));
            let length = *lengths.entry(name).or_insert_with(|| length(name).unwrap_or(0));
            place.offset.saturating_add(place.length.into()) <= length
        };
        !blocks.is_empty()
            && blocks.iter().all(|block| FramedFile::ALL.into_iter().all(|part| holds(block, part)))
    };
    numbers.iter().rev().find(is_there).or(numbers.last()).copied()
}

/// The latest cycle that a generation can be of: each cycle has one round or more, and names of kept visits may say the
/// cycle of an earlier round.
fn latest_cycle(names: &[String], generation: Round) -> Cycle {
    let kept = names.iter().filter_map(|name| kept::file::round_in(name));
    let last = kept.filter(|kept| kept.round <= generation).max().unwrap_or_default();
    Cycle(last.cycle.0 + generation.since(last.round))
}

/// The blocks that the sound frames of an index and of its copy tell of.
fn read_index(from: &dyn Storage, number: Round, damage: &mut Vec<Damage>) -> Vec<BlockFrames> {
    let Some(source) = open_anyhow(from, &index::file(number), FileKind::Index, number, damage) else {
        return Vec::new();
    };
    let (is_old, end) = (source.version() < 4, source.length());
    let mut frames = SoundFrames::over(source.clone(), FileKind::Index, end);
    let mut blocks = BTreeMap::new();
    while let Some(payload) = frames.next_frame(damage) {
        let mut told = Vec::new();
        match index::take_blocks(payload, number, is_old, &mut told) {
            Ok(()) => blocks.extend(told.into_iter().map(|block| (block.key.clone(), block))),
            Err(malformed) => damage.push(source.damaged(0, malformed.0).into_damage()),
        }
    }
    blocks.into_values().collect()
}

/// The pages, on their way.
struct SalvagedPages<'s> {
    from: &'s dyn Storage,
    found: &'s mut Salvaged,
    blocks: Vec<BlockFrames>,
    files: BTreeMap<FileName, Option<FrameSource>>,
    urls: KnownKeys,
    scratch: Scratch,
    mend: &'s dyn Fn(&[u8], &mut PageRecord),
    /// The key written last.
    last: Vec<u8>,
}

impl<'s> SalvagedPages<'s> {
    fn new(
        from: &'s dyn Storage,
        names: &[String],
        found: &'s mut Salvaged,
        mend: &'s dyn Fn(&[u8], &mut PageRecord),
    ) -> SalvagedPages<'s> {
        let blocks = read_index(from, found.generation, &mut found.damage);
        let urls = KnownKeys::open(from, names, found.generation, &mut found.damage);
        let (files, scratch, last) = Default::default();
        SalvagedPages { from, found, blocks, files, urls, scratch, mend, last }
    }

    fn save(mut self, writer: &mut GenerationWriter<'_>) -> Result<(), CommitError> {
        for at in 0..self.blocks.len() {
            let block = self.blocks[at].clone();
            self.save_urls_before(Some(&block.key), writer)?;
            if !self.save_block(&block, writer)? {
                let to = self.blocks.get(at + 1).map(|next| next.key.clone());
                let before = self.found.urls_only;
                self.save_urls_before(to.as_deref(), writer)?;
                let pages = u64::from(block.pages).saturating_sub(self.found.urls_only - before);
                if pages > 0 {
                    self.found.lost_ranges.push(LostRange { from: block.key, to, pages });
                }
            }
        }
        self.save_urls_before(None, writer)
    }

    /// Saves the URLs of the keys files that come before `key` and were not saved yet.
    fn save_urls_before(
        &mut self,
        key: Option<&[u8]>,
        writer: &mut GenerationWriter<'_>,
    ) -> Result<(), CommitError> {
        while let Some(url) = self.urls.next_before(key, &mut self.found.damage) {
            if url.key() > self.last.as_slice() {
                let record = PageRecord::discovered(self.found.cycle, 0);
                self.put(url.key(), &record, false, writer)?;
            }
        }
        Ok(())
    }

    fn put(
        &mut self,
        key: &[u8],
        record: &PageRecord,
        is_whole: bool,
        writer: &mut GenerationWriter<'_>,
    ) -> Result<(), CommitError> {
        writer.push(key, record)?;
        self.last.clear();
        self.last.extend_from_slice(key);
        *(if is_whole { &mut self.found.whole } else { &mut self.found.urls_only }) += 1;
        Ok(())
    }

    /// False where not even the keys can be read.
    fn save_block(
        &mut self,
        block: &BlockFrames,
        writer: &mut GenerationWriter<'_>,
    ) -> Result<bool, CommitError> {
        let packed = self.read(block);
        if let Some(mut pages) = self.unpack(&packed).filter(|pages| pages.has_sound_keys(&self.last)) {
            for row in 0..pages.len() {
                let mut record = pages.take_record(row);
                (self.mend)(pages.key(row), &mut record);
                self.save_urls_before(Some(pages.key(row)), writer)?;
                self.put(pages.key(row), &record, true, writer)?;
            }
            return Ok(true);
        }
        let Some((urls, known)) = self.unpack_known(&packed) else { return Ok(false) };
        for (url, known) in urls.iter().zip(known) {
            self.save_urls_before(Some(url.key()), writer)?;
            let record = match known {
                Some(known) => PageRecord { known, visited: None },
                None => PageRecord::discovered(self.found.cycle, 0),
            };
            self.put(url.key(), &record, false, writer)?;
        }
        Ok(true)
    }

    /// Reads what can be read of the four parts.
    fn read(&mut self, block: &BlockFrames) -> PackedBlock {
        let mut frames = [const { None }; 4];
        for part in FramedFile::ALL {
            let place = block.place(part);
            let (from, damage) = (self.from, &mut self.found.damage);
            let open = || open_anyhow(from, &part.file(place.file), part.kind(), place.file, damage);
            let Some(source) = self.files.entry((part, place.file)).or_insert_with(open) else { continue };
            let mut bytes = vec![0; place.length as usize];
            match source.read_exact(&mut bytes, place.offset) {
                Ok(()) => {
                    frames[part as usize] =
                        Some(PackedFrame { source: source.clone(), offset: place.offset, bytes });
                }
                Err(error) => self.found.damage.push(error.into_damage()),
            }
        }
        PackedBlock {
            pages: block.pages as usize,
            visited: block.visited as usize,
            key: block.key.clone(),
            frames,
        }
    }

    fn unpack(&mut self, packed: &PackedBlock) -> Option<PageBlock> {
        // Each part that is damaged is told, and not the first alone.
        let mut is_sound = true;
        let mut scratch = Vec::new();
        for part in FramedFile::ALL {
            let Some(frame) = &packed.frames[part as usize] else {
                is_sound = false;
                continue;
            };
            if let Err(malformed) = open_frame(&frame.bytes, part.kind(), &mut scratch) {
                self.found.damage.push(frame.source.damaged(frame.offset, malformed.0).into_damage());
                is_sound = false;
            }
        }
        if !is_sound {
            return None;
        }
        packed.unpack(&mut self.scratch).map_err(|e| self.found.damage.push(e.into_damage())).ok()
    }

    /// The URLs of a block that is not whole, in order and behind the last one, each with what is known of it.
    fn unpack_known(&self, packed: &PackedBlock) -> Option<(Vec<CanonicalUrl>, Vec<Option<Known>>)> {
        let mut scratch = Vec::new();
        let keys = packed.frames[FramedFile::Keys as usize].as_ref()?;
        let urls = keys_in(open_frame(&keys.bytes, FileKind::Keys, &mut scratch).ok()?).ok()?;
        let is_sound = urls.len() == packed.pages
            && urls.first().is_some_and(|url| url.key() == packed.key && url.key() > self.last.as_slice());
        if !is_sound {
            return None;
        }
        let known = || {
            let frame = packed.frames[FramedFile::Known as usize].as_ref()?;
            let (mut scratch, mut columns) = (Vec::new(), StateColumns::default());
            let payload = open_frame(&frame.bytes, FileKind::Known, &mut scratch).ok()?;
            take_block_known(payload, frame.source.version(), packed.pages, &mut columns).ok()?;
            Some(columns.known.into_iter().map(Some).collect())
        };
        let known = known().unwrap_or_else(|| vec![None; urls.len()]);
        Some((urls, known))
    }
}

/// The origins are counted anew; damage in their file is told all the same.
fn look_at_origins(from: &dyn Storage, found: &mut Salvaged) {
    let (name, number) = (origins::file(found.generation), found.generation);
    if let Some(mut frames) = SoundFrames::open(from, &name, FileKind::Origins, number, &mut found.damage) {
        while frames.next_frame(&mut found.damage).is_some() {}
    }
}

fn save_waiting(
    from: &dyn Storage,
    names: &[String],
    writer: &mut GenerationWriter<'_>,
    found: &mut Salvaged,
) -> Result<(), SalvageError> {
    let (name, number) = (waiting_file(found.generation), found.generation);
    // Without a manifest nobody says whether there is one.
    if !found.by_manifest && !names.contains(&name) {
        return Ok(());
    }
    let Some(mut frames) = SoundFrames::open(from, &name, FileKind::Waiting, number, &mut found.damage)
    else {
        return Ok(());
    };
    while let Some(payload) = frames.next_frame(&mut found.damage) {
        let mut take = Take(payload);
        while let (false, Ok(link)) = (take.0.is_empty(), take.bytes()) {
            writer.wait(link)?;
            found.waiting += 1;
        }
    }
    Ok(())
}

/// Gives the length of the new file.
fn save_reports(
    from: &dyn Storage,
    to: &dyn Storage,
    committed: Option<u64>,
    found: &mut Salvaged,
) -> Result<u64, SalvageError> {
    let mut saved = FrameWriter::create(to, REPORTS, FileKind::Reports, Round(0))?;
    let frames = SoundFrames::open(from, REPORTS, FileKind::Reports, Round(0), &mut found.damage);
    if let Some(mut frames) = frames.map(|frames| frames.up_to(committed.unwrap_or(u64::MAX))) {
        while let Some(report) = frames.next_frame(&mut found.damage) {
            saved.push(report)?;
            found.reports += 1;
        }
    }
    Ok(saved.sync()?)
}

/// Gives the number of entries.
fn save_kept<T: StoredEntry>(
    from: &dyn Storage,
    to: &dyn Storage,
    names: &[String],
    found: &mut Salvaged,
) -> Result<u64, SalvageError> {
    let mut count = 0;
    let rounds = names.iter().filter_map(|name| T::KIND.round_in(name));
    for kept in rounds.filter(|kept| kept.round <= found.generation) {
        let (name, kind) = (T::KIND.file(kept), T::KIND.file_kind());
        let frames = SoundFrames::open(from, &name, kind, kept.round, &mut found.damage);
        let Some(mut frames) = frames else { continue };
        let mut saved = EntryWriter::create(to, T::KIND, kept)?;
        while let Some(payload) = frames.next_frame(&mut found.damage) {
            // The frame that ends the file has no entry: a new one is written.
            for entry in entries_in::<T>(payload) {
                saved.push(&entry)?;
                count += 1;
            }
        }
        saved.finish()?;
    }
    Ok(count)
}

#[cfg(test)]
mod tests;
