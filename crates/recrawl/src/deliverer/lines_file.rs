//! A file of lines that is a target.

use recrawl_crawl::output::{folder_of, sync_folder_of};
use recrawl_delivery::name_of;
use recrawl_delivery::protocol::listed;
use recrawl_delivery::verify::ListedDocument;
use rustix::fs::{Access, FlockOperation, Gid, OFlags, Uid, access, fchown, flock};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Files that this process writes, and locks as long as it has targets there: no two processes write one file.
static HELD: Mutex<BTreeMap<PathBuf, File>> = Mutex::new(BTreeMap::new());

/// Makes a file that is not there, and locks it for this process.
///
/// # Errors
/// When it cannot be made, or another process writes it.
pub fn hold(path: &Path) -> io::Result<()> {
    let (file, is_new) = match open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => (options().create(true).open(path)?, true),
        opened => (opened?, false),
    };
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let inode = |file: &File| file.metadata().map(|metadata| (metadata.dev(), metadata.ino()));
    if let Some(before) = held.get(path)
        && inode(before)? == inode(&file)?
    {
        return Ok(());
    }
    lock(&file)?;
    held.insert(path.to_owned(), file);
    if is_new { sync_folder_of(path) } else { Ok(()) }
}

/// Lets others write a file.
pub fn release(path: &Path) {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
}

fn lock(file: &File) -> io::Result<()> {
    flock(file, FlockOperation::NonBlockingLockExclusive).map_err(|e| match io::Error::from(e) {
        e if e.kind() == ErrorKind::WouldBlock => io::Error::other(
            "another target or process delivers to it; give each target and each data directory a file of its own",
        ),
        e => e,
    })
}

/// Appends lines, durably.
///
/// # Errors
/// When the file cannot be written.
pub fn append(path: &Path, lines: &[u8]) -> io::Result<()> {
    let (mut file, is_new) = match open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => (options().create(true).open(path)?, true),
        opened => (opened?, false),
    };
    cut_torn_line(&mut file)?;
    file.write_all(lines)?;
    file.sync_all()?;
    if is_new { sync_folder_of(path) } else { Ok(()) }
}

/// Leaves only the lines that are kept. The file is replaced as a whole, by one of the same mode and owner, wherever a link
/// leads to it.
///
/// # Errors
/// When it cannot be read or replaced, another process writes it, or the program ends. It is unchanged then.
pub fn rewrite(
    written: &Path,
    is_kept: &dyn Fn(&[u8]) -> bool,
    is_ended: &dyn Fn() -> bool,
) -> io::Result<()> {
    let path = match fs::canonicalize(written) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    hold(written)?;
    let file = open(&path)?;
    let metadata = file.metadata()?;
    let beside = beside(&path);
    // One that a kill left.
    let _ = fs::remove_file(&beside);
    let new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    // Nothing is left of it where the disk is full or the program ends.
    let unfinished = Unfinished(&beside);
    // Before others can find it.
    lock(&new)?;
    // Before it has anything that others may not read.
    new.set_permissions(metadata.permissions())?;
    let (owner, group) = (metadata.uid(), metadata.gid());
    let made = new.metadata()?;
    if (made.uid(), made.gid()) != (owner, group) {
        fchown(&new, Some(Uid::from_raw(owner)), Some(Gid::from_raw(group)))
            .map_err(|e| io::Error::other(format!("run as its owner, user {owner}: {e}")))?;
        // A change of owner may have taken bits of it.
        new.set_permissions(metadata.permissions())?;
    }
    let (mut reader, mut out, mut line) = (BufReader::new(file), BufWriter::new(new), Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 {
        if is_ended() {
            return Err(io::Error::other("the program ends"));
        }
        if is_kept(&line) {
            out.write_all(&line)?;
        }
        line.clear();
    }
    let new = out.into_inner()?;
    new.sync_all()?;
    fs::rename(&beside, &path)?;
    std::mem::forget(unfinished);
    HELD.lock().unwrap_or_else(PoisonError::into_inner).insert(written.to_owned(), new);
    sync_folder_of(&path)
}

/// The next content of a file, until it is whole. No other program would name a file so, and no name is too long for it.
fn beside(path: &Path) -> PathBuf {
    let name = name_of(&path.to_string_lossy());
    folder_of(path).join(format!(".recrawl-rewrite-{name}"))
}

/// A file that is removed unless it was finished.
struct Unfinished<'p>(&'p Path);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.0);
    }
}

/// Finds out whether lines could be appended, and appends none.
///
/// # Errors
/// Why they could not.
pub fn is_writable(path: &Path) -> io::Result<()> {
    match open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            Ok(access(folder_of(path), Access::WRITE_OK | Access::EXEC_OK)?)
        }
        opened => opened.map(drop),
    }
}

/// Gives each document that a reader of all lines has at the end.
///
/// # Errors
/// When the file cannot be read.
pub fn list(path: &Path, each: &mut dyn FnMut(&ListedDocument)) -> io::Result<()> {
    let file = match File::open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let (mut documents, mut reader, mut line) = (ReplayedLines::default(), BufReader::new(file), Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 {
        documents.read(&line);
        line.clear();
    }
    documents.documents().for_each(each);
    Ok(())
}

/// The documents that a reader of lines has, by id: of each the newest version, if that is no delete.
#[derive(Default)]
pub struct ReplayedLines(BTreeMap<String, (u64, Option<ListedDocument>)>);

impl ReplayedLines {
    pub fn read(&mut self, line: &[u8]) {
        let value: Value = serde_json::from_slice(line).unwrap_or_default();
        let document = listed(&value);
        let (id, version) = (document.id.clone(), document.version);
        if self.0.get(&id).is_none_or(|(known, _)| *known <= version) {
            self.0.insert(id, (version, (value["op"] != "delete").then_some(document)));
        }
    }

    pub fn documents(&self) -> impl Iterator<Item = &ListedDocument> {
        self.0.values().filter_map(|(_, document)| document.as_ref())
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    // A named pipe would be waited for.
    options.read(true).append(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
    options
}

fn open(path: &Path) -> io::Result<File> {
    let file = options().open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

/// Cuts off a line without end, which a kill has left: its change was not confirmed, so it is sent again.
fn cut_torn_line(file: &mut File) -> io::Result<()> {
    let length = file.seek(SeekFrom::End(0))?;
    let (mut end, mut part) = (length, vec![0; 64 << 10]);
    while end > 0 {
        let start = end.saturating_sub(part.len() as u64);
        let part = &mut part[..(end - start) as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(part)?;
        match part.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => {
                end = start + at as u64 + 1;
                break;
            }
            None => end = start,
        }
    }
    if end < length { file.set_len(end) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_file_that_is_rewritten_keeps_its_mode_and_its_links() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("lines"), folder.path().join("link"));
        append(&path, b"a\nb\nc\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("lines", &link).unwrap();
        let theirs = folder.path().join("lines.new");
        fs::write(&theirs, "theirs").unwrap();
        let left = beside(&path.canonicalize().unwrap());
        fs::write(&left, "of a kill").unwrap();
        let is_kept = |line: &[u8]| line != b"b\n";
        rewrite(&link, &is_kept, &|| true).unwrap_err();
        assert_eq!(text(&path), "a\nb\nc\n");
        rewrite(&link, &is_kept, &|| false).unwrap();
        append(&link, b"d\n").unwrap();
        assert_eq!(text(&path), "a\nc\nd\n");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(text(&theirs), "theirs");
        assert!(!left.exists());
        // One that is not there has no lines.
        rewrite(&folder.path().join("none"), &is_kept, &|| false).unwrap();
    }

    /// A lock of another open file is like one of another process.
    #[test]
    fn a_file_that_another_process_writes_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        append(&path, b"a\n").unwrap();
        let other = || File::open(&path).unwrap();
        let locked = |file: &File| flock(file, FlockOperation::NonBlockingLockExclusive).is_ok();
        let theirs = other();
        assert!(locked(&theirs));
        for refused in [hold(&path), rewrite(&path, &|_| false, &|| false)] {
            assert!(refused.unwrap_err().to_string().contains("another target or process delivers to it"));
        }
        assert_eq!(text(&path), "a\n");
        drop(theirs);
        hold(&path).unwrap();
        hold(&path).unwrap();
        assert!(!locked(&other()));
        rewrite(&path, &|_| true, &|| false).unwrap();
        assert!(!locked(&other()), "it is another file");
        append(&path, b"b\n").unwrap();
        release(&path);
        assert!(locked(&other()));
    }

    #[test]
    fn a_torn_line_is_cut_off_and_what_is_no_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        fs::write(&path, format!("a\n{}", "x".repeat(100_000))).unwrap();
        append(&path, b"b\n").unwrap();
        assert_eq!(text(&path), "a\nb\n");
        let pipe = folder.path().join("pipe");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
        assert!(append(&pipe, b"b\n").unwrap_err().to_string().contains("no regular file"));
    }
}
