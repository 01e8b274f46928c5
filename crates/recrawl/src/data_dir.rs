//! Whose a directory is in which a crawl would begin: what is somebody else's is not taken for a data directory.
//!
//! A crawl that was begun has a manifest, or tables, and is left to those who open it. Before that, there may be what a
//! file system, a shell or an operator puts there: hidden entries, `lost+found`, empty files, files that the configuration
//! or the command line names, and what commands of ours leave before a first crawl. All else is a sign of a wrong path.

use crate::crawl::{TABLES, WARC};
use crate::failure::Failure;
use crate::settings::Settings;
use crate::words;
use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// One of these is a crawl that was begun.
const BEGUN: [&str; 2] = ["MANIFEST", TABLES];
/// What may be there before: the lock, what the first opening writes before the manifest, what an archive was restored to.
const OURS: [&str; 5] = ["LOCK", "reports", WARC, "formula.toml", "lost+found"];
/// Beginnings of names of ours: a cycle's files, what the repository says more of than we could, the log of changes.
const OURS_BEGIN: [&str; 5] = ["MANIFEST.", "generation-", "cycle-", "visits-", "control.jsonl"];

/// Refuses a directory that holds no crawl and something of somebody else.
///
/// # Errors
/// [`Failure::Usage`], which names what is in it; [`Failure::Work`] when it cannot be read.
pub fn check_ours(settings: &Settings) -> Result<(), Failure> {
    let folder = &settings.data_dir;
    let foreign = foreign(folder, &settings.files)
        .map_err(|e| Failure::Work(format!("data directory {}: {e}", folder.display())))?;
    if foreign.is_empty() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "data directory {}: is not empty, and holds no crawl but {}; name an empty directory or a new one (--data-dir, storage.data_dir)",
        folder.display(),
        words::some_of(&foreign)
    )))
}

/// Was a crawl begun there?
pub fn is_begun(folder: &Path) -> bool {
    BEGUN.iter().any(|name| folder.join(name).exists())
}

/// Names in a directory without a crawl that are somebody else's, in order.
fn foreign(folder: &Path, named: &[PathBuf]) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        // What cannot be a directory is told by whoever makes it one.
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(Vec::new()),
        entries => entries?,
    };
    if is_begun(folder) {
        return Ok(Vec::new());
    }
    let named: Vec<PathBuf> = named.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    let mut foreign = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_expected = is_empty_file(&entry) || is_output(&entry) || is_named(&entry, &named);
        if !is_ours(&name) && !is_expected {
            foreign.push(name);
        }
    }
    foreign.sort_unstable();
    Ok(foreign)
}

fn is_ours(name: &str) -> bool {
    name.starts_with('.') || OURS.contains(&name) || OURS_BEGIN.iter().any(|begin| name.starts_with(begin))
}

/// As a shell makes one that is to take what we print.
fn is_empty_file(entry: &DirEntry) -> bool {
    entry.metadata().is_ok_and(|data| data.is_file() && data.len() == 0)
}

/// One that takes what we print, and may hold the words of an earlier start.
fn is_output(entry: &DirEntry) -> bool {
    let place = |data: fs::Metadata| (data.dev(), data.ino());
    let outputs = ["/dev/stdout", "/dev/stderr"].map(|path| fs::metadata(path).ok().map(place));
    entry.metadata().ok().map(place).is_some_and(|file| outputs.contains(&Some(file)))
}

fn is_named(entry: &DirEntry, named: &[PathBuf]) -> bool {
    fs::canonicalize(entry.path()).is_ok_and(|path| named.contains(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_lie_where_a_crawl_begins_and_what_may_not() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        let none: Vec<String> = Vec::new();
        assert_eq!(foreign(&data.join("new"), &[]).unwrap(), none);
        fs::create_dir(data.join("lost+found")).unwrap();
        fs::create_dir(data.join("warc")).unwrap();
        for name in ["LOCK", ".profile", "formula.toml", "control.jsonl", "control.jsonl.1", "MANIFEST.new"] {
            fs::write(data.join(name), "x").unwrap();
        }
        fs::write(data.join("out.jsonl"), "").unwrap();
        assert_eq!(foreign(data, &[]).unwrap(), none);
        fs::write(data.join("recrawl.toml"), "x").unwrap();
        fs::create_dir(data.join("photos")).unwrap();
        assert_eq!(foreign(data, &[]).unwrap(), ["photos", "recrawl.toml"]);
        assert_eq!(foreign(data, &[data.join("warc/../recrawl.toml")]).unwrap(), ["photos"]);
        fs::create_dir(data.join(TABLES)).unwrap();
        assert_eq!(foreign(data, &[]).unwrap(), none, "a crawl was begun");
    }
}
