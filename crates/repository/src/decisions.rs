//! What operators decided: one small file, replaced as a whole, and never left out.
//!
//! It stands apart from the tables, which may be removed and learned anew: a page that was taken
//! down must not be fetched again because of that. A manifest of version 5 or later says that there
//! is such a file, so a missing one is told. The repository knows the file's name and its checksum;
//! what the text in it means is the program's.

use crate::file::checked_file::{self, CheckedFile};
use crate::file::error::{Damage, OpenError, ReadError, WriteError};
use crate::storage::Storage;

/// The file.
pub const DECISIONS: &str = FILE.name;
/// Nothing is decided. A person may write no more than this into the file, to begin anew.
pub const NOTHING: &str = checked_file::NOTHING;

/// 10,000 blocks, as many paused hosts and 1,000 patterns take less.
const FILE: CheckedFile = CheckedFile {
    name: "decisions.json",
    next: "decisions.json.next",
    key: "decisions",
    max_bytes: MAX_DECISIONS_BYTES,
};

/// Bytes of `decisions.json`: a longer file is damaged.
const MAX_DECISIONS_BYTES: u64 = 64 << 20;

/// The text that was written last; none where there is no file.
///
/// # Errors
/// As of [`CheckedFile::read`].
pub fn read(storage: &dyn Storage) -> Result<Option<String>, ReadError> {
    FILE.read(storage)
}

/// Replaces the text, durably.
///
/// # Errors
/// As of [`CheckedFile::write`].
pub fn write(storage: &dyn Storage, text: &str) -> Result<(), WriteError> {
    FILE.write(storage, text)
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
    FILE.remove_leftover(storage)
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
    fn what_could_not_be_read_again_is_not_written() {
        let storage = MemoryStorage::new();
        let most = "x".repeat(MAX_DECISIONS_BYTES as usize);
        let fits = |length: usize| write(&storage, &most[..length]).is_ok();
        let longest = (most.len() - 100..most.len()).rev().find(|length| fits(*length)).expect("one fits");
        assert_eq!(read(&storage).unwrap().map(|text| text.len()), Some(longest));
        let error = write(&storage, &most).unwrap_err().to_string();
        assert!(error.contains("decisions.json") && error.contains("longer than the 64 MiB"), "{error}");
        assert_eq!(read(&storage).unwrap().map(|text| text.len()), Some(longest), "the last one is there");
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
