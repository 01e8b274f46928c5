//! Quantiles of gamma distributions, the same on every machine.

use libm::{exp, lgamma, log};

/// Halvings of an interval.
const HALVINGS: u32 = 60;
/// Terms of a series or fraction: enough for shapes up to some 10,000.
const TERMS: u32 = 2000;

/// The quantile of the gamma distribution with this mean and variance; 0 if both are 0.
pub fn quantile(part: f64, mean: f64, variance: f64) -> f64 {
    if mean <= 0.0 || variance <= 0.0 {
        return mean.max(0.0);
    }
    let (shape, scale) = (mean * mean / variance, variance / mean);
    let (mut low, mut high) = (0.0, shape + 1.0);
    while below(shape, high) < part {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        match below(shape, middle) < part {
            true => low = middle,
            false => high = middle,
        }
    }
    scale * (low + high) / 2.0
}

/// The probability that a gamma variable of scale 1 is at most `x`: the regularised lower incomplete gamma function, by its
/// series or its continued fraction (Abramowitz and Stegun 6.5.29 and 6.5.31).
fn below(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = exp(shape * log(x) - x - lgamma(shape));
    if x < shape + 1.0 {
        let (mut term, mut sum) = (1.0 / shape, 1.0 / shape);
        for n in 1..TERMS {
            term *= x / (shape + f64::from(n));
            sum += term;
            if term < sum * 1e-16 {
                break;
            }
        }
        return (front * sum).min(1.0);
    }
    // From the last term inwards.
    let mut fraction = 0.0;
    for n in (1..=TERMS).rev() {
        let n = f64::from(n);
        fraction = n * (n - shape) / (x + 2.0 * n + 1.0 - shape - fraction);
    }
    1.0 - front / (x + 1.0 - shape - fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of SciPy 1.14: `gamma.ppf(part, mean**2 / variance, scale=variance / mean)`.
    #[test]
    fn quantiles_agree_with_another_program() {
        for (part, mean, variance, expected) in [
            (0.05, 1.0, 1.0, 0.051_293_294_387_550),
            (0.95, 1.0, 1.0, 2.995_732_273_553_99),
            (0.95, 0.01, 0.05, 2.045524856646e-11),
            (0.05, 0.5, 2.0, 9.666697419449e-11),
            (0.5, 10.0, 4.0, 9.866987346795367),
            (0.95, 300.0, 900.0, 350.991403338487),
            (0.05, 300.0, 45000.0, 53.304226604799),
            (0.95, 5000.0, 5000.0, 5116.874448838968),
            (0.05, 20.0, 100.0, 6.831591983749),
        ] {
            let found = quantile(part, mean, variance);
            assert!(
                (found - expected).abs() <= 1e-9 * expected.max(1e-3),
                "{part} {mean} {variance}: {found}"
            );
        }
        assert_eq!((quantile(0.5, 0.0, 0.0), quantile(0.5, 3.0, 0.0)), (0.0, 3.0));
    }
}
