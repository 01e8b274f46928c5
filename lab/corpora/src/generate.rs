//! Proposes terms from example pages (Assis 2008, section 5.2, Algorithm 3), by frequency as printed, or by contrast.

use libm::log;
use recrawl_focus::terms::MAX_TERM_WORDS;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Example pages of a kind.
pub const MAX_EXAMPLES: usize = 1000;
/// Pages that must have a term, for it to be proposed by contrast.
const MIN_PAGES: u32 = 2;
/// Prior pages with and without a term, of each kind, per page that has it (Monroe et al. 2008, equation 23).
const PRIOR: f64 = 0.5;

/// An example: its words as written, in lower case, with their stems (`recrawl_focus::Words::pairs`).
pub type Example = Vec<(String, String)>;

/// A proposed term.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proposed {
    /// As it is written most often.
    pub term: String,
    /// Its stems, separated by spaces.
    pub stems: String,
    /// Occurrences in the examples, or the z-score of the contrast.
    pub score: f64,
}

/// Proposed sets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Generated {
    /// Terms of the genre, best first.
    pub genre: Vec<Proposed>,
    /// Terms of the content, best first.
    pub content: Vec<Proposed>,
}

/// Occurrences of terms: TermTable of Algorithm 3.
#[derive(Default)]
struct TermTable {
    terms: BTreeMap<String, TermScore>,
}

#[derive(Default)]
struct TermScore {
    occurrences: u32,
    pages: u32,
    /// Spellings, and how often each occurs.
    written: HashMap<String, u32>,
}

impl TermScore {
    /// The commonest spelling; of equally common ones the first by alphabet.
    fn spelling(&self) -> String {
        let by_count = |a: &(&String, &u32), b: &(&String, &u32)| a.1.cmp(b.1).then(b.0.cmp(a.0));
        self.written.iter().max_by(by_count).map_or_else(String::new, |(text, _)| text.clone())
    }
}

impl TermTable {
    /// UpdateTermTable: counts all sequences of up to three words of a page, but those in `without`.
    fn update(&mut self, page: &Example, without: &HashSet<&str>) {
        let mut on_page = HashSet::new();
        for begin in 0..page.len() {
            for words in (1..=MAX_TERM_WORDS).filter_map(|count| page.get(begin..begin + count)) {
                let join = |of: fn(&(String, String)) -> &String| {
                    words.iter().map(|pair| of(pair).as_str()).collect::<Vec<_>>().join(" ")
                };
                let stems = join(|pair| &pair.1);
                if without.contains(stems.as_str()) {
                    continue;
                }
                let entry = self.terms.entry(stems.clone()).or_default();
                entry.occurrences += 1;
                *entry.written.entry(join(|pair| &pair.0)).or_default() += 1;
                entry.pages += u32::from(on_page.insert(stems));
            }
        }
    }

    fn counted<'a>(pages: impl IntoIterator<Item = &'a Example>, without: &HashSet<&str>) -> TermTable {
        let mut table = TermTable::default();
        pages.into_iter().for_each(|page| table.update(page, without));
        table
    }

    /// FilterTerms: the terms of the highest scores; of equal ones the first by alphabet.
    fn best(&self, count: usize, score: impl Fn(&str, &TermScore) -> Option<f64>) -> Vec<Proposed> {
        let scored =
            self.terms.iter().filter_map(|(stems, entry)| Some((score(stems, entry)?, stems, entry)));
        let mut scored: Vec<_> = scored.collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        let proposed = |(score, stems, entry): (f64, &String, &TermScore)| Proposed {
            term: entry.spelling(),
            stems: stems.clone(),
            score,
        };
        scored.into_iter().take(count).map(proposed).collect()
    }
}

/// GenerateTerms as printed: the most frequent sequences of words in the genre's examples, then those of the relevant
/// examples without the genre terms.
pub fn by_frequency(genre: &[Example], relevant: &[Example], counts: (usize, usize)) -> Generated {
    let frequency = |_: &str, entry: &TermScore| Some(f64::from(entry.occurrences));
    let genre_terms = TermTable::counted(genre, &HashSet::new()).best(counts.0, frequency);
    let without = genre_terms.iter().map(|term| term.stems.as_str()).collect();
    let content = TermTable::counted(relevant, &without).best(counts.1, frequency);
    Generated { genre: genre_terms, content }
}

/// Terms that more pages of one kind have than of the other, by the z-score of the log odds ratio with an informative
/// prior (Monroe, Colaresi and Quinn 2008, equation 22, over pages instead of words). Genre terms are those of
/// the genre's examples against the background; content terms are those of the relevant examples against the genre's
/// other examples and the background.
///
/// Pages count, not occurrences, so one long example does not decide.
pub fn by_contrast(
    genre: &[Example],
    relevant: &[Example],
    background: &[Example],
    counts: (usize, usize),
) -> Generated {
    let nothing = HashSet::new();
    let is_relevant: HashSet<&Example> = relevant.iter().collect();
    let of_genre = TermTable::counted(genre, &nothing);
    let behind = TermTable::counted(background, &nothing);
    let genre_terms = of_genre.best(counts.0, |stems, entry| {
        contrast(entry, genre.len(), behind.terms.get(stems), background.len())
    });
    let without: HashSet<&str> = genre_terms.iter().map(|term| term.stems.as_str()).collect();
    let others: Vec<&Example> =
        genre.iter().filter(|page| !is_relevant.contains(page)).chain(background).collect();
    let other_terms = TermTable::counted(others.iter().copied(), &without);
    let content = TermTable::counted(relevant, &without).best(counts.1, |stems, entry| {
        contrast(entry, relevant.len(), other_terms.terms.get(stems), others.len())
    });
    Generated { genre: genre_terms, content }
}

/// The z-score; nothing for a rare term, or one that is not more frequent here.
fn contrast(here: &TermScore, pages: usize, there: Option<&TermScore>, others: usize) -> Option<f64> {
    if here.pages < MIN_PAGES {
        return None;
    }
    let with = [f64::from(here.pages), there.map_or(0.0, |entry| f64::from(entry.pages))];
    let all = [pages as f64, others as f64];
    let share = (with[0] + with[1] + PRIOR) / (all[0] + all[1] + 2.0 * PRIOR);
    let odds = |side: usize| log((with[side] + share) / (all[side] - with[side] + (1.0 - share) + PRIOR));
    let variance = 1.0 / (with[0] + share) + 1.0 / (with[1] + share);
    let z = (odds(0) - odds(1)) / variance.sqrt();
    (z > 0.0).then_some(z)
}

#[cfg(test)]
mod tests;
