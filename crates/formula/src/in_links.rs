//! Ranks of pages by the links to them.
//!
//! In-degrees have a heavy tail, so that neither their number nor its share of the largest orders pages evenly. The
//! percentile rank does, and it is the same on a small and on a large site. It needs the distribution of all pages, not
//! the pages: one count for each number of links, which pages of many links share.

/// Numbers of links below this have a count of their own.
const EXACT: u32 = 128;
/// Counts of each power of two from there on: numbers that share one differ by less than a 64th.
const STEPS: u32 = 64;
const COUNTS: usize = EXACT as usize + 25 * STEPS as usize;

/// How many pages have how many links to them. Memory: 14 KB.
#[derive(Clone, Debug)]
pub struct InLinkCounts {
    pages: Vec<u64>,
}

/// The percentile rank of every number of links.
#[derive(Clone, Debug, PartialEq)]
pub struct InLinkRanks {
    ranks: Vec<f64>,
}

impl Default for InLinkCounts {
    fn default() -> InLinkCounts {
        InLinkCounts { pages: vec![0; COUNTS] }
    }
}

impl InLinkCounts {
    /// Counts a page.
    pub fn add(&mut self, in_links: u32) {
        self.pages[place(in_links)] += 1;
    }

    /// The ranks among the pages counted so far.
    pub fn ranks(&self) -> InLinkRanks {
        let all = self.pages.iter().sum::<u64>();
        let mut below = 0;
        let rank = |&pages: &u64| {
            let halves = 2 * below + pages;
            below += pages;
            if all == 0 { InLinkRanks::UNKNOWN } else { halves as f64 / (2 * all) as f64 }
        };
        InLinkRanks { ranks: self.pages.iter().map(rank).collect() }
    }
}

impl InLinkRanks {
    /// The rank where nothing is known of links.
    pub const UNKNOWN: f64 = 0.5;

    /// The share of the pages with fewer links, and half of those with as many.
    pub fn rank(&self, in_links: u32) -> f64 {
        self.ranks[place(in_links)]
    }
}

/// The number of a count; it grows with the number of links.
fn place(in_links: u32) -> usize {
    let Some(octave) = in_links.checked_ilog2().and_then(|log| log.checked_sub(EXACT.ilog2())) else {
        return in_links as usize;
    };
    let step = (in_links >> (octave + 1)) - STEPS;
    (EXACT + octave * STEPS + step) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_rise_and_are_exact_for_few_links() {
        assert!((0..EXACT).all(|links| place(links) == links as usize));
        assert_eq!((place(EXACT), place(EXACT + 1), place(EXACT + 2)), (128, 128, 129));
        assert_eq!(place(u32::MAX), COUNTS - 1);
    }

    proptest! {
        #[test]
        fn ranks_are_those_of_a_naive_count(links in prop::collection::vec(prop_oneof![0..9u32, any::<u32>()], 1..60)) {
            let mut counts = InLinkCounts::default();
            links.iter().for_each(|&links| counts.add(links));
            let ranks = counts.ranks();
            for &page in &links {
                let less = links.iter().filter(|&&other| place(other) < place(page)).count() as f64;
                let same = links.iter().filter(|&&other| place(other) == place(page)).count() as f64;
                let rank = ranks.rank(page);
                prop_assert!((rank - (less + same / 2.0) / links.len() as f64).abs() < 1e-12);
                prop_assert!(rank > 0.0 && rank < 1.0);
                for &other in &links {
                    prop_assert!(page <= other || rank >= ranks.rank(other));
                    prop_assert!(place(page) != place(other) || page.abs_diff(other) <= page / STEPS);
                }
            }
        }
    }

    #[test]
    fn without_pages_no_rank_is_undefined() {
        let ranks = InLinkCounts::default().ranks();
        assert_eq!((ranks.rank(0), ranks.rank(u32::MAX)), (0.5, 0.5));
    }
}
