//! Changes of pages since their last visit, which no policy sees.

use crate::Truth;

/// The unseen changes of every page.
#[derive(Clone, Debug)]
pub struct Unseen {
    pages: Vec<Changes>,
}

/// The unseen changes of one page.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    first: u32,
    number: u32,
}

impl Unseen {
    pub fn new(pages: usize) -> Unseen {
        Unseen { pages: vec![Changes::default(); pages] }
    }

    /// Adds the changes of a cycle, for pages that were `visited` before.
    pub fn note(&mut self, truth: &Truth, cycle: u32, visited: &[bool]) {
        for &page in truth.changed_in(cycle).iter().filter(|&&page| visited[page as usize]) {
            let changes = &mut self.pages[page as usize];
            if changes.number == 0 {
                changes.first = cycle;
            }
            changes.number += 1;
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
        self.pages[page] = Changes::default();
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
