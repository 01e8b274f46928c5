//! The manifest: the one file that says what is committed. Swapped by an atomic rename.

use crate::bytes::{Malformed, Put, Take};
use crate::error::{OpenError, WriteError};
use crate::format::{
    FOCUS_VERSION, FORMAT_VERSION, FileKind, HEADER_BYTES, HeaderError, MANIFEST, MANIFEST_NEXT,
    ROUNDS_VERSION, RULES_VERSION, WRITTEN_VERSION, check_header, header_of, open_frame, put_frame,
};
use crate::frames::Source;
use crate::storage::Storage;
use recrawl_types::{Cycle, DatedRound, Round};

/// Counts and sizes of a generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
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
    /// Was, in it or in an earlier one, the text of a page selected by a rule?
    pub has_rules: bool,
}

impl Summary {
    /// The generation's round and cycle.
    pub fn dated(&self) -> DatedRound {
        DatedRound { round: self.number, cycle: self.cycle }
    }

    /// The counts of the next generation, before its first block.
    pub(crate) fn begin(&self, number: Round, cycle: Cycle) -> Summary {
        let Summary { is_focused, has_rules, .. } = *self;
        Summary { number, cycle, is_focused, has_rules, ..Summary::default() }
    }
}

/// What is committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub summary: Summary,
    /// How much of the reports file is committed.
    pub reports: u64,
    /// Must there be a file of decisions? Up to version 4 they stood in the tables.
    pub has_decisions: bool,
}

/// Reads the manifest; none where there is no repository yet.
pub(crate) fn read(storage: &dyn Storage) -> Result<Option<Manifest>, OpenError> {
    let source = match Source::open_unchecked(storage, MANIFEST) {
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
    let number = Round(Take(&head[16..]).u32().map_err(|Malformed(what)| damaged(what))?);
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
        let has_rules = version >= RULES_VERSION;
        let is_focused = if has_rules { take.u8()? != 0 } else { version == FOCUS_VERSION };
        let counts = Summary { number, cycle, pages, visited, gone, untried, waiting, ..Summary::default() };
        let summary = Summary { origins, bytes, is_focused, has_rules, ..counts };
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
    let version = match (summary.has_rules, summary.is_focused, summary.dated().is_only()) {
        (true, ..) => RULES_VERSION,
        (false, true, _) => FOCUS_VERSION,
        (false, false, false) => ROUNDS_VERSION,
        (false, false, true) => WRITTEN_VERSION,
    };
    if version >= ROUNDS_VERSION {
        payload.put_u32(summary.cycle.0);
    }
    if summary.has_rules {
        payload.put_u8(u8::from(summary.is_focused));
    }
    let mut bytes = header_of(version, FileKind::Manifest, summary.number).to_vec();
    put_frame(&mut bytes, FileKind::Manifest, &payload);
    let path = storage.locate(MANIFEST_NEXT);
    let mut file = storage.create(MANIFEST_NEXT).map_err(WriteError::of(&path, "create"))?;
    file.write(&bytes).map_err(WriteError::of(&path, "write"))?;
    file.sync().map_err(WriteError::of(&path, "sync"))?;
    // The names of the generation's files first, then the name that points to them.
    let folder = storage.locate("");
    storage.sync_dir().map_err(WriteError::of(&folder, "sync"))?;
    storage.rename(MANIFEST_NEXT, MANIFEST).map_err(WriteError::of(&path, "rename"))?;
    storage.sync_dir().map_err(WriteError::of(&folder, "sync"))
}
