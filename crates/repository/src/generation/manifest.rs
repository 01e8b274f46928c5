//! The manifest: the one file that says what is committed. Swapped by an atomic rename.

use crate::file::bytes::{Malformed, Put, Take};
use crate::file::error::{OpenError, WriteError};
use crate::file::format::{
    FOCUS_VERSION, FORMAT_VERSION, FileKind, HEADER_BYTES, HeaderError, MANIFEST, MANIFEST_NEXT,
    ROUNDS_VERSION, check_header, header, number_in_header, open_frame, put_frame,
};
use crate::file::frames::FrameSource;
use crate::storage::Storage;
use recrawl_types::{Cycle, DatedRound, Round};

/// Counts and sizes of a generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GenerationSummary {
    /// The generation's number: the round that made it.
    pub number: Round,
    /// The cycle of that round.
    pub cycle: Cycle,
    /// Known URLs.
    pub pages: u64,
    /// Of these, visited at least once.
    pub visited: u64,
    /// Of these, confirmed gone.
    pub gone: u64,
    /// Of these, that no fetch was ever tried of; 0 in a manifest of an older version.
    pub untried: u64,
    /// URLs that links were found to and that wait to be merged.
    pub waiting: u64,
    /// Origins.
    pub origins: u64,
    /// Bytes of all its files, and of all files of older generations that hold a part of it.
    pub bytes: u64,
    /// Has it, or had an earlier one, the columns of a focused crawl?
    pub is_focused: bool,
}

impl GenerationSummary {
    /// The generation's round and cycle.
    pub fn dated(&self) -> DatedRound {
        DatedRound { round: self.number, cycle: self.cycle }
    }
}

/// What is committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub summary: GenerationSummary,
    /// How much of the reports file is committed.
    pub reports: u64,
    /// Must there be a file of decisions? Up to version 4 they stood in the tables.
    pub has_decisions: bool,
}

/// Reads the manifest; none where there is no repository yet.
pub(crate) fn read(storage: &dyn Storage) -> Result<Option<Manifest>, OpenError> {
    let source = match FrameSource::open_unchecked(storage, MANIFEST) {
        Err(e) if e.is_absent() => return Ok(None),
        other => other?,
    };
    let mut bytes = vec![0; source.length().min(4096) as usize];
    source.read_exact(&mut bytes, 0)?;
    let damaged = |what| OpenError::Read(source.damaged(0, what));
    let Some((head, frame)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Err(damaged("it is too short"));
    };
    // The number is in the header and is checked against itself: a manifest says which it is.
    let number = number_in_header(head).map_err(|Malformed(what)| damaged(what))?;
    let version = match check_header(head, FileKind::Manifest, number) {
        Ok(version) => version,
        Err(HeaderError::Version(found)) => {
            let file = source.path().to_owned();
            return Err(OpenError::Version { file, found, supported: FORMAT_VERSION });
        }
        Err(HeaderError::Malformed(Malformed(what))) => return Err(damaged(what)),
    };
    let mut scratch = Vec::new();
    let manifest = open_frame(frame, FileKind::Manifest, &mut scratch).and_then(|payload| {
        let mut take = Take(payload);
        let mut next = || take.u64();
        let [pages, visited, gone, origins, bytes, reports] =
            [next()?, next()?, next()?, next()?, next()?, next()?];
        // Up to version 3 nothing waited.
        let [untried, waiting] = if version < 4 { [0, 0] } else { [next()?, next()?] };
        // Up to version 5 round and cycle have the same number.
        let cycle = if version < ROUNDS_VERSION { Cycle(number.0) } else { Cycle(take.u32()?) };
        let is_focused = if version > FOCUS_VERSION { take.u8()? == 1 } else { version == FOCUS_VERSION };
        let summary = GenerationSummary {
            number,
            cycle,
            pages,
            visited,
            gone,
            untried,
            waiting,
            origins,
            bytes,
            is_focused,
        };
        let manifest = Manifest { summary, reports, has_decisions: version >= 5 };
        take.end()?;
        Ok(manifest)
    });
    let offset = HEADER_BYTES as u64;
    manifest.map(Some).map_err(|Malformed(what)| OpenError::Read(source.damaged(offset, what)))
}

/// Commits: after this returns, `manifest` is what a restart finds, whatever happens.
pub(crate) fn write(storage: &dyn Storage, manifest: &Manifest) -> Result<(), WriteError> {
    let summary = &manifest.summary;
    let mut payload = Vec::with_capacity(64);
    let counts = [summary.pages, summary.visited, summary.gone, summary.origins, summary.bytes];
    for number in counts.into_iter().chain([manifest.reports, summary.untried, summary.waiting]) {
        payload.put_u64(number);
    }
    payload.put_u32(summary.cycle.0);
    payload.put_u8(summary.is_focused.into());
    let mut bytes = header(FileKind::Manifest, summary.number).to_vec();
    put_frame(&mut bytes, FileKind::Manifest, &payload);
    let path = storage.locate(MANIFEST_NEXT);
    let mut file = storage.create(MANIFEST_NEXT).map_err(WriteError::during(&path, "create"))?;
    file.write(&bytes).map_err(WriteError::during(&path, "write"))?;
    file.sync().map_err(WriteError::during(&path, "sync"))?;
    // The names of the generation's files first, then the name that points to them.
    let folder = storage.locate("");
    storage.sync_dir().map_err(WriteError::during(&folder, "sync"))?;
    storage.rename(MANIFEST_NEXT, MANIFEST).map_err(WriteError::during(&path, "rename"))?;
    storage.sync_dir().map_err(WriteError::during(&folder, "sync"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::format::with_version;
    use crate::storage::MemoryStorage;

    /// Only the last version says in a byte whether the crawl is focused, and only those from 6 on which cycle it was.
    #[test]
    fn manifests_of_all_versions_are_read() {
        for (version, cycle, is_focused) in
            [(5, 3, false), (6, 2, false), (7, 2, true), (8, 2, false), (8, 2, true)]
        {
            let summary = GenerationSummary {
                number: Round(3),
                cycle: Cycle(cycle),
                pages: 9,
                is_focused,
                ..GenerationSummary::default()
            };
            let manifest = Manifest { summary, reports: 77, has_decisions: true };
            let storage = MemoryStorage::new();
            write(&storage, &manifest).unwrap();
            let bytes = &storage.image()[MANIFEST];
            let mut scratch = Vec::new();
            let payload = open_frame(&bytes[HEADER_BYTES..], FileKind::Manifest, &mut scratch).unwrap();
            let cut = match version {
                5 => 5,
                6 | 7 => 1,
                _ => 0,
            };
            let mut older = with_version(version, bytes[..HEADER_BYTES].try_into().unwrap()).to_vec();
            put_frame(&mut older, FileKind::Manifest, &payload[..payload.len() - cut]);
            let storage = MemoryStorage::with_files([(MANIFEST.to_owned(), older)].into());
            assert_eq!(read(&storage).unwrap(), Some(manifest), "version {version}");
        }
    }
}
