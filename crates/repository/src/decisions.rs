//! What operators decided: one small file, replaced as a whole, and never left out.
//!
//! It stands apart from the tables, which may be removed and learned anew: a page that was taken
//! down must not be fetched again because of that. A manifest of version 5 or later says that there
//! is such a file, so a missing one is told. The repository knows the file's name and its checksum;
//! what the text in it means is the program's.

use crate::error::{Damage, OpenError, ReadError, WriteError};
use crate::frames::Source;
use crate::storage::Storage;

/// The file: `{"crc32":"1a2b3c4d","decisions":…}`, one JSON object in one line.
pub const DECISIONS: &str = "decisions.json";
/// The next file, before the rename. No leftover of a commit: a change may come while one is made.
const NEXT: &str = "decisions.json.next";
/// Nothing is decided. A person may write no more than this into the file, to begin anew.
pub const NOTHING: &str = "{}";

const BEGIN: &str = "{\"crc32\":\"";
const MIDDLE: &str = "\",\"decisions\":";
const END: &str = "}\n";
/// Bytes of the file that are read at most: 10,000 blocks, as many paused hosts and 1,000 patterns
/// take less.
const MAX_DECISIONS_BYTES: u64 = 64 << 20;

/// The text that was written last; none where there is no file.
///
/// # Errors
/// When it cannot be read, or is not what was written.
pub fn read(storage: &dyn Storage) -> Result<Option<String>, ReadError> {
    let source = match Source::open_unchecked(storage, DECISIONS) {
        Err(e) if e.is_absent() => return Ok(None),
        other => other?,
    };
    let mut bytes = vec![0; source.length().min(MAX_DECISIONS_BYTES) as usize];
    source.read_exact(&mut bytes, 0)?;
    match std::str::from_utf8(&bytes).ok().and_then(open) {
        Some(text) => Ok(Some(text.to_owned())),
        None => Err(source.damaged(0, "its checksum does not match")),
    }
}

/// Replaces the text, durably: whatever stops it, the file is the old one or the new one, whole.
///
/// # Errors
/// When the disk refuses. Nobody knows then which of them is found after a restart.
pub fn write(storage: &dyn Storage, text: &str) -> Result<(), WriteError> {
    let crc = crc32fast::hash(text.as_bytes());
    let path = storage.locate(NEXT);
    let mut file = storage.create(NEXT).map_err(WriteError::of(&path, "create"))?;
    let bytes = format!("{BEGIN}{crc:08x}{MIDDLE}{text}{END}");
    file.write(bytes.as_bytes()).map_err(WriteError::of(&path, "write"))?;
    file.sync().map_err(WriteError::of(&path, "sync"))?;
    storage.rename(NEXT, DECISIONS).map_err(WriteError::of(&path, "rename"))?;
    storage.sync_dir().map_err(WriteError::of(storage.locate(""), "sync"))
}

/// The text in the bytes of a file; none where they are damaged.
fn open(bytes: &str) -> Option<&str> {
    if bytes.trim_end() == NOTHING {
        return Some(NOTHING);
    }
    let (crc, rest) = bytes.strip_prefix(BEGIN)?.split_at_checked(8)?;
    let text = rest.strip_prefix(MIDDLE)?.strip_suffix(END)?;
    (crc == format!("{:08x}", crc32fast::hash(text.as_bytes()))).then_some(text)
}

/// Begins a repository with nothing decided, unless the file is there already.
pub(crate) fn begin(storage: &dyn Storage) -> Result<(), OpenError> {
    match read(storage)? {
        Some(_) => Ok(()),
        None => Ok(write(storage, NOTHING)?),
    }
}

/// What is wrong with the file of a repository that must have one.
pub(crate) fn check(storage: &dyn Storage) -> Result<(), Damage> {
    match read(storage) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(Damage { file: storage.locate(DECISIONS), offset: 0, what: "it is missing".into() }),
        Err(error) => Err(error.into_damage()),
    }
}

/// Removes what a stop has left of a change that was not made.
pub(crate) fn remove_leftover(storage: &dyn Storage) -> Result<(), OpenError> {
    match storage.remove(NEXT) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(WriteError::of(storage.locate(NEXT), "remove")(e).into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryStorage;

    #[test]
    fn what_was_written_is_read_and_each_flipped_bit_is_told() {
        let storage = MemoryStorage::new();
        assert_eq!(read(&storage).unwrap(), None);
        write(&storage, "{\"blocks\":{\"a.test\":{\"who\":\"anna\",\"at\":7}}}").unwrap();
        assert_eq!(storage.list().unwrap(), [DECISIONS]);
        let bytes = storage.image()[DECISIONS].clone();
        assert!(read(&storage).unwrap().unwrap().contains("a.test"));
        for (at, bit) in (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            let storage = MemoryStorage::with_files([(DECISIONS.into(), flipped)].into());
            assert!(read(&storage).is_err(), "bit {bit} of byte {at}");
        }
        for length in 0..bytes.len() {
            let storage = MemoryStorage::with_files([(DECISIONS.into(), bytes[..length].to_vec())].into());
            assert!(read(&storage).is_err(), "cut to {length} bytes");
        }
    }

    #[test]
    fn a_person_may_begin_anew_and_what_was_decided_is_not_begun_anew() {
        let by_hand = MemoryStorage::with_files([(DECISIONS.into(), b"{}\n".to_vec())].into());
        assert_eq!(read(&by_hand).unwrap().as_deref(), Some(NOTHING));
        write(&by_hand, "{\"paused\":null}").unwrap();
        begin(&by_hand).unwrap();
        assert_eq!(read(&by_hand).unwrap().as_deref(), Some("{\"paused\":null}"));
    }
}
