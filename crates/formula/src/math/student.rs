//! Student's t distribution, and ln Γ.

use super::{exp, ln};

/// The two-sided p-value of a squared t with `freedom` degrees of freedom, above 0 (Student 1908).
pub fn p_value(t_squared: f64, freedom: f64) -> f64 {
    beta(freedom / 2.0, 0.5, 1.0 / (1.0 + t_squared / freedom))
}

/// The two-sided quantile of t: its [`p_value`] is `level`. By bisection.
pub fn quantile(level: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while p_value(high * high, freedom) > level {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if p_value(middle * middle, freedom) > level { low = middle } else { high = middle }
    }
    high
}

/// The regularised incomplete beta function I_x(a, b), by its continued fraction (Abramowitz &
/// Stegun 1964, 26.5.8), on the side where it converges fast: x or 1 − x.
fn beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta(b, a, 1.0 - x);
    }
    let front = exp(ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * ln(x) + b * ln(1.0 - x)) / a;
    front / fraction(a, b, x)
}

/// 1 + d₁/(1 + d₂/(1 + …)), from its 400th term up. On the fast side a few dozen terms suffice for
/// b = ½ and any a of thousands of cycles.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let term = |i: u32| {
        let m = f64::from(i / 2);
        if i.is_multiple_of(2) {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        }
    };
    (1..=400).rev().fold(1.0, |below, i| 1.0 + term(i) / below)
}

/// ln Γ(x) for x > 0 by Stirling's series at x + 8, where six terms are accurate to the last
/// digits.
pub fn ln_gamma(x: f64) -> f64 {
    let (mut shifted, mut product) = (x, 1.0);
    while shifted < 8.0 {
        product *= shifted;
        shifted += 1.0;
    }
    let inverse = 1.0 / shifted;
    let series = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0];
    let tail = series.iter().rev().fold(0.0, |sum, c| sum * inverse * inverse + c) * inverse;
    (shifted - 0.5) * ln(shifted) - shifted + 0.5 * ln(std::f64::consts::TAU) + tail - ln(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(t: f64, freedom: f64) -> f64 {
        p_value(t * t, freedom)
    }

    #[test]
    fn quantiles_of_the_tables_have_their_p_values() {
        // Fisher & Yates' table of t at 5 %, 1 % and 0.1 %.
        for (freedom, t, expected) in [
            (1.0, 12.706, 0.05),
            (2.0, 4.303, 0.05),
            (10.0, 2.228, 0.05),
            (10.0, 3.169, 0.01),
            (30.0, 3.646, 0.001),
            (120.0, 1.980, 0.05),
            (120.0, 0.677, 0.5),
        ] {
            let value = p(t, freedom);
            assert!((value / expected - 1.0).abs() < 2e-3, "t {t} of {freedom}: {value} for {expected}");
        }
        // One degree of freedom is the Cauchy distribution; two have a closed form.
        assert!((p(1.0, 1.0) - 0.5).abs() < 1e-13);
        let two = |t: f64| 1.0 - t / (2.0 + t * t).sqrt();
        assert!((p(0.3, 2.0) - two(0.3)).abs() < 1e-13 && (p(9.0, 2.0) - two(9.0)).abs() < 1e-13);
        // Thousands of cycles: the normal distribution.
        assert!((p(1.959_964, 1e4) - 0.05).abs() < 1e-4);
    }

    #[test]
    fn gamma_is_the_factorial() {
        let mut factorial: f64 = 1.0;
        for n in 1..60 {
            assert!((ln_gamma(f64::from(n)) - factorial.ln()).abs() < 1e-12 * factorial.ln().max(1.0), "{n}");
            factorial *= f64::from(n);
        }
        assert!((ln_gamma(0.5) - std::f64::consts::PI.sqrt().ln()).abs() < 1e-13);
    }

    #[test]
    fn p_values_are_those_of_scipy() {
        // scipy 1.17.1: 2·t.sf(t, freedom).
        for (freedom, t, expected) in [
            (1.0, 0.3, 0.814_452_841_844_515_4),
            (1.0, 12.7, 0.050_024_327_689_344_165),
            (2.0, 1.5, 0.272_393_124_891_001_1),
            (3.0, 0.765, 0.499_944_578_245_200_33),
            (4.0, 1.533_206_274_058_944_3, 0.2),
            (5.0, 2.5, 0.054_490_099_342_376_26),
            (9.0, 1.383_028_738_396_777, 0.2),
            (10.0, 0.01, 0.992_217_974_990_971_4),
            (30.0, 3.646, 0.000_999_888_869_339_364),
            (99.0, 1.29, 0.200_055_826_969_274_2),
            (400.0, 1.284, 0.199_885_183_251_081),
        ] {
            let value = p(t, freedom);
            assert!((value - expected).abs() < 1e-12, "t {t}, {freedom} degrees: {value} for {expected}");
        }
        assert_eq!((p(0.0, 7.0), p(f64::INFINITY, 8.0), p(1e300, 1.0)), (1.0, 0.0, 0.0));
    }

    #[test]
    fn quantiles_are_where_their_level_is_passed() {
        for (freedom, t) in [(1.0, 12.7062), (9.0, 2.2622), (120.0, 1.9799)] {
            assert!((quantile(0.05, freedom) - t).abs() < 1e-4, "{freedom}: {}", quantile(0.05, freedom));
        }
        // Student's own sleep data: t = 4.0621 with 9 degrees of freedom.
        assert!((p(4.062_13, 9.0) - 0.002_833).abs() < 1e-6);
        assert_eq!((p(f64::INFINITY, 5.0), p(0.0, 5.0)), (0.0, 1.0));
    }
}
