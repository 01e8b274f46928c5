//! The data directory: its folders, what is fixed for its life, and whether it belongs to something else.
//!
//! A crawl has a manifest or tables; opening it checks the rest. A directory without a crawl may
//! contain what a file system, a shell or an operator puts there: hidden entries, `lost+found`,
//! empty files, files named in the configuration or on the command line, and files that other
//! recrawl commands create before the first crawl. Anything else suggests a wrong path.

use crate::failure::Failure;
use crate::first_look;
use crate::labels;
use crate::settings::{Settings, ranking};
use crate::stored::{keep, kept};
use recrawl_archive::opener;
use recrawl_change::Features;
use recrawl_repository::SledTables;
use recrawl_types::UrlRules;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The folder of the tables, in the data directory.
pub const TABLES: &str = "hosts.sled";
/// The file that names the last backup, in the data directory.
pub const LAST_BACKUP: &str = "backup.json";

/// Setting that stores what is fixed.
const PINNED: &str = "pinned";

/// If one of these exists, the directory holds a crawl.
const BEGUN: [&str; 2] = ["MANIFEST", TABLES];
/// Names that may exist before: the lock, files written before the manifest, a restored archive.
const OURS: [&str; 8] = [
    "LOCK",
    "reports",
    opener::FOLDER,
    "formula.toml",
    ranking::FILE,
    first_look::FILE,
    "decisions.json",
    "lost+found",
];
/// Names of further files that recrawl reads once there is a crawl.
const STATE: [&str; 5] = ["MANIFEST", "notify.json", "candidate.json", "vault.json", LAST_BACKUP];
/// Prefixes of names that may exist before: files of cycles, about which the repository reports
/// more, and the log of changes.
const OURS_BEGIN: [&str; 5] = ["MANIFEST.", "generation-", "cycle-", "visits-", "control.jsonl"];

/// A data directory that cannot be opened.
pub fn cannot_open(folder: &Path, error: &io::Error) -> Failure {
    let todo = match error.kind() {
        ErrorKind::NotFound => "; pass --data-dir, or begin a crawl with `recrawl crawl URL`",
        _ => "",
    };
    Failure::Usage(format!("cannot open data directory {}: {error}{todo}", folder.display()))
}

/// Settings that are fixed for the life of a repository: other values would give pages other names,
/// or make the stored fingerprints useless.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Pinned {
    rules: UrlRules,
    features: Features,
}

/// Refuses a directory that holds foreign files and no crawl.
///
/// # Errors
/// [`Failure::Usage`], naming the files; [`Failure::Work`] when the directory cannot be read.
pub fn check_ours(settings: &Settings) -> Result<(), Failure> {
    let folder = &settings.data_dir;
    check_files(folder)?;
    let foreign = foreign(folder, &settings.files)
        .map_err(|e| Failure::Work(format!("cannot read data directory {}: {e}", folder.display())))?;
    if foreign.is_empty() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "data directory {}: contains {} but no crawl; \
         use an empty or new directory (--data-dir, storage.data_dir)",
        folder.display(),
        labels::some_of(&foreign)
    )))
}

/// Refuses a directory in which one of recrawl's files is a named pipe or a device: opening it could wait for ever, and
/// reading it could have no end.
///
/// # Errors
/// [`Failure::Usage`], naming the file.
pub fn check_files(folder: &Path) -> Result<(), Failure> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !is_ours(&name) && !STATE.contains(&name.as_str()) {
            continue;
        }
        let Ok(kind) = fs::metadata(entry.path()).map(|data| data.file_type()) else { continue };
        if kind.is_fifo() || kind.is_char_device() || kind.is_block_device() {
            return Err(Failure::Usage(format!(
                "{}: is a named pipe or a device, not a file; remove it, or use another data directory",
                entry.path().display()
            )));
        }
    }
    Ok(())
}

/// That the folder holds no crawl; and the folders within that do, if it is that of a process of a fleet.
pub fn no_crawl(folder: &Path) -> Failure {
    let mut partitions: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("partition-")))
        .filter(|path| is_begun(path))
        .map(|path| path.display().to_string())
        .collect();
    partitions.sort();
    let todo = match partitions.is_empty() {
        true => "check --data-dir or storage.data_dir".to_owned(),
        false => {
            format!("a process of a fleet keeps its partition in --data-dir {}", partitions.join(" or "))
        }
    };
    Failure::Usage(format!("data directory {}: no crawl here; {todo}", folder.display()))
}

/// Does the folder hold a crawl?
pub fn is_begun(folder: &Path) -> bool {
    BEGUN.iter().any(|name| folder.join(name).exists())
}

/// Pins the settings at the first opening, and checks the configuration against them at every later
/// one. A directory with an earlier default of the URL rules goes on with today's: known pages keep their URLs, and links
/// that it had taken for one page may lead to others.
pub fn check_pinned(tables: &SledTables, settings: &Settings) -> Result<(), Failure> {
    let pinned = Pinned { rules: settings.rules.clone(), features: settings.change.features };
    let Some(before) = kept::<Pinned>(tables, PINNED)? else {
        return keep(tables, PINNED, &pinned);
    };
    let is_renewed =
        UrlRules::earlier_defaults().contains(&before.rules) && pinned.rules == UrlRules::default();
    if is_renewed && before.features == pinned.features {
        return keep(tables, PINNED, &pinned);
    }
    let key = match () {
        () if before.rules != pinned.rules => "urls.drop_parameters",
        () if before.features != pinned.features => "change.features",
        () => return Ok(()),
    };
    Err(Failure::Usage(format!(
        "{key} differs from the value that {} was created with; restore it, or use another data directory",
        settings.data_dir.display()
    )))
}

/// Foreign names in a directory without a crawl, in order.
fn foreign(folder: &Path, named: &[PathBuf]) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        // Creating the directory later reports why it cannot be one.
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
    // Of a process that was killed before it had written a first one.
    let whole = name.strip_suffix(".next").or_else(|| name.strip_suffix(".new"));
    let is_unfinished = whole.is_some_and(|whole| OURS.contains(&whole) || STATE.contains(&whole));
    let is_known = OURS.contains(&name) || OURS_BEGIN.iter().any(|begin| name.starts_with(begin));
    name.starts_with('.') || is_unfinished || is_known
}

/// A shell creates such a file when it redirects output.
fn is_empty_file(entry: &DirEntry) -> bool {
    entry.metadata().is_ok_and(|data| data.is_file() && data.len() == 0)
}

/// Does the entry receive standard output or standard error? It may hold output of an earlier
/// start.
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
        for name in [
            "LOCK",
            ".profile",
            "formula.toml",
            "control.jsonl",
            "control.jsonl.1",
            "MANIFEST.new",
            "decisions.json.next",
            "schedule.toml.new",
        ] {
            fs::write(data.join(name), "x").unwrap();
        }
        fs::write(data.join("out.jsonl"), "").unwrap();
        assert_eq!(foreign(data, &[]).unwrap(), none);
        fs::write(data.join("recrawl.toml"), "x").unwrap();
        fs::create_dir(data.join("photos")).unwrap();
        assert_eq!(foreign(data, &[]).unwrap(), ["photos", "recrawl.toml"]);
        assert_eq!(foreign(data, &[data.join("warc/../recrawl.toml")]).unwrap(), ["photos"]);
        for partition in ["partition-1", "partition-2", "partition-3.new"] {
            fs::create_dir(data.join(partition)).unwrap();
        }
        assert!(no_crawl(data).to_string().ends_with("no crawl here; check --data-dir or storage.data_dir"));
        fs::create_dir(data.join("partition-2").join(TABLES)).unwrap();
        let inner = format!("keeps its partition in --data-dir {}", data.join("partition-2").display());
        assert!(no_crawl(data).to_string().ends_with(&inner), "{}", no_crawl(data));
        fs::create_dir(data.join(TABLES)).unwrap();
        assert_eq!(foreign(data, &[]).unwrap(), none, "a crawl was begun");
    }
}
