//! Whether a sample had significantly many changes.

use recrawl_formula::math::{exp, ln};

/// One-sided level: the paper's confidence is 80 %.
const LEVEL: f64 = 0.2;

/// Whether `changes` in `visits` are significantly more than the share of all samples, `all` = (changes, visits). They
/// are, if as many or more have a probability of at most 20 % under that share.
pub(super) fn is_above(changes: u64, visits: u64, all: (u64, u64)) -> bool {
    let share = all.0 as f64 / all.1.max(1) as f64;
    visits > 0 && changes > 0 && share < 1.0 && upper_tail(changes, visits, share) <= LEVEL
}

/// The probability of at least `changes` of `visits`, for a share above 0 and below 1.
fn upper_tail(changes: u64, visits: u64, share: f64) -> f64 {
    let odds = ln(share / (1.0 - share));
    let mut log = visits as f64 * ln(1.0 - share);
    let mut tail = 0.0;
    for hits in 0..=visits {
        if hits >= changes {
            tail += exp(log);
        }
        log += ln((visits - hits) as f64 / (hits + 1) as f64) + odds;
    }
    tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_scipy() {
        // scipy 1.17.1: binom.sf(changes − 1, visits, share).
        for (changes, visits, share, expected) in [
            (1, 5, 0.15, 0.5562946875),
            (3, 5, 0.15, 0.026611875),
            (5, 5, 0.9, 0.5904900000000001),
            (40, 200, 0.15, 0.033546185595567886),
            (1500, 5000, 0.3, 0.5053348570101865),
        ] {
            let tail = upper_tail(changes, visits, share);
            assert!((tail - expected).abs() < 1e-12, "{changes} of {visits}: {tail} for {expected}");
        }
        assert!(is_above(3, 5, (30, 200)) && !is_above(1, 5, (30, 200)));
        assert!(!is_above(0, 0, (0, 0)) && !is_above(0, 5, (0, 90)) && !is_above(5, 5, (90, 90)));
    }
}
