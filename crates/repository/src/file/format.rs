//! What all files share: names, the header, and frames (blocks with length, codec and checksum).
//! The bytes are described in docs/internals/formats.md.

use crate::file::bytes::{Malformed, Put, Take};
use recrawl_types::Round;

/// The newest version that is read. A change of any byte's meaning is a new version.
pub const FORMAT_VERSION: u32 = 11;
/// The version of what this crate writes.
pub const WRITTEN_VERSION: u32 = 11;
/// From this version on a manifest has the number of its cycle.
pub(crate) const ROUNDS_VERSION: u32 = 6;
/// The version of the manifest of a focused crawl; from the next one on it says itself whether it is that of one.
pub(crate) const FOCUS_VERSION: u32 = 7;
/// The oldest version that is read: what it lacks is worked out (`version_1.rs`). What the next commits do not
/// change stays in its files until these are emptied.
pub const OLDEST_VERSION: u32 = 1;

/// What a file, and a frame in it, holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FileKind {
    /// The one file that says what is committed.
    Manifest = 1,
    /// A generation's list of blocks.
    Index = 2,
    /// Keys of pages.
    Keys = 3,
    /// Runs of pages of one origin.
    Origins = 4,
    /// State of every page.
    Known = 5,
    /// Counters and sums of visited pages.
    History = 6,
    /// What the last visit saw.
    Content = 7,
    /// Reports of the committed cycles.
    Reports = 8,
    /// A cycle's schedule.
    Schedule = 9,
    /// A cycle's visits.
    Visits = 10,
    /// A part of a batch too large for memory.
    Spill = 11,
    /// An entry of the host table.
    Table = 12,
    /// The visits of a committed cycle.
    StoredVisits = 13,
    /// Links that wait to be merged.
    Waiting = 14,
    /// What the hosts of a committed round were asked.
    StoredHosts = 15,
    /// The requests of a round.
    Requests = 16,
    /// Pages that a target of documents holds.
    Copy = 17,
    /// Changes of the rows of requisites in a round.
    Requisites = 18,
}

/// The committed state.
pub(crate) const MANIFEST: &str = "MANIFEST";
/// The next manifest, before the rename.
pub(crate) const MANIFEST_NEXT: &str = "MANIFEST.next";
/// Reports of all committed cycles.
pub(crate) const REPORTS: &str = "reports";
/// What names of unfinished files end with.
pub(crate) const UNFINISHED: &str = ".part";

/// The name of a generation's file.
pub(crate) fn generation_file(number: Round, part: &str) -> String {
    format!("generation-{:010}.{part}", number.0)
}

/// The name of one of a round's own files. They are called after cycles, as when each cycle had one round.
pub(crate) fn round_file(round: Round, part: &str) -> String {
    format!("cycle-{:010}.{part}", round.0)
}

/// The number in a name that [`generation_file`] or [`round_file`] made.
pub(crate) fn number_in(name: &str, prefix: &str) -> Option<Round> {
    let (digits, _) = name.strip_prefix(prefix)?.strip_prefix('-')?.split_once('.')?;
    (digits.len() == 10).then(|| digits.parse().ok().map(Round)).flatten()
}

const MAGIC: &[u8; 8] = b"recrawl\0";

/// Length of a file's header.
pub(crate) const HEADER_BYTES: usize = 24;

/// The first bytes of every file.
pub(crate) fn header(kind: FileKind, number: Round) -> [u8; HEADER_BYTES] {
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.put_u32(WRITTEN_VERSION);
    bytes.put_u32(kind as u32);
    bytes.put_u32(number.0);
    bytes.put_u32(crc32fast::hash(&bytes));
    bytes.try_into().expect("a header has its length")
}

/// The number in a header that is not checked.
pub(crate) fn number_in_header(bytes: &[u8; HEADER_BYTES]) -> Result<Round, Malformed> {
    Take(&bytes[16..]).u32().map(Round)
}

/// A header, of another version.
#[cfg(test)]
pub(crate) fn with_version(version: u32, mut header: [u8; HEADER_BYTES]) -> [u8; HEADER_BYTES] {
    header[8..12].copy_from_slice(&version.to_le_bytes());
    let crc = crc32fast::hash(&header[..HEADER_BYTES - 4]);
    header[HEADER_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
    header
}

/// Why a header is not the one expected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeaderError {
    /// Sound, but of a version that is not read.
    Version(u32),
    Malformed(Malformed),
}

/// Checks a header; gives its version.
pub(crate) fn check_header(
    bytes: &[u8; HEADER_BYTES],
    kind: FileKind,
    number: Round,
) -> Result<u32, HeaderError> {
    let (content, crc) = bytes.split_at(HEADER_BYTES - 4);
    let wrong = |what| Err(HeaderError::Malformed(Malformed(what)));
    if &content[..8] != MAGIC {
        return wrong("not a recrawl file");
    }
    if crc != crc32fast::hash(content).to_le_bytes() {
        return wrong("the header's checksum does not match");
    }
    let mut take = Take(&content[8..]);
    let mut next = || take.u32().map_err(HeaderError::Malformed);
    let (version, kind_found, number_found) = (next()?, next()?, next()?);
    if !(OLDEST_VERSION..=FORMAT_VERSION).contains(&version) {
        return Err(HeaderError::Version(version));
    }
    if kind_found != kind as u32 {
        return wrong("another kind of file");
    }
    if number_found != number.0 {
        return wrong("it belongs to another generation or round");
    }
    Ok(version)
}

/// Length of a frame's own header.
pub(crate) const FRAME_HEADER_BYTES: usize = 16;
/// The longest payload of a frame. A visit with 30,000 links of the greatest length fits.
pub const MAX_FRAME_BYTES: usize = 64 << 20;

const RAW: u8 = 0;
const LZ4: u8 = 1;
/// Shorter payloads are not worth the attempt; the footer of a schedule relies on being raw.
const MIN_COMPRESSED: usize = 64;

/// Appends a frame with this payload.
///
/// # Panics
/// When the payload is longer than [`MAX_FRAME_BYTES`]; writers bound what they put in.
pub(crate) fn put_frame(out: &mut Vec<u8>, kind: FileKind, payload: &[u8]) {
    put_frame_as(out, kind, payload, payload.len() >= MIN_COMPRESSED);
}

/// The same, as it is: the payload is known not to shrink.
pub(crate) fn put_raw_frame(out: &mut Vec<u8>, kind: FileKind, payload: &[u8]) {
    put_frame_as(out, kind, payload, false);
}

fn put_frame_as(out: &mut Vec<u8>, kind: FileKind, payload: &[u8], may_shrink: bool) {
    assert!(payload.len() <= MAX_FRAME_BYTES, "a frame of {} bytes is too long", payload.len());
    let start = out.len();
    out.resize(start + FRAME_HEADER_BYTES, 0);
    let mut codec = RAW;
    if may_shrink {
        let body = out.len();
        out.resize(body + lz4_flex::block::get_maximum_output_size(payload.len()), 0);
        let compressed = lz4_flex::block::compress_into(payload, &mut out[body..]);
        // Worth it from an eighth on: a raw payload is read without a copy.
        match compressed {
            Ok(length) if length + length / 8 <= payload.len() => {
                out.truncate(body + length);
                codec = LZ4;
            }
            _ => out.truncate(body),
        }
    }
    if codec == RAW {
        out.extend_from_slice(payload);
    }
    let stored = out.len() - start - FRAME_HEADER_BYTES;
    let head = &mut out[start..start + FRAME_HEADER_BYTES];
    head[0..4].copy_from_slice(&(stored as u32).to_le_bytes());
    head[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    head[8] = codec;
    head[9] = kind as u8;
    let crc = frame_crc(&out[start..]);
    out[start + 12..start + FRAME_HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
}

fn frame_crc(frame: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&frame[..12]);
    hasher.update(&frame[FRAME_HEADER_BYTES..]);
    hasher.finalize()
}

/// The length of the frame that begins with `head`, header included. Only [`check_frame`] can tell
/// whether it is one.
pub(crate) fn frame_length(head: &[u8; FRAME_HEADER_BYTES]) -> Result<usize, Malformed> {
    let stored = Take(head).u32()? as usize;
    if stored > MAX_FRAME_BYTES {
        return Err(Malformed("a frame's length is out of range"));
    }
    Ok(FRAME_HEADER_BYTES + stored)
}

/// Checks everything about a frame that can be told without unpacking it.
pub(crate) fn check_frame(frame: &[u8], kind: FileKind) -> Result<(), Malformed> {
    let head = frame.first_chunk().ok_or(Malformed("a frame is cut short"))?;
    if frame_length(head)? != frame.len() {
        return Err(Malformed("a frame's length does not match"));
    }
    if frame_crc(frame) != Take(&frame[12..]).u32()? {
        return Err(Malformed("a frame's checksum does not match"));
    }
    if frame[9] != kind as u8 {
        return Err(Malformed("a frame of another kind"));
    }
    Ok(())
}

/// Checks and unpacks a frame; the payload is part of `frame` or of `scratch`.
pub(crate) fn open_frame<'a>(
    frame: &'a [u8],
    kind: FileKind,
    scratch: &'a mut Vec<u8>,
) -> Result<&'a [u8], Malformed> {
    check_frame(frame, kind)?;
    let length = Take(&frame[4..]).u32()? as usize;
    let stored = &frame[FRAME_HEADER_BYTES..];
    match frame[8] {
        RAW if stored.len() == length => Ok(stored),
        LZ4 if length <= MAX_FRAME_BYTES => {
            scratch.resize(length, 0);
            match lz4_flex::block::decompress_into(stored, scratch) {
                Ok(n) if n == length => Ok(scratch),
                _ => Err(Malformed("cannot decompress a frame")),
            }
        }
        _ => Err(Malformed("a frame with an unknown codec")),
    }
}

/// The same, in a buffer of its own.
pub(crate) fn unpack_frame(frame: &[u8], kind: FileKind) -> Result<Vec<u8>, Malformed> {
    let mut unpacked = Vec::new();
    unpack_frame_into(frame, kind, &mut unpacked)?;
    Ok(unpacked)
}

/// The same, in place of what `unpacked` holds.
pub(crate) fn unpack_frame_into(
    frame: &[u8],
    kind: FileKind,
    unpacked: &mut Vec<u8>,
) -> Result<(), Malformed> {
    open_frame(frame, kind, unpacked)?;
    if frame[8] == RAW {
        unpacked.clear();
        unpacked.extend_from_slice(&frame[FRAME_HEADER_BYTES..]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_frame_comes_back_and_any_flipped_bit_is_noticed(
            pattern in proptest::collection::vec(any::<u8>(), 1..30), length in 0usize..2000, flip in any::<usize>()
        ) {
            let payload: Vec<u8> = pattern.iter().copied().cycle().take(length).collect();
            let mut frame = Vec::new();
            put_frame(&mut frame, FileKind::Keys, &payload);
            let mut scratch = Vec::new();
            prop_assert_eq!(open_frame(&frame, FileKind::Keys, &mut scratch), Ok(&payload[..]));
            prop_assert!(open_frame(&frame, FileKind::Known, &mut scratch).is_err());
            let bit = flip % (frame.len() * 8);
            frame[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(open_frame(&frame, FileKind::Keys, &mut scratch).is_err());
        }
    }

    #[test]
    fn a_header_names_version_kind_and_number() {
        let good = header(FileKind::Keys, Round(7));
        assert_eq!(check_header(&good, FileKind::Keys, Round(7)), Ok(WRITTEN_VERSION));
        assert!(matches!(check_header(&good, FileKind::Known, Round(7)), Err(HeaderError::Malformed(_))));
        assert!(matches!(check_header(&good, FileKind::Keys, Round(8)), Err(HeaderError::Malformed(_))));
        for (version, expected) in [
            (0, Err(HeaderError::Version(0))),
            (1, Ok(1)),
            (2, Ok(2)),
            (10, Ok(10)),
            (12, Err(HeaderError::Version(12))),
        ] {
            let mut other = good;
            other[8] = version;
            let crc = crc32fast::hash(&other[..20]);
            if other != good {
                let unsigned = check_header(&other, FileKind::Keys, Round(7));
                assert!(matches!(unsigned, Err(HeaderError::Malformed(_))));
            }
            other[20..].copy_from_slice(&crc.to_le_bytes());
            assert_eq!(check_header(&other, FileKind::Keys, Round(7)), expected);
        }
    }

    #[test]
    fn names_carry_their_number() {
        assert_eq!(number_in(&generation_file(Round(12), "keys"), "generation"), Some(Round(12)));
        assert_eq!(number_in(&round_file(Round(u32::MAX), "visits"), "cycle"), Some(Round(u32::MAX)));
        for name in ["generation-1.keys", "cycle-0000000001.visits", "generation-00000x0001.keys", "MANIFEST"]
        {
            assert_eq!(number_in(name, "generation"), None, "{name}");
        }
    }
}
