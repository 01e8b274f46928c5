//! The contents of recorded pages, as counts: words, links, images, tables. The text itself is not kept.
//!
//! [`open`](crate::open()) leaves contents out: reading them takes time and memory, and only the laboratory needs them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The contents of all versions of the pages of a data set.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    words: Arc<[Box<str>]>,
    documents: Vec<ReplayDocument>,
    /// For each page the cycles from which it shows another document, ascending, with the document's index.
    in_force: Vec<Box<[(u32, u32)]>>,
    titles: Vec<Box<[u32]>>,
}

/// The index of a document that the data set has no text for.
pub const NO_TEXT: u32 = u32::MAX;

/// A content of a page. Equal texts at two pages are two documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayDocument {
    /// The numbers of its words in [`Contents::words`], ascending, and how often each occurs.
    pub words: Arc<[(u32, u32)]>,
    /// Bytes of the recorded text, which is Markdown or plain text.
    pub bytes: u32,
    /// Images.
    pub images: u32,
    /// Tables.
    pub tables: u32,
    /// Different e-mail addresses, in the text or as targets of links.
    pub addresses: u32,
    /// Links to other pages, known or not. E-mail addresses and places on the same page do not count.
    pub links_out: u32,
    /// The pages of the data set that it links to, without the page itself: ascending, each once.
    pub links: Box<[u32]>,
    /// What its URL says that the page is.
    pub kind: ContentKind,
}

/// The type of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContentKind {
    /// HTML.
    #[default]
    Html,
    /// Plain text.
    Text,
    /// Anything else.
    Other,
}

impl ReplayDocument {
    /// Number of words, with repetitions.
    pub fn word_count(&self) -> u64 {
        self.words.iter().map(|&(_, count)| u64::from(count)).sum()
    }

    /// How often a word occurs.
    pub fn count(&self, word: u32) -> u32 {
        self.words.binary_search_by_key(&word, |&(word, _)| word).map_or(0, |place| self.words[place].1)
    }
}

impl Contents {
    /// Of documents by page and version. `in_force` has for each page the cycles from which it shows another document,
    /// ascending, with the document's place or [`NO_TEXT`]; `titles` the words of its title, ascending.
    pub fn new(
        words: Arc<[Box<str>]>,
        documents: Vec<ReplayDocument>,
        in_force: Vec<Box<[(u32, u32)]>>,
        titles: Vec<Box<[u32]>>,
    ) -> Contents {
        Contents { words, documents, in_force, titles }
    }

    /// The words of all documents and titles, by number: in lower case, numbered by their first use.
    pub fn words(&self) -> &[Box<str>] {
        &self.words
    }

    /// The content that a page shows in a cycle; after its last cycle, the last one. None where the data set has no
    /// text for it, and before its first cycle.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn shown(&self, page: usize, cycle: u32) -> Option<&ReplayDocument> {
        self.document(self.number(page, cycle)?)
    }

    /// The different words of a page's title, ascending.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn title_words(&self, page: usize) -> &[u32] {
        &self.titles[page]
    }

    /// All documents, by page and version.
    pub fn documents(&self) -> &[ReplayDocument] {
        &self.documents
    }

    /// Number of pages.
    pub fn pages(&self) -> usize {
        self.in_force.len()
    }

    /// Memory in bytes, without the allocator's overhead and spare capacity.
    pub fn bytes(&self) -> u64 {
        let words = self.words.iter().map(|word| size_of::<Box<str>>() + word.len()).sum::<usize>();
        let document = |document: &ReplayDocument| {
            size_of::<ReplayDocument>() + size_of_val(&*document.words) + size_of_val(&*document.links)
        };
        let documents = self.documents.iter().map(document).sum::<usize>();
        let in_force = self.in_force.iter().map(|listed| size_of_val(&**listed)).sum::<usize>();
        let pages = in_force + self.titles.iter().map(|title| size_of_val(&**title)).sum::<usize>();
        (words + documents + pages) as u64
    }

    /// The document that a page shows in a cycle, by its index.
    pub fn number(&self, page: usize, cycle: u32) -> Option<u32> {
        let in_force = &self.in_force[page];
        let after = in_force.partition_point(|&(from, _)| from <= cycle);
        after.checked_sub(1).map(|place| in_force[place].1).filter(|&number| number != NO_TEXT)
    }

    /// A document by its index.
    pub fn document(&self, number: u32) -> Option<&ReplayDocument> {
        self.documents.get(number as usize)
    }

    /// The contents that are shown in every `step`-th cycle up to `step * last`; cycle `step * c` becomes c.
    pub(crate) fn every(&self, step: u32, last: u32) -> Contents {
        let in_force = self.in_force.iter().map(|listed| {
            let mut kept: Vec<(u32, u32)> = Vec::with_capacity(listed.len());
            for &(from, number) in listed {
                let from = from.div_ceil(step);
                if kept.last().is_some_and(|kept| kept.0 == from) {
                    kept.pop();
                }
                if kept.last().is_none_or(|kept| kept.1 != number) {
                    kept.push((from, number));
                }
            }
            kept.into()
        });
        let every = Contents { in_force: in_force.collect(), ..self.clone() };
        let pages: Vec<u32> = (0..self.pages() as u32).collect();
        every.part(&pages, 0..last + 1)
    }

    /// The contents of some pages, in the given order, over `cycles`; `cycles.start` becomes cycle 0. Links to other
    /// pages leave the part; words keep their numbers.
    pub(crate) fn part(&self, pages: &[u32], cycles: Range<u32>) -> Contents {
        let places: HashMap<u32, u32> = pages.iter().copied().zip(0..).collect();
        let mut part = Contents {
            words: self.words.clone(),
            documents: Vec::new(),
            in_force: Vec::with_capacity(pages.len()),
            titles: pages.iter().map(|&page| self.titles[page as usize].clone()).collect(),
        };
        let mut numbers = HashMap::new();
        for &page in pages {
            let listed = &self.in_force[page as usize];
            let first = listed.partition_point(|&(from, _)| from <= cycles.start).saturating_sub(1);
            let shown = listed[first..].iter().take_while(|&&(from, _)| from < cycles.end);
            numbers.clear();
            let moved = shown.map(|&(from, number)| {
                let new = *numbers.entry(number).or_insert_with(|| match self.document(number) {
                    None => NO_TEXT,
                    Some(document) => {
                        part.documents.push(document.moved(&places));
                        part.documents.len() as u32 - 1
                    }
                });
                (from.saturating_sub(cycles.start), new)
            });
            part.in_force.push(moved.collect());
        }
        part
    }
}

impl ReplayDocument {
    /// The same with links to the pages that have a place.
    fn moved(&self, places: &HashMap<u32, u32>) -> ReplayDocument {
        let mut links: Vec<u32> = self.links.iter().filter_map(|page| places.get(page).copied()).collect();
        links.sort_unstable();
        ReplayDocument { links: links.into(), ..self.clone() }
    }
}

#[cfg(test)]
mod seen;
