//! What the last comparisons of a page say about its own noise.
//!
//! A site's floor is learned from all its pages. A page that found its own text unchanged at most of
//! its last visits has no noise, whatever its neighbours show, so the floor does not judge it.

use crate::rules::Compared;
use recrawl_types::Visited;

/// Comparisons of a page that are remembered.
const REMEMBERED: u32 = u8::BITS;
/// This many more of them must be equal than different, for a page to be without noise. A page of
/// which one visit in eight finds the same noise twice seems so at one visit in a hundred.
const MORE_EQUAL: u32 = 2;

/// The last comparisons of a page, at most eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastComparisons {
    /// How many are remembered.
    pub seen: u32,
    /// How many found a difference, within the noise floor or not.
    pub different: u32,
    /// How many found a difference within the noise floor, which was no change.
    pub within_noise: u32,
}

impl LastComparisons {
    /// Those of a page that was visited before.
    pub fn from_visited(Visited { history, content }: &Visited) -> LastComparisons {
        // The change of n visits ago has the weight 2^-n.
        let changed = ((history.geometric_visits * 128.0) as u8).reverse_bits();
        LastComparisons {
            seen: history.visits.min(REMEMBERED),
            different: (changed | content.within_noise).count_ones(),
            within_noise: content.within_noise.count_ones(),
        }
    }

    /// Has the page no noise of its own, by what its visits found?
    pub fn are_quiet(&self) -> bool {
        self.seen >= 2 * self.different + MORE_EQUAL
    }

    /// Does nearly every visit find a difference, as of a page with noise?
    pub fn are_noisy(&self) -> bool {
        self.seen >= REMEMBERED && self.different + 1 >= self.seen
    }
}

/// [`Content::within_noise`](recrawl_types::Content::within_noise) after one more comparison.
pub fn remember(before: u8, found: Compared) -> u8 {
    before << 1 | u8::from(found == Compared::WithinNoise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Content, Cycle, History};

    /// The page after these comparisons, each a letter: `=` equal, `~` within noise, `C` changed.
    fn after(comparisons: &str) -> LastComparisons {
        let (mut history, mut content) = (History::first_fetch(Cycle(0)), Content::default());
        for (found, cycle) in comparisons.chars().zip(1..) {
            let found = match found {
                '=' => Compared::Equal,
                '~' => Compared::WithinNoise,
                _ => Compared::Changed,
            };
            content.within_noise = remember(content.within_noise, found);
            history.record(Cycle(cycle), found == Compared::Changed);
        }
        LastComparisons::from_visited(&Visited { history, content })
    }

    #[test]
    fn the_last_eight_comparisons_are_counted_and_older_ones_are_not() {
        for (comparisons, seen, different, within_noise) in [
            ("", 0, 0, 0),
            ("C", 1, 1, 0),
            ("~=C", 3, 2, 1),
            ("CCCCCCCC", 8, 8, 0),
            ("CCCC~~~~", 8, 8, 4),
            ("CCCCC========", 8, 0, 0),
            ("~~~~~C=======", 8, 1, 0),
            ("~~~~~=======C", 8, 1, 0),
            ("=====C~C~C~C~", 8, 8, 4),
        ] {
            let found = after(comparisons);
            assert_eq!(found, LastComparisons { seen, different, within_noise }, "{comparisons}");
        }
    }

    #[test]
    fn a_page_is_quiet_by_most_of_its_visits_and_noisy_by_nearly_all() {
        for (comparisons, is_quiet, is_noisy) in [
            ("", false, false),
            ("=", false, false),
            ("==", true, false),
            ("C==", false, false),
            ("C===", true, false),
            ("====CC", true, false),
            ("===CCC", false, false),
            ("~~~~~~~~", false, true),
            ("~~~~=~~~", false, true),
            ("~~~=~=~~", false, false),
            ("CCCCCCC", false, false),
            ("~~~~~~~~~=====", true, false),
        ] {
            let found = after(comparisons);
            assert_eq!((found.are_quiet(), found.are_noisy()), (is_quiet, is_noisy), "{comparisons}");
        }
    }
}
