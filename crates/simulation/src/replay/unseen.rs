//! Changes of pages since their last visit, which no policy sees.

use crate::Truth;

/// The unseen changes of every page.
#[derive(Clone, Debug)]
pub struct Unseen {
    pages: Vec<UnseenChanges>,
}

/// The unseen changes of one page.
#[derive(Clone, Copy, Debug, Default)]
struct UnseenChanges {
    first: u32,
    number: u32,
}

impl UnseenChanges {
    fn add(&mut self, cycle: u32) {
        if self.number == 0 {
            self.first = cycle;
        }
        self.number += 1;
    }
}

impl Unseen {
    pub fn new(pages: usize) -> Unseen {
        Unseen { pages: vec![UnseenChanges::default(); pages] }
    }

    /// The changes since the last visits of all pages, up to this cycle.
    pub fn since(truth: &Truth, last: &[u32], cycle: u32) -> Unseen {
        let mut unseen = Unseen::new(last.len());
        for cycle in 1..=cycle {
            let behind = truth.changed_in(cycle).iter().filter(|&&page| last[page as usize] < cycle);
            behind.for_each(|&page| unseen.pages[page as usize].add(cycle));
        }
        unseen
    }

    /// Adds the changes of a cycle, for pages that were `visited` before.
    pub fn note(&mut self, truth: &Truth, cycle: u32, visited: &[bool]) {
        for &page in truth.changed_in(cycle).iter().filter(|&&page| visited[page as usize]) {
            self.pages[page as usize].add(cycle);
        }
    }

    /// The cycle of the first unseen change; `None` if there is none.
    pub fn first(&self, page: usize) -> Option<u32> {
        let changes = self.pages[page];
        (changes.number > 0).then_some(changes.first)
    }

    /// The number of unseen changes.
    pub fn number(&self, page: usize) -> usize {
        self.pages[page].number as usize
    }

    /// Resets a visited page.
    pub fn visit(&mut self, page: usize) {
        self.pages[page] = UnseenChanges::default();
    }
}

/// H(0) to H(`last`).
pub fn harmonic_numbers(last: u32) -> Vec<f64> {
    let above = (1..=last).scan(0.0, |sum, m| {
        *sum += 1.0 / f64::from(m);
        Some(*sum)
    });
    std::iter::once(0.0).chain(above).collect()
}

/// Σ count·H(m) over the number m of unseen changes, which is the index. Summed by ascending m, so
/// that the order of pages does not matter.
pub fn harmonic(pages_by_changes: &[u64]) -> f64 {
    let (mut sum, mut harmonic) = (0.0, 0.0);
    for (m, &count) in pages_by_changes.iter().enumerate().skip(1) {
        harmonic += 1.0 / m as f64;
        sum += count as f64 * harmonic;
    }
    sum
}
