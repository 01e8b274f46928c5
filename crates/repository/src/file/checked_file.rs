//! A small file with a checksum, replaced as a whole: one JSON object in one line,
//! `{"crc32":"1a2b3c4d","decisions":…}`. What its text means is the program's.

use crate::file::error::{OpenError, ReadError, WriteError};
use crate::file::frames::FrameSource;
use crate::storage::Storage;
use recrawl_types::Size;
use std::io;

/// A text without content. A person may write no more than this into a file, to begin anew.
pub const NOTHING: &str = "{}";

const BEGIN: &str = "{\"crc32\":\"";
const END: &str = "}\n";

/// The names of such a file.
#[derive(Debug)]
pub struct CheckedFile {
    /// Its name in the data directory.
    pub name: &'static str,
    /// The next file, before the rename. No leftover of a commit: a change may come while one is made.
    pub next: &'static str,
    /// The key of its text.
    pub key: &'static str,
    /// Bytes that are read at most.
    pub max_bytes: u64,
}

impl CheckedFile {
    fn middle(&self) -> String {
        format!("\",\"{}\":", self.key)
    }

    /// The text that was written last; none where there is no file.
    ///
    /// # Errors
    /// When it cannot be read, or is not what was written.
    pub fn read(&self, storage: &dyn Storage) -> Result<Option<String>, ReadError> {
        let source = match FrameSource::open_unchecked(storage, self.name) {
            Err(e) if e.is_absent() => return Ok(None),
            other => other?,
        };
        let mut bytes = vec![0; source.length().min(self.max_bytes) as usize];
        source.read_exact(&mut bytes, 0)?;
        match std::str::from_utf8(&bytes).ok().and_then(|text| self.open(text)) {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(source.damaged(0, "its checksum does not match")),
        }
    }

    /// Replaces the text, durably: whatever stops it, the file is the old one or the new one, whole.
    ///
    /// # Errors
    /// When the disk refuses. Nobody knows then which of them is found after a restart. When the text is longer than it
    /// could be read again: then nothing has changed.
    pub fn write(&self, storage: &dyn Storage, text: &str) -> Result<(), WriteError> {
        let crc = crc32fast::hash(text.as_bytes());
        let path = storage.locate(self.next);
        let bytes = format!("{BEGIN}{crc:08x}{}{text}{END}", self.middle());
        if bytes.len() as u64 > self.max_bytes {
            let error = format!("longer than the {} it may have", Size(self.max_bytes));
            return Err(WriteError::during(&path, "write")(io::Error::new(
                io::ErrorKind::FileTooLarge,
                error,
            )));
        }
        let mut file = storage.create(self.next).map_err(WriteError::during(&path, "create"))?;
        file.write(bytes.as_bytes()).map_err(WriteError::during(&path, "write"))?;
        file.sync().map_err(WriteError::during(&path, "sync"))?;
        storage.rename(self.next, self.name).map_err(WriteError::during(&path, "rename"))?;
        storage.sync_dir().map_err(WriteError::during(storage.locate(""), "sync"))
    }

    /// The text in the bytes of a file; none where they are damaged.
    fn open<'t>(&self, bytes: &'t str) -> Option<&'t str> {
        if bytes.trim_end() == NOTHING {
            return Some(NOTHING);
        }
        let (crc, rest) = bytes.strip_prefix(BEGIN)?.split_at_checked(8)?;
        let text = rest.strip_prefix(&self.middle())?.strip_suffix(END)?;
        (crc == format!("{:08x}", crc32fast::hash(text.as_bytes()))).then_some(text)
    }

    /// Removes what a stop has left of a change that was not made.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn remove_leftover(&self, storage: &dyn Storage) -> Result<(), OpenError> {
        match storage.remove(self.next) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(WriteError::during(storage.locate(self.next), "remove")(e).into())
            }
            _ => Ok(()),
        }
    }
}
