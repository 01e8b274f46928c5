//! The part of a batch in memory: paths in one buffer, numbered origins, an entry per link and
//! visit.

use crate::entry::PathEntry;
use crate::sort::sort;
use crate::touch::{Links, Touch, visit_bytes};
use recrawl_repository::codec::put_expectation;
use recrawl_types::{CanonicalUrl, Cycle, Visit};
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes per origin, in table and list; a third of the table is empty.
const ORIGIN_BYTES: usize = 128;

/// Limit of what a buffer reserves at once. Beyond it, buffers grow.
const MAX_RESERVED: usize = 1 << 30;

/// Paths that are prefetched at a time.
const BLOCK: usize = 256;

/// Links and visits that are not yet on disk. Filled, then sorted, then read.
#[derive(Debug, Default)]
pub(crate) struct LinkBuffer {
    /// Concatenated paths.
    paths: Vec<u8>,
    entries: Vec<PathEntry>,
    /// In log order; `None` once read.
    visits: Vec<Option<Box<Visit>>>,
    visit_bytes: usize,
    origins: Origins,
    /// Number of entries already read.
    read: usize,
    /// Prefetched paths of the entries up to number `fetched`. That of the next one starts at
    /// `ahead_at`.
    ahead: Vec<u8>,
    ahead_at: usize,
    fetched: usize,
}

impl LinkBuffer {
    /// Adds links to the URL with this key.
    pub fn add_links(&mut self, key: &[u8], links: &Links) {
        let (origin, length) = self.put(key);
        self.entries.push(PathEntry::link(&self.paths, length, origin, links));
        links.expectation.into_iter().for_each(|expectation| put_expectation(&mut self.paths, expectation));
    }

    /// Adds a visit without its links.
    pub fn add_visit(&mut self, visit: Box<Visit>) {
        let (origin, length) = self.put(visit.url.key());
        self.entries.push(PathEntry::visit(&self.paths, length, origin, self.visits.len() as u32));
        self.visit_bytes += visit_bytes(&visit) + 3 * size_of::<usize>();
        self.visits.push(Some(visit));
    }

    fn put(&mut self, key: &[u8]) -> (u32, usize) {
        let (origin, path) = key.split_at(CanonicalUrl::origin_of(key).len());
        let origin = self.origins.number(origin);
        self.paths.extend_from_slice(path);
        (origin, path.len())
    }

    /// An empty part whose buffers do not move while [`LinkBuffer::bytes`] keeps to this limit. What is reserved
    /// takes memory only once it is written.
    pub fn with_limit(bytes: usize) -> LinkBuffer {
        let bytes = bytes.min(MAX_RESERVED);
        let entries = Vec::with_capacity(bytes / size_of::<PathEntry>());
        LinkBuffer { paths: Vec::with_capacity(bytes), entries, ..LinkBuffer::default() }
    }

    /// Memory in bytes, by an estimate that errs upwards.
    pub fn bytes(&self) -> usize {
        let buffers = self.paths.len() + size_of_val(&*self.entries);
        buffers + self.visit_bytes + self.origins.bytes
    }

    /// Whether another entry fits. Offsets of paths have 32 bits, their lengths 16. The number of
    /// visits needs no check: visits fill the memory limit long before 2³² of them.
    pub fn has_room(&self) -> bool {
        self.paths.len() <= (u32::MAX - u32::from(u16::MAX)) as usize
    }

    /// Sorts by key, and rewinds to the first entry.
    pub fn sort(&mut self, threads: usize) {
        let rank = self.origins.sort();
        for entry in &mut self.entries {
            entry.origin = rank[entry.origin as usize];
        }
        sort(&mut self.entries, &self.paths, threads);
    }

    /// The next URL, with its combined links and its visits; writes its key to `key`. `cycle` is
    /// the cycle that found the links.
    pub fn next(&mut self, cycle: Cycle, key: &mut Vec<u8>) -> Option<Touch> {
        let first = self.peek()?;
        let origin = &self.origins.keys[first.origin as usize];
        key.clear();
        key.extend_from_slice(origin);
        let path = origin.len();
        key.extend_from_slice(self.path_ahead(&first));
        let (mut touch, mut visits) = (Touch::default(), Vec::new());
        let mut next = Some(first);
        while let Some(entry) = next {
            match entry.as_visit() {
                Some(visit) => visits.push(visit),
                None => {
                    entry.as_links(cycle, &self.paths).into_iter().for_each(|links| touch.add_links(links))
                }
            }
            self.ahead_at += entry.length();
            self.read += 1;
            next = self.peek().filter(|e| e.origin == first.origin && *self.path_ahead(e) == key[path..]);
        }
        visits.sort_unstable();
        for visit in visits {
            touch.add_visit(*self.visits[visit as usize].take().expect("a visit is read once"));
        }
        Some(touch)
    }

    /// The next entry. Paths are scattered over their buffer, and memory serves many reads at a
    /// time faster than one after another. Therefore a whole block of paths is prefetched.
    fn peek(&mut self) -> Option<PathEntry> {
        if self.read == self.fetched {
            self.ahead.clear();
            self.ahead_at = 0;
            self.fetched = self.entries.len().min(self.read + BLOCK);
            for entry in &self.entries[self.read..self.fetched] {
                self.ahead.extend_from_slice(entry.path(&self.paths));
            }
        }
        self.entries.get(self.read).copied()
    }

    /// The prefetched path of the next entry.
    fn path_ahead(&self, next: &PathEntry) -> &[u8] {
        &self.ahead[self.ahead_at..][..next.length()]
    }

    /// Removes all entries and keeps the buffers.
    pub fn clear(&mut self) {
        self.paths.clear();
        self.entries.clear();
        self.visits.clear();
        self.visit_bytes = 0;
        self.origins = Origins::default();
        (self.read, self.fetched) = (0, 0);
    }
}

/// The origins of a batch, numbered in order of appearance.
#[derive(Debug, Default)]
struct Origins {
    numbers: HashMap<Arc<[u8]>, u32>,
    /// By number; once sorted, by rank.
    keys: Vec<Arc<[u8]>>,
    /// The last two numbers returned, the last one first: links lead from a page to its own origin, to
    /// another one, and to its own again.
    recent: [u32; 2],
    bytes: usize,
}

impl Origins {
    fn number(&mut self, key: &[u8]) -> u32 {
        let is_of = |number: u32| self.keys.get(number as usize).is_some_and(|known| **known == *key);
        let [last, before] = self.recent;
        if is_of(last) {
            return last;
        }
        let number = if is_of(before) { before } else { self.look_up(key) };
        self.recent = [number, last];
        number
    }

    fn look_up(&mut self, key: &[u8]) -> u32 {
        if let Some(&number) = self.numbers.get(key) {
            return number;
        }
        let (number, key) = (self.keys.len() as u32, Arc::<[u8]>::from(key));
        self.bytes += ORIGIN_BYTES + key.len();
        self.numbers.insert(key.clone(), number);
        self.keys.push(key);
        number
    }

    /// Sorts the origins and returns each number's rank. No origin is added afterwards.
    fn sort(&mut self) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..self.keys.len() as u32).collect();
        numbers.sort_unstable_by(|&a, &b| self.keys[a as usize].cmp(&self.keys[b as usize]));
        let mut rank = vec![0; numbers.len()];
        for (place, &number) in (0..).zip(&numbers) {
            rank[number as usize] = place;
        }
        self.keys.sort_unstable();
        self.numbers = HashMap::new();
        rank
    }
}
