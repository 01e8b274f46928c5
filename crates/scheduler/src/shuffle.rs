//! A seeded order of pages that is independent of their ordinals.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use recrawl_types::Cycle;

/// A seeded permutation of the 64-bit numbers. Draws and tie breaks take pages in the order of
/// their images. So no state is kept per page, a restarted cycle draws the same pages, and two
/// pages never tie.
///
/// It is x ↦ mix(mix(x ⊕ a) ⊕ b). mix is the finaliser of SplitMix64 (Steele, Lea & Flood 2014,
/// variant 13 of Stafford's). a and b are the first two 64-bit words of ChaCha8, seeded by
/// `seed_from_u64(seed)`, in stream 8·cycle + purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shuffle {
    keys: [u64; 2],
    /// Added to each number: see [`Shuffle::behind`].
    before: u64,
}

/// The purpose of a shuffle. Draws for different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShufflePurpose {
    /// Breaks ties.
    Ties = 0,
    /// Draws the audit sample.
    Audit = 1,
    /// The scores of the policy `rand`.
    Scores = 2,
    /// Draws from the pages that only one of two plans chooses.
    Contested = 3,
    /// Draws the pages that enter the panel.
    Panel = 4,
    /// Draws what a focused crawl explores.
    Explore = 5,
}

const FIRST: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND: u64 = 0x94d0_49bb_1331_11eb;

impl Shuffle {
    /// The permutation of a cycle for a purpose.
    pub fn new(seed: u64, cycle: Cycle, purpose: ShufflePurpose) -> Shuffle {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(8 * u64::from(cycle.0) + purpose as u64);
        Shuffle { keys: [rng.next_u64(), rng.next_u64()], before: 0 }
    }

    /// The same permutation of numbers that are counted behind so many others: page 0 of a part of the pages has the
    /// image that it has among all of them.
    pub fn behind(self, before: u64) -> Shuffle {
        Shuffle { before, ..self }
    }

    /// The image of a number.
    pub fn apply(&self, x: u64) -> u64 {
        mix(mix(x.wrapping_add(self.before) ^ self.keys[0]) ^ self.keys[1])
    }

    /// The number of an image.
    pub fn invert(&self, image: u64) -> u64 {
        (unmix(unmix(image) ^ self.keys[1]) ^ self.keys[0]).wrapping_sub(self.before)
    }
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(FIRST);
    x = (x ^ (x >> 27)).wrapping_mul(SECOND);
    x ^ (x >> 31)
}

fn unmix(mut x: u64) -> u64 {
    x = (x ^ (x >> 31) ^ (x >> 62)).wrapping_mul(const { inverse(SECOND) });
    x = (x ^ (x >> 27) ^ (x >> 54)).wrapping_mul(const { inverse(FIRST) });
    x ^ (x >> 30) ^ (x >> 60)
}

/// The inverse of an odd number modulo 2⁶⁴, by Newton's iteration. Each step doubles the number of
/// correct bits: 3 at the start, 96 after five steps.
const fn inverse(odd: u64) -> u64 {
    let mut x = odd;
    let mut step = 0;
    while step < 5 {
        x = x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x)));
        step += 1;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn seeds_cycles_and_purposes_give_different_orders_and_the_same_gives_the_same() {
        let shuffles = [
            Shuffle::new(1, Cycle(1), ShufflePurpose::Ties),
            Shuffle::new(2, Cycle(1), ShufflePurpose::Ties),
            Shuffle::new(1, Cycle(2), ShufflePurpose::Ties),
            Shuffle::new(1, Cycle(1), ShufflePurpose::Audit),
            Shuffle::new(1, Cycle(1), ShufflePurpose::Scores),
        ];
        for (i, a) in shuffles.iter().enumerate() {
            for b in &shuffles[i + 1..] {
                assert_ne!(a, b);
            }
        }
        assert_eq!(shuffles[0], Shuffle::new(1, Cycle(1), ShufflePurpose::Ties));
    }

    /// Published figures depend on these values. A second program computed them from the definition
    /// of ChaCha.
    #[test]
    fn the_permutation_is_the_one_that_is_written_down() {
        let shuffle = Shuffle::new(42, Cycle(7), ShufflePurpose::Ties);
        let images: Vec<u64> = (0..3).map(|x| shuffle.apply(x)).collect();
        let written = [4_287_608_107_631_059_129, 3_330_874_947_721_992_262, 13_576_329_420_134_526_845];
        assert_eq!(images, written);
    }

    #[test]
    fn every_bit_of_the_image_is_set_for_half_of_the_pages() {
        let shuffle = Shuffle::new(3, Cycle(9), ShufflePurpose::Audit);
        for bit in 0..64 {
            let set = (0..4096).filter(|&x| shuffle.apply(x) >> bit & 1 == 1).count();
            // Four standard deviations of a fair coin, with a margin.
            assert!((2048 - 160..=2048 + 160).contains(&set), "bit {bit}: {set} of 4096");
        }
    }

    proptest! {
        #[test]
        fn inverting_undoes_applying(seed: u64, cycle: u32, x: u64, before: u64) {
            let all = Shuffle::new(seed, Cycle(cycle), ShufflePurpose::Ties);
            let shuffle = all.behind(before);
            prop_assert_eq!(shuffle.apply(x), all.apply(x.wrapping_add(before)));
            prop_assert_eq!(shuffle.invert(shuffle.apply(x)), x);
            prop_assert_eq!(shuffle.apply(shuffle.invert(x)), x);
        }
    }
}
