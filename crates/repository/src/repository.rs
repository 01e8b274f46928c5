//! The repository: the committed generation, the next one in the making, the reports of all cycles.

pub mod reports;
pub mod salvage;
pub mod snapshot;
pub mod writer;

use crate::decisions;
use crate::file::bytes::Malformed;
use crate::file::error::{CommitError, Damage, OpenError, ReadError, WriteError};
use crate::file::format::{
    FileKind, MANIFEST, MANIFEST_NEXT, REPORTS, UNFINISHED, check_frame, frame_length, number_in,
};
use crate::file::frames::{FrameSource, FrameWriter};
use crate::generation::Generation;
use crate::generation::manifest::{self, Manifest};
use crate::kept;
use crate::kept::entries::{StoredEntries, StoredEntry};
use crate::kept::hosts::StoredHost;
use crate::kept::rounds::StoredRounds;
use crate::kept::visits::StoredVisit;
use crate::repository::writer::GenerationWriter;
use crate::storage::Storage;
use recrawl_types::{CanonicalUrl, Cycle, DatedRound, Round};
use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often a reader tries again when a commit removes files under it.
const READ_ATTEMPTS: u32 = 20;

/// An open repository.
pub struct Repository {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) manifest: Manifest,
    current: Arc<Generation>,
    /// Number of cycles whose visits are kept.
    keep_visits: u32,
    /// The reports that a reader began with: the file may be replaced meanwhile.
    pub(crate) reports: Option<FrameSource>,
    /// The generation at which the reports took no less room when they were to be replaced.
    pub(crate) reports_tried: Round,
    /// A commit failed where nobody can tell whether the manifest on disk is the old or the new one.
    pub(crate) unsettled: AtomicBool,
    /// None for a reader.
    _lock: Option<Box<dyn Any + Send + Sync>>,
}

impl Repository {
    /// Opens the repository in `storage` for writing, or makes an empty one. Files of a generation that was
    /// never committed, and of cycles that are, are removed. No visits are kept: see
    /// [`Repository::keeping_visits`].
    ///
    /// # Errors
    /// [`OpenError`]: in use by another process, of another version, damaged, or the disk refuses.
    pub fn open(storage: Arc<dyn Storage>) -> Result<Repository, OpenError> {
        let folder = storage.locate("");
        let lock = storage.lock().map_err(|e| match e.kind() {
            std::io::ErrorKind::WouldBlock => OpenError::InUse(folder),
            _ => OpenError::Write(WriteError { file: folder, action: "lock", source: e }),
        })?;
        let manifest = match manifest::read(&*storage)? {
            Some(manifest) => manifest,
            None => {
                refuse_orphans(&*storage)?;
                let mut reports = FrameWriter::create(&*storage, REPORTS, FileKind::Reports, Round(0))?;
                let reports = reports.sync()?;
                // Before the manifest, which says that it is there.
                decisions::begin(&*storage)?;
                let manifest = Manifest { reports, has_decisions: true, ..Manifest::default() };
                manifest::write(&*storage, &manifest)?;
                manifest
            }
        };
        if manifest.has_decisions {
            decisions::check(&*storage).map_err(OpenError::Undecided)?;
        }
        decisions::remove_leftover(&*storage)?;
        let current = Arc::new(Generation::open(&*storage, manifest.summary)?);
        let unsettled = AtomicBool::new(false);
        let (keep_visits, reports, reports_tried, _lock) = (0, None, Round(0), Some(lock));
        let mut repository =
            Repository { storage, manifest, current, keep_visits, reports, reports_tried, unsettled, _lock };
        repository.settle_reports()?;
        repository.cut_reports()?;
        repository.remove_leftovers()?;
        Ok(repository)
    }

    /// Opens the repository for reading, also while another process writes to it. It sees the generation
    /// that was committed last, and goes on seeing it.
    ///
    /// # Errors
    /// As [`Repository::open`]; [`OpenError::Absent`] where there is none.
    pub fn open_read(storage: Arc<dyn Storage>) -> Result<Repository, OpenError> {
        let mut attempts = 0;
        loop {
            let manifest =
                manifest::read(&*storage)?.ok_or_else(|| OpenError::Absent(storage.locate(MANIFEST)))?;
            match Generation::open(&*storage, manifest.summary) {
                Ok(current) => {
                    let Some((reports, committed)) = reports::beside(&*storage, &manifest) else {
                        attempts += 1;
                        continue;
                    };
                    let (current, unsettled) = (Arc::new(current), AtomicBool::new(false));
                    let (keep_visits, reports_tried, _lock) = (0, Round(0), None);
                    let manifest = Manifest { reports: committed, ..manifest };
                    return Ok(Repository {
                        storage,
                        manifest,
                        current,
                        keep_visits,
                        reports,
                        reports_tried,
                        unsettled,
                        _lock,
                    });
                }
                // A commit came between: the manifest names newer files now.
                Err(e) if e.is_absent() && attempts < READ_ATTEMPTS => attempts += 1,
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Keeps the visits of the last `cycles` cycles from now on, 0 for none; those of older cycles are
    /// removed at the next commit.
    #[must_use]
    pub fn keeping_visits(self, cycles: u32) -> Repository {
        Repository { keep_visits: cycles, ..self }
    }

    /// The committed generation.
    pub fn current(&self) -> Arc<Generation> {
        self.current.clone()
    }

    /// Must there be a file of [`decisions`]? What an older version decided stands in the tables until the next commit.
    pub fn has_decisions(&self) -> bool {
        self.manifest.has_decisions
    }

    /// The storage.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// The committed rounds whose visits are kept.
    pub fn kept(&self) -> StoredRounds {
        StoredRounds::new(self.storage.clone(), self.current.number())
    }

    /// Removes the kept visits to pages that are meant, round by round, each durably; gives their number. With
    /// `only_count`, nothing is removed. To begin again after a stop is right.
    ///
    /// # Errors
    /// When they cannot be read or written. A file is the old one or the new one, whole.
    pub fn remove_visits(
        &self,
        is_meant: &dyn Fn(&CanonicalUrl) -> bool,
        only_count: bool,
    ) -> Result<u64, CommitError> {
        self.remove_kept(&|visit: &StoredVisit| is_meant(&visit.url), only_count)
    }

    /// Removes what is kept of hosts that are meant, as [`Repository::remove_visits`]; gives the number of rows.
    ///
    /// # Errors
    /// As of [`Repository::remove_visits`].
    pub fn remove_hosts(
        &self,
        is_meant: &dyn Fn(&str) -> bool,
        only_count: bool,
    ) -> Result<u64, CommitError> {
        self.remove_kept(&|host: &StoredHost| is_meant(&host.host), only_count)
    }

    fn remove_kept<T: StoredEntry>(
        &self,
        is_meant: &dyn Fn(&T) -> bool,
        only_count: bool,
    ) -> Result<u64, CommitError> {
        let rounds = self.kept().rounds(T::KIND)?.into_iter();
        rounds.map(|kept| kept::entries::remove(&*self.storage, kept, is_meant, only_count)).sum()
    }

    /// Begins the next generation, of a round in `cycle`, from `base`, the current one, whose blocks can be carried, or
    /// from an empty one.
    ///
    /// # Errors
    /// When its files cannot be made.
    ///
    /// # Panics
    /// When `base` is another generation, or `cycle` is before that of the current one.
    pub fn begin<'g>(&self, base: &'g Generation, cycle: Cycle) -> Result<GenerationWriter<'g>, CommitError> {
        let is_current = [Round(0), self.current.number()].contains(&base.number());
        assert!(is_current, "a generation is made from the one before");
        assert!(cycle >= self.current.cycle(), "cycles follow each other");
        // The manifest on disk may name the generation whose files are now written anew: not while they are.
        self.settle()?;
        let number = self.current.number().next();
        GenerationWriter::create(self.storage.clone(), base, number, cycle, self.keep_visits > 0)
    }

    /// Makes sure that the manifest on disk is that of this process.
    pub(crate) fn settle(&self) -> Result<(), WriteError> {
        if self.unsettled.load(Ordering::Relaxed) {
            manifest::write(&*self.storage, &self.manifest)?;
            self.unsettled.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Makes a generation the current one, durable with its report, and removes the files of the cycle, and those
    /// of older generations that hold no part of it. Whatever interrupts this, a restart finds the one or the other, whole.
    ///
    /// # Errors
    /// [`CommitError`]; the generation before is then still the current one here, and another
    /// [`Repository::begin`] and commit may be tried. A restart may find the new one, whole, when it was
    /// the very last step that failed.
    pub fn commit(&mut self, writer: GenerationWriter<'_>, report: &[u8]) -> Result<(), CommitError> {
        assert_eq!(writer.number(), self.current.number().next(), "generations follow each other");
        let summary = writer.finish()?;
        let reports = self.append_report(report)?;
        decisions::begin(&*self.storage)?;
        let manifest = Manifest { summary, reports, has_decisions: true };
        // Read before it is committed: what cannot be opened must not become the only truth.
        let current = Arc::new(Generation::open(&*self.storage, summary)?);
        self.unsettled.store(true, Ordering::Relaxed);
        manifest::write(&*self.storage, &manifest)?;
        self.unsettled.store(false, Ordering::Relaxed);
        self.manifest = manifest;
        self.current = current;
        // The commit has happened; what cannot be removed now is removed at the next start.
        let removed = self.remove_leftovers().and_then(|()| self.remove_old_visits());
        if let Err(error) = removed {
            tracing::warn!(%error, "cannot remove files of the last generation");
        }
        Ok(())
    }

    /// Removes every file that holds no part of the current generation and is not of the cycle after it.
    fn remove_leftovers(&self) -> Result<(), WriteError> {
        let folder = self.storage.locate("");
        let number = self.current.number();
        let current: BTreeSet<String> = self.current.files().into_iter().map(|(name, _)| name).collect();
        for name in self.storage.list().map_err(WriteError::during(&folder, "list"))? {
            let of_another_generation = number_in(&name, "generation").is_some() && !current.contains(&name);
            let of_another_cycle = number_in(&name, "cycle").is_some_and(|n| n != number.next());
            // A commit that failed may have been tried again in another cycle.
            let of_no_commit = kept::file::round_in(&name).is_some_and(|kept| {
                kept.round > number || kept.round == number && kept != self.current.dated()
            });
            let unfinished = name == MANIFEST_NEXT || name.ends_with(UNFINISHED) || name.contains(".spill-");
            if of_another_generation || of_another_cycle || of_no_commit || unfinished {
                self.storage
                    .remove(&name)
                    .map_err(WriteError::during(self.storage.locate(&name), "remove"))?;
            }
        }
        Ok(())
    }

    /// Removes the kept files of cycles that are older than what is to be kept, oldest first.
    fn remove_old_visits(&self) -> Result<(), WriteError> {
        let folder = self.storage.locate("");
        let names = self.storage.list().map_err(WriteError::during(&folder, "list"))?;
        let is_old = |kept: &DatedRound| self.current.cycle().since(kept.cycle) >= self.keep_visits;
        let dated = |name: String| kept::file::round_in(&name).filter(is_old).map(|kept| (kept, name));
        let mut old: Vec<(DatedRound, String)> = names.into_iter().filter_map(dated).collect();
        old.sort_unstable();
        for (_, name) in old {
            self.storage.remove(&name).map_err(WriteError::during(self.storage.locate(&name), "remove"))?;
        }
        Ok(())
    }

    /// Reads all that is committed and lists the damage.
    pub fn verify(&self) -> Vec<Damage> {
        let mut damage = self.current.verify();
        if self.manifest.has_decisions {
            damage.extend(decisions::check(&*self.storage).err());
        }
        let reports = self.reports().and_then(|mut reports| {
            while reports.next_report()?.is_some() {}
            Ok(())
        });
        damage.extend(reports.err().map(ReadError::into_damage));
        self.verify_kept::<StoredVisit>(&mut damage);
        self.verify_kept::<StoredHost>(&mut damage);
        damage
    }

    fn verify_kept<T: StoredEntry>(&self, damage: &mut Vec<Damage>) {
        let read = |kept| {
            let Some(mut entries) = StoredEntries::<T>::open(&*self.storage, kept)? else { return Ok(()) };
            while entries.next_entry()?.is_some() {}
            Ok(())
        };
        match self.kept().rounds(T::KIND) {
            Ok(rounds) => {
                let errors = rounds.into_iter().filter_map(|kept| read(kept).err());
                damage.extend(errors.map(ReadError::into_damage));
            }
            Err(error) => damage.push(error.into_damage()),
        }
    }
}

/// A folder without a manifest must not have pages: making an empty repository would remove them.
fn refuse_orphans(storage: &dyn Storage) -> Result<(), OpenError> {
    let names = storage.list().map_err(ReadError::io(storage.locate("")))?;
    match names.iter().find(|name| number_in(name, "generation").is_some()) {
        Some(name) => {
            let what = format!("it is missing, although {name} exists");
            Err(ReadError::damaged(&storage.locate(MANIFEST), 0, what).into())
        }
        None => Ok(()),
    }
}

impl From<OpenError> for CommitError {
    fn from(error: OpenError) -> CommitError {
        match error {
            OpenError::Write(e) => CommitError::Write(e),
            OpenError::Read(e) => CommitError::Read(e),
            OpenError::Undecided(damage) => CommitError::Read(ReadError::Damaged(damage)),
            OpenError::InUse(file) | OpenError::Absent(file) | OpenError::Version { file, .. } => {
                CommitError::Read(ReadError::damaged(&file, 0, "it changed after it was opened"))
            }
        }
    }
}

/// The length of the sound frames at the beginning of a growing file, and what it had behind them.
pub(crate) fn sound_length(source: &FrameSource, kind: FileKind) -> Result<u64, ReadError> {
    let mut window = crate::file::frames::Window::default();
    let mut at = crate::file::format::HEADER_BYTES as u64;
    let head_bytes = crate::file::format::FRAME_HEADER_BYTES;
    while at + head_bytes as u64 <= source.length() {
        let head = window.get(source, at, head_bytes)?.first_chunk().copied();
        let length = match frame_length(&head.expect("the window gave a header's length")) {
            Ok(length) if at + length as u64 <= source.length() => length,
            Ok(_) | Err(Malformed(_)) => break,
        };
        if check_frame(window.get(source, at, length)?, kind).is_err() {
            break;
        }
        at += length as u64;
    }
    Ok(at)
}

#[cfg(test)]
mod tests;
