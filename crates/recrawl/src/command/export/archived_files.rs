//! The files of the archive that an export read: whether a takedown has replaced one since.

use recrawl_archive::ArchiveFolder;
use recrawl_crawl::failure::Failure;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::SystemTime;

/// Files of the archive as they were read.
#[derive(Default)]
pub struct ArchivedFiles(Vec<(PathBuf, Identity)>);

/// The inode, and its birth where the file system knows it: numbers are used again.
type Identity = (u64, Option<SystemTime>);

fn identity(file: &Metadata) -> Identity {
    (file.ino(), file.created().ok())
}

impl ArchivedFiles {
    /// All files of the archive, as they are now. Removed ones are left out.
    pub fn all(archive: &ArchiveFolder) -> ArchivedFiles {
        let paths = archive.files.iter().filter_map(|(number, _)| archive.file(number).ok());
        let noted = paths.filter_map(|path| {
            let of = identity(&fs::metadata(&path).ok()?);
            Some((path, of))
        });
        ArchivedFiles(noted.collect())
    }

    /// Notes a file that is read.
    pub fn note(&mut self, path: PathBuf, file: &Metadata) {
        self.0.push((path, identity(file)));
    }

    /// Fails if a file has been replaced since it was noted, as a takedown does. A removed one is no obstacle.
    ///
    /// # Errors
    /// That one has.
    pub fn are_unchanged(&self) -> Result<(), Failure> {
        for (path, noted) in &self.0 {
            if fs::metadata(path).is_ok_and(|now| identity(&now) != *noted) {
                let path = path.display();
                return Err(Failure::Work(format!(
                    "{path} was rewritten during the export (takedown), so it was discarded; run it again"
                )));
            }
        }
        Ok(())
    }
}
