//! Small files of a data directory that are replaced as a whole.

use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Replaces a file: a reader, and a start after a crash, finds the old content or the new one. The bytes are synced
/// before the rename, so that the new name never stands for fewer of them.
///
/// # Errors
/// When the file cannot be written.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let write = || -> io::Result<()> {
        let mut file = File::create(&beside)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|e| Failure::Work(format!("cannot write {}: {e}", path.display())))
}
