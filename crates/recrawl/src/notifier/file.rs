//! Appends messages to a file, a line each.

use recrawl_crawl::failure::Failure;
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file of lines. It is opened for each line, so that it can be rotated by a rename.
pub struct LinesFile {
    path: PathBuf,
    /// Written to, and not synced.
    unsynced: RefCell<Option<File>>,
}

impl LinesFile {
    pub fn new(path: &Path) -> LinesFile {
        LinesFile { path: path.into(), unsynced: RefCell::default() }
    }

    /// Appends a line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&self, mut line: String) -> Result<(), String> {
        line.truncate(line.trim_end_matches('\n').len());
        line.push('\n');
        let append = || -> io::Result<File> {
            let mut file = OpenOptions::new().append(true).create(true).open(&self.path)?;
            let before = file.metadata()?.len();
            // A line is in it whole or not at all.
            file.write_all(line.as_bytes()).inspect_err(|_| _ = file.set_len(before))?;
            Ok(file)
        };
        let file = append().map_err(|e| format!("cannot write {}: {e}", self.path.display()))?;
        *self.unsynced.borrow_mut() = Some(file);
        Ok(())
    }

    /// Makes the lines durable.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn sync(&self) -> Result<(), Failure> {
        let Some(file) = self.unsynced.borrow_mut().take() else { return Ok(()) };
        file.sync_data().map_err(|e| Failure::Work(format!("cannot sync {}: {e}", self.path.display())))
    }
}
