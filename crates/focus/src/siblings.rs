//! The links beside a link, as evidence: how far the pages of a group are alike is learned from visits.
//!
//! A link alone gives a probability of relevance. Its group moves that by a beta prior: `strength` visits with the link's
//! probability, and then the visits of the group. A weak prior gives way to the first sibling, an infinite one to none. No
//! strength suits all topics: labs stand in lists, and a site has one syllabus. So all strengths of a list predict each
//! visit, and their mixture by Bayes' rule ranks. Over any crawl, its log loss is at most ln 5 above that of the strength
//! that turns out best.

use libm::{exp, log};

/// Strengths of the prior, in visits.
const STRENGTHS: [f64; 5] = [0.1, 0.3, 1.0, 3.0, f64::INFINITY];
/// Predictions are at least this far from 0 and 1 when they are judged, so that one surprise cannot rule out a strength.
const LEAST: f64 = 1e-6;

/// What the visits of a group showed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SiblingVisits {
    /// Σ relevance, each from 0 to 1.
    pub relevance: f64,
    /// Number of visits.
    pub visits: f64,
}

/// The mixture of strengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Siblings {
    /// Log loss of each strength so far.
    losses: [f64; STRENGTHS.len()],
    /// Weight of each strength, of sum 1.
    weights: [f64; STRENGTHS.len()],
}

impl Default for Siblings {
    fn default() -> Siblings {
        let count = STRENGTHS.len();
        Siblings { losses: [0.0; STRENGTHS.len()], weights: [1.0 / count as f64; STRENGTHS.len()] }
    }
}

impl Siblings {
    /// The probability that a page is relevant: `alone` by its link, and then by its siblings.
    pub fn expected(&self, alone: f64, siblings: SiblingVisits) -> f64 {
        let each = STRENGTHS.iter().zip(&self.weights);
        each.map(|(&strength, weight)| weight * by_strength(strength, alone, siblings)).sum()
    }

    /// Judges the strengths by a visit. `alone` and `siblings` are those of before it.
    pub fn learn(&mut self, alone: f64, siblings: SiblingVisits, relevance: f64) {
        for (strength, loss) in STRENGTHS.into_iter().zip(&mut self.losses) {
            let expected = by_strength(strength, alone, siblings).clamp(LEAST, 1.0 - LEAST);
            *loss -= relevance * log(expected) + (1.0 - relevance) * log(1.0 - expected);
        }
        let least = self.losses.iter().copied().fold(f64::INFINITY, f64::min);
        let shares = self.losses.map(|loss| exp(least - loss));
        let sum: f64 = shares.iter().sum();
        self.weights = shares.map(|share| share / sum);
    }
}

fn by_strength(strength: f64, alone: f64, siblings: SiblingVisits) -> f64 {
    if strength == f64::INFINITY {
        return alone;
    }
    (strength * alone + siblings.relevance) / (strength + siblings.visits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn visits(relevance: f64, visits: f64) -> SiblingVisits {
        SiblingVisits { relevance, visits }
    }

    /// Visits groups of ten pages each; `is_relevant` says which pages of a group are.
    fn crawled(is_relevant: impl Fn(u32, u32) -> bool) -> Siblings {
        let mut siblings = Siblings::default();
        for group in 0..20 {
            let mut seen = SiblingVisits::default();
            for page in 0..10 {
                let relevance = f64::from(u8::from(is_relevant(group, page)));
                siblings.learn(0.1, seen, relevance);
                seen = visits(seen.relevance + relevance, seen.visits + 1.0);
            }
        }
        siblings
    }

    #[test]
    fn without_visits_beside_it_a_link_speaks_for_itself() {
        let learned = crawled(|group, _| group % 10 == 0);
        for siblings in [Siblings::default(), learned] {
            assert!((siblings.expected(0.07, SiblingVisits::default()) - 0.07).abs() < 1e-12);
        }
    }

    #[test]
    fn one_sibling_decides_where_groups_are_alike_and_nothing_where_each_has_one() {
        let alike = crawled(|group, _| group % 10 == 0);
        assert!(alike.expected(0.1, visits(1.0, 1.0)) > 0.85);
        assert!(alike.expected(0.1, visits(0.0, 1.0)) < 0.02);
        let one_each = crawled(|group, page| page == group % 10);
        let found = one_each.expected(0.1, visits(1.0, 1.0));
        assert!(found < 0.15, "{found}");
    }

    proptest! {
        #[test]
        fn the_mixture_loses_little_against_the_best_strength(
            crawl in proptest::collection::vec((0.001..0.999f64, 0usize..4, 0.0..=1.0f64), 1..200)
        ) {
            let mut siblings = Siblings::default();
            let mut groups = [SiblingVisits::default(); 4];
            let mut mixed = 0.0;
            for (alone, group, relevance) in crawl {
                let of = &mut groups[group];
                let expected = siblings.expected(alone, *of);
                prop_assert!((0.0..=1.0).contains(&expected));
                let expected = expected.clamp(LEAST, 1.0 - LEAST);
                mixed -= relevance * log(expected) + (1.0 - relevance) * log(1.0 - expected);
                siblings.learn(alone, *of, relevance);
                *of = visits(of.relevance + relevance, of.visits + 1.0);
            }
            let best = siblings.losses.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!(mixed <= best + log(STRENGTHS.len() as f64) + 1e-3, "{mixed} against {best}");
        }
    }
}
