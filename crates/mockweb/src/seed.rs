//! Seeded random numbers as pure functions.
//!
//! SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) is used both as a hash of a few numbers and as a
//! stream. It is fast, equal on every machine and good enough for a test web. A generator of a
//! library could change its output with a release, and with it every page of this web.

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A hash of several numbers; their order matters.
pub fn mix(parts: &[u64]) -> u64 {
    parts.iter().fold(GOLDEN, |state, &part| scramble(state.wrapping_add(part).wrapping_mul(GOLDEN) ^ GOLDEN))
}

/// A hash of a text.
pub fn mix_text(seed: u64, text: &str) -> u64 {
    let mut state = mix(&[seed, text.len() as u64]);
    for chunk in text.as_bytes().chunks(8) {
        let mut word = [0_u8; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = mix(&[state, u64::from_le_bytes(word)]);
    }
    state
}

/// A 64-bit number as one in [0, 1).
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// A stream of random numbers that a seed determines.
#[derive(Clone, Debug)]
pub struct Stream(u64);

impl Stream {
    /// The stream that these numbers determine.
    pub fn new(parts: &[u64]) -> Stream {
        Stream(mix(parts))
    }

    /// The next 64 bits.
    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        scramble(self.0)
    }

    /// The next number in 0..`bound`. `bound` must not be 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        // Lemire's multiplication; its bias of bound/2^32 does not matter here.
        (((self.next_bits() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// The next number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        unit(self.next_bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_its_seed_and_nothing_else() {
        let take = |parts: &[u64]| {
            let mut stream = Stream::new(parts);
            [stream.next_bits(), stream.next_bits(), stream.next_bits()]
        };
        assert_eq!(take(&[1, 2]), take(&[1, 2]));
        assert_ne!(take(&[1, 2]), take(&[2, 1]));
        assert_ne!(take(&[1]), take(&[1, 0]));
    }

    #[test]
    fn numbers_below_a_bound_are_spread_evenly() {
        let mut stream = Stream::new(&[7]);
        let mut seen = [0_u32; 10];
        for _ in 0..100_000 {
            seen[stream.below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (9_500..10_500).contains(&n)), "{seen:?}");
    }

    #[test]
    fn texts_that_differ_only_in_trailing_zeros_differ() {
        assert_ne!(mix_text(1, "a"), mix_text(1, "a\0"));
        assert_eq!(mix_text(1, "group/name"), mix_text(1, "group/name"));
    }
}
