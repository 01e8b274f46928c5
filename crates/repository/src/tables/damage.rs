//! Finds damage in the tables, and the rows that can still be read.
//!
//! When sled opens a folder, it repairs what looks like an incomplete end, and may fail with a
//! short error or panic. So the folder is copied, the copy is opened, and each row is read and
//! checked against its checksum.

use super::pings::{take_ping, url_of_key};
use super::requisites::take_row;
use super::{
    APPLIED, CACHE_BYTES, FLUSHES, LOST, SledTables, durable, opened, take_drop_counts, take_host,
    take_lastmods, take_origin,
};
use crate::file::bytes::Malformed;
use crate::file::error::Damage;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Result of reading the tables of a folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TablesFound {
    /// Number of sound rows.
    pub rows: u64,
    /// The damage. Rows after an unreadable place are not counted, since their number is unknown.
    pub damage: Vec<Damage>,
}

type Row<'r> = (&'r [u8], &'r [u8], &'r [u8]);

impl SledTables {
    /// Reads every row of the tables in `dir` from a copy in `scratch`, a folder that must not
    /// exist. None if another process has the tables open.
    ///
    /// # Errors
    /// When they cannot be copied. Damage is not an error.
    pub fn verify(dir: &Path, scratch: &Path) -> io::Result<Option<TablesFound>> {
        let read = read_copy(dir, scratch, &mut |_| Ok(()));
        let cleared = if scratch.exists() { fs::remove_dir_all(scratch) } else { Ok(()) };
        cleared.and(read)
    }

    /// Copies the tables in `dir` to `to`, a folder that must not exist. False if another process has them open.
    ///
    /// # Errors
    /// When they cannot be copied.
    pub fn back_up(dir: &Path, to: &Path) -> io::Result<bool> {
        let Some(_lock) = lock(dir)? else { return Ok(false) };
        copy(dir, to)?;
        durable::remove_unfinished(to)?;
        Ok(true)
    }

    /// Writes all sound rows of the tables in `dir` into new tables in `to`, reading from a copy in
    /// `scratch`. None if another process has the tables open.
    ///
    /// # Errors
    /// When they cannot be copied or written. Damage is not an error.
    pub fn salvage(dir: &Path, to: &Path, scratch: &Path) -> io::Result<Option<TablesFound>> {
        let saved = SledTables::open(to)?;
        let named = |e| super::failed(&saved.path, e);
        let mut save = |(tree, key, value): Row<'_>| {
            saved.database.open_tree(tree).and_then(|tree| tree.insert(key, value)).map(drop).map_err(named)
        };
        let read = read_copy(dir, scratch, &mut save);
        let cleared = if scratch.exists() { fs::remove_dir_all(scratch) } else { Ok(()) };
        saved.flush()?;
        cleared.and(read)
    }
}

fn read_copy(
    dir: &Path,
    scratch: &Path,
    sound: &mut dyn FnMut(Row<'_>) -> io::Result<()>,
) -> io::Result<Option<TablesFound>> {
    let Some(_lock) = lock(dir)? else { return Ok(None) };
    copy(dir, scratch)?;
    durable::remove_unfinished(scratch)?;
    let mut found = TablesFound::default();
    let place = dir.display().to_string();
    let mut damaged = |what: String| {
        let damage = Damage { file: place.clone(), offset: 0, what };
        if !found.damage.contains(&damage) {
            found.damage.push(damage);
        }
    };
    let config = sled::Config::new().path(scratch).cache_capacity(CACHE_BYTES).flush_every_ms(None);
    let mut rows = 0;
    // Messages of sled's panics are reported as damage.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let read = read_rows(|| config.open(), scratch, sound, &mut damaged, &mut rows);
    std::panic::set_hook(hook);
    read?;
    found.rows = rows;
    Ok(Some(found))
}

fn read_rows(
    open: impl FnOnce() -> sled::Result<sled::Db>,
    scratch: &Path,
    sound: &mut dyn FnMut(Row<'_>) -> io::Result<()>,
    damaged: &mut dyn FnMut(String),
    rows: &mut u64,
) -> io::Result<()> {
    // Each step by itself, since sled may panic at any of them: what was read before is saved.
    match quietly(open) {
        Err(what) => damaged(format!("cannot be opened: {what}")),
        Ok(database) => {
            for name in database.tree_names() {
                let table = String::from_utf8_lossy(&name).into_owned();
                let tree = match quietly(|| database.open_tree(&name)) {
                    Ok(tree) => tree,
                    Err(what) => {
                        damaged(format!("the table {table} cannot be read: {what}"));
                        continue;
                    }
                };
                let mut iter = tree.iter();
                loop {
                    match quietly(|| iter.next().transpose()) {
                        Ok(None) => break,
                        Ok(Some((key, value))) => match check(&name, &key, &value) {
                            Ok(()) => {
                                *rows += 1;
                                sound((&name, &key, &value))?;
                            }
                            Err(Malformed(what)) => {
                                let key = String::from_utf8_lossy(&key).escape_default().to_string();
                                damaged(format!("the row {key} of the table {table}: {what}"));
                            }
                        },
                        Err(what) => {
                            damaged(format!("the table {table} cannot be read to its end: {what}"));
                            break;
                        }
                    }
                }
            }
            // sled drops the rows behind damage and says nothing: only the number of flushes tells of them.
            let row = quietly(|| database.open_tree("settings")?.get(FLUSHES));
            let flushes = row.ok().flatten().and_then(|row| durable::number_in(&row)).unwrap_or(0);
            match durable::flushes(scratch) {
                Ok(known) if known <= flushes => {}
                Ok(_) => damaged(LOST.into()),
                Err(_) => damaged("the number of flushes is damaged".into()),
            }
            let _ = quietly(|| {
                drop(database);
                Ok(())
            });
        }
    }
    Ok(())
}

/// Was the row written by us?
fn check(table: &[u8], key: &[u8], value: &[u8]) -> Result<(), Malformed> {
    if key == APPLIED {
        return if value.len() == 4 { Ok(()) } else { Err(Malformed("not a cycle number")) };
    }
    // sled keeps its own data in a tree of its own.
    if table == b"__sled__default" {
        return Ok(());
    }
    let value = opened(value)?;
    match table {
        b"hosts" => take_origin(key).and_then(|_| take_host(&value)).map(drop),
        b"lastmods" | b"ping_counts" => take_origin(key).and_then(|_| take_lastmods(&value)).map(drop),
        b"pings" => url_of_key(key).and_then(|_| take_ping(&value)).map(drop),
        b"requisites" => url_of_key(key).and_then(|_| take_row(&value)).map(drop),
        b"dropped_links" => take_origin(key).and_then(|_| take_drop_counts(&value)).map(drop),
        b"robots" | b"traps" => take_origin(key).map(drop),
        b"sites" | b"settings" => match std::str::from_utf8(key) {
            Ok(_) => Ok(()),
            Err(_) => Err(Malformed("the key is not text")),
        },
        _ => Err(Malformed("unknown table")),
    }
}

/// Runs what may fail with an error of sled, or panic on damaged bytes; returns the problem as
/// text.
pub(super) fn quietly<T>(run: impl FnOnce() -> sled::Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(done) => done.map_err(|e| words(&e)),
        Err(_) => Err("its bytes differ from what was written".into()),
    }
}

/// sled tells the place of damage only if it knows it.
pub(super) fn words(error: &sled::Error) -> String {
    match error {
        sled::Error::Corruption { .. } => "its bytes differ from what was written".into(),
        other => other.to_string(),
    }
}

/// Locks out writing processes; none if one has the tables open.
pub(super) fn lock(dir: &Path) -> io::Result<Option<File>> {
    let file = match File::open(dir.join("db")) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => File::open(dir)?,
        file => file?,
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(Some(file)),
        Err(e) if e == rustix::io::Errno::WOULDBLOCK => Ok(None),
        Err(e) => Err(e.into()),
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path: PathBuf = entry?.path();
        let to = to.join(path.file_name().expect("an entry of a folder has a name"));
        if path.is_dir() { copy(&path, &to)? } else { fs::copy(&path, &to).map(drop)? }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
