//! One entry of a batch in memory: a link or a visit, in 32 bytes beside its path.

use crate::touch::Links;
use recrawl_types::Cycle;
use std::cmp::Ordering;

/// The bytes that one look at a path brings.
pub(crate) const LOOK: usize = 8;
/// Every path begins with a slash; the first look is behind it.
pub(crate) const FIRST_LOOK: usize = 1;

/// What is said of a path of an origin. The path lies in a buffer that many entries share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// What the last look at the path brought, the first byte highest.
    look: u64,
    /// The origin's number; while sorting and later, its rank.
    pub origin: u32,
    /// Where the path begins in the buffer.
    at: u32,
    /// The path's length.
    length: u16,
    depth: u16,
    seen: u16,
    counted: u16,
    /// Of links their date; of a visit its number.
    lastmod: u32,
    hops: u8,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Links,
    Seed,
    Visit,
}

impl Entry {
    /// A link to the path that was put at the end of `paths`.
    pub fn link(paths: &[u8], length: usize, origin: u32, links: &Links) -> Entry {
        let Links { depth, hops, seed, lastmod, .. } = *links;
        let kind = if seed { Kind::Seed } else { Kind::Links };
        let (seen, counted) = (links.seen as u16, links.counted as u16);
        Entry { depth, seen, counted, lastmod, hops, kind, ..Entry::at_end(paths, length, origin) }
    }

    /// Visit number `visit`, of the path that was put at the end of `paths`.
    pub fn visit(paths: &[u8], length: usize, origin: u32, visit: u32) -> Entry {
        Entry { lastmod: visit, ..Entry::at_end(paths, length, origin) }
    }

    fn at_end(paths: &[u8], length: usize, origin: u32) -> Entry {
        let mut entry = Entry {
            look: 0,
            origin,
            at: (paths.len() - length) as u32,
            length: length as u16,
            depth: 0,
            seen: 0,
            counted: 0,
            lastmod: 0,
            hops: 0,
            kind: Kind::Visit,
        };
        entry.look_at(paths, FIRST_LOOK);
        entry
    }

    /// The number of the visit that this is.
    pub fn as_visit(&self) -> Option<u32> {
        (self.kind == Kind::Visit).then_some(self.lastmod)
    }

    /// The links that these are, found in `since`.
    pub fn as_links(&self, since: Cycle) -> Option<Links> {
        let Entry { depth, hops, lastmod, .. } = *self;
        (self.kind != Kind::Visit).then(|| Links {
            seen: self.seen.into(),
            counted: self.counted.into(),
            depth,
            hops,
            seed: self.kind == Kind::Seed,
            lastmod,
            since,
        })
    }

    /// How long the path is.
    pub fn length(&self) -> usize {
        self.length.into()
    }

    /// The path, with its slash.
    pub fn path<'p>(&self, paths: &'p [u8]) -> &'p [u8] {
        &paths[self.at as usize..][..usize::from(self.length)]
    }

    /// Looks at the path from byte `depth` on.
    pub fn look_at(&mut self, paths: &[u8], depth: usize) {
        let rest = self.path(paths).get(depth..).unwrap_or_default();
        self.look = match rest.first_chunk() {
            Some(bytes) => u64::from_be_bytes(*bytes),
            // No path has a byte 0, so one that ends comes before one that goes on.
            None => {
                let mut bytes = [0; LOOK];
                bytes[..rest.len()].copy_from_slice(rest);
                u64::from_be_bytes(bytes)
            }
        };
    }

    /// Origin and last look: what entries are sorted by.
    pub fn seen_so_far(&self) -> (u32, u64) {
        (self.origin, self.look)
    }

    /// Did the last look come to the path's end? Then what looks the same is the same.
    pub fn is_all_seen(&self) -> bool {
        self.look & 0xff == 0
    }

    /// The order of keys.
    pub fn compare(&self, other: &Entry, paths: &[u8]) -> Ordering {
        self.seen_so_far().cmp(&other.seen_so_far()).then_with(|| self.path(paths).cmp(other.path(paths)))
    }
}
