//! The frontier: pages found and not visited, highest score first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A queue of pages with scores that may change.
#[derive(Debug, Default)]
pub(crate) struct ScoredFrontier {
    heap: BinaryHeap<FrontierEntry>,
    /// By page: its score now, if it waits. An entry of the heap with another score is out of date.
    scores: Vec<Option<f64>>,
    /// By page: which of equal scores comes first, the least.
    ties: Vec<u64>,
}

#[derive(Debug)]
struct FrontierEntry {
    score: f64,
    tie: u64,
    page: u32,
}

impl Ord for FrontierEntry {
    fn cmp(&self, other: &FrontierEntry) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then(other.tie.cmp(&self.tie)).then(other.page.cmp(&self.page))
    }
}

impl PartialOrd for FrontierEntry {
    fn partial_cmp(&self, other: &FrontierEntry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for FrontierEntry {
    fn eq(&self, other: &FrontierEntry) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for FrontierEntry {}

impl ScoredFrontier {
    /// An empty queue for this number of pages.
    pub(crate) fn new(pages: usize) -> ScoredFrontier {
        ScoredFrontier { heap: BinaryHeap::new(), scores: vec![None; pages], ties: vec![0; pages] }
    }

    /// Adds a page.
    pub(crate) fn insert(&mut self, page: u32, score: f64, tie: u64) {
        self.ties[page as usize] = tie;
        self.set(page, score);
    }

    /// The score of a page that waits.
    pub(crate) fn score(&self, page: u32) -> Option<f64> {
        self.scores[page as usize]
    }

    /// Changes the score of a page that waits; any other page stays out.
    pub(crate) fn change(&mut self, page: u32, score: f64) {
        if self.scores[page as usize].is_some_and(|before| before != score) {
            self.set(page, score);
        }
    }

    fn set(&mut self, page: u32, score: f64) {
        self.scores[page as usize] = Some(score);
        self.heap.push(FrontierEntry { score, tie: self.ties[page as usize], page });
    }

    /// Removes the page with the highest score.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        while let Some(FrontierEntry { score, page, .. }) = self.heap.pop() {
            if self.scores[page as usize] == Some(score) {
                self.scores[page as usize] = None;
                return Some(page);
            }
        }
        None
    }
}
