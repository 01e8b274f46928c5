//! Pages that a target of documents holds, or may hold: one file for each target, in the order of URLs.
//!
//! The file is written anew and renamed. So whatever stops a writer, the file is the old one or the new one, whole. A
//! target's copy is compared with the pages by reading both once, in the same order.

use crate::file::bytes::{Malformed, Put, Take};
use crate::file::error::{ReadError, WriteError};
use crate::file::format::FileKind;
use crate::file::frames::{FrameReader, FrameWriter};
use crate::generation::codec::{put_key, take_url};
use crate::storage::Storage;
use recrawl_types::{CanonicalUrl, Round};

/// Bytes of entries after which a frame ends.
const FRAME: usize = 64 << 10;

/// A page's document at the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It may be there, in any state: it was sent, and nobody knows whether it was taken.
    Unsure,
    /// The target took it in this state.
    Taken(u64),
    /// The target refused this state. It may have an earlier one.
    Refused(u64),
}

fn file(target: &str) -> String {
    format!("{target}.copy")
}

/// Writes what a target holds.
pub struct CopyWriter {
    frames: FrameWriter,
    next: String,
    name: String,
    payload: Vec<u8>,
    last: Vec<u8>,
    total: u64,
}

impl CopyWriter {
    /// Begins the file of a target. Every version that was sent before is at most `version`.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(storage: &dyn Storage, target: &str, version: u64) -> Result<CopyWriter, WriteError> {
        let name = file(target);
        let next = format!("{name}.next");
        let mut frames = FrameWriter::create(storage, &next, FileKind::Copy, Round(0))?;
        let mut payload = Vec::new();
        payload.put_varint(version);
        frames.push(&payload)?;
        payload.clear();
        Ok(CopyWriter { frames, next, name, payload, last: Vec::new(), total: 0 })
    }

    /// Appends a page, whose URL comes after the last one's.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn push(&mut self, url: &CanonicalUrl, held: Held) -> Result<(), WriteError> {
        let key = url.key();
        let near = if self.payload.is_empty() { &[][..] } else { &self.last };
        assert!(near.is_empty() || near < key, "{url} is out of order");
        put_key(&mut self.payload, near, key);
        let (tag, state) = match held {
            Held::Unsure => (0, 0),
            Held::Taken(state) => (1, state),
            Held::Refused(state) => (2, state),
        };
        self.payload.put_u8(tag);
        self.payload.put_varint(state);
        self.last.clear();
        self.last.extend_from_slice(key);
        self.total += 1;
        if self.payload.len() >= FRAME { self.close_frame() } else { Ok(()) }
    }

    fn close_frame(&mut self) -> Result<(), WriteError> {
        self.frames.push(&self.payload)?;
        self.payload.clear();
        Ok(())
    }

    /// Puts the file in the place of the last one. It is durable before the name is, and the name before this returns.
    ///
    /// # Errors
    /// When the disk refuses. Nobody knows then which of both is found after a restart.
    pub fn finish(mut self, storage: &dyn Storage) -> Result<(), WriteError> {
        if !self.payload.is_empty() {
            self.close_frame()?;
        }
        // An empty key is no URL's: this is the end, and so many pages came before it.
        put_key(&mut self.payload, &[], &[]);
        self.payload.put_varint(self.total);
        self.frames.push(&self.payload)?;
        self.frames.sync()?;
        let path = storage.locate(&self.next);
        storage.rename(&self.next, &self.name).map_err(WriteError::of(&path, "rename"))?;
        storage.sync_dir().map_err(WriteError::of(storage.locate(""), "sync"))
    }
}

/// Reads what a target holds, in the order of URLs. Memory: a frame.
pub struct CopyReader {
    frames: FrameReader,
    payload: Vec<u8>,
    taken: usize,
    key: Vec<u8>,
    version: u64,
    total: u64,
    ended: bool,
}

impl CopyReader {
    /// None of a target that never got anything.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn open(storage: &dyn Storage, target: &str) -> Result<Option<CopyReader>, ReadError> {
        let mut frames = match FrameReader::open(storage, &file(target), FileKind::Copy, Round(0)) {
            Err(e) if e.is_absent() => return Ok(None),
            other => other?,
        };
        let at = frames.offset();
        let version = match frames.next_frame()? {
            Some(payload) => Take(payload).varint(),
            None => Err(Malformed("it has no beginning")),
        };
        let version = version.map_err(|Malformed(what)| frames.damaged(at, what))?;
        let (payload, key) = Default::default();
        Ok(Some(CopyReader { frames, payload, taken: 0, key, version, total: 0, ended: false }))
    }

    /// No version that was sent is above this one.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The next page; none at the end.
    ///
    /// # Errors
    /// When it cannot be read, or the file ends too early.
    pub fn next_page(&mut self) -> Result<Option<(CanonicalUrl, Held)>, ReadError> {
        while !self.ended {
            let at = self.frames.offset();
            if self.taken < self.payload.len() {
                return self.take().map_err(|Malformed(what)| self.frames.damaged(at, what));
            }
            let Some(payload) = self.frames.next_frame()? else {
                return Err(self.frames.damaged(at, "it has no end"));
            };
            self.payload.clear();
            self.payload.extend_from_slice(payload);
            (self.taken, self.key) = (0, Vec::new());
        }
        Ok(None)
    }

    fn take(&mut self) -> Result<Option<(CanonicalUrl, Held)>, Malformed> {
        let mut take = Take(&self.payload[self.taken..]);
        if self.taken == 0 && self.payload.starts_with(&[0, 0]) {
            take.slice(2)?;
            self.ended = true;
            return match take.varint()? == self.total {
                true => Ok(None),
                false => Err(Malformed("it does not have as many pages as its end says")),
            };
        }
        let url = take_url(&mut take, &mut self.key)?;
        let (tag, state) = (take.u8()?, take.varint()?);
        let held = match tag {
            0 => Held::Unsure,
            1 => Held::Taken(state),
            2 => Held::Refused(state),
            _ => return Err(Malformed("unknown state of a document")),
        };
        self.taken = self.payload.len() - take.0.len();
        self.total += 1;
        Ok(Some((url, held)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryStorage;
    use proptest::prelude::*;
    use recrawl_types::UrlRules;
    use std::collections::BTreeMap;

    fn read(storage: &dyn Storage) -> Result<(u64, Vec<(CanonicalUrl, Held)>), ReadError> {
        let mut reader = CopyReader::open(storage, "desk")?.expect("it was written");
        let mut pages = Vec::new();
        while let Some(page) = reader.next_page()? {
            pages.push(page);
        }
        Ok((reader.version(), pages))
    }

    fn write(storage: &dyn Storage, pages: &[(CanonicalUrl, Held)], version: u64) {
        let mut writer = CopyWriter::create(storage, "desk", version).unwrap();
        pages.iter().for_each(|(url, held)| writer.push(url, *held).unwrap());
        writer.finish(storage).unwrap();
    }

    fn pages() -> impl Strategy<Value = Vec<(CanonicalUrl, Held)>> {
        let held = prop_oneof![
            Just(Held::Unsure),
            any::<u64>().prop_map(Held::Taken),
            any::<u64>().prop_map(Held::Refused)
        ];
        proptest::collection::btree_map(0u32..100_000, held, 0..3000).prop_map(|pages| {
            let url = |page| UrlRules::keep_all().canonicalize(&format!("http://a.test/{page:06}")).unwrap();
            pages
                .into_iter()
                .map(|(page, held)| (url(page), held))
                .collect::<BTreeMap<_, _>>()
                .into_iter()
                .collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn what_is_written_is_read(first in pages(), then in pages(), version in any::<u64>()) {
            let storage = MemoryStorage::new();
            prop_assert!(CopyReader::open(&storage, "desk").unwrap().is_none());
            write(&storage, &first, 1);
            write(&storage, &then, version);
            prop_assert_eq!(read(&storage).unwrap(), (version, then));
            prop_assert_eq!(storage.list().unwrap(), ["desk.copy"]);
        }

        /// A byte that changed is told, and never read as another page.
        #[test]
        fn damage_is_told(pages in pages(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let storage = MemoryStorage::new();
            write(&storage, &pages, 7);
            let file = storage.open("desk.copy").unwrap();
            let mut bytes = vec![0; file.length().unwrap() as usize];
            file.read_at(&mut bytes, 0).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            storage.create("desk.copy").unwrap().write(&bytes).unwrap();
            if let Ok(found) = read(&storage) {
                // Some bytes of the header say nothing.
                prop_assert_eq!(found, (7, pages));
            }
            storage.create("desk.copy").unwrap().write(&bytes[..at]).unwrap();
            prop_assert!(read(&storage).is_err());
        }
    }
}
