//! The mean of a figure over autocorrelated cycles.

use recrawl_formula::math::student;

/// The mean over cycles, and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesMean {
    /// The mean.
    pub mean: f64,
    /// Its standard error; infinite if the series is too short.
    pub error: f64,
    /// The effective sample size: the number of independent cycles with the same information, at
    /// most their number.
    pub effective: f64,
    /// The two-sided p-value of a mean of 0; 1 below [`SeriesMean::FEWEST`] effective cycles.
    pub p: f64,
}

impl SeriesMean {
    /// Minimum effective cycles for a test. With fewer the autocorrelation is not known well
    /// enough: a test at 5 % then rejects up to 14 % of pure chance.
    pub const FEWEST: f64 = 6.0;

    /// The mean of the values of successive cycles.
    ///
    /// With τ = 1 + 2Σρ(k), summed over the autocorrelations at all lags, n values carry as much
    /// information about their mean as n/τ independent ones (Bayley & Hammersley 1946). Var(mean) =
    /// σ²τ/n, and the expected sum of squared deviations is σ²(n − τ). So Var(mean) is estimated by
    /// (Σd²/n)/(n/τ − 1): Student's formula with n/τ in place of n. The test uses t with n/τ − 1
    /// degrees of freedom (Zwiers & von Storch 1995).
    pub fn estimate(values: &[f64]) -> SeriesMean {
        let n = values.len() as f64;
        let mean = if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / n };
        let deviations: Vec<f64> = values.iter().map(|value| value - mean).collect();
        // Equal values may differ by rounding.
        let variance =
            Some(covariance(&deviations, 0)).filter(|v| v.sqrt() > 1e-12 * mean.abs()).unwrap_or(0.0);
        let effective = if variance > 0.0 { n / tau(&deviations, variance) } else { n };
        let square = if effective > 1.0 { variance / (effective - 1.0) } else { f64::INFINITY };
        let p = if effective < Self::FEWEST || (mean == 0.0 && square == 0.0) {
            1.0
        } else {
            student::p_value(mean * mean / square, effective - 1.0)
        };
        SeriesMean { mean, error: square.sqrt(), effective, p }
    }

    /// The 95 % prediction interval of the next value; `None` with too few cycles. Its variance is
    /// that of a value around the true mean plus that of this mean.
    pub fn next_value(&self) -> Option<[f64; 2]> {
        let half =
            || student::quantile(0.05, self.effective - 1.0) * self.error * (self.effective + 1.0).sqrt();
        self.has_power().then(half).map(|half| [self.mean - half, self.mean + half])
    }

    /// Whether a test against 0 has any power.
    pub fn has_power(&self) -> bool {
        self.effective >= Self::FEWEST
    }
}

/// The mean over `series` concatenated series of equal length: one value per cycle. Replays of
/// several parts of the pages over the same cycles do not add cycles.
///
/// # Panics
/// If the values cannot be divided by the number of series.
pub fn by_cycle(values: &[f64], series: usize) -> Vec<f64> {
    let cycles = values.len() / series.max(1);
    assert_eq!(cycles * series, values.len(), "series of the same length");
    let mean = |cycle: usize| values.iter().skip(cycle).step_by(cycles).sum::<f64>() / series as f64;
    (0..cycles).map(mean).collect()
}

/// The autocovariance at `lag`: the sum of products of deviations `lag` cycles apart, divided by
/// the number of all values.
fn covariance(deviations: &[f64], lag: usize) -> f64 {
    let products = deviations.iter().zip(deviations.iter().skip(lag)).map(|(a, b)| a * b);
    products.sum::<f64>() / deviations.len().max(1) as f64
}

/// τ, from 1 to n: the maximum of two estimates. The first misses the memory of short series, the
/// second that of long ones with several time scales.
///
/// - The initial monotone sequence (Geyer 1992): sums of pairs of autocorrelations up to the first
///   pair that is not positive, each at most the previous pair.
/// - An autoregression of the first order, (1 + ρ)/(1 − ρ). The autocorrelation at lag 1 has a bias
///   of about −(1 + 3ρ)/n (Marriott & Pope 1954; Kendall 1954), which is corrected.
fn tau(deviations: &[f64], variance: f64) -> f64 {
    let n = deviations.len() as f64;
    let (mut sum, mut before) = (0.0, f64::INFINITY);
    for lag in (0..deviations.len()).step_by(2) {
        let pair = covariance(deviations, lag) + covariance(deviations, lag + 1);
        if pair <= 0.0 {
            break;
        }
        before = pair.min(before);
        sum += before;
    }
    let by_sequence = 2.0 * sum / variance - 1.0;
    let rho = (n * covariance(deviations, 1) / variance + 1.0) / (n - 4.0).max(1.0);
    let by_autoregression = if rho < 1.0 { (1.0 + rho) / (1.0 - rho) } else { n };
    by_sequence.max(by_autoregression).clamp(1.0, n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    struct Noise(ChaCha8Rng);

    impl Noise {
        /// Nearly normal: twelve uniform numbers have the variance 1 together.
        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.0.random::<f64>()).sum::<f64>() - 6.0
        }
    }

    /// An autoregression of the first order, started in its stationary distribution; its mean is
    /// `shift` standard errors.
    fn autoregression(rho: f64, cycles: usize, shift: f64, draws: &mut Noise) -> Vec<f64> {
        let error = 1.0 / (1.0 - rho) / (cycles as f64).sqrt();
        let mut value = draws.normal() / (1.0 - rho * rho).sqrt();
        let mut step = || {
            let now = value;
            value = rho * value + draws.normal();
            now + shift * error
        };
        (0..cycles).map(|_| step()).collect()
    }

    fn rejected(rho: f64, cycles: usize, shift: f64, p: fn(&[f64]) -> f64) -> f64 {
        let draws = &mut Noise(ChaCha8Rng::seed_from_u64(5));
        let trials = 1000;
        let is_rejected = |_: &u32| p(&autoregression(rho, cycles, shift, draws)) < 0.05;
        f64::from((0..trials).filter(is_rejected).count() as u32) / f64::from(trials)
    }

    /// Student's test, which assumes independent cycles, would call 7 in 10 equal pairs different
    /// at the memory that replays have.
    #[test]
    fn pure_chance_is_called_a_difference_once_in_twenty_whatever_the_memory() {
        let student = |values: &[f64]| {
            let (n, mean) = (values.len() as f64, values.iter().sum::<f64>() / values.len() as f64);
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            student::p_value(mean * mean * n * (n - 1.0) / squares, n - 1.0)
        };
        assert!(rejected(0.93, 100, 0.0, student) > 0.6);
        let own = |values: &[f64]| SeriesMean::estimate(values).p;
        for cycles in [17, 55, 190, 360] {
            for rho in [-0.5, 0.0, 0.6, 0.8, 0.93, 0.97] {
                let share = rejected(rho, cycles, 0.0, own);
                assert!(share < 0.085, "memory {rho}, {cycles} cycles: {share}");
            }
        }
        for (rho, cycles, least) in [(0.0, 55, 0.7), (0.6, 100, 0.65), (0.93, 360, 0.55)] {
            let share = rejected(rho, cycles, 3.0, own);
            assert!(share > least, "memory {rho}, {cycles} cycles: {share} found");
        }
    }

    #[test]
    fn the_standard_error_is_that_of_many_such_series() {
        let draws = &mut Noise(ChaCha8Rng::seed_from_u64(6));
        for rho in [0.0, 0.5, 0.9] {
            let means: Vec<SeriesMean> =
                (0..500).map(|_| SeriesMean::estimate(&autoregression(rho, 400, 0.0, draws))).collect();
            let told = means.iter().map(|mean| mean.error * mean.error).sum::<f64>() / 500.0;
            let found = means.iter().map(|mean| mean.mean * mean.mean).sum::<f64>() / 500.0;
            assert!((0.8..1.35).contains(&(told / found)), "memory {rho}: {told} told, {found} found");
        }
    }

    #[test]
    fn the_next_value_is_where_it_is_expected() {
        let draws = &mut Noise(ChaCha8Rng::seed_from_u64(7));
        let is_held = |_: &u32| {
            let values = autoregression(0.0, 11, 0.0, draws);
            let [low, high] = SeriesMean::estimate(&values[..10])
                .next_value()
                .unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
            (low..high).contains(&values[10])
        };
        let held = (0..2000).filter(is_held).count();
        assert!((1880..1960).contains(&held), "{held} of 2000");
        assert_eq!(SeriesMean::estimate(&[0.1, 0.2, 0.1]).next_value(), None);
    }

    #[test]
    fn several_parts_of_the_pages_are_no_more_cycles() {
        assert_eq!(by_cycle(&[1.0, 2.0, 3.0, 5.0, 6.0, 7.0], 2), [3.0, 4.0, 5.0]);
        assert_eq!(by_cycle(&[1.0, 2.0], 1), [1.0, 2.0]);
        assert!(by_cycle(&[], 3).is_empty());
    }

    #[test]
    fn too_few_cycles_say_nothing_and_equal_ones_all() {
        for few in [&[][..], &[0.3], &[0.1, 0.2, 0.3, 0.2, 0.1], &[0.3; 5]] {
            let mean = SeriesMean::estimate(few);
            assert!(mean.p == 1.0 && !mean.has_power(), "{mean:?}");
        }
        assert!(SeriesMean::estimate(&[0.3]).error.is_infinite());
        let rising: Vec<f64> = (0..60).map(f64::from).collect();
        assert_eq!(SeriesMean::estimate(&rising).p, 1.0, "a drift is one observation");
        let equal = SeriesMean::estimate(&[0.3; 6]);
        assert_eq!((equal.p, equal.error, equal.effective), (0.0, 0.0, 6.0));
        assert_eq!(SeriesMean::estimate(&[0.0; 60]).p, 1.0);
    }
}
