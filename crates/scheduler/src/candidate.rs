//! A candidate page, and the order of candidates.

use crate::Ties;
use crate::shuffle::{Shuffle, ShufflePurpose};
use recrawl_types::{Cycle, Known};

/// A candidate page, in 16 bytes. The lesser one is better. No two are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RankedPage {
    /// Sort key of its share.
    pub(crate) key: u64,
    /// Breaks ties between equal keys and encodes the ordinal, see [`TieBreak`].
    pub(crate) tie: u64,
}

/// Breaks ties by ordinals, or by their images under a permutation that can be inverted.
#[derive(Clone, Copy, Debug)]
pub enum TieBreak {
    /// The lower ordinal first. Ordinals are counted behind so many others.
    Index(u64),
    /// The lower image first.
    Hash(Shuffle),
}

impl TieBreak {
    /// The tie break of a cycle.
    pub fn new(ties: Ties, seed: u64, cycle: Cycle) -> TieBreak {
        match ties {
            Ties::Index => TieBreak::Index(0),
            Ties::Hash => TieBreak::Hash(Shuffle::new(seed, cycle, ShufflePurpose::Ties)),
        }
    }

    /// The same order of a part of the pages, which comes behind so many others.
    pub(crate) fn behind(self, before: u64) -> TieBreak {
        match self {
            TieBreak::Index(_) => TieBreak::Index(before),
            TieBreak::Hash(shuffle) => TieBreak::Hash(shuffle.behind(before)),
        }
    }

    /// A candidate by score: the higher score is better, and NaN is worse than every number.
    pub fn by_score(&self, score: f64, ordinal: u64) -> RankedPage {
        self.candidate(score_key(score), ordinal)
    }

    pub(crate) fn candidate(&self, key: u64, ordinal: u64) -> RankedPage {
        let tie = match self {
            TieBreak::Index(before) => before + ordinal,
            TieBreak::Hash(shuffle) => shuffle.apply(ordinal),
        };
        RankedPage { key, tie }
    }

    /// The ordinal of the candidate's page.
    pub fn ordinal(&self, candidate: RankedPage) -> u64 {
        match self {
            TieBreak::Index(before) => candidate.tie - before,
            TieBreak::Hash(shuffle) => shuffle.invert(candidate.tie),
        }
    }
}

/// The sort key of a score. A higher score has a lower key, equal scores (also 0 and −0) have equal
/// keys, and NaN has the highest key, above −∞.
pub fn score_key(score: f64) -> u64 {
    if score.is_nan() {
        return u64::MAX;
    }
    let bits = (score + 0.0).to_bits(); // −0 + 0 is 0
    let negative = bits >> 63 == 1;
    if negative { bits } else { !(bits | 1 << 63) }
}

/// The score of a key.
pub(crate) fn key_score(key: u64) -> f64 {
    match key {
        u64::MAX => f64::NAN,
        key if key >> 63 == 1 => f64::from_bits(key),
        key => f64::from_bits(!key & !(1 << 63)),
    }
}

/// The order of discovery: lower depth first, then redirect targets, since they replace requested
/// pages, then URLs with more links to them.
pub(crate) fn discovery_key(known: &Known) -> u64 {
    let linked = u64::from(known.hops == 0);
    u64::from(known.depth) << 48 | linked << 47 | u64::from(!known.in_links)
}

/// The order of discovery of a focused crawl: higher expected relevance first, then as [`discovery_key`].
pub(crate) fn focused_key(expected: f32, known: &Known) -> u64 {
    let bits = (expected + 0.0).to_bits();
    // As `score_key`, in 32 bits: greater is less, NaN last.
    let falling = match bits >> 31 {
        _ if expected.is_nan() => u32::MAX,
        1 => bits,
        _ => !(bits | 1 << 31),
    };
    u64::from(falling) << 32 | discovery_key(known) >> 32
}

/// The order of the warm-up if a host's limit cuts it: longest wait first.
pub(crate) fn warmup_key(last: u32) -> u64 {
    u64::from(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_order_scores_with_nan_below_all() {
        let falling =
            [f64::INFINITY, 1e300, 1.0, 5e-324, 0.0, -5e-324, -1.0, -1e300, f64::NEG_INFINITY, f64::NAN];
        for pair in falling.windows(2) {
            assert!(score_key(pair[0]) < score_key(pair[1]), "{pair:?}");
        }
        assert_eq!(score_key(0.0), score_key(-0.0));
        assert_eq!(score_key(f64::NAN), score_key(-f64::NAN));
        assert!(key_score(score_key(f64::NAN)).is_nan());
    }

    #[test]
    fn discovery_goes_by_depth_then_redirects_then_links() {
        let known = |depth, hops, in_links| Known { depth, hops, in_links, ..Known::default() };
        let order = [
            known(0, 0, 0),
            known(1, 2, 1),
            known(1, 1, 0),
            known(1, 0, u32::MAX),
            known(1, 0, 3),
            known(1, 0, 0),
            known(u16::MAX, 1, 9),
        ];
        for pair in order.windows(2) {
            assert!(discovery_key(&pair[0]) < discovery_key(&pair[1]), "{pair:?}");
        }
    }

    proptest! {
        #[test]
        fn keys_order_as_numbers_do(a: f64, b: f64) {
            if !a.is_nan() && !b.is_nan() {
                prop_assert_eq!(score_key(a).cmp(&score_key(b)), b.partial_cmp(&a).unwrap());
                prop_assert_eq!(key_score(score_key(a)), a);
            }
        }
    }
}
