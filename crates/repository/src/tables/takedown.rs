//! What is kept of hosts and sites, removed for good: from the tables, and from their files.
//!
//! sled keeps what was removed or overwritten in its files until it comes to use their room again, which may be never. So
//! the tables are written anew beside the old ones and take their place.

use super::durable;
use super::{APPLIED, SledTables, failed, take_origin};
use crate::storage::sync_parent;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Tables that are being written, or were and have not taken their place yet.
const NEW: &str = ".new";
/// Tables whose place was taken.
const OLD: &str = ".old";

/// A table with a row for each origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginTable {
    /// robots.txt, delays, back-off, counts of requests, belief in validators.
    Hosts,
    /// Counts of dates.
    Dates,
    /// Counts of pings.
    PingCounts,
    /// Patterns of URLs, with the SimHashes of pages.
    Traps,
    /// Rounds that dropped links.
    DroppedLinks,
}

impl SledTables {
    /// Removes the rows of the hosts that are meant, or only counts them.
    ///
    /// # Errors
    /// When a table cannot be read or written.
    pub fn forget_origins(
        &self,
        table: OriginTable,
        is_host: &dyn Fn(&str) -> bool,
        only_count: bool,
    ) -> io::Result<u64> {
        let of_host = |key: &[u8]| Ok(is_host(&take_origin(key).map_err(|m| self.damaged(m))?.host));
        if table == OriginTable::Hosts && !only_count {
            self.forget_in(&self.robots, &of_host, false)?;
        }
        let tree = match table {
            OriginTable::Hosts => &self.hosts,
            OriginTable::Dates => &self.lastmods,
            OriginTable::PingCounts => &self.ping_counts,
            OriginTable::Traps => &self.traps,
            OriginTable::DroppedLinks => &self.dropped_links,
        };
        self.forget_in(tree, &of_host, only_count)
    }

    /// Removes the rows of the sites that are meant, which have noise floors, or only counts them.
    ///
    /// # Errors
    /// When the table cannot be read or written.
    pub fn forget_sites(&self, is_site: &dyn Fn(&str) -> bool, only_count: bool) -> io::Result<u64> {
        let of_site = |key: &[u8]| Ok(std::str::from_utf8(key).is_ok_and(is_site));
        self.forget_in(&self.sites, &of_site, only_count)
    }

    pub(super) fn forget_in(
        &self,
        tree: &sled::Tree,
        is_meant: &dyn Fn(&[u8]) -> io::Result<bool>,
        only_count: bool,
    ) -> io::Result<u64> {
        let mut rows = 0;
        for key in tree.iter().keys() {
            let key = key.map_err(|e| failed(&self.path, e))?;
            if key.as_ref() == APPLIED || !is_meant(&key)? {
                continue;
            }
            rows += 1;
            if !only_count {
                self.remove_row(tree, &key)?;
            }
        }
        Ok(rows)
    }

    /// Writes the tables of folder `dir` anew, so that nothing is left on the disk of what was removed from them, and opens what was
    /// written. Whatever stops it, the tables are the old ones or the new ones when they are opened next; old ones that
    /// are still beside them go when this is done again.
    ///
    /// # Errors
    /// When they cannot be read or written.
    pub fn written_anew(self, dir: &Path) -> io::Result<SledTables> {
        let [new, old] = [NEW, OLD].map(|end| beside(dir, end));
        remove(&new)?;
        remove(&old)?;
        self.copy_to(&new)?;
        let sync = self.durable.as_ref().map_or_else(durable::sync_files, |durable| durable.sync.clone());
        // Before they take the place of the old ones: what is not on the disk yet must not be the only truth.
        sync(&new)?;
        drop(self);
        fs::rename(dir, &old)?;
        take_place(dir)?;
        remove(&old)?;
        SledTables::open_with(dir, sync)
    }

    fn copy_to(&self, dir: &Path) -> io::Result<()> {
        let named = |e| failed(&dir.display().to_string(), e);
        let copy = sled::Config::new().path(dir).flush_every_ms(None).open().map_err(named)?;
        for name in self.database.tree_names() {
            let tree = self.database.open_tree(&name).map_err(|e| failed(&self.path, e))?;
            let into = copy.open_tree(&name).map_err(named)?;
            for row in tree.iter() {
                let (key, value) = row.map_err(|e| failed(&self.path, e))?;
                into.insert(key, value).map_err(named)?;
            }
        }
        copy.flush().map(drop).map_err(named)
    }
}

/// New tables take the place of those that were moved away, where a stop came between.
pub(super) fn take_place(dir: &Path) -> io::Result<()> {
    let new = beside(dir, NEW);
    if dir.exists() || !new.exists() {
        return Ok(());
    }
    match fs::rename(&new, dir) {
        // Whoever opened them at this very moment has done it.
        Err(e) if e.kind() == io::ErrorKind::NotFound && dir.exists() => {}
        done => done?,
    }
    sync_parent(dir)
}

fn beside(dir: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(dir);
    name.push(end);
    name.into()
}

fn remove(dir: &Path) -> io::Result<()> {
    if dir.exists() {
        fs::remove_dir_all(dir)?;
        sync_parent(dir)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DropCounts;
    use recrawl_types::{HostState, HostTable, Origin, Round, Scheme};

    fn origin(host: &str) -> Origin {
        Origin { scheme: Scheme::Http, host: host.into(), port: 80 }
    }

    /// Tables that know two hosts and two sites, and some of them in many versions.
    fn tables(dir: &Path) -> SledTables {
        let tables = SledTables::open(dir).unwrap();
        for requests in 0..300 {
            for host in ["secret.example", "other.test"] {
                let state = HostState { requests, ..HostState::default() };
                HostTable::store(&tables, &origin(host), &state).unwrap();
                tables.keep_traps(&origin(host), host.as_bytes()).unwrap();
            }
        }
        let dropped = DropCounts { linked: 1, listed: 0 };
        tables.add_dropped_links(&origin("secret.example"), dropped).unwrap();
        let sites = ["secret.example", "other.test"].map(|site| (site.to_owned(), b"noise".to_vec()));
        tables.apply_round(Round(3), sites).unwrap();
        tables.set_setting("name", b"value").unwrap();
        tables.flush().unwrap();
        tables
    }

    /// Is this anywhere in the files of a folder?
    fn holds(dir: &Path, part: &[u8]) -> bool {
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).any(|path| match path.is_dir() {
            true => holds(&path, part),
            false => fs::read(path).unwrap().windows(part.len()).any(|window| window == part),
        })
    }

    #[test]
    fn what_is_forgotten_is_in_no_file_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("tables");
        let tables = tables(&dir);
        let is_secret = |name: &str| name == "secret.example";
        let all = [
            OriginTable::Hosts,
            OriginTable::Dates,
            OriginTable::PingCounts,
            OriginTable::Traps,
            OriginTable::DroppedLinks,
        ];
        let forget = |only_count: bool| {
            let rows = all.map(|table| tables.forget_origins(table, &is_secret, only_count).unwrap());
            (rows, tables.forget_sites(&is_secret, only_count).unwrap())
        };
        assert_eq!(forget(true), ([1, 0, 0, 1, 1], 1));
        assert_eq!(forget(false), ([1, 0, 0, 1, 1], 1));
        assert_eq!(forget(false), ([0; 5], 0));
        tables.flush().unwrap();
        assert!(holds(folder.path(), b"secret"), "sled keeps what was removed: else none of this is needed");
        let tables = tables.written_anew(&dir).unwrap();
        assert!(!holds(folder.path(), b"secret"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let left = HostTable::load(&tables, &origin("other.test")).unwrap();
        assert_eq!(left, Some(HostState { requests: 299, ..HostState::default() }));
        assert_eq!(HostTable::load(&tables, &origin("secret.example")).unwrap(), None);
        assert_eq!(tables.setting("name").unwrap(), Some(b"value".to_vec()));
        assert_eq!(tables.site("other.test").unwrap(), Some(b"noise".to_vec()));
        tables.apply_round(Round(3), [("other.test".to_owned(), b"twice".to_vec())]).unwrap();
        assert_eq!(tables.site("other.test").unwrap(), Some(b"noise".to_vec()), "the cycle was applied");
    }

    #[test]
    fn a_stop_between_leaves_the_old_tables_or_the_new_ones() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("tables");
        drop(tables(&dir));
        // It came while they were written.
        fs::create_dir(beside(&dir, NEW)).unwrap();
        let value = |tables: &SledTables| tables.setting("name").unwrap();
        let tables = SledTables::open(&dir).unwrap();
        assert_eq!(value(&tables), Some(b"value".to_vec()));
        drop(tables.written_anew(&dir).unwrap());
        // It came between the two renames.
        fs::rename(&dir, beside(&dir, NEW)).unwrap();
        let tables = SledTables::open(&dir).unwrap();
        assert_eq!(value(&tables), Some(b"value".to_vec()));
        // It came before the old ones were removed.
        fs::create_dir(beside(&dir, OLD)).unwrap();
        let tables = tables.written_anew(&dir).unwrap();
        assert_eq!((value(&tables), beside(&dir, OLD).exists()), (Some(b"value".to_vec()), false));
    }
}
