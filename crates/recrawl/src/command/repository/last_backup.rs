//! The last backup of a data directory, noted there for the day on which it is needed.

use recrawl_crawl::data_dir;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::whole_file;
use recrawl_repository::Snapshot;
use recrawl_terminal::logging;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tracing::Level;

/// A backup that was made.
#[derive(Serialize, Deserialize)]
pub struct LastBackup {
    /// Its folder.
    pub folder: PathBuf,
    /// When it was made, in milliseconds since 1970.
    pub at: u64,
    /// Its generation.
    pub generation: u32,
}

/// Notes a backup of a data directory, there and in the backup: what is restored from it knows it too. `at` is when its
/// decisions were read, in milliseconds since 1970: a later takedown is not in it.
///
/// # Errors
/// When the file of the backup cannot be written. Whoever may only read the data directory can make a backup all the same.
pub fn note(folder: &Path, made: &Snapshot, out: &Path, at: u64) -> Result<(), Failure> {
    let backup = LastBackup { folder: std::path::absolute(out)?, at, generation: made.generation.0 };
    let text = serde_json::to_vec(&backup).map_err(Failure::work)?;
    whole_file::replace(&out.join(data_dir::LAST_BACKUP), &text)?;
    if let Err(why) = whole_file::replace(&folder.join(data_dir::LAST_BACKUP), &text) {
        logging::say(
            Level::WARN,
            &format!("the backup is complete, but the data directory does not note it: {why}"),
        );
    }
    Ok(())
}

impl LastBackup {
    /// The noted one, if it is still there.
    pub fn read(data_dir: &Path) -> Option<LastBackup> {
        LastBackup::noted(data_dir).filter(|noted| noted.folder.is_dir())
    }

    /// The noted one, wherever it is now.
    pub fn noted(folder: &Path) -> Option<LastBackup> {
        let text = std::fs::read(folder.join(data_dir::LAST_BACKUP)).ok()?;
        // Damage may have struck the note as well: then there is none.
        serde_json::from_slice(&text).ok()
    }

    /// Is this file of the data directory the same one as in the backup, by a hard link? Then the backup has its damage.
    pub fn shares(&self, file: &Path) -> bool {
        let of = |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
        let there = file.file_name().and_then(|name| of(&self.folder.join(name)));
        there.is_some() && there == of(file)
    }
}
