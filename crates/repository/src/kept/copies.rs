//! Pages that a target of documents holds, or may hold: one file for each address of a target, in the order of URLs.
//!
//! The file is written anew and renamed. So whatever stops a writer, the file is the old one or the new one, whole. A
//! target's copy is compared with the pages by reading both once, in the same order.

use crate::file::bytes::{Malformed, Put, Take};
use crate::file::error::{Damage, ReadError, WriteError};
use crate::file::format::FileKind;
use crate::file::frames::{FrameReader, FrameWriter};
use crate::generation::codec::{put_key, take_url};
use crate::storage::Storage;
use recrawl_types::{CanonicalUrl, Round};
use std::io;

/// Bytes of entries after which a frame ends.
const FRAME: usize = 64 << 10;

/// Two numbers of all that a page's document is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DocumentState {
    /// Another number if the document is another.
    pub page: u64,
    /// Names the archived body. Another one may have the same document.
    pub capture: u64,
}

/// A page's document at the target. A digest is 0 if it is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// It may be there, in any state: it was sent, and nobody knows whether it was taken.
    Unsure,
    /// It may be there although its page was taken down: it is deleted first, whatever the page has become since.
    TakenDown,
    /// The target took it in this state, with this version.
    Taken {
        /// The state.
        state: DocumentState,
        /// The document's digest.
        digest: u64,
        /// The version.
        version: u64,
    },
    /// The target refused this state. It may have an earlier one.
    Refused {
        /// The state.
        state: DocumentState,
        /// The document's digest.
        digest: u64,
        /// When, in milliseconds since 1970.
        since: u64,
        /// The reason.
        why: String,
    },
    /// An operator gave this state up. The target may have an earlier one.
    Skipped {
        /// The state.
        state: DocumentState,
        /// The document's digest.
        digest: u64,
    },
}

impl Held {
    /// The state that is not sent again, with the document's digest.
    pub fn settled(&self) -> Option<(DocumentState, u64)> {
        match self {
            Held::Unsure | Held::TakenDown => None,
            Held::Taken { state, digest, .. }
            | Held::Refused { state, digest, .. }
            | Held::Skipped { state, digest } => Some((*state, *digest)),
        }
    }

    /// The same, where nobody knows any more what the target has. A delete that is due stays due.
    pub fn doubted(&self) -> Held {
        if *self == Held::TakenDown { Held::TakenDown } else { Held::Unsure }
    }

    /// The same document, made of another capture.
    pub fn recaptured(mut self, capture: u64) -> Held {
        match &mut self {
            Held::Unsure | Held::TakenDown => {}
            Held::Taken { state, .. } | Held::Refused { state, .. } | Held::Skipped { state, .. } => {
                state.capture = capture;
            }
        }
        self
    }
}

/// The first frame of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyHead {
    /// The target's address. A target of the same name with another address has a copy of its own.
    pub target: String,
    /// Every version that was sent is at most this one.
    pub version: u64,
    /// When a request was given up whose outcome nobody knows, in milliseconds since 1970; 0 for none, and
    /// [`CopyHead::SENDING`] while requests are sent.
    pub given_up: u64,
    /// Patterns of pages whose earlier lines are to leave a file.
    pub purge: Vec<String>,
}

impl CopyHead {
    /// [`CopyHead::given_up`] while requests are sent. A kill leaves it.
    pub const SENDING: u64 = u64::MAX;

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.put_varint(self.version);
        bytes.put_varint(self.given_up);
        bytes.put_bytes(self.target.as_bytes());
        self.purge.iter().for_each(|pattern| bytes.put_bytes(pattern.as_bytes()));
        bytes
    }

    fn read(bytes: &[u8]) -> Result<CopyHead, Malformed> {
        let mut take = Take(bytes);
        let (version, given_up) = (take.varint()?, take.varint()?);
        let (target, mut purge) = (text(&mut take)?, Vec::new());
        while !take.0.is_empty() {
            purge.push(text(&mut take)?);
        }
        Ok(CopyHead { target, version, given_up, purge })
    }
}

fn text(take: &mut Take<'_>) -> Result<String, Malformed> {
    String::from_utf8(take.bytes()?.to_vec())
        .map_err(|_| Malformed("an address, a pattern or a reason is no text"))
}

/// Ends the name of each copy's file.
const FILE: &str = ".copy";

/// The names of all copies.
///
/// # Errors
/// When the directory cannot be read.
pub fn copies(storage: &dyn Storage) -> io::Result<Vec<String>> {
    let mut names = storage.list()?;
    names.retain_mut(|name| {
        let is_copy = name.ends_with(FILE);
        name.truncate(name.len() - if is_copy { FILE.len() } else { 0 });
        is_copy
    });
    names.sort_unstable();
    Ok(names)
}

/// The name of a copy's file.
pub fn copy_file(name: &str) -> String {
    format!("{name}{FILE}")
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
    /// Begins the file of a copy.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(storage: &dyn Storage, name: &str, head: &CopyHead) -> Result<CopyWriter, WriteError> {
        let name = copy_file(name);
        let next = format!("{name}.next");
        let mut frames = FrameWriter::create(storage, &next, FileKind::Copy, Round(0))?;
        frames.push(&head.to_bytes())?;
        Ok(CopyWriter { frames, next, name, payload: Vec::new(), last: Vec::new(), total: 0 })
    }

    /// Appends a page, whose URL comes after the last one's.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn push(&mut self, url: &CanonicalUrl, held: &Held) -> Result<(), WriteError> {
        let key = url.key();
        let near = if self.payload.is_empty() { &[][..] } else { &self.last };
        assert!(near.is_empty() || near < key, "{url} is out of order");
        put_key(&mut self.payload, near, key);
        self.payload.put_u8(match held {
            Held::Unsure => 0,
            Held::Taken { .. } => 1,
            Held::Refused { .. } => 5,
            Held::Skipped { .. } => 3,
            Held::TakenDown => 4,
        });
        if let Some((DocumentState { page, capture }, digest)) = held.settled() {
            [page, capture, digest].iter().for_each(|number| self.payload.put_u64(*number));
        }
        match held {
            Held::Taken { version, .. } => self.payload.put_varint(*version),
            Held::Refused { since, why, .. } => {
                self.payload.put_varint(*since);
                self.payload.put_bytes(why.as_bytes());
            }
            Held::Unsure | Held::Skipped { .. } | Held::TakenDown => {}
        }
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
        storage.rename(&self.next, &self.name).map_err(WriteError::during(&path, "rename"))?;
        storage.sync_dir().map_err(WriteError::during(storage.locate(""), "sync"))
    }
}

/// Reads what a target holds, in the order of URLs. Memory: a frame.
pub struct CopyReader {
    frames: FrameReader,
    payload: Vec<u8>,
    taken: usize,
    key: Vec<u8>,
    head: CopyHead,
    total: u64,
    ended: bool,
    /// The first damage, if it is left out.
    left_out: Option<Option<Damage>>,
}

impl CopyReader {
    /// None of a target that never got anything.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn open(storage: &dyn Storage, name: &str) -> Result<Option<CopyReader>, ReadError> {
        let mut frames = match FrameReader::open(storage, &copy_file(name), FileKind::Copy, Round(0)) {
            Err(e) if e.is_absent() => return Ok(None),
            other => other?,
        };
        let head = read_head(&mut frames)?;
        Ok(Some(CopyReader::over(frames, head, None)))
    }

    fn over(frames: FrameReader, head: CopyHead, left_out: Option<Option<Damage>>) -> CopyReader {
        let (payload, key) = Default::default();
        CopyReader { frames, payload, taken: 0, key, head, total: 0, ended: false, left_out }
    }

    /// Reads what is left of a copy: damaged frames are left out. The first one, if it is damaged, is `lost`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn salvage(
        storage: &dyn Storage,
        name: &str,
        lost: &CopyHead,
    ) -> Result<Option<CopyReader>, ReadError> {
        let mut frames = match FrameReader::open(storage, &copy_file(name), FileKind::Copy, Round(0)) {
            Err(e) if e.is_absent() => return Ok(None),
            other => other?,
        };
        match read_head(&mut frames) {
            Ok(head) => Ok(Some(CopyReader::over(frames, head, Some(None)))),
            Err(ReadError::Damaged(damage)) => {
                frames.skip();
                Ok(Some(CopyReader::over(frames, lost.clone(), Some(Some(damage)))))
            }
            Err(e) => Err(e),
        }
    }

    /// The first damage that was left out.
    pub fn damage(&self) -> Option<&Damage> {
        self.left_out.as_ref().and_then(Option::as_ref)
    }

    /// The first frame.
    pub fn head(&self) -> &CopyHead {
        &self.head
    }

    /// The next page; none at the end.
    ///
    /// # Errors
    /// When it cannot be read, or the file ends too early.
    pub fn next_page(&mut self) -> Result<Option<(CanonicalUrl, Held)>, ReadError> {
        loop {
            match (self.next_whole(), &mut self.left_out) {
                (Err(ReadError::Damaged(damage)), Some(first)) => {
                    first.get_or_insert(damage);
                    // A frame with entries that are none, or the next one is damaged.
                    match self.taken < self.payload.len() {
                        true => self.taken = self.payload.len(),
                        false => self.ended = !self.frames.skip(),
                    }
                }
                (found, _) => return found,
            }
        }
    }

    fn next_whole(&mut self) -> Result<Option<(CanonicalUrl, Held)>, ReadError> {
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
        let tag = take.u8()?;
        let mut settled = || {
            let state = DocumentState { page: take.u64()?, capture: take.u64()? };
            Ok::<_, Malformed>((state, take.u64()?))
        };
        let held = match tag {
            0 => Held::Unsure,
            1 => {
                let (state, digest) = settled()?;
                Held::Taken { state, digest, version: take.varint()? }
            }
            // Written before reasons were kept.
            2 => {
                let (state, digest) = settled()?;
                Held::Refused { state, digest, since: 0, why: String::new() }
            }
            3 => {
                let (state, digest) = settled()?;
                Held::Skipped { state, digest }
            }
            4 => Held::TakenDown,
            5 => {
                let (state, digest) = settled()?;
                let (since, why) = (take.varint()?, text(&mut take)?);
                Held::Refused { state, digest, since, why }
            }
            _ => return Err(Malformed("unknown state of a document")),
        };
        self.taken = self.payload.len() - take.0.len();
        self.total += 1;
        Ok(Some((url, held)))
    }
}

fn read_head(frames: &mut FrameReader) -> Result<CopyHead, ReadError> {
    let at = frames.offset();
    let head = match frames.next_frame()? {
        Some(payload) => CopyHead::read(payload),
        None => Err(Malformed("it has no beginning")),
    };
    head.map_err(|Malformed(what)| frames.damaged(at, what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryStorage;
    use proptest::prelude::*;
    use recrawl_types::UrlRules;
    use std::collections::{BTreeMap, BTreeSet};

    fn head(version: u64) -> CopyHead {
        let purge = if version > 1 { vec!["a.test".into(), "http://b.test/*".into()] } else { Vec::new() };
        CopyHead { target: "jsonl+file:///desk".into(), version, given_up: version / 3, purge }
    }

    fn read(storage: &dyn Storage) -> Result<(CopyHead, Vec<(CanonicalUrl, Held)>), ReadError> {
        let mut reader = CopyReader::open(storage, "desk")?.expect("it was written");
        let mut pages = Vec::new();
        while let Some(page) = reader.next_page()? {
            pages.push(page);
        }
        Ok((reader.head().clone(), pages))
    }

    fn write(storage: &dyn Storage, pages: &[(CanonicalUrl, Held)], version: u64) {
        let mut writer = CopyWriter::create(storage, "desk", &head(version)).unwrap();
        pages.iter().for_each(|(url, held)| writer.push(url, held).unwrap());
        writer.finish(storage).unwrap();
    }

    fn pages() -> impl Strategy<Value = Vec<(CanonicalUrl, Held)>> {
        let held = prop_oneof![
            Just(Held::Unsure),
            any::<(u64, u64, u64, u64)>().prop_map(|(page, capture, digest, version)| {
                Held::Taken { state: DocumentState { page, capture }, digest, version }
            }),
            any::<(u64, u64, u64, u64, String)>().prop_map(|(page, capture, digest, since, why)| {
                Held::Refused { state: DocumentState { page, capture }, digest, since, why }
            }),
            any::<(u64, u64, u64)>().prop_map(|(page, capture, digest)| {
                Held::Skipped { state: DocumentState { page, capture }, digest }
            }),
            Just(Held::TakenDown)
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

    /// The pages that are left of a damaged file; none if its header is damaged.
    fn salvaged(storage: &dyn Storage) -> Option<Vec<(CanonicalUrl, Held)>> {
        let mut reader = CopyReader::salvage(storage, "desk", &head(9)).ok()?.expect("it was written");
        let mut pages = Vec::new();
        while let Some(page) = reader.next_page().expect("damage is left out") {
            pages.push(page);
        }
        Some(pages)
    }

    #[test]
    fn pages_of_whole_frames_are_left_of_a_damaged_copy() {
        let storage = MemoryStorage::new();
        let url = |page| UrlRules::keep_all().canonicalize(&format!("http://a.test/{page:06}")).unwrap();
        let pages: Vec<_> = (0..40_000u32).map(|page| (url(page), Held::Unsure)).collect();
        let urls: BTreeSet<_> = pages.iter().map(|(url, _)| url).collect();
        write(&storage, &pages, 7);
        let file = storage.open("desk.copy").unwrap();
        let mut bytes = vec![0; file.length().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        // The first frame, the middle, and the end.
        for at in [30, bytes.len() / 2, bytes.len() - 3] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            storage.create("desk.copy").unwrap().write(&damaged).unwrap();
            let mut reader = CopyReader::salvage(&storage, "desk", &head(9)).unwrap().unwrap();
            let mut left = Vec::new();
            while let Some(page) = reader.next_page().unwrap() {
                left.push(page);
            }
            assert!(reader.damage().is_some());
            assert!(
                left.len() > 20_000 && left.iter().all(|(url, _)| urls.contains(url)),
                "{at}: {}",
                left.len()
            );
            assert_eq!(*reader.head(), if at == 30 { head(9) } else { head(7) });
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn what_is_written_is_read(first in pages(), then in pages(), version in any::<u64>()) {
            let storage = MemoryStorage::new();
            prop_assert!(CopyReader::open(&storage, "desk").unwrap().is_none());
            write(&storage, &first, 1);
            write(&storage, &then, version);
            prop_assert_eq!(read(&storage).unwrap(), (head(version), then));
            prop_assert_eq!(storage.list().unwrap(), ["desk.copy"]);
            prop_assert_eq!(copies(&storage).unwrap(), ["desk"]);
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
                prop_assert_eq!((&found.0, &found.1), (&head(7), &pages));
            }
            // What is whole of it is left, and each page of it is one that was written.
            let left = salvaged(&storage);
            prop_assert!(left.iter().flatten().all(|page| pages.contains(page)));
            storage.create("desk.copy").unwrap().write(&bytes[..at]).unwrap();
            prop_assert!(read(&storage).is_err());
            prop_assert!(salvaged(&storage).iter().flatten().all(|page| pages.contains(page)));
        }
    }
}
