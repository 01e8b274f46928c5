//! Pseudo-random numbers that are equal on every machine, independent for each purpose and pair of
//! numbers.

/// 64 pseudo-random bits: the finaliser of SplitMix64 (Steele, Lea & Flood 2014), applied to one
/// number after the other.
pub fn mix(seed: u64, purpose: u64, a: u64, b: u64) -> u64 {
    [purpose, a, b]
        .into_iter()
        .fold(seed, |state, next| finish(state ^ next.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

fn finish(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A rank below `count` with a probability nearly proportional to 1/rank (Zipf's law): every number
/// of bits is equally likely. Uses integers only, so that rounding does not depend on the machine.
pub fn zipf(chance: u64, count: u64) -> u64 {
    let bits = u64::from(64 - count.leading_zeros());
    let low = 1 << (chance % bits);
    let rank = low + (chance >> 8) % low;
    (rank - 1) % count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_counts() {
        let all = [mix(1, 2, 3, 4), mix(2, 2, 3, 4), mix(1, 3, 3, 4), mix(1, 2, 4, 3), mix(1, 2, 3, 5)];
        assert!((1..all.len()).all(|i| !all[..i].contains(&all[i])));
    }

    #[test]
    fn low_ranks_are_drawn_as_zipf_says() {
        let mut drawn = vec![0u32; 1000];
        for i in 0..100_000 {
            drawn[zipf(mix(7, 0, i, 0), 1000) as usize] += 1;
        }
        let share = |ranks: std::ops::Range<usize>| drawn[ranks].iter().sum::<u32>();
        let (tens, hundreds) = (share(10..30), share(100..300));
        assert!(tens.abs_diff(hundreds) < tens / 4, "{tens} and {hundreds}");
        assert!(share(0..1) > 10 * share(30..31), "{} and {}", share(0..1), share(30..31));
        assert_eq!(zipf(u64::MAX, 1), 0);
    }
}
