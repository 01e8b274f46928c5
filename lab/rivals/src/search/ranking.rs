//! The ranking: half TF·IDF, half PageRank (Tan & Mitra 2010, eq. 14), each divided by its greatest value.

use super::{RESULTS, SearchJudge};
use crate::LinkGraph;
use recrawl_formula::math::ln;
use recrawl_simulation::ReplayDocument;

/// Scores from 0 to 1, times this, are compared as whole numbers.
const DIGITS: f64 = 1e9;

/// The words of queries that a document has, ascending by their places in `words`, with their TF: 1 + ln(count).
pub fn found(document: &ReplayDocument, words: &[u32]) -> Box<[(u32, f64)]> {
    let counted = (0..).zip(words).map(|(place, &word)| (place, document.count(word)));
    counted
        .filter(|(_, count)| *count > 0)
        .map(|(place, count)| (place, 1.0 + ln(f64::from(count))))
        .collect()
}

/// A search engine over the local copies of pages.
#[derive(Clone, Debug)]
pub struct Engine<'a> {
    judge: &'a SearchJudge,
    /// The document of each local copy.
    copies: Vec<Option<u32>>,
    /// The pages that have each word of a query, with its TF.
    postings: Vec<Vec<(u32, f64)>>,
    /// PageRank among the local copies, divided by the greatest.
    ranks: Vec<f64>,
    /// Number of local copies.
    count: usize,
    // Buffers.
    scores: Vec<f64>,
    candidates: Vec<u32>,
}

impl<'a> Engine<'a> {
    /// Without copies.
    pub fn new(judge: &'a SearchJudge, pages: usize) -> Engine<'a> {
        Engine {
            judge,
            copies: vec![None; pages],
            postings: vec![Vec::new(); judge.words],
            ranks: vec![0.0; pages],
            count: 0,
            scores: vec![0.0; pages],
            candidates: Vec::new(),
        }
    }

    /// Takes the present copies of all pages.
    pub fn update(&mut self, of_page: impl Fn(usize) -> Option<u32>) {
        let links =
            |copy: Option<u32>| copy.and_then(|copy| Some(&*self.judge.contents.document(copy)?.links));
        let mut have_links_changed = false;
        let copies: Vec<Option<u32>> = (0..self.copies.len()).map(of_page).collect();
        for (&new, &old) in copies.iter().zip(&self.copies) {
            have_links_changed |= new != old && links(new) != links(old);
        }
        if have_links_changed {
            let known = copies.iter().map(Option::is_some).collect();
            self.ranks = LinkGraph::new(known, |page| links(copies[page]).unwrap_or_default()).page_rank();
            let greatest = self.ranks.iter().copied().fold(0.0, f64::max);
            self.ranks.iter_mut().for_each(|rank| *rank /= greatest);
        }
        self.postings.iter_mut().for_each(Vec::clear);
        for (copy, page) in copies.iter().zip(0..) {
            for &(word, frequency) in copy.map_or(&[][..], |copy| &self.judge.found[copy as usize]) {
                self.postings[word as usize].push((page, frequency));
            }
        }
        self.count = copies.iter().flatten().count();
        self.copies = copies;
    }

    /// The best ten of the pages that have a word of the query, best first; by page where scores are equal to nine
    /// digits, so that no rounding error orders results.
    pub fn first_results(&mut self, query: &[u32]) -> Vec<u32> {
        self.candidates.clear();
        for &word in query {
            let postings = &self.postings[word as usize];
            let rarity = ln(self.count as f64 / postings.len().max(1) as f64);
            for &(page, frequency) in postings {
                self.candidates.push(page);
                self.scores[page as usize] += frequency * rarity;
            }
        }
        self.candidates.sort_unstable();
        self.candidates.dedup();
        let greatest = self.candidates.iter().map(|&page| self.scores[page as usize]).fold(0.0, f64::max);
        let scaled = |score: f64| if greatest > 0.0 { score / greatest } else { 0.0 };
        let mut ranked: Vec<(f64, u32)> = Vec::with_capacity(self.candidates.len());
        for &page in &self.candidates {
            let score = scaled(std::mem::take(&mut self.scores[page as usize]));
            let score = 0.5 * score + 0.5 * self.ranks[page as usize];
            ranked.push(((score * DIGITS).round(), page));
        }
        let order = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if ranked.len() > RESULTS {
            ranked.select_nth_unstable_by(RESULTS, order);
            ranked.truncate(RESULTS);
        }
        ranked.sort_unstable_by(order);
        ranked.into_iter().map(|(_, page)| page).collect()
    }
}
