//! Rows of all tables as bytes: for a copy elsewhere that follows the tables change by change.
//!
//! The bytes are chunks, each a length (u32) and so many bytes of rows. A row is the number of its tree, its key, and its
//! value, which has a checksum of its own, or that it is gone. A later row stands in place of an earlier one.

use super::{APPLIED, FLUSHES, SledTables, TREES, failed};
use crate::file::bytes::{Malformed, Put, Take};
use recrawl_types::ArchivePosition;
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::sync::{Mutex, OnceLock};

/// Bytes of a chunk, but for its last row.
const CHUNK: usize = 256 << 10;
/// Bytes of a chunk at most: a value is a part of a frame.
const MAX_CHUNK: usize = 128 << 20;

/// A row of a tree, by the tree's number.
pub type RowKey = (u8, Vec<u8>);

/// Rows that were written since somebody asked; unset if nobody does.
#[derive(Default)]
pub(super) struct Written(OnceLock<Mutex<BTreeSet<RowKey>>>);

impl Written {
    /// Does somebody ask?
    pub fn is_noted(&self) -> bool {
        self.0.get().is_some()
    }

    /// Notes rows, after they were written: what is read of a noted row is never older than the note.
    pub fn note<'k>(&self, tree: &sled::Tree, keys: impl IntoIterator<Item = &'k [u8]>) {
        let Some(rows) = self.0.get() else { return };
        let mut rows = rows.lock().expect("no panic under the lock");
        let Some(number) = TREES.iter().position(|name| tree.name() == name.as_bytes()) else { return };
        rows.extend(keys.into_iter().map(|key| (number as u8, key.to_vec())));
    }
}

impl SledTables {
    /// Notes from now on which rows are written.
    pub fn note_written(&self) {
        self.written.0.get_or_init(Mutex::default);
    }

    /// The rows that were written since the last call.
    pub fn take_written(&self) -> BTreeSet<RowKey> {
        let rows = self.written.0.get();
        rows.map(|rows| std::mem::take(&mut *rows.lock().expect("no panic under the lock")))
            .unwrap_or_default()
    }

    /// These rows, as they are now.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn rows(&self, keys: &BTreeSet<RowKey>) -> io::Result<Vec<u8>> {
        let (mut out, mut chunk) = (Vec::new(), Vec::new());
        for (number, key) in keys {
            let value = self.tree(*number)?.get(key).map_err(|e| failed(&self.path, e))?;
            put_row(&mut chunk, *number, key, value.as_deref());
            if chunk.len() >= CHUNK {
                put_chunk(&mut out, &mut chunk);
            }
        }
        put_chunk(&mut out, &mut chunk);
        Ok(out)
    }

    /// All rows, chunk by chunk. Those that are written meanwhile may be the old ones or the new ones.
    ///
    /// # Errors
    /// When they cannot be read, and the errors of `write`.
    pub fn all_rows(&self, write: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let (mut out, mut chunk) = (Vec::new(), Vec::new());
        for number in 0..TREES.len() as u8 {
            for row in self.tree(number)?.iter() {
                let (key, value) = row.map_err(|e| failed(&self.path, e))?;
                put_row(&mut chunk, number, &key, Some(&value));
                if chunk.len() >= CHUNK {
                    put_chunk(&mut out, &mut chunk);
                    write(&out)?;
                    out.clear();
                }
            }
        }
        put_chunk(&mut out, &mut chunk);
        write(&out)
    }

    /// Writes such rows into the tables.
    ///
    /// # Errors
    /// When they are malformed, or the tables cannot be written.
    pub fn put_rows(&self, from: &mut dyn Read) -> io::Result<()> {
        let mut length = [0; 4];
        loop {
            match from.read_exact(&mut length) {
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                read => read?,
            }
            let bytes = u32::from_le_bytes(length) as usize;
            if bytes > MAX_CHUNK {
                return Err(self.damaged(Malformed("a chunk of rows is too long")));
            }
            let mut chunk = vec![0; bytes];
            from.read_exact(&mut chunk)?;
            let mut take = Take(&chunk);
            while !take.0.is_empty() {
                self.put_row(&mut take)?;
            }
        }
    }

    fn put_row(&self, take: &mut Take<'_>) -> io::Result<()> {
        let mut next = || Ok((take.u8()?, take.bytes()?, take.u8()?));
        let (number, key, is_there) = next().map_err(|m| self.damaged(m))?;
        let tree = self.tree(number)?;
        let done = match is_there {
            0 => tree.remove(key),
            _ => tree.insert(key, take.bytes().map_err(|m| self.damaged(m))?),
        };
        done.map(drop).map_err(|e| failed(&self.path, e))
    }

    /// Adds the rows of another crawl, whose hosts and pages are others, but for settings. `moved` says where in the archive a
    /// record of it is by now.
    ///
    /// # Errors
    /// When the ones cannot be read, or the others not be written.
    pub fn add_rows(
        &self,
        other: &SledTables,
        moved: &dyn Fn(ArchivePosition) -> ArchivePosition,
    ) -> io::Result<()> {
        for (number, name) in (0..).zip(TREES).filter(|(_, name)| !["settings", "requisites"].contains(name))
        {
            let into = self.tree(number)?;
            for row in other.tree(number)?.iter() {
                let (key, value) = row.map_err(|e| failed(&other.path, e))?;
                // Rounds of both have one number from now on: the later one counts.
                let is_later = || Ok::<_, sled::Error>(into.get(&key)?.is_none_or(|own| own < value));
                if key.as_ref() != APPLIED || is_later().map_err(|e| failed(&self.path, e))? {
                    debug_assert!(
                        key.as_ref() == APPLIED || !into.contains_key(&key).unwrap_or(false),
                        "{name}"
                    );
                    into.insert(key, value).map_err(|e| failed(&self.path, e))?;
                }
            }
        }
        // A damaged row tells nothing: the requisite is archived again.
        for found in other.requisites(&mut |_| ()) {
            let (url, mut row) = found?;
            if row.is_archived() {
                row.archive = moved(row.archive);
            }
            self.keep_requisite(&url, &row)?;
        }
        Ok(())
    }

    fn tree(&self, number: u8) -> io::Result<&sled::Tree> {
        let trees = [
            &self.hosts,
            &self.robots,
            &self.sites,
            &self.lastmods,
            &self.pings,
            &self.ping_counts,
            &self.traps,
            &self.dropped_links,
            &self.settings,
            &self.requisites,
        ];
        trees.get(usize::from(number)).copied().ok_or_else(|| self.damaged(Malformed("a row of no table")))
    }
}

fn put_row(chunk: &mut Vec<u8>, number: u8, key: &[u8], value: Option<&[u8]>) {
    // Of this folder alone.
    if TREES[usize::from(number)] == "settings" && key == FLUSHES.as_bytes() {
        return;
    }
    chunk.put_u8(number);
    chunk.put_bytes(key);
    chunk.put_u8(u8::from(value.is_some()));
    if let Some(value) = value {
        chunk.put_bytes(value);
    }
}

fn put_chunk(out: &mut Vec<u8>, chunk: &mut Vec<u8>) {
    if !chunk.is_empty() {
        out.put_u32(chunk.len() as u32);
        out.append(chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequisiteRow;
    use recrawl_types::{CanonicalUrl, HostState, HostTable, Origin, Ping, Round, UrlRules};

    fn all(tables: &SledTables) -> Vec<u8> {
        let mut rows = Vec::new();
        tables
            .all_rows(&mut |bytes| {
                rows.extend_from_slice(bytes);
                Ok(())
            })
            .unwrap();
        rows
    }

    fn url(n: u32) -> CanonicalUrl {
        UrlRules::keep_all().canonicalize(&format!("http://h{n}.test/")).unwrap()
    }

    /// A row of each kind of write.
    fn write(tables: &SledTables, n: u32) {
        tables.set_setting(&format!("name {n}"), &n.to_le_bytes()).unwrap();
        tables.apply_round(Round(n + 1), [(format!("site {n}"), vec![n as u8; 3])]).unwrap();
        HostTable::store(tables, &Origin::from_url(&url(n)), &HostState::default()).unwrap();
        tables.keep_ping(&url(n), Some(Ping { first: 1, last: 2, count: 1 })).unwrap();
        if n > 0 {
            tables.keep_ping(&url(n - 1), None).unwrap();
            tables.remove_setting(&format!("name {}", n - 1)).unwrap();
        }
    }

    #[test]
    fn rows_of_another_crawl_are_added_but_for_settings() {
        let (tables, other) = (SledTables::temporary().unwrap(), SledTables::temporary().unwrap());
        (0..2).for_each(|n| write(&tables, n));
        (5..9).for_each(|n| write(&other, n));
        let archive = ArchivePosition { file: 3, offset: 7 };
        other.keep_requisite(&url(6), &RequisiteRow { archive, ..RequisiteRow::default() }).unwrap();
        other.keep_requisite(&url(7), &RequisiteRow { failures: 2, ..RequisiteRow::default() }).unwrap();
        let moved = |position: ArchivePosition| ArchivePosition { file: position.file + 10, ..position };
        tables.add_rows(&other, &moved).unwrap();
        assert_eq!(tables.hosts().count(), 6);
        assert_eq!(tables.site("site 1").unwrap(), Some(vec![1; 3]));
        assert_eq!(tables.site("site 8").unwrap(), Some(vec![8; 3]));
        assert_eq!(
            (tables.setting("name 1").unwrap().is_some(), tables.setting("name 8").unwrap()),
            (true, None)
        );
        let row = |page| tables.requisite(&url(page)).unwrap().unwrap();
        assert_eq!((row(6).archive.file, row(7).archive.file, row(7).failures), (13, 0, 2));
        // The later of both rounds counts as applied: round 9 changes nothing, round 10 does.
        for (round, value) in [(9, 8), (10, 1)] {
            tables.apply_round(Round(round), [("site 8".to_owned(), vec![1; 3])]).unwrap();
            assert_eq!(tables.site("site 8").unwrap(), Some(vec![value; 3]), "round {round}");
        }
    }

    #[test]
    fn a_copy_follows_change_by_change() {
        let (tables, copy) = (SledTables::temporary().unwrap(), SledTables::temporary().unwrap());
        (0..10).for_each(|n| write(&tables, n));
        assert!(tables.take_written().is_empty(), "nobody asked yet");
        tables.note_written();
        copy.put_rows(&mut &all(&tables)[..]).unwrap();
        for n in 10..20 {
            write(&tables, n);
            tables.flush().unwrap();
            copy.put_rows(&mut &tables.rows(&tables.take_written()).unwrap()[..]).unwrap();
            assert!(all(&tables) == all(&copy), "after change {n}");
        }
        assert!(tables.take_written().is_empty());
        assert_eq!(tables.rows(&BTreeSet::new()).unwrap(), b"");
        assert_eq!(copy.setting("name 19").unwrap().as_deref(), Some(&19_u32.to_le_bytes()[..]));
    }

    #[test]
    fn rows_that_are_cut_or_of_no_table_are_refused() {
        let tables = SledTables::temporary().unwrap();
        write(&tables, 1);
        let rows = all(&tables);
        let copy = SledTables::temporary().unwrap();
        assert!(copy.put_rows(&mut &rows[..rows.len() - 1]).is_err());
        let mut of_none = rows.clone();
        of_none[4] = 99;
        assert!(copy.put_rows(&mut &of_none[..]).unwrap_err().to_string().contains("a row of no table"));
    }
}
