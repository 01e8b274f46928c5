//! Sections: how often the pages around a page change, from its domain down to its folder.
//!
//! The section of a page is the chain of subtrees of the URL order that hold it: its registrable domain, its host, its
//! origin and each folder, as far as they have at least [`LEAST_PAGES`] known pages. The rate of each is shrunk towards
//! that of the one around it (Tan and Mitra 2010 take groups of pages as priors), and that of the domain towards the rate
//! of all pages. What the page showed itself is left out, since its posterior counts it already. Sums are kept of each
//! subtree, so one pass over the records finds them, and nothing is stored.

use crate::RateEvidence;
use recrawl_types::{CanonicalUrl, Site, StateColumns, shared_beginning};

/// Minimum known pages of a subtree that counts, also of a domain: fewer tell little beside [`WEIGHT`], and would take
/// memory for each page.
pub const LEAST_PAGES: u64 = 8;
/// After this many observed cycles of its pages, a subtree has the same weight as the one around it.
pub const WEIGHT: f64 = 500.0;
/// Maximum subtrees of a chain: domain, host, origin, folders. Deeper folders count as their outermost one here, so that a
/// page takes constant time.
const LEVELS: usize = 16;

/// The place of the domain and of the host in a chain.
const DOMAIN: usize = 0;
const HOST: usize = 1;

/// The subtrees of all pages that were found. Memory: 32 bytes each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sections {
    all: RateEvidence,
    /// By their place in a chain, in URL order.
    levels: [Vec<Subtree>; LEVELS],
}

/// Consecutive pages, and what they showed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Subtree {
    /// The place of its first page among all pages.
    first: u64,
    /// The place after its last page.
    end: u64,
    changes: u64,
    cycles: u64,
}

impl Sections {
    /// Fills the rates of sections of these rows, with the place of each page, rising; other rows get the rate of their
    /// site, which is filled in.
    pub fn fill(&self, columns: &mut StateColumns, pages: impl Iterator<Item = (u64, usize)>) {
        columns.section_rate.clone_from(&columns.site_rate);
        let mut at: Option<[usize; LEVELS]> = None;
        for (place, row) in pages {
            let next = |level: usize| self.levels[level].partition_point(|subtree| subtree.end <= place);
            let at = at.get_or_insert_with(|| std::array::from_fn(next));
            columns.section_rate[row] = self.rate(at, place, RateEvidence::of_row(columns, row));
        }
    }

    /// The rate of the section of the page with this place without what it showed itself, in changes a cycle. `at` has the
    /// first subtree of each level that does not end before the last page asked for.
    fn rate(&self, at: &mut [usize; LEVELS], place: u64, own: RateEvidence) -> f64 {
        let mut others = self.all;
        others.remove(own);
        let mut rate = others.rate();
        let mut pages = u64::MAX;
        for (subtrees, at) in self.levels.iter().zip(at) {
            while subtrees.get(*at).is_some_and(|subtree| subtree.end <= place) {
                *at += 1;
            }
            let Some(subtree) = subtrees.get(*at).filter(|subtree| subtree.first <= place) else { break };
            // A subtree of the same pages as the one around it says nothing new.
            let size = subtree.end - subtree.first;
            if std::mem::replace(&mut pages, size) > size {
                let (changes, cycles) = (subtree.changes - own.changes, subtree.cycles - own.cycles);
                rate = RateEvidence { changes, cycles, changed_cycles: 0 }.rate_shrunk(rate, WEIGHT);
            }
        }
        rate
    }

    /// Number of subtrees.
    pub fn subtrees(&self) -> usize {
        self.levels.iter().map(Vec::len).sum()
    }
}

/// Finds the sections of pages that are pushed in URL order. Memory: that of the sections, and of one URL.
#[derive(Clone, Debug, Default)]
pub struct SectionFinder {
    /// The last key, the length of its host with the end mark, and its site.
    key: Vec<u8>,
    host: usize,
    site: Option<Site>,
    /// The place after the last page.
    end: u64,
    /// The chain of the last page: each subtree with the length of its prefix of the key.
    open: Vec<(usize, Subtree)>,
    found: Sections,
}

impl SectionFinder {
    /// Adds the known page at this place and what it showed: nothing, if it was never visited. Between pages of a sample
    /// there are others.
    pub fn push(&mut self, place: u64, key: &[u8], shown: RateEvidence) {
        let common = shared_beginning(&self.key, key);
        if common < self.host || self.host == 0 {
            self.enter_host(place, key);
        } else {
            let stay = self.open.iter().skip(HOST + 1).take_while(|(prefix, _)| *prefix <= common).count();
            self.close(HOST + 1 + stay);
        }
        if self.host > 0 {
            let known = self.open.len().saturating_sub(HOST + 1);
            let beyond = if known == 0 { 0 } else { common };
            let folders = CanonicalUrl::folders_beyond(beyond, key).take(LEVELS - HOST - 1 - known);
            let opened = folders.map(|prefix| (prefix, Subtree::at(place)));
            self.open.extend(opened);
        }
        self.key.clear();
        self.key.extend_from_slice(key);
        self.end = place + 1;
        self.found.all.add(shown);
        if let Some((_, innermost)) = self.open.last_mut() {
            innermost.changes += shown.changes;
            innermost.cycles += shown.cycles;
        }
    }

    /// The sections of all pages that were pushed.
    pub fn finish(mut self) -> Sections {
        self.close(DOMAIN);
        self.found
    }

    /// Begins the chain of another host, in the same domain or another one. Bytes that are no key have none.
    fn enter_host(&mut self, place: u64, key: &[u8]) {
        let url = CanonicalUrl::from_key(key).ok();
        let site = url.as_ref().map(Site::from_url);
        let from = if site.is_some() && site == self.site { HOST } else { DOMAIN };
        self.close(from);
        self.host = url.map_or(0, |url| CanonicalUrl::key_of_host(&url.host()).len());
        self.site = site;
        if self.host > 0 {
            self.open.extend((from..=HOST).map(|_| (0, Subtree::at(place))));
        }
    }

    /// Closes the subtrees from this level on, the innermost first: its sums are a part of those around it.
    fn close(&mut self, level: usize) {
        while self.open.len() > level {
            let Some((_, closed)) = self.open.pop() else { return };
            let closed = Subtree { end: self.end, ..closed };
            if let Some((_, around)) = self.open.last_mut() {
                around.changes += closed.changes;
                around.cycles += closed.cycles;
            }
            if closed.end - closed.first >= LEAST_PAGES {
                self.found.levels[self.open.len()].push(closed);
            }
        }
    }
}

impl Subtree {
    /// Begins with the page at this place.
    fn at(first: u64) -> Subtree {
        Subtree { first, end: first, changes: 0, cycles: 0 }
    }
}

#[cfg(test)]
mod tests;
