//! The gain of a visit: the index of Olston and Pandey.
//!
//! "Recrawl scheduling based on information longevity" (2008) visits a page when U(t) = t·D(t) −
//! ∫₀ᵗ D reaches a threshold; D(t) is the divergence of the copy t cycles after its last visit. For
//! a Poisson process with rate λ and x = λt, three divergences have a closed form. Each is a power
//! of t times a function of x that is 0 at 0. Below [`SMALL`], its series replaces a difference of
//! two nearly equal numbers.

use crate::math::exp;

/// The series have seven terms. Up to this x they are accurate to 3·10⁻¹³, and from here on the
/// differences to 10⁻¹².
const SMALL: f64 = 1.0 / 16.0;

/// D = 1 once the page has changed: (1 − (1 + x)e^−x) / λ. Falls again for pages that change too
/// fast to be kept fresh.
#[inline(always)]
pub(crate) fn freshness(rate: f64, t: f64) -> f64 {
    let x = rate * t;
    let series =
        sum(x, [1.0 / 2.0, -1.0 / 3.0, 1.0 / 8.0, -1.0 / 30.0, 1.0 / 144.0, -1.0 / 840.0, 1.0 / 5760.0]);
    let plain = (1.0 - (1.0 + x) * exp(-x)) / x;
    t * if x < SMALL { series } else { plain }
}

/// D = the harmonic number of the missed changes, where the k-th counts 1/k (Kolobov et al.,
/// Staying up to date with online content changes, 2019): t − (1 − e^−x) / λ.
#[inline(always)]
pub(crate) fn harmonic(rate: f64, t: f64) -> f64 {
    let x = rate * t;
    let series =
        sum(x, [1.0 / 2.0, -1.0 / 6.0, 1.0 / 24.0, -1.0 / 120.0, 1.0 / 720.0, -1.0 / 5040.0, 1.0 / 40320.0]);
    let plain = 1.0 - (1.0 - exp(-x)) / x;
    t * if x < SMALL { series } else { plain }
}

/// D = the copy's age, the cycles since the first missed change: t²/2 − (1 − (1 + x)e^−x) / λ².
#[inline(always)]
pub(crate) fn age(rate: f64, t: f64) -> f64 {
    let x = rate * t;
    let series =
        sum(x, [1.0 / 3.0, -1.0 / 8.0, 1.0 / 30.0, -1.0 / 144.0, 1.0 / 840.0, -1.0 / 5760.0, 1.0 / 45360.0]);
    let plain = 0.5 - (1.0 - (1.0 + x) * exp(-x)) / (x * x);
    t * t * if x < SMALL { series } else { plain }
}

/// c₁x + c₂x² + …
#[inline(always)]
fn sum(x: f64, coefficients: [f64; 7]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| (sum + c) * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// U(t) by its definition, with the integral by Simpson's rule.
    fn literal(divergence: impl Fn(f64) -> f64, t: f64) -> f64 {
        let steps = 2000;
        let width = t / f64::from(steps);
        let weighted = (0..=steps).map(|i| {
            let weight = if i == 0 || i == steps { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
            weight * divergence(f64::from(i) * width)
        });
        t * divergence(t) - weighted.sum::<f64>() * width / 3.0
    }

    fn assert_near(value: f64, literal: f64, what: &str) {
        assert!((value - literal).abs() <= 1e-8 * literal, "{what}: {value} for {literal}");
    }

    #[test]
    fn indices_are_those_of_their_divergences() {
        for rate in [0.01, 0.3, 2.0] {
            for t in [0.5, 1.0, 7.0, 20.0] {
                let what = format!("rate {rate}, age {t}");
                assert_near(freshness(rate, t), literal(|u| -(-rate * u).exp_m1(), t), &what);
                // The expected age: ∫ of the probability of a change before.
                let aged = |u: f64| u + (-rate * u).exp_m1() / rate;
                assert_near(age(rate, t), literal(aged, t), &what);
                // E of the harmonic number: Σ P(N ≥ k)/k.
                let missed = |u: f64| {
                    let (mut term, mut below, mut mean) = ((-rate * u).exp(), 0.0, 0.0);
                    for k in 1..200 {
                        below += term;
                        term *= rate * u / f64::from(k);
                        mean += (1.0 - below).max(0.0) / f64::from(k);
                    }
                    mean
                };
                assert_near(harmonic(rate, t), literal(missed, t), &what);
            }
        }
    }

    #[test]
    fn series_and_differences_meet() {
        for index in [freshness, harmonic, age] {
            let (below, above) = (index(SMALL * (1.0 - 1e-9), 1.0), index(SMALL, 1.0));
            assert!((above / below - 1.0 - 1e-9).abs() < 3e-9, "{below} {above}");
            assert_eq!(index(0.0, 5.0), 0.0);
            assert_eq!(index(0.1, 0.0), 0.0);
            // To the first order: λt²/2, λt²/2, λt³/3.
            assert!((index(1e-12, 3.0) - 1e-12 * 4.5).abs() < 5e-12);
        }
        assert_near(age(1e-9, 3.0), 9e-9, "the first order of the age");
    }
}
