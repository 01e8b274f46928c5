//! What visits yielded: of groups of links, of sites, of the crawl. Whole numbers, so the order of adding does not matter.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Steps of a relevance in sums.
const STEPS: f64 = 255.0;

/// Visits, and the sum of their relevance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Yield {
    /// Σ relevance, in steps of 1/255.
    sum: u64,
    /// Visits.
    pub visits: u64,
}

/// A relevance from 0 to 1 in the steps of sums.
fn steps(relevance: f64) -> u64 {
    (relevance.clamp(0.0, 1.0) * STEPS).round() as u64
}

impl Yield {
    /// Adds a visit of a page with this relevance, 0 to 1.
    pub fn add(&mut self, relevance: f64) {
        self.sum += steps(relevance);
        self.visits += 1;
    }

    /// The yield of `visits` pages, of which `finds` have relevance 1 and the others 0.
    pub fn new(visits: u64, finds: u64) -> Yield {
        Yield { sum: finds * STEPS as u64, visits }
    }

    /// Σ relevance.
    pub fn sum(&self) -> f64 {
        self.sum as f64 / STEPS
    }

    /// Σ relevance by visit; 0 without any.
    pub fn mean(&self) -> f64 {
        self.sum() / self.visits.max(1) as f64
    }

    /// (Σ relevance + prior) / (visits + 1).
    pub fn shrunk(&self, prior: f64) -> f64 {
        (self.sum() + prior) / (self.visits as f64 + 1.0)
    }
}

/// A group's visits and sum, each up to the greatest number.
#[derive(Clone, Copy, Debug, Default)]
struct PackedYield {
    sum: u32,
    visits: u16,
}

/// Spreads keys, which are hashes already.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(u32::from(byte)));
    }

    fn write_u32(&mut self, key: u32) {
        self.0 = (self.0 ^ u64::from(key)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// What groups yielded, of at most so many. If there are more, those whose keys are above a bound are left out, which a group
/// cannot influence and the order of visits does not either.
#[derive(Debug)]
pub struct GroupYields {
    groups: HashMap<u32, PackedYield, BuildHasherDefault<KeyHasher>>,
    most: usize,
    /// Groups with greater keys are left out.
    bound: u32,
}

impl GroupYields {
    /// Keeps at most `most` groups.
    pub fn new(most: usize) -> GroupYields {
        GroupYields { groups: HashMap::default(), most, bound: u32::MAX }
    }

    /// Adds a visit.
    pub fn add(&mut self, group: u32, relevance: f64) {
        if group > self.bound {
            return;
        }
        let packed = self.groups.entry(group).or_default();
        // A group of 65,535 visits is told well enough.
        if packed.visits < u16::MAX {
            packed.visits += 1;
            packed.sum += steps(relevance) as u32;
        }
        while self.groups.len() > self.most {
            self.bound /= 2;
            let bound = self.bound;
            self.groups.retain(|key, _| *key <= bound);
        }
    }

    /// What a group yielded; nothing if it was not visited, or is left out.
    pub fn get(&self, group: u32) -> Yield {
        let PackedYield { sum, visits } = self.groups.get(&group).copied().unwrap_or_default();
        Yield { sum: sum.into(), visits: visits.into() }
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Was no group visited?
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_of_visits_does_not_matter(
            mut visits in proptest::collection::vec((any::<u32>(), 0.0..=1.0f64), 0..200), most in 1usize..50
        ) {
            let all = |visits: &[(u32, f64)]| {
                let mut yields = GroupYields::new(most);
                visits.iter().for_each(|(group, relevance)| yields.add(*group, *relevance));
                yields
            };
            let forwards = all(&visits);
            prop_assert!(forwards.len() <= most);
            let groups: Vec<u32> = visits.iter().map(|visit| visit.0).collect();
            visits.reverse();
            let backwards = all(&visits);
            prop_assert_eq!(forwards.bound, backwards.bound);
            for group in groups {
                prop_assert_eq!(forwards.get(group), backwards.get(group));
            }
        }
    }

    #[test]
    fn a_yield_is_a_shrunk_mean() {
        let mut yields = GroupYields::new(10);
        [1.0, 0.0, 0.2].into_iter().for_each(|relevance| yields.add(7, relevance));
        let of = yields.get(7);
        assert_eq!((of.visits, of.sum()), (3, 1.2));
        assert!((of.mean() - 0.4).abs() < 1e-12 && (of.shrunk(0.4) - 0.4).abs() < 1e-12);
        assert_eq!((yields.get(8), yields.get(8).shrunk(0.3)), (Yield::default(), 0.3));
        assert_eq!(Yield::default().mean(), 0.0);
        (0..70_000).for_each(|_| yields.add(9, 1.0));
        assert_eq!(yields.get(9).visits, u64::from(u16::MAX));
        assert_eq!(yields.get(9).mean(), 1.0);
    }
}
