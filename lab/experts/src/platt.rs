//! Probabilities of decision values: Platt's sigmoid, fitted by Newton's method (Lin, Lin and Weng 2007).

use recrawl_formula::math::{exp, ln};

/// p = 1 / (1 + e^(slope · value + offset)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sigmoid {
    /// Negative if higher decision values mean the class `true`.
    pub slope: f64,
    /// The log odds against `true` at value 0.
    pub offset: f64,
}

const STEPS_MAX: u32 = 100;
const TOLERANCE: f64 = 1e-5;
/// Added to the diagonal of the Hessian.
const RIDGE: f64 = 1e-12;

impl Sigmoid {
    /// Fits decision values to their classes. Targets are Platt's: (N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2).
    pub fn fit(values: &[f64], classes: &[bool]) -> Sigmoid {
        let positive = classes.iter().filter(|&&class| class).count() as f64;
        let negative = classes.len() as f64 - positive;
        let (high, low) = ((positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0));
        let examples: Vec<(f64, f64)> = values
            .iter()
            .zip(classes)
            .map(|(&value, &class)| (value, if class { high } else { low }))
            .collect();
        let mut fitted = Sigmoid { slope: 0.0, offset: ln((negative + 1.0) / (positive + 1.0)) };
        let mut loss = fitted.loss(&examples);
        for _ in 0..STEPS_MAX {
            let (gradient, step) = fitted.newton(&examples);
            if gradient.0.abs() < TOLERANCE && gradient.1.abs() < TOLERANCE {
                break;
            }
            let descent = gradient.0 * step.0 + gradient.1 * step.1;
            let mut length = 1.0;
            loop {
                let next = Sigmoid {
                    slope: fitted.slope + length * step.0,
                    offset: fitted.offset + length * step.1,
                };
                let next_loss = next.loss(&examples);
                if next_loss < loss + 1e-4 * length * descent {
                    (fitted, loss) = (next, next_loss);
                    break;
                }
                length /= 2.0;
                if length < 1e-10 {
                    return fitted;
                }
            }
        }
        fitted
    }

    /// The probability of the class `true`.
    pub fn probability(self, value: f64) -> f64 {
        let x = self.slope * value + self.offset;
        if x >= 0.0 { exp(-x) / (1.0 + exp(-x)) } else { 1.0 / (1.0 + exp(x)) }
    }

    fn loss(self, examples: &[(f64, f64)]) -> f64 {
        let loss = |&(value, target): &(f64, f64)| {
            let x = self.slope * value + self.offset;
            // e^x overflows for large x, so the larger exponential is factored out.
            if x >= 0.0 { target * x + ln(1.0 + exp(-x)) } else { (target - 1.0) * x + ln(1.0 + exp(x)) }
        };
        examples.iter().map(loss).sum()
    }

    /// Gradient and Newton step of slope and offset.
    fn newton(self, examples: &[(f64, f64)]) -> ((f64, f64), (f64, f64)) {
        let (mut h11, mut h22, mut h21, mut g1, mut g2) = (RIDGE, RIDGE, 0.0, 0.0, 0.0);
        for &(value, target) in examples {
            let p = self.probability(value);
            let variance = p * (1.0 - p);
            h11 += value * value * variance;
            h22 += variance;
            h21 += value * variance;
            g1 += value * (target - p);
            g2 += target - p;
        }
        let determinant = h11 * h22 - h21 * h21;
        ((g1, g2), (-(h22 * g1 - h21 * g2) / determinant, -(h11 * g2 - h21 * g1) / determinant))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The negative log likelihood on a fine grid has no lower point.
    #[test]
    fn the_fit_is_the_minimum() {
        let values: Vec<f64> = (0..40).map(|i| f64::from(i) / 10.0 - 2.0).collect();
        let classes: Vec<bool> = (0..40).map(|i| i * 7 % 13 < i / 4).collect();
        let fitted = Sigmoid::fit(&values, &classes);
        let positive = classes.iter().filter(|&&class| class).count() as f64;
        let target = |&class: &bool| {
            if class { (positive + 1.0) / (positive + 2.0) } else { 1.0 / (40.0 - positive + 2.0) }
        };
        let examples: Vec<(f64, f64)> = values.iter().copied().zip(classes.iter().map(target)).collect();
        let least = fitted.loss(&examples);
        for slope in -20..=20 {
            for offset in -20..=20 {
                let other = Sigmoid {
                    slope: fitted.slope + f64::from(slope) / 50.0,
                    offset: fitted.offset + f64::from(offset) / 50.0,
                };
                assert!(other.loss(&examples) >= least - 1e-9, "{other:?} is better than {fitted:?}");
            }
        }
        assert!(fitted.slope < 0.0 && fitted.probability(2.0) > 0.5 && fitted.probability(-2.0) < 0.1);
    }

    #[test]
    fn without_a_relation_it_is_the_rate() {
        let fitted = Sigmoid::fit(&[0.0; 6], &[true, false, false, false, false, false]);
        // Five of six, by Platt's targets: (2/3 + 5/7)/6.
        assert!((fitted.probability(0.0) - (2.0 / 3.0 + 5.0 / 7.0) / 6.0).abs() < 1e-6);
        assert_eq!(fitted.probability(1e9), fitted.probability(0.0));
        let sharp = Sigmoid { slope: -1000.0, offset: 0.0 };
        assert_eq!((sharp.probability(-9.0), sharp.probability(9.0)), (0.0, 1.0));
    }
}
