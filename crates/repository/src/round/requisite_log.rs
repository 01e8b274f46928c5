//! The log of requisites: each change of a row, written down behind its record in the archive and before the visit of its
//! page.
//!
//! The tables get a row when its record is durable, some seconds later. As the visit log, this one survives the process at
//! once: otherwise a killed crawl would hold pages as visited, and no row would lead to what it archived for them. It is
//! never synced, since after a power cut the rows count that the tables have. The next start of the round stores what stands
//! here, and the commit removes the file.

use crate::file::bytes::Malformed;
use crate::file::error::{ReadError, WriteError};
use crate::file::format::{FileKind, round_file};
use crate::file::frames::FrameReader;
use crate::round::log_file::{LogError, LogFile};
use crate::storage::Storage;
use crate::tables::{RequisiteChange, put_change, take_change};
use recrawl_types::{CanonicalUrl, Round};

fn file(round: Round) -> String {
    round_file(round, "requisites")
}

/// The log, open for appending.
pub struct RequisiteFile {
    log: LogFile,
    payload: Vec<u8>,
}

impl RequisiteFile {
    /// Opens the round's log, or begins it. A torn tail, as a crash leaves it, is cut off.
    ///
    /// # Errors
    /// [`LogError`].
    pub fn open(storage: &dyn Storage, round: Round) -> Result<RequisiteFile, LogError> {
        let log = LogFile::open(storage, &file(round), FileKind::Requisites, round)?;
        Ok(RequisiteFile { log, payload: Vec::new() })
    }

    /// Appends a change, in one write. Its record is in the archive by then.
    ///
    /// # Errors
    /// As of the visit log.
    pub fn append(&mut self, url: &CanonicalUrl, change: &RequisiteChange) -> Result<(), WriteError> {
        self.payload.clear();
        put_change(&mut self.payload, url, change);
        self.log.append(&self.payload)
    }

    /// Walks a round's log from front to back, up to a torn tail. A round without a log has no changes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(storage: &dyn Storage, round: Round) -> Result<RequisiteChanges, LogError> {
        let Some(source) = LogFile::begun(storage, &file(round), FileKind::Requisites, round)? else {
            return Ok(RequisiteChanges(None));
        };
        Ok(RequisiteChanges(Some(LogFile::sound(source, FileKind::Requisites)?)))
    }
}

/// A log, read from front to back.
pub struct RequisiteChanges(Option<FrameReader>);

impl RequisiteChanges {
    /// The next change; none at the end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn next_change(&mut self) -> Result<Option<(CanonicalUrl, RequisiteChange)>, ReadError> {
        let Some(frames) = &mut self.0 else { return Ok(None) };
        let offset = frames.offset();
        let Some(payload) = frames.next_frame()? else { return Ok(None) };
        take_change(payload).map(Some).map_err(|Malformed(what)| frames.damaged(offset, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequisiteRow;
    use crate::storage::MemoryStorage;
    use recrawl_types::{ArchivePosition, Cycle, DatedRound, UrlRules};

    const ROUND: Round = Round(6);

    fn read(storage: &dyn Storage) -> Vec<(CanonicalUrl, RequisiteChange)> {
        let mut reader = RequisiteFile::read(storage, ROUND).unwrap();
        std::iter::from_fn(|| reader.next_change().unwrap()).collect()
    }

    #[test]
    fn whatever_a_crash_leaves_what_stood_before_it_comes_back() {
        let url = |text: &str| UrlRules::keep_all().canonicalize(text).unwrap();
        let row = RequisiteRow {
            archive: ArchivePosition { file: 3, offset: 1 << 33 },
            payload: 9,
            failures: 2,
            failed_in: Cycle(4),
            ..RequisiteRow::default()
        };
        let all = [
            (url("http://a.test/x.css?v=1"), RequisiteChange::Replaced(row.clone())),
            (url("http://b.test/y"), RequisiteChange::Confirmed(row)),
            (url("http://c.test/"), RequisiteChange::Failed(DatedRound { round: ROUND, cycle: Cycle(5) })),
        ];
        let storage = MemoryStorage::new();
        assert_eq!(read(&storage), []);
        let mut log = RequisiteFile::open(&storage, ROUND).unwrap();
        let mut ends = vec![storage.image()[&file(ROUND)].len()];
        for (url, change) in &all {
            log.append(url, change).unwrap();
            ends.push(storage.image()[&file(ROUND)].len());
        }
        assert_eq!(read(&storage), all);
        for cut in 0..=ends[3] {
            let mut image = storage.image();
            image.get_mut(&file(ROUND)).unwrap().truncate(cut);
            let left = ends[1..].iter().filter(|end| **end <= cut).count();
            let torn = MemoryStorage::with_files(image);
            assert_eq!(read(&torn), all[..left], "cut at {cut}");
            let mut log = RequisiteFile::open(&torn, ROUND).unwrap();
            log.append(&all[2].0, &all[2].1).unwrap();
            assert_eq!(read(&torn), [&all[..left], &all[2..]].concat());
        }
    }
}
