//! Restoring: the files of a folder from the vault.

use crate::contents::{Piece, VaultContents, cut, damaged};
use crate::error::VaultError;
use crate::object::{ObjectKey, ObjectKind};
use crate::store::{Store, StoreError};
use recrawl_repository::storage::WriteFile;
use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

/// Files that are restored at once.
const AT_ONCE: usize = 4;

/// The result of restoring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Makes a file of that name, to write to.
pub type MakeFile<'m> = dyn Fn(&str) -> io::Result<Box<dyn WriteFile>> + Sync + 'm;

/// Writes the files of a vault, each checked and synced; the one named `last` after all others and after `before_last`, so
/// that a folder without it is known to be cut short.
///
/// # Errors
/// When an object is damaged, or a file cannot be written. What was written is left behind.
pub fn restore(
    store: &dyn Store,
    contents: &VaultContents,
    last: &str,
    make: &MakeFile<'_>,
    before_last: &dyn Fn() -> io::Result<()>,
) -> Result<Restored, VaultError> {
    let names: Vec<&String> = contents.files.keys().filter(|name| *name != last).collect();
    let (next, bytes) = (AtomicUsize::new(0), AtomicU64::new(0));
    let failed = Mutex::new(None);
    let one = |name: &str| {
        let written = write_file(store, contents, name, make)?;
        bytes.fetch_add(written, Ordering::Relaxed);
        Ok::<(), VaultError>(())
    };
    let work = || {
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = one(name) {
                failed.lock().expect("no panic under the lock").get_or_insert(error);
                next.store(names.len(), Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    if let Some(error) = failed.into_inner().expect("no panic under the lock") {
        return Err(error);
    }
    before_last().map_err(VaultError::file(last))?;
    if contents.files.contains_key(last) {
        one(last)?;
    }
    Ok(Restored { files: contents.files.len() as u64, bytes: bytes.into_inner() })
}

fn write_file(
    store: &dyn Store,
    contents: &VaultContents,
    name: &str,
    make: &MakeFile<'_>,
) -> Result<u64, VaultError> {
    let mut file = make(name).map_err(VaultError::file(name))?;
    let mut written = 0;
    each_piece(store, &contents.files[name].resolved(store)?, |bytes| {
        written += bytes.len() as u64;
        file.write(&bytes).map_err(VaultError::file(name))
    })?;
    file.sync().map_err(VaultError::file(name))?;
    Ok(written)
}

/// Reads pieces in order, checked. Steps have small pieces of many files, so the last one that was read is kept.
pub(crate) fn each_piece(
    store: &dyn Store,
    pieces: &[Piece],
    mut work: impl FnMut(Vec<u8>) -> Result<(), VaultError>,
) -> Result<(), VaultError> {
    let mut steps: BTreeMap<ObjectKey, Vec<u8>> = BTreeMap::new();
    for piece in pieces {
        let object = match steps.get(&piece.object) {
            Some(object) => object.clone(),
            None => match store.read(&piece.object.to_string(), piece.object.kind.most()) {
                Err(StoreError::Absent(_)) => {
                    return Err(damaged(store, piece, "the object is missing".into()));
                }
                read => read?,
            },
        };
        if piece.object.kind != ObjectKind::Data {
            steps.clear();
            steps.insert(piece.object, object.clone());
        }
        work(cut(store, piece, object)?)?;
    }
    Ok(())
}
