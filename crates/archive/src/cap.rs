//! The cap on the size of all WARC files, and the test which bodies are still archived.
//!
//! Files are removed between cycles, the oldest first, and never the newest, to which the next
//! cycle appends. A page's record keeps its position: a missing file means that the body was
//! removed, and no position that no body was archived.

use super::files::{WarcFiles, is_thinned};
use recrawl_repository::storage::Storage;
use recrawl_types::{ArchivePosition, ArchivedBody, Content, PageRecord, Validators};
use std::collections::BTreeMap;
use std::io;

/// A number of WARC files, removed or present.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Number of files.
    pub files: u32,
    /// Their size in bytes.
    pub bytes: u64,
}

/// All WARC files.
///
/// # Errors
/// When the storage cannot be listed.
pub fn taken(storage: &dyn Storage) -> io::Result<Files> {
    let files = lengths(storage)?;
    let bytes = files.iter().map(|(_, length, _)| length).sum();
    Ok(Files { files: files.len() as u32, bytes })
}

/// Number, length and name of each WARC file, without files that a running crawl removes meanwhile.
pub(super) fn lengths(folder: &dyn Storage) -> io::Result<Vec<(u32, u64, String)>> {
    let mut files = Vec::new();
    for (number, name) in WarcFiles::in_storage(folder)?.iter() {
        match folder.open(name).and_then(|file| file.length()) {
            Ok(length) => files.push((number, length, name.to_owned())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(files)
}

/// Removes the oldest WARC files until at most `max` bytes or only the newest file remains.
///
/// # Errors
/// When the folder cannot be read or a file cannot be removed. Files removed before stay removed.
pub fn keep_within(folder: &dyn Storage, max: u64) -> io::Result<Files> {
    let mut files = lengths(folder)?;
    files.sort_unstable();
    let mut total: u64 = files.iter().map(|(_, length, _)| length).sum();
    files.pop();
    let mut removed = Files::default();
    for (_, length, name) in files {
        if total <= max {
            break;
        }
        folder.remove(&name)?;
        total -= length;
        removed.files += 1;
        removed.bytes += length;
    }
    if removed.files > 0 {
        folder.sync_dir()?;
    }
    Ok(removed)
}

/// Forgets body and validators, so that the next visit is unconditional and archives the body
/// again.
pub(super) fn forget(content: &mut Content) {
    (content.archive, content.archived_at, content.archived) = (None, 0, ArchivedBody::Last);
    content.validators = Validators::default();
}

/// The present WARC files with their lengths and names.
#[derive(Clone, Debug, Default)]
pub struct Bodies(BTreeMap<u32, (u64, String)>);

impl Bodies {
    /// The bodies in this storage.
    ///
    /// # Errors
    /// When the storage cannot be listed.
    pub fn in_storage(storage: &dyn Storage) -> io::Result<Bodies> {
        let files = lengths(storage)?.into_iter();
        // Positions in a thinned file are those of before, which may lie behind its end.
        let length = |name: &str, length| if is_thinned(name) { u64::MAX } else { length };
        Ok(Bodies(files.map(|(number, bytes, name)| (number, (length(&name, bytes), name))).collect()))
    }

    /// The name of a file that is present.
    pub fn name(&self, number: u32) -> Option<&str> {
        self.0.get(&number).map(|(_, name)| name.as_str())
    }

    /// Is the record present?
    pub fn has(&self, position: ArchivePosition) -> bool {
        self.0.get(&position.file).is_some_and(|(length, _)| position.offset < *length)
    }

    /// Was the record lost: does its file exist, but end before it?
    pub fn has_lost(&self, position: ArchivePosition) -> bool {
        self.0.contains_key(&position.file) && !self.has(position)
    }

    /// Removes the position of a lost body from a page's record, with the validators, so that the
    /// next visit is unconditional and archives the body again.
    pub fn forget_lost(&self, record: &mut PageRecord) {
        let content = record.visited.as_mut().map(|visited| &mut visited.content);
        if let Some(content) = content.filter(|c| c.archive.is_some_and(|position| self.has_lost(position))) {
            forget(content);
        }
    }

    /// `archived`, `removed` with its file, or `lost` if the file ends before it; none if no body
    /// was ever archived.
    pub fn state(&self, content: Option<&Content>) -> Option<&'static str> {
        let position = content?.body()?;
        Some(match () {
            () if self.has(position) => "archived",
            () if self.has_lost(position) => "lost",
            () => "removed",
        })
    }

    /// The same as text for a reader.
    pub fn words(&self, content: Option<&Content>) -> Option<String> {
        let position = content?.body()?;
        let ArchivePosition { file, offset } = position;
        Some(match self.name(file) {
            // In its index is where it lies now.
            Some(name) if is_thinned(name) => format!("in {name}"),
            Some(name) if self.has(position) => format!("in {name}, byte {offset}"),
            Some(name) => format!("lost: {name} ends before byte {offset}; the next visit archives it again"),
            None => format!("was in WARC file {file}, which was removed"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{file_name, number_in};
    use recrawl_repository::storage::MemoryStorage;

    fn folder(lengths: &[usize]) -> MemoryStorage {
        let files = (1..).zip(lengths).map(|(number, length)| (file_name(number, 0, "ab"), vec![0; *length]));
        let others =
            [("index.cdxj".to_owned(), vec![0; 1000]), ("recrawl-1.warc.gz".to_owned(), vec![0; 50])];
        MemoryStorage::with_files(files.chain(others).collect())
    }

    fn numbers(folder: &MemoryStorage) -> Vec<u32> {
        let mut numbers: Vec<u32> =
            folder.list().unwrap().iter().filter_map(|name| number_in(name)).collect();
        numbers.sort_unstable();
        numbers
    }

    #[test]
    fn the_oldest_go_first_and_the_newest_stays() {
        for (max, expected) in [
            (100, &[1, 2, 3, 4][..]),
            (99, &[2, 3, 4]),
            (90, &[2, 3, 4]),
            (89, &[3, 4]),
            (40, &[4]),
            (1, &[4]),
        ] {
            let folder = folder(&[10, 20, 30, 40]);
            let removed = keep_within(&folder, max).unwrap();
            assert_eq!(numbers(&folder), expected, "{max}");
            assert_eq!(removed.files as usize, 4 - expected.len());
            assert_eq!(folder.list().unwrap().len(), expected.len() + 2, "what is not ours stays");
            assert_eq!(keep_within(&folder, max).unwrap(), Files::default(), "once is enough");
        }
        assert_eq!(keep_within(&folder(&[]), 1).unwrap(), Files::default());
    }
}
