//! Finds the terms of a topic in a sequence of words, in one pass.

use super::{MAX_TERM_BYTES, MAX_TERM_WORDS, MAX_TERMS, TermSet, Topic};
use crate::words::{Language, Words, joined};

/// The terms of a topic in the words of one language. Terms with the same stems are one term: each is in its set once.
pub struct Matcher {
    /// An open hash table by the hash of a word or phrase; its size is a power of two.
    table: Vec<TermEntry>,
    /// For each set and term as written: its place among the different ones, or none if no word is left of it.
    places: [Vec<Option<u16>>; 3],
    /// Different terms of each set.
    sizes: [usize; 3],
}

#[derive(Clone, Copy, Default)]
struct TermEntry {
    hash: u64,
    is_used: bool,
    /// Whether terms of two words begin with this one, and terms of three with these two.
    begins: bool,
    /// Place in each set, from 1; 0 for none.
    terms: [u16; 3],
}

/// How often each different term of each set was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermCounts([Vec<u32>; 3]);

impl TermCounts {
    /// By place of the term in its set.
    pub fn in_set(&self, set: TermSet) -> &[u32] {
        &self.0[set as usize]
    }
}

impl Matcher {
    /// Prepares the terms of a topic for texts of a language.
    pub fn new(topic: &Topic, language: Language, words: &mut Words) -> Matcher {
        let longest = TermSet::ALL.iter().map(|set| topic.terms(*set).len()).sum::<usize>();
        let mut matcher = Matcher {
            // At most three entries a term; a quarter of the places is used at most.
            table: vec![TermEntry::default(); (longest * 12).next_power_of_two().max(16)],
            places: Default::default(),
            sizes: [0; 3],
        };
        for set in TermSet::ALL {
            for term in topic.terms(set) {
                let place = matcher.add(set, term, language, words);
                matcher.places[set as usize].push(place);
            }
        }
        matcher
    }

    fn add(&mut self, set: TermSet, term: &str, language: Language, words: &mut Words) -> Option<u16> {
        let mut hashes = vec![];
        words.hashes(term, language, MAX_TERM_BYTES, usize::MAX, &mut hashes);
        // In a language whose stopwords the term has not, it may be too long; then it is in no text.
        if hashes.is_empty() || hashes.len() > MAX_TERM_WORDS {
            return None;
        }
        let mut whole = hashes[0];
        for &word in &hashes[1..] {
            self.entry(whole).begins = true;
            whole = joined(whole, word);
        }
        let next = self.sizes[set as usize] as u16 + 1;
        let place = &mut self.entry(whole).terms[set as usize];
        if *place == 0 {
            *place = next;
            let place = *place;
            self.sizes[set as usize] += 1;
            return Some(place - 1);
        }
        Some(*place - 1)
    }

    fn entry(&mut self, hash: u64) -> &mut TermEntry {
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        while self.table[at].is_used && self.table[at].hash != hash {
            at = (at + 1) & mask;
        }
        let entry = &mut self.table[at];
        (entry.hash, entry.is_used) = (hash, true);
        entry
    }

    fn find(&self, hash: u64) -> Option<&TermEntry> {
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        while self.table[at].is_used {
            if self.table[at].hash == hash {
                return Some(&self.table[at]);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Different terms of a set.
    pub fn size(&self, set: TermSet) -> usize {
        self.sizes[set as usize]
    }

    /// The place of each term as written among the different ones of its set; none for a term that this language has
    /// no word of.
    pub fn places(&self, set: TermSet) -> &[Option<u16>] {
        &self.places[set as usize]
    }

    /// Counts the terms in a sequence of words. Each phrase counts, and each of its words that is a term as well.
    pub fn count(&self, words: &[u64]) -> TermCounts {
        let mut counts = TermCounts(self.sizes.map(|size| vec![0; size]));
        self.each(words, |set, term| counts.0[set as usize][term] += 1);
        counts
    }

    /// The share of a set's terms that are in a sequence of words; 0 for an empty set.
    pub fn share(&self, wanted: TermSet, words: &[u64]) -> f64 {
        let mut seen = [0u64; MAX_TERMS.div_ceil(64)];
        self.each(words, |set, term| {
            if set == wanted {
                seen[term / 64] |= 1 << (term % 64);
            }
        });
        let found: u32 = seen.iter().map(|bits| bits.count_ones()).sum();
        f64::from(found) / self.size(wanted).max(1) as f64
    }

    /// Calls `with` for each term found: its set, and its place there.
    pub fn each(&self, words: &[u64], mut with: impl FnMut(TermSet, usize)) {
        for begin in 0..words.len() {
            let mut hash = words[begin];
            let mut next = begin + 1;
            while let Some(entry) = self.find(hash) {
                for set in TermSet::ALL {
                    if let Some(term) = entry.terms[set as usize].checked_sub(1) {
                        with(set, usize::from(term));
                    }
                }
                if !entry.begins || next == words.len() {
                    break;
                }
                hash = joined(hash, words[next]);
                next += 1;
            }
        }
    }
}
