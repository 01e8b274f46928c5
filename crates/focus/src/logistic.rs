//! Logistic regression on few features: fitted by Newton's method, updated example by example.

use libm::{exp, log};
use serde::{Deserialize, Serialize};

/// Newton steps of a fit.
const MAX_STEPS: u32 = 50;
/// Penalty of a squared weight, but of the first.
const RIDGE: f64 = 1.0;

/// 1 / (1 + e⁻ˣ).
pub fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}

/// Weights of N features. The first feature is 1 in every example.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Weights<const N: usize>(#[serde(with = "array")] pub [f64; N]);

/// An example: its features, the share in which it is positive, and its weight.
#[derive(Clone, Copy, Debug)]
pub struct Example<const N: usize> {
    /// Features.
    pub features: [f64; N],
    /// From 0 to 1.
    pub target: f64,
    /// Greater than 0.
    pub weight: f64,
}

impl<const N: usize> Weights<N> {
    /// Log odds of an example.
    pub fn logit(&self, features: &[f64; N]) -> f64 {
        self.0.iter().zip(features).map(|(weight, feature)| weight * feature).sum()
    }

    /// Fits weights to examples: maximum likelihood with a ridge.
    pub fn fit(examples: &[Example<N>]) -> Weights<N> {
        let total: f64 = examples.iter().map(|example| example.weight).sum();
        let positive: f64 = examples.iter().map(|example| example.weight * example.target).sum();
        let mut weights = [0.0; N];
        weights[0] = log((positive + 0.5) / (total - positive + 0.5));
        let mut fitted = Weights(weights);
        let mut loss = fitted.loss(examples);
        for _ in 0..MAX_STEPS {
            let step = fitted.newton(examples);
            let mut length = 1.0;
            let next = loop {
                let next = Weights(std::array::from_fn(|at| fitted.0[at] + length * step[at]));
                let lower = next.loss(examples);
                if lower < loss {
                    break Some((next, lower));
                }
                length /= 2.0;
                if length < 1e-6 {
                    break None;
                }
            };
            let Some((next, lower)) = next else { break };
            let gain = loss - lower;
            (fitted, loss) = (next, lower);
            if gain < 1e-9 * loss.abs().max(1.0) {
                break;
            }
        }
        fitted
    }

    fn loss(&self, examples: &[Example<N>]) -> f64 {
        let penalty: f64 = self.0[1..].iter().map(|weight| 0.5 * RIDGE * weight * weight).sum();
        let of = |example: &Example<N>| {
            let x = self.logit(&example.features);
            let softplus = if x > 0.0 { x + log(1.0 + exp(-x)) } else { log(1.0 + exp(x)) };
            example.weight * (softplus - example.target * x)
        };
        penalty + examples.iter().map(of).sum::<f64>()
    }

    /// The Newton step: the Hessian's inverse times the negative gradient.
    fn newton(&self, examples: &[Example<N>]) -> [f64; N] {
        let (mut gradient, mut hessian) = ([0.0; N], [[0.0; N]; N]);
        for Example { features, target, weight } in examples {
            let p = logistic(self.logit(features));
            let (error, curvature) = (weight * (target - p), (weight * p * (1.0 - p)).max(1e-12));
            for row in 0..N {
                gradient[row] += error * features[row];
                let scaled = curvature * features[row];
                for column in 0..=row {
                    hessian[row][column] += scaled * features[column];
                }
            }
        }
        for row in 0..N {
            let ridge = if row == 0 { 1e-9 } else { RIDGE };
            hessian[row][row] += ridge;
            gradient[row] -= if row == 0 { 0.0 } else { ridge * self.0[row] };
        }
        solved(hessian, gradient)
    }
}

/// The solution of a symmetric, positive definite system, of which the lower half is given (Cholesky).
fn solved<const N: usize>(mut matrix: [[f64; N]; N], mut side: [f64; N]) -> [f64; N] {
    for row in 0..N {
        for column in 0..=row {
            let known: f64 = (0..column).map(|k| matrix[row][k] * matrix[column][k]).sum();
            let rest = matrix[row][column] - known;
            matrix[row][column] =
                if row == column { rest.max(1e-12).sqrt() } else { rest / matrix[column][column] };
        }
    }
    for row in 0..N {
        let known: f64 = (0..row).map(|k| matrix[row][k] * side[k]).sum();
        side[row] = (side[row] - known) / matrix[row][row];
    }
    for row in (0..N).rev() {
        let known: f64 = (row + 1..N).map(|k| matrix[k][row] * side[k]).sum();
        side[row] = (side[row] - known) / matrix[row][row];
    }
    side
}

/// Arrays of any length for serde.
mod array {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<const N: usize, S: Serializer>(array: &[f64; N], to: S) -> Result<S::Ok, S::Error> {
        array.as_slice().serialize(to)
    }

    pub fn deserialize<'de, const N: usize, D: Deserializer<'de>>(from: D) -> Result<[f64; N], D::Error> {
        let values = Vec::deserialize(from)?;
        let length = values.len();
        values.try_into().map_err(|_| D::Error::custom(format!("{length} weights instead of {N}")))
    }
}

#[cfg(test)]
mod tests;
