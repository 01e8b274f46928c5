//! A data directory from a vault alone.

use crate::data_dir::TABLES;
use crate::failure::Failure;
use crate::vault::failure;
use crate::vault::lineage::Lineage;
use crate::vault::rows::PREFIX;
use recrawl_archive::opener;
use recrawl_repository::SledTables;
use recrawl_repository::storage::{FileStorage, Storage, WriteFile};
use recrawl_vault::{Founded, Restored, Store, VaultContents, VaultError, contents, found, store};
use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind};
use std::path::Path;
use std::sync::Arc;

/// The folder in which rows wait for the tables.
const SCRATCH: &str = "restored.rows";
/// The order in which rows were written.
const ROWS: [&str; 3] = ["base", "rounds", "round"];

/// A vault that has something to restore.
pub struct RestoreSource {
    address: String,
    store: Arc<dyn Store>,
    there: Founded,
    contents: VaultContents,
}

/// Opens a vault to restore from it.
///
/// # Errors
/// [`Failure::Usage`] if there is none; else when it is damaged, or does not answer.
pub fn open(address: &str) -> Result<RestoreSource, Failure> {
    open_in(store::open(address).map_err(|e| failure(&e))?, address)
}

/// The same, in this store.
///
/// # Errors
/// As [`open`].
pub fn open_in(store: Arc<dyn Store>, address: &str) -> Result<RestoreSource, Failure> {
    let absent = || failure(&VaultError::Absent(store.locate("")));
    let there = found(&*store).map_err(|e| failure(&e))?.ok_or_else(absent)?;
    let contents = contents(&*store).map_err(|e| failure(&e))?.ok_or_else(absent)?;
    Ok(RestoreSource { address: address.to_owned(), store, there, contents })
}

/// Makes a data directory in an empty folder: a start goes on from there, as after a kill. It has its manifest last.
///
/// # Errors
/// When an object is damaged, with its name and the offset, or files cannot be written.
pub fn restore(source: &RestoreSource, data_dir: &Path) -> Result<Restored, Failure> {
    let RestoreSource { address, store, there, contents } = source;
    let files = FileStorage::create(data_dir)?;
    let warc = opener::create(data_dir)?;
    let scratch = data_dir.join(SCRATCH);
    let rows = FileStorage::create(&scratch)?;
    let make = |name: &str| -> io::Result<Box<dyn WriteFile>> {
        let warc_prefix = format!("{}/", opener::FOLDER);
        let (folder, name): (&dyn Storage, &str) = match (name.strip_prefix(&warc_prefix), name) {
            (Some(name), _) => (&*warc, name),
            (None, name) if name.starts_with(PREFIX) => (&rows, name),
            (None, name) => (&files, name),
        };
        // A name is a stranger's, if the bucket is.
        if name.is_empty() || name.contains('/') || name.starts_with('.') {
            let what = format!("{name:?} is no name of a file in a data directory");
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        folder.create(name)
    };
    let before_last = || {
        put_rows(&scratch, &data_dir.join(TABLES))?;
        fs::remove_dir_all(&scratch)?;
        let lineage = Lineage {
            vault: address.clone(),
            id: there.id.clone(),
            nonce: there.nonce.clone(),
            has_shipped: true,
            restored: Some(contents.newest()),
            ..Lineage::default()
        };
        lineage.write(data_dir).map_err(|e| io::Error::other(e.to_string()))?;
        warc.sync_dir()
    };
    let restored = recrawl_vault::restore(&**store, contents, "MANIFEST", &make, &before_last);
    let restored = restored.map_err(|e| failure(&e))?;
    files.sync_dir()?;
    Ok(restored)
}

fn put_rows(from: &Path, tables: &Path) -> io::Result<()> {
    let tables = SledTables::open(tables)?;
    for name in ROWS {
        match File::open(from.join(format!("{PREFIX}{name}"))) {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            opened => tables.put_rows(&mut BufReader::new(opened?))?,
        }
    }
    tables.flush()
}
