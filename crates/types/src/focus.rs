//! What a focused crawl remembers of a page: what links to it let expect, and how relevant its text was.
//!
//! Both are absent in a crawl without `[focus]`, which so stores no byte of them.

use std::num::NonZeroU16;

/// Steps of log odds: 1/2048, from about −16 to 16.
const LOGIT_STEPS: f64 = 2048.0;
/// The code of even odds.
const EVEN: f64 = 32_768.0;

/// What the links to a URL let expect of it. Seven bytes a known URL, on disk and with a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expectation {
    expected: NonZeroU16,
    /// Irrelevant pages in a row on the way here (saturating).
    pub tunnel: u8,
    /// Hash of the linking page and the link's folder: links beside each other.
    pub group: u32,
}

impl Expectation {
    /// An expectation of these log odds; NaN counts as the least.
    pub fn new(logit: f64, tunnel: u8, group: u32) -> Expectation {
        let code = (EVEN + logit * LOGIT_STEPS).round().clamp(1.0, f64::from(u16::MAX));
        let expected = NonZeroU16::new(code as u16).unwrap_or(NonZeroU16::MIN);
        Expectation { expected, tunnel, group }
    }

    /// Log odds of relevance, by the links alone.
    pub fn logit(self) -> f64 {
        (f64::from(self.expected.get()) - EVEN) / LOGIT_STEPS
    }

    /// The stored form of the log odds: greater for greater ones.
    pub fn code(self) -> NonZeroU16 {
        self.expected
    }

    /// The expectation with these log odds in stored form.
    pub fn of_code(expected: NonZeroU16, tunnel: u8, group: u32) -> Expectation {
        Expectation { expected, tunnel, group }
    }

    /// Combines two links: the higher odds, the smaller tunnel and group. Commutative, associative and
    /// idempotent, so the order in which links are found does not matter.
    #[must_use]
    pub fn and(self, other: Expectation) -> Expectation {
        Expectation {
            expected: self.expected.max(other.expected),
            tunnel: self.tunnel.min(other.tunnel),
            group: self.group.min(other.group),
        }
    }

    /// The same where either may be missing.
    pub fn combined(one: Option<Expectation>, other: Option<Expectation>) -> Option<Expectation> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        }
    }
}

/// How relevant a page was when its text was last read. Five bytes a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Verdict {
    relevance: NonZeroU16,
    /// Similarity to the genre terms, in steps of 1/255.
    pub genre: u8,
    /// Similarity to the content terms, likewise.
    pub content: u8,
    /// Similarity to the URL terms, likewise; 0 if there are none.
    pub url: u8,
}

/// The steps of a relevance.
const RELEVANCE_STEPS: f64 = 65_534.0;

/// A number from 0 to 1 in steps of 1/255.
fn byte(part: f64) -> u8 {
    (part.clamp(0.0, 1.0) * 255.0).round() as u8
}

impl Verdict {
    /// A verdict of these values, each from 0 to 1.
    pub fn new(relevance: f64, genre: f64, content: f64, url: f64) -> Verdict {
        let code = 1 + (relevance.clamp(0.0, 1.0) * RELEVANCE_STEPS).round() as u16;
        let relevance = NonZeroU16::new(code).unwrap_or(NonZeroU16::MIN);
        Verdict { relevance, genre: byte(genre), content: byte(content), url: byte(url) }
    }

    /// Relevance by the classifier, 0 to 1.
    pub fn relevance(self) -> f64 {
        f64::from(self.relevance.get() - 1) / RELEVANCE_STEPS
    }

    /// The stored form of the relevance.
    pub fn code(self) -> NonZeroU16 {
        self.relevance
    }

    /// The verdict with this relevance in stored form.
    pub fn of_code(relevance: NonZeroU16, genre: u8, content: u8, url: u8) -> Verdict {
        Verdict { relevance, genre, content, url }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expectation() -> impl Strategy<Value = Option<Expectation>> {
        proptest::option::of(
            (-20.0..20.0f64, any::<u8>(), any::<u32>())
                .prop_map(|(logit, t, g)| Expectation::new(logit, t, g)),
        )
    }

    proptest! {
        #[test]
        fn expectations_combine_in_any_order(a in expectation(), b in expectation(), c in expectation()) {
            let and = Expectation::combined;
            prop_assert_eq!(and(a, b), and(b, a));
            prop_assert_eq!(and(and(a, b), c), and(a, and(b, c)));
            prop_assert_eq!(and(a, a), a);
            prop_assert_eq!(and(a, None), a);
        }

        #[test]
        fn log_odds_and_relevance_keep_their_order_and_come_back(a in -15.9..15.9f64, b in 0.0..=1.0f64) {
            let kept = Expectation::new(a, 1, 2);
            prop_assert!((kept.logit() - a).abs() <= 0.5 / LOGIT_STEPS + 1e-12);
            prop_assert_eq!(Expectation::of_code(kept.code(), 1, 2), kept);
            prop_assert!(Expectation::new(a + 0.01, 1, 2).code() > kept.code());
            let verdict = Verdict::new(b, b, 0.0, 1.0);
            prop_assert!((verdict.relevance() - b).abs() <= 0.5 / RELEVANCE_STEPS + 1e-12);
            prop_assert_eq!(Verdict::of_code(verdict.code(), verdict.genre, 0, 255), verdict);
        }
    }

    #[test]
    fn what_is_no_number_is_the_least() {
        assert_eq!(Expectation::new(f64::NAN, 0, 0), Expectation::new(-99.0, 0, 0));
        assert!(Expectation::new(f64::INFINITY, 0, 0).code() == NonZeroU16::MAX);
        assert_eq!(Verdict::new(f64::NAN, f64::NAN, 2.0, -1.0), Verdict::new(0.0, 0.0, 1.0, 0.0));
        assert_eq!(size_of::<Option<Expectation>>() + size_of::<Option<Verdict>>(), 14);
    }
}
