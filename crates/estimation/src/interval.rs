//! A value with its variance, and means of several.

use serde::{Deserialize, Serialize};

/// Quantile of the normal distribution: 95 % lie within this many standard deviations.
pub const Z: f64 = 1.959_963_984_540_054;

/// An estimated value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The value.
    pub value: f64,
    /// Its variance.
    pub variance: f64,
    /// The size of the sample that it rests on.
    pub sample: u64,
}

impl Interval {
    /// Its ends: 95 % of such intervals hold the truth, if errors are normal.
    pub fn ends(&self) -> [f64; 2] {
        let half = Z * self.variance.sqrt();
        [self.value - half, self.value + half]
    }

    /// The mean of values whose errors are independent: variances add up, divided by the square of their number. None
    /// without a value.
    pub fn mean(values: &[Interval]) -> Option<Interval> {
        let count = values.len() as f64;
        let sum = |of: fn(&Interval) -> f64| values.iter().map(of).sum::<f64>();
        (!values.is_empty()).then(|| Interval {
            value: sum(|v| v.value) / count,
            variance: sum(|v| v.variance) / (count * count),
            sample: values.iter().map(|v| v.sample).sum(),
        })
    }
}

/// Combines the estimates of M completions, each with its variance: the mean, with the mean variance and (1 + 1/M) times
/// the variance between them (Rubin 1987, section 3.1). None without estimates.
pub fn combine(completions: &[Interval]) -> Option<Interval> {
    let count = completions.len() as f64;
    let sample = completions.first()?.sample;
    let value = completions.iter().map(|one| one.value).sum::<f64>() / count;
    let within = completions.iter().map(|one| one.variance).sum::<f64>() / count;
    let squares: f64 = completions.iter().map(|one| (one.value - value).powi(2)).sum();
    let between = if completions.len() > 1 { squares / (count - 1.0) } else { 0.0 };
    Some(Interval { value, variance: within + (1.0 + 1.0 / count) * between, sample })
}

/// The quantile of the standard normal distribution, of a part from 10⁻¹² to 1 − 10⁻¹².
pub fn quantile(part: f64) -> f64 {
    let below = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    let (mut low, mut high) = (-8.0, 8.0);
    // Halved until no number lies between.
    while low < (low + high) / 2.0 && (low + high) / 2.0 < high {
        let middle = (low + high) / 2.0;
        if below(middle) < part { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_between_completions_widens_the_interval() {
        let of = |value, variance| Interval { value, variance, sample: 10 };
        assert_eq!(combine(&[]), None);
        assert_eq!(combine(&[of(0.5, 0.1)]), Some(of(0.5, 0.1)));
        let both = combine(&[of(0.4, 0.1), of(0.6, 0.3)]).unwrap();
        assert!(
            (both.value - 0.5).abs() < 1e-15 && (both.variance - (0.2 + 1.5 * 0.02)).abs() < 1e-15,
            "{both:?}"
        );
    }

    #[test]
    fn quantiles_agree_with_another_program() {
        // scipy.stats.norm.ppf
        for (part, expected) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.999_5, 3.290_526_731_491_925_5),
            (0.01, -2.326_347_874_040_841),
        ] {
            assert!((quantile(part) - expected).abs() < 1e-9, "{part}: {}", quantile(part));
        }
    }

    #[test]
    fn a_mean_of_independent_values_is_narrower_than_each() {
        let of = |value, variance| Interval { value, variance, sample: 50 };
        let mean = Interval::mean(&[of(0.8, 0.04), of(0.9, 0.02), of(0.7, 0.03)]).unwrap();
        assert!((mean.value - 0.8).abs() < 1e-15 && (mean.variance - 0.01).abs() < 1e-15, "{mean:?}");
        assert_eq!(mean.sample, 150);
        assert_eq!(mean.ends(), [0.8 - Z * 0.1, 0.8 + Z * 0.1].map(|end: f64| end + (mean.value - 0.8)));
        assert_eq!(Interval::mean(&[]), None);
    }
}
