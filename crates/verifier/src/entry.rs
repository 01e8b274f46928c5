//! One entry of a batch in memory: a link or a visit, in 32 bytes plus its path.

use crate::touch::Links;
use recrawl_repository::codec::take_expectation_of;
use recrawl_types::{Cycle, Expectation};
use std::cmp::Ordering;

/// Bytes of the path that an entry caches for sorting.
pub(crate) const CHUNK: usize = 8;
/// Every path begins with a slash, so the first chunk starts after it.
pub(crate) const FIRST_CHUNK: usize = 1;

/// A link to a path of an origin, or a visit of it. Many entries share the buffer of paths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathEntry {
    /// The cached chunk of the path, first byte highest.
    chunk: u64,
    /// The origin's number; from sorting on, its rank.
    pub origin: u32,
    /// Offset of the path in the buffer.
    at: u32,
    length: u16,
    depth: u16,
    seen: u16,
    counted: u16,
    /// For links their date; for a visit its number.
    lastmod: u32,
    hops: u8,
    kind: EntryKind,
    /// [`Links::listed`].
    is_listed: bool,
    /// Do the bytes of an expectation follow the path? So links without one take no room for it.
    is_expected: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryKind {
    Links,
    Seed,
    Visit,
}

impl PathEntry {
    /// A link to the path at the end of `paths`. The caller puts the link's expectation, if it has one, behind the path.
    pub fn link(paths: &[u8], length: usize, origin: u32, links: &Links) -> PathEntry {
        let Links { depth, hops, listed: is_listed, seed, lastmod, .. } = *links;
        let kind = if seed { EntryKind::Seed } else { EntryKind::Links };
        let (seen, counted) = (links.seen as u16, links.counted as u16);
        let is_expected = links.expectation.is_some();
        PathEntry {
            depth,
            seen,
            counted,
            lastmod,
            hops,
            kind,
            is_listed,
            is_expected,
            ..PathEntry::at_end(paths, length, origin)
        }
    }

    /// Visit number `visit`, of the path at the end of `paths`.
    pub fn visit(paths: &[u8], length: usize, origin: u32, visit: u32) -> PathEntry {
        PathEntry { lastmod: visit, ..PathEntry::at_end(paths, length, origin) }
    }

    fn at_end(paths: &[u8], length: usize, origin: u32) -> PathEntry {
        let mut entry = PathEntry {
            chunk: 0,
            origin,
            at: (paths.len() - length) as u32,
            length: length as u16,
            depth: 0,
            seen: 0,
            counted: 0,
            lastmod: 0,
            hops: 0,
            kind: EntryKind::Visit,
            is_listed: false,
            is_expected: false,
        };
        entry.load_chunk(paths, FIRST_CHUNK);
        entry
    }

    /// The visit's number, if this is a visit.
    pub fn as_visit(&self) -> Option<u32> {
        (self.kind == EntryKind::Visit).then_some(self.lastmod)
    }

    /// The links, found in `since`, if this is not a visit.
    pub fn as_links(&self, since: Cycle, paths: &[u8]) -> Option<Links> {
        let PathEntry { depth, hops, lastmod, .. } = *self;
        (self.kind != EntryKind::Visit).then(|| Links {
            seen: self.seen.into(),
            counted: self.counted.into(),
            depth,
            hops,
            listed: self.is_listed,
            seed: self.kind == EntryKind::Seed,
            lastmod,
            since,
            expectation: self.expectation(paths),
        })
    }

    fn expectation(&self, paths: &[u8]) -> Option<Expectation> {
        let mut behind = self.is_expected.then(|| &paths[self.at as usize + self.length()..])?;
        Some(take_expectation_of(&mut behind).expect("it was put there"))
    }

    pub fn length(&self) -> usize {
        self.length.into()
    }

    /// The path, with its slash.
    pub fn path<'p>(&self, paths: &'p [u8]) -> &'p [u8] {
        &paths[self.at as usize..][..usize::from(self.length)]
    }

    /// Caches the chunk of the path that starts at byte `depth`.
    pub fn load_chunk(&mut self, paths: &[u8], depth: usize) {
        let rest = self.path(paths).get(depth..).unwrap_or_default();
        self.chunk = match rest.first_chunk() {
            Some(bytes) => u64::from_be_bytes(*bytes),
            // No path has a byte 0, so a path sorts before its extensions.
            None => {
                let mut bytes = [0; CHUNK];
                bytes[..rest.len()].copy_from_slice(rest);
                u64::from_be_bytes(bytes)
            }
        };
    }

    /// Origin and cached chunk: the sort key.
    pub fn sort_key(&self) -> (u32, u64) {
        (self.origin, self.chunk)
    }

    /// True if the cached chunk reaches the path's end. Entries with equal sort keys are then
    /// equal.
    pub fn is_at_end(&self) -> bool {
        self.chunk & 0xff == 0
    }

    /// Compares by key.
    pub fn compare(&self, other: &PathEntry, paths: &[u8]) -> Ordering {
        self.sort_key().cmp(&other.sort_key()).then_with(|| self.path(paths).cmp(other.path(paths)))
    }
}
