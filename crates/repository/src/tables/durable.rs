//! What makes the tables' folder durable.

use super::{opened, sealed};
use crate::storage::sync_parent;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Makes all files of a folder durable, and their names.
pub type SyncFolder = Arc<dyn Fn(&Path) -> io::Result<()> + Send + Sync>;

/// The file in the folder that says how often the tables were flushed.
const FLUSHES: &str = "flushes";
/// Ending of the name of a snapshot that sled still writes.
const UNFINISHED: &str = "generating";
/// The file of flushes, before the rename.
const FLUSHES_NEXT: &str = "flushes.next";

/// A folder, and what makes it durable.
pub(super) struct Durable {
    pub dir: PathBuf,
    pub sync: SyncFolder,
}

impl Durable {
    /// Makes all files durable, and then says in one of its own that this was flush `number`.
    ///
    /// sled takes damage for the torn end of its log: it drops all that was written behind it, and
    /// says nothing. But a row of the tables has the number too, written before the flush. Where
    /// the file knows of more flushes than the row, rows are lost.
    ///
    /// # Errors
    /// With the name of what cannot be written or synced.
    pub fn sync(&self, number: u64) -> io::Result<()> {
        (self.sync)(&self.dir)?;
        let next = self.dir.join(FLUSHES_NEXT);
        let written = fs::write(&next, sealed(&number.to_le_bytes()));
        written.and_then(|()| sync(&next)).map_err(|e| named(&next, e))?;
        fs::rename(&next, self.dir.join(FLUSHES)).map_err(|e| named(&next, e))?;
        (self.sync)(&self.dir)
    }
}

/// Removes snapshots that were not finished when the program was killed: sled takes them for finished ones, and fails.
///
/// # Errors
/// With the name of what cannot be listed or removed.
pub(super) fn remove_unfinished(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == UNFINISHED) {
            fs::remove_file(&path)
                .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
        }
    }
    Ok(())
}

/// How often the tables in `dir` were flushed, by the file; 0 where there is none, as in older
/// tables.
///
/// # Errors
/// When it cannot be read, or is damaged.
pub(super) fn flushes(dir: &Path) -> io::Result<u64> {
    match fs::read(dir.join(FLUSHES)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(0),
        bytes => number_in(&bytes?).ok_or_else(|| io::ErrorKind::InvalidData.into()),
    }
}

/// The number of flushes in the bytes of the file, or of the row that has it too.
pub(super) fn number_in(bytes: &[u8]) -> Option<u64> {
    opened(bytes).ok()?.try_into().ok().map(u64::from_le_bytes)
}

/// By `fsync` of each file and folder: sled has `db`, `conf`, `snap.…`, and long values in
/// `blobs/`.
pub fn sync_files() -> SyncFolder {
    Arc::new(|dir| {
        sync_folder(dir)?;
        sync_parent(dir)
    })
}

fn sync_folder(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir).map_err(|e| named(dir, e))? {
        let path = entry.map_err(|e| named(dir, e))?.path();
        let done = if path.is_dir() { sync_folder(&path) } else { sync(&path) };
        match done {
            // sled removed it just now: what it held is in another file.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    sync(dir)
}

fn sync(path: &Path) -> io::Result<()> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|e| named(path, e))
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: cannot sync: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::super::SledTables;
    use super::*;
    use std::sync::Mutex;

    /// What is durable, as a copy of the folder made at each sync.
    fn copying(to: PathBuf) -> SyncFolder {
        let turn = Mutex::new(());
        Arc::new(move |dir| {
            let _turn = turn.lock().unwrap();
            let _ = fs::remove_dir_all(&to);
            copy(dir, &to)
        })
    }

    fn copy(from: &Path, to: &Path) -> io::Result<()> {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let path = entry?.path();
            let to = to.join(path.file_name().unwrap());
            if path.is_dir() { copy(&path, &to)? } else { fs::copy(&path, &to).map(drop)? }
        }
        Ok(())
    }

    /// A long value goes to a file of its own in `blobs/`.
    #[test]
    fn what_was_flushed_is_in_the_files_that_were_synced() {
        let folder = tempfile::tempdir().unwrap();
        let (dir, durable) = (folder.path().join("tables"), folder.path().join("durable"));
        let tables = SledTables::open_with(&dir, copying(durable.clone())).unwrap();
        // Which do not pack.
        let noise = |length: u32| {
            (0..length)
                .map(|i| (i.wrapping_mul(i).wrapping_mul(2_654_435_761) >> 13) as u8)
                .collect::<Vec<_>>()
        };
        for (name, value) in [("short", noise(9)), ("long", noise(3 << 20))] {
            tables.set_setting(name, &value).unwrap();
            tables.flush().unwrap();
            // The machine stops here: what it has then is what was synced.
            let after = SledTables::open(&durable).unwrap();
            assert_eq!(after.setting(name).unwrap(), Some(value), "{name}");
        }
        assert!(
            fs::read_dir(dir.join("blobs")).unwrap().count() > 0,
            "the long value is in a file of its own"
        );
    }

    /// As a kill leaves it, empty or torn.
    #[test]
    fn a_snapshot_that_was_not_finished_is_no_damage() {
        let folder = tempfile::tempdir().unwrap();
        let (dir, scratch) = (folder.path().join("tables"), folder.path().join("scratch"));
        let tables = SledTables::open(&dir).unwrap();
        tables.set_setting("name", b"value").unwrap();
        tables.flush().unwrap();
        drop(tables);
        for bytes in [&b""[..], b"a snapshot of which the end is missing"] {
            fs::write(dir.join("snap.00000000FFFFFFFF.generating"), bytes).unwrap();
            let found = SledTables::verify(&dir, &scratch).unwrap().unwrap();
            assert_eq!((found.damage, found.rows > 0), (Vec::new(), true));
            let tables = SledTables::open(&dir).unwrap();
            assert_eq!(tables.setting("name").unwrap().as_deref(), Some(&b"value"[..]));
        }
    }

    /// Every file of the folder is synced: one that cannot be is told, with its name. A name that
    /// leads to a file of the kernel's stands for it, as `fsync` refuses these.
    #[test]
    fn a_file_that_cannot_be_synced_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("tables");
        let tables = SledTables::open(&dir).unwrap();
        tables.flush().unwrap();
        for place in [dir.clone(), dir.join("blobs")] {
            let link = place.join("other");
            std::os::unix::fs::symlink("/proc/self/status", &link).unwrap();
            let error = tables.flush().unwrap_err().to_string();
            assert!(error.contains("other: cannot sync"), "{error}");
            fs::remove_file(&link).unwrap();
            tables.flush().unwrap();
        }
    }
}
