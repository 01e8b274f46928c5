//! Signals of changes in a recorded history: moved dates, pings.

use std::ops::Range;

/// For each cycle, the pages that a signal named since the cycle before. A page has at most one
/// signal per cycle, and a signal may be false.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signals {
    /// Pages in ascending order, by cycle; without the empty cycles at the end.
    by_cycle: Vec<Vec<u32>>,
}

impl Signals {
    /// Adds the signals of a page, after those of all pages before it. Cycles ascend.
    pub fn push(&mut self, page: u32, cycles: &[u32]) {
        if let Some(&last) = cycles.last() {
            let length = self.by_cycle.len().max(last as usize + 1);
            self.by_cycle.resize(length, Vec::new());
        }
        for &cycle in cycles {
            self.by_cycle[cycle as usize].push(page);
        }
    }

    /// The pages with a signal in this cycle, ascending.
    pub fn in_cycle(&self, cycle: u32) -> &[u32] {
        self.by_cycle.get(cycle as usize).map_or(&[], Vec::as_slice)
    }

    /// Is there no signal at all?
    pub fn is_empty(&self) -> bool {
        self.by_cycle.is_empty()
    }

    /// Number of signals.
    pub fn count(&self) -> u64 {
        self.by_cycle.iter().map(|pages| pages.len() as u64).sum()
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> u64 {
        let lists = self.by_cycle.iter().map(|pages| size_of::<Vec<u32>>() + size_of_val(pages.as_slice()));
        lists.sum::<usize>() as u64
    }

    /// The cycles of each page's signals. `pages` is the number of pages.
    pub fn by_page(&self, pages: usize) -> Vec<Vec<u32>> {
        let mut by_page = vec![Vec::new(); if self.is_empty() { 0 } else { pages }];
        for (cycle, named) in (0..).zip(&self.by_cycle) {
            named.iter().for_each(|&page| by_page[page as usize].push(cycle));
        }
        by_page
    }

    /// The signals of some pages over `cycles`, of which the first becomes cycle 0 and has none.
    pub(crate) fn part(&self, pages: &[u32], cycles: Range<u32>) -> Signals {
        let mut part = Signals::default();
        if self.is_empty() {
            return part;
        }
        let last = pages.iter().max().map_or(0, |&page| page as usize + 1).max(self.pages());
        let by_page = self.by_page(last);
        for (place, &page) in (0..).zip(pages) {
            let kept = by_page[page as usize].iter().filter(|&&c| cycles.start < c && c < cycles.end);
            part.push(place, &kept.map(|c| c - cycles.start).collect::<Vec<u32>>());
        }
        part
    }

    /// The number of the last page with a signal, plus one.
    fn pages(&self) -> usize {
        self.by_cycle.iter().filter_map(|pages| pages.last()).max().map_or(0, |&page| page as usize + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_found_by_cycle_and_by_page() {
        let mut signals = Signals::default();
        assert!(signals.is_empty() && signals.by_page(3).is_empty());
        signals.push(0, &[2, 5]);
        signals.push(1, &[]);
        signals.push(2, &[1, 2]);
        assert_eq!(
            (signals.in_cycle(2), signals.in_cycle(3), signals.in_cycle(99)),
            (&[0, 2][..], &[][..], &[][..])
        );
        assert_eq!((signals.count(), signals.is_empty()), (4, false));
        let by_page = [vec![2, 5], vec![], vec![1, 2], vec![]];
        assert_eq!(signals.by_page(4), by_page);
        let part = signals.part(&[3, 2, 0], 1..5);
        assert_eq!(part.by_page(3), [vec![], vec![1], vec![1]]);
        assert!(signals.part(&[1], 0..6).is_empty() && signals.part(&[0], 2..5).is_empty());
    }
}
