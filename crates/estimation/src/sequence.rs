//! Intervals that hold at every look, for a mean that is looked at again and again.
//!
//! The two-sided mixture sequence of Robbins (1970), in the form of Howard et al. (2021, equation 14): after n values
//! of standard deviation σ, |mean − truth| < σ·√(2(nρ² + 1)/(n²ρ²)·ln(√(nρ² + 1)/α)) for all n at once, with
//! probability 1 − α.

use serde::{Deserialize, Serialize};

/// The n for which the interval is nearly as narrow as it can be.
const BEST_AT: f64 = 5_000.0;

/// The mean of a stream of values, and its interval at every look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sequence {
    count: u64,
    mean: f64,
    /// Σ(x − mean)², by Welford's update (1962).
    squares: f64,
}

/// ρ² for the n at which the interval shall be narrow: −2 ln α + ln(−2 ln α) + 1, over n (Waudby-Smith et al. 2021,
/// appendix B.2).
fn rho_squared(alpha: f64) -> f64 {
    let spread = -2.0 * alpha.ln();
    (spread + spread.ln() + 1.0) / BEST_AT
}

/// The half width of the interval after `count` values of standard deviation `deviation`.
pub fn half_width(count: f64, deviation: f64, alpha: f64) -> f64 {
    let rho = rho_squared(alpha);
    let grown = count * rho + 1.0;
    deviation * (2.0 * grown / (count * count * rho) * (grown.sqrt() / alpha).ln()).sqrt()
}

/// The least number of values after which the interval is at most `half` wide to each side; none beyond 10⁹.
pub fn values_for(half: f64, deviation: f64, alpha: f64) -> Option<u64> {
    let is_enough = |count: u64| half_width(count as f64, deviation, alpha) <= half;
    let (mut low, mut high) = (0, 1u64);
    while !is_enough(high) {
        (low, high) = (high, high * 2);
        if high > 1_000_000_000 {
            return None;
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if is_enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

impl Sequence {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Their standard deviation; 0 for fewer than two values.
    pub fn deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }

    /// The interval, which holds at all looks with probability 1 − α. None for fewer than two values.
    pub fn interval(&self, alpha: f64) -> Option<[f64; 2]> {
        let half = half_width(self.count as f64, self.deviation(), alpha);
        (self.count >= 2).then_some([self.mean - half, self.mean + half])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn widths_agree_with_another_program() {
        for (count, expected) in WIDTHS {
            let found = half_width(count, 0.5, 0.05);
            assert!((found - expected).abs() < 1e-12, "{count}: {found}");
        }
        // At its best, some 1.5 times as wide as an interval for one look.
        let ratio = half_width(5_000.0, 1.0, 0.05) / (1.96 / 5_000f64.sqrt());
        assert!((1.4..1.8).contains(&ratio), "{ratio}");
    }

    // From scripts/check-estimation.py.
    const WIDTHS: [(f64, f64); 3] = [
        (100.0, 0.320_887_489_786_382_6),
        (5_000.0, 0.021_463_847_309_895_374),
        (1e6, 0.001_835_122_466_002_733),
    ];

    #[test]
    fn the_number_of_values_is_the_least_that_does() {
        for half in [0.5, 0.1, 0.02, 0.005] {
            let count = values_for(half, 0.5, 0.05).unwrap();
            assert!(half_width(count as f64, 0.5, 0.05) <= half, "{count}");
            assert!(count == 1 || half_width((count - 1) as f64, 0.5, 0.05) > half, "{count}");
        }
        assert_eq!(values_for(1e-9, 0.5, 0.05), None);
    }

    /// Whoever looks after every value errs in at most one of twenty streams; an interval for one look errs in most.
    #[test]
    fn who_looks_at_every_value_is_not_fooled() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (mut wrong, mut wrong_at_one_look) = (0, 0);
        for _ in 0..400 {
            let mut sequence = Sequence::default();
            let (mut errs, mut errs_at_one_look) = (false, false);
            for count in 1..=3_000 {
                sequence.add(f64::from(u8::from(rng.random::<f64>() < 0.3)));
                let Some([low, high]) = sequence.interval(0.05).filter(|_| count >= 50) else { continue };
                errs |= low > 0.3 || high < 0.3;
                let once = 1.96 * sequence.deviation() / f64::from(count).sqrt();
                errs_at_one_look |= (sequence.mean() - 0.3).abs() > once;
            }
            wrong += u32::from(errs);
            wrong_at_one_look += u32::from(errs_at_one_look);
        }
        assert!(wrong <= 20, "{wrong} of 400");
        assert!(wrong_at_one_look > 100, "{wrong_at_one_look} of 400");
    }

    #[test]
    fn mean_and_deviation_are_those_of_the_values() {
        let mut sequence = Sequence::default();
        assert_eq!(sequence.interval(0.05), None);
        [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().for_each(|value| sequence.add(value));
        assert_eq!((sequence.count(), sequence.mean()), (8, 5.0));
        assert!((sequence.deviation() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
    }
}
