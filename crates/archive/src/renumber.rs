//! Moving the files of one archive behind those of another: they get other numbers, which all positions in them have to follow.

use super::files::{WarcFiles, is_thinned, renumbered_name};
use super::moved::{MovedIndex, length, member};
use super::spelling::in_file;
use recrawl_repository::storage::{Storage, copy};
use std::io::{self, ErrorKind};

/// Copies the files of `from` into `into`, each with a number that is larger by `shift`. An index of a file that was thinned follows. `now`
/// is in milliseconds since 1970.
///
/// # Errors
/// With the file's name, when it cannot be read or written, or a number is too large.
pub fn add_renumbered(into: &dyn Storage, from: &dyn Storage, shift: u32, now: u64) -> io::Result<()> {
    for (number, name) in WarcFiles::in_storage(from)?.iter() {
        let copied = || {
            let number = number.checked_add(shift).filter(|number| *number < u32::MAX);
            let number = number
                .ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "an archive has too many files"))?;
            let new = renumbered_name(name, number);
            let (file, mut copied) = (from.open(name)?, into.create(&new)?);
            let mut begin = 0;
            if is_thinned(name) {
                let entries = MovedIndex::open(from, name)?.shifted(shift)?;
                begin = length(entries.len());
                copied.write(&member(&entries, &new, now))?;
            }
            copy(&*file, begin..file.length()?, &mut *copied)?;
            copied.sync()
        };
        copied().map_err(|e| in_file(from, name, &e))?;
    }
    into.sync_dir()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moved::MovedRecord;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_types::ArchivePosition;

    #[test]
    fn files_keep_their_bytes_and_an_index_follows() {
        const THINNED: &str = "recrawl-20231114221320-000007-ab.thinned.warc.gz";
        const WHOLE: &str = "recrawl-20231114221320-000008-ab.warc.gz";
        let at = |file| MovedRecord::Dropped(Some(ArchivePosition { file, offset: 9 }));
        let entries = [(5, MovedRecord::Kept(700)), (15, at(3)), (25, MovedRecord::Dropped(None))];
        let thinned = [member(&entries, THINNED, 1), b"records".to_vec()].concat();
        let from = MemoryStorage::with_files(
            [(THINNED.to_owned(), thinned), (WHOLE.to_owned(), b"whole".to_vec())].into(),
        );
        let into = MemoryStorage::new();
        add_renumbered(&into, &from, 100, 2).unwrap();
        let files = into.image();
        assert_eq!(
            files.keys().collect::<Vec<_>>(),
            ["recrawl-20231114221320-000107-ab.thinned.warc.gz", "recrawl-20231114221320-000108-ab.warc.gz"]
        );
        assert_eq!(files["recrawl-20231114221320-000108-ab.warc.gz"], b"whole");
        let name = "recrawl-20231114221320-000107-ab.thinned.warc.gz";
        assert!(files[name].ends_with(b"records"));
        let index = MovedIndex::open(&into, name).unwrap();
        let found = [5, 15, 25].map(|offset| index.find(offset).unwrap());
        assert_eq!(found, [Some(entries[0].1), Some(at(103)), Some(MovedRecord::Dropped(None))]);
        assert!(add_renumbered(&into, &from, u32::MAX - 7, 2).is_err(), "a number that there is not");
    }
}
