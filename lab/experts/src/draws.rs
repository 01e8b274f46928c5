//! Seeded draws of an experiment: each purpose, page and day has a stream of its own.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What a stream is for, so that no two purposes share numbers.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// Flipped bits of a page.
    Flips = 1,
    /// Coins of a page.
    Coins = 2,
    /// Samples of a page's training examples.
    Samples = 3,
    /// Random experts of a page.
    Experts = 4,
    /// The pages of a thinned experiment.
    Pages = 5,
    /// Visits of a crawl.
    Visits = 6,
}

/// The stream of a purpose, page and day.
pub fn stream(seed: u64, purpose: Purpose, page: u64, day: u32) -> ChaCha8Rng {
    let mut source = ChaCha8Rng::seed_from_u64(seed);
    source.set_stream((purpose as u64) << 56 | (page & 0xffff_ffff) << 20 | u64::from(day));
    source
}

/// Flips each bit with this probability.
pub fn flip(bits: &mut [bool], probability: f64, seed: u64, page: u64) {
    let mut source = stream(seed, Purpose::Flips, page, 0);
    // One draw a bit, whatever the probability: a higher one flips the same bits and more.
    bits.iter_mut().for_each(|bit| *bit ^= source.random::<f64>() < probability);
}
