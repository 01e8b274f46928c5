//! The files of the archive that an export read: whether a takedown has replaced one since.

use recrawl_archive::ArchiveReader;
use recrawl_crawl::failure::Failure;
use recrawl_repository::storage::{ReadFile, Storage};
use std::io;
use std::sync::Arc;

/// Files of the archive as they were read: name and identity of each.
pub struct ArchivedFiles {
    storage: Arc<dyn Storage>,
    noted: Vec<(String, String)>,
}

impl ArchivedFiles {
    /// None of the archive's files yet.
    pub fn new(archive: &ArchiveReader) -> ArchivedFiles {
        ArchivedFiles { storage: archive.storage().clone(), noted: Vec::new() }
    }

    /// All files of the archive, as they are now. Removed ones are left out.
    pub fn all(archive: &ArchiveReader) -> ArchivedFiles {
        let mut files = ArchivedFiles::new(archive);
        for (_, name) in archive.files.iter() {
            // What cannot be opened is not read either.
            if let Ok(file) = files.storage.open(name) {
                let _ = files.note(name, &*file);
            }
        }
        files
    }

    /// Notes a file that is read.
    ///
    /// # Errors
    /// When it cannot be told from others.
    pub fn note(&mut self, name: &str, file: &dyn ReadFile) -> io::Result<()> {
        self.noted.push((name.to_owned(), file.identity()?));
        Ok(())
    }

    /// Fails if a file has been replaced since it was noted, as a takedown does. A removed one is no obstacle.
    ///
    /// # Errors
    /// That one has.
    pub fn are_unchanged(&self) -> Result<(), Failure> {
        for (name, noted) in &self.noted {
            let now = self.storage.open(name).and_then(|file| file.identity());
            if now.is_ok_and(|now| now != *noted) {
                let file = self.storage.locate(name);
                return Err(Failure::Work(format!(
                    "{file} was rewritten during the export (takedown), so it was discarded; run it again"
                )));
            }
        }
        Ok(())
    }
}
