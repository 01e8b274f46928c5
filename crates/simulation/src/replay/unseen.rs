//! Changes of pages since their last visit, which no policy sees.

use crate::Truth;

/// The changes of every page since its last visit.
#[derive(Clone, Debug)]
pub struct Unseen {
    pages: Vec<Changes>,
}

/// The changes of one page since its last visit.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    first: u32,
    number: u32,
}

impl Unseen {
    /// For so many pages.
    pub fn new(pages: usize) -> Unseen {
        Unseen { pages: vec![Changes::default(); pages] }
    }

    /// What changes in a cycle, of the pages that were `visited` before.
    pub fn note(&mut self, truth: &Truth, cycle: u32, visited: &[bool]) {
        for &page in truth.changed_in(cycle).iter().filter(|&&page| visited[page as usize]) {
            let changes = &mut self.pages[page as usize];
            if changes.number == 0 {
                changes.first = cycle;
            }
            changes.number += 1;
        }
    }

    /// The cycle of the first change since the last visit; none if there was none.
    pub fn first(&self, page: usize) -> Option<u32> {
        let changes = self.pages[page];
        (changes.number > 0).then_some(changes.first)
    }

    /// How many changes there were since the last visit.
    pub fn number(&self, page: usize) -> usize {
        self.pages[page].number as usize
    }

    /// A page is visited.
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

/// Σ count·H(m) over the pages by their number m of changes, the place in the list; by ascending m, so that
/// the order of pages leaves no trace.
pub fn harmonic(pages_by_changes: &[u64]) -> f64 {
    let (mut sum, mut harmonic) = (0.0, 0.0);
    for (m, &count) in pages_by_changes.iter().enumerate().skip(1) {
        harmonic += 1.0 / m as f64;
        sum += count as f64 * harmonic;
    }
    sum
}
