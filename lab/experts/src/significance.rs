//! Which change of a page counts: any, one of many words, or one of the distribution of words.

use crate::chi_squared;
use std::fmt;
use std::str::FromStr;

/// When a change counts as significant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Significance {
    /// Any change of the content: the bit that the data set records.
    Any,
    /// At least this many words moved: the L1 distance of the word counts (Ali and Williams 2003 ask for over 20).
    Words(u32),
    /// A χ² test tells the two word distributions apart, p < 0.05 (Radinsky and Bennett 2013, eq. 1).
    ChiSquared,
}

/// The level of the χ² test.
const LEVEL: f64 = 0.05;

impl Significance {
    /// Whether the change from one bag of words to another counts. Bags are `(word, count)`, ascending by word.
    pub fn is_met(self, before: &[(u32, u32)], after: &[(u32, u32)]) -> bool {
        match self {
            Significance::Any => true,
            Significance::Words(least) => moved(before, after) >= u64::from(least),
            Significance::ChiSquared => chi_squared::homogeneity(before, after) < LEVEL,
        }
    }

    /// Whether the bags of words decide.
    pub fn needs_words(self) -> bool {
        self != Significance::Any
    }
}

/// Number of words added and removed: the L1 distance of two bags.
pub fn moved(a: &[(u32, u32)], b: &[(u32, u32)]) -> u64 {
    let mut sum = 0;
    pairs(a, b, |x, y| sum += u64::from(x.abs_diff(y)));
    sum
}

/// Passes the counts of each word of either bag, in order of words.
pub(crate) fn pairs(mut a: &[(u32, u32)], mut b: &[(u32, u32)], mut each: impl FnMut(u32, u32)) {
    while let ([(word_a, count_a), rest_a @ ..], [(word_b, count_b), rest_b @ ..]) = (a, b) {
        each(if word_a <= word_b { *count_a } else { 0 }, if word_b <= word_a { *count_b } else { 0 });
        (a, b) = (if word_a <= word_b { rest_a } else { a }, if word_b <= word_a { rest_b } else { b });
    }
    a.iter().for_each(|&(_, count)| each(count, 0));
    b.iter().for_each(|&(_, count)| each(0, count));
}

impl FromStr for Significance {
    type Err = String;

    fn from_str(text: &str) -> Result<Significance, String> {
        match text.split_once(':') {
            None if text == "any" => Ok(Significance::Any),
            None if text == "chi2" => Ok(Significance::ChiSquared),
            Some(("words", least)) => match least.parse() {
                Ok(least) if least > 0 => Ok(Significance::Words(least)),
                _ => Err(format!("{least:?} is no number of words from 1 up")),
            },
            _ => Err("use any, words:N (such as words:20) or chi2".into()),
        }
    }
}

impl fmt::Display for Significance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Significance::Any => f.write_str("any"),
            Significance::Words(least) => write!(f, "words:{least}"),
            Significance::ChiSquared => f.write_str("chi2"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn names_parse_and_print() {
        for name in ["any", "words:20", "chi2"] {
            assert_eq!(name.parse::<Significance>().map(|s| s.to_string()), Ok(name.to_string()));
        }
        for name in ["words:0", "words:x", "words", "chi", ""] {
            assert!(name.parse::<Significance>().is_err(), "{name:?}");
        }
    }

    #[test]
    fn twenty_words_are_told_from_nineteen() {
        let before = [(1, 30), (4, 2)];
        let after = |count: u32| [(1, 30 - count), (4, 2), (9, 10)];
        assert!(
            !Significance::Words(20).is_met(&before, &after(9))
                && Significance::Words(20).is_met(&before, &after(10))
        );
        // Ten words for ten others among 32: another distribution.
        assert!(Significance::ChiSquared.is_met(&before, &after(10)));
        assert!(!Significance::ChiSquared.is_met(&before, &[(1, 29), (4, 3)]));
    }

    proptest! {
        #[test]
        fn moved_words_are_the_sum_over_all_words(
            a in prop::collection::btree_map(0u32..12, 1u32..5, 0..8),
            b in prop::collection::btree_map(0u32..12, 1u32..5, 0..8),
        ) {
            let bag = |map: &BTreeMap<u32, u32>| map.iter().map(|(&w, &c)| (w, c)).collect::<Vec<_>>();
            let count = |map: &BTreeMap<u32, u32>, word| i64::from(map.get(&word).copied().unwrap_or(0));
            let slow: i64 = (0..12).map(|word| (count(&a, word) - count(&b, word)).abs()).sum();
            prop_assert_eq!(moved(&bag(&a), &bag(&b)), slow as u64);
        }
    }
}
