//! Logistic regression on few features, fitted by Newton's method.

use libm::{exp, log};
use recrawl_focus::logistic::{Weights, logistic};

/// Newton steps of a fit.
const MAX_STEPS: u32 = 50;
/// Penalty of a squared weight, but of the first.
const RIDGE: f64 = 1.0;

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

/// Fits weights to examples: maximum likelihood with a ridge.
pub fn fit<const N: usize>(examples: &[Example<N>]) -> Weights<N> {
    let total: f64 = examples.iter().map(|example| example.weight).sum();
    let positive: f64 = examples.iter().map(|example| example.weight * example.target).sum();
    let mut weights = [0.0; N];
    weights[0] = log((positive + 0.5) / (total - positive + 0.5));
    let mut fitted = Weights(weights);
    let mut least = loss(&fitted, examples);
    for _ in 0..MAX_STEPS {
        let step = newton_step(&fitted, examples);
        let mut length = 1.0;
        let next = loop {
            let next = Weights(std::array::from_fn(|at| fitted.0[at] + length * step[at]));
            let lower = loss(&next, examples);
            if lower < least {
                break Some((next, lower));
            }
            length /= 2.0;
            if length < 1e-6 {
                break None;
            }
        };
        let Some((next, lower)) = next else { break };
        let gain = least - lower;
        (fitted, least) = (next, lower);
        if gain < 1e-9 * least.abs().max(1.0) {
            break;
        }
    }
    fitted
}

fn loss<const N: usize>(fitted: &Weights<N>, examples: &[Example<N>]) -> f64 {
    let penalty: f64 = fitted.0[1..].iter().map(|weight| 0.5 * RIDGE * weight * weight).sum();
    let of = |example: &Example<N>| {
        let x = fitted.logit(&example.features);
        let softplus = if x > 0.0 { x + log(1.0 + exp(-x)) } else { log(1.0 + exp(x)) };
        example.weight * (softplus - example.target * x)
    };
    penalty + examples.iter().map(of).sum::<f64>()
}

/// The Newton step: the Hessian's inverse times the negative gradient.
fn newton_step<const N: usize>(fitted: &Weights<N>, examples: &[Example<N>]) -> [f64; N] {
    let (mut gradient, mut hessian) = ([0.0; N], [[0.0; N]; N]);
    for Example { features, target, weight } in examples {
        let p = logistic(fitted.logit(features));
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
        gradient[row] -= if row == 0 { 0.0 } else { ridge * fitted.0[row] };
    }
    solved(hessian, gradient)
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

#[cfg(test)]
mod tests;
