//! Intervals that hold at every look, for a mean that is looked at again and again.
//!
//! The two-sided mixture sequence of Robbins (1970), in the form of Howard et al. (2021, equation 14): after n values
//! of standard deviation σ, |mean − truth| < σ·√(2(nρ² + 1)/(n²ρ²)·ln(√(nρ² + 1)/α)) for all n at once, with
//! probability 1 − α.

/// The n for which the interval is nearly as narrow as it can be.
const BEST_AT: f64 = 5_000.0;

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

    /// Mean and Σ(x − mean)² of a stream, by Welford's update (1962).
    #[derive(Default)]
    struct Welford {
        count: u32,
        mean: f64,
        squares: f64,
    }

    impl Welford {
        fn add(&mut self, value: f64) {
            self.count += 1;
            let before = value - self.mean;
            self.mean += before / f64::from(self.count);
            self.squares += before * (value - self.mean);
        }

        fn deviation(&self) -> f64 {
            (self.squares / f64::from(self.count - 1)).sqrt()
        }
    }

    /// Whoever looks after every value errs in at most one of twenty streams; an interval for one look errs in most.
    #[test]
    fn who_looks_at_every_value_is_not_fooled() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (mut wrong, mut wrong_at_one_look) = (0, 0);
        for _ in 0..400 {
            let mut values = Welford::default();
            let (mut errs, mut errs_at_one_look) = (false, false);
            for count in 1..=3_000 {
                values.add(f64::from(u8::from(rng.random::<f64>() < 0.3)));
                if count < 50 {
                    continue;
                }
                let (off, deviation) = ((values.mean - 0.3).abs(), values.deviation());
                errs |= off > half_width(count.into(), deviation, 0.05);
                errs_at_one_look |= off > 1.96 * deviation / f64::from(count).sqrt();
            }
            wrong += u32::from(errs);
            wrong_at_one_look += u32::from(errs_at_one_look);
        }
        assert!(wrong <= 20, "{wrong} of 400");
        assert!(wrong_at_one_look > 100, "{wrong_at_one_look} of 400");
    }
}
