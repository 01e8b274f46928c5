//! Trains the classifier `linear`.
//!
//! By AdaGrad (Duchi, Hazan and Singer 2011) in one thread, in the order of the examples, in 32-bit floats: the same
//! examples give the same bits on every machine. Margins are scaled (Platt 2000) by those of sites that the weights behind
//! them had not seen.

use crate::regression::{Example, fit};
use libm::sqrtf;
use recrawl_focus::PageWords;
use recrawl_focus::classifier::linear::{BITS, LinearModel, features, margin};
use recrawl_focus::logistic::logistic;
use xxhash_rust::xxh3::xxh3_64;

/// Passes over the examples.
const EPOCHS: usize = 8;
/// AdaGrad's step.
const RATE: f32 = 0.5;
/// First sum of squared gradients. With 0, one page moves a word that it alone has by a whole step; of 0, 0.1 and 1, this
/// one told unseen sites best.
const START: f32 = 1.0;
/// Penalty of a squared weight, at each example that has its feature.
const RIDGE: f32 = 1e-4;
/// Folds of sites by which margins are calibrated.
const FOLDS: usize = 3;

/// The fold of a site: by its name, so it is the same with other sites beside it.
pub fn fold(site: &str, folds: usize) -> usize {
    (xxh3_64(site.as_bytes()) % folds as u64) as usize
}

/// A labelled page.
#[derive(Clone, Copy)]
pub struct LabelledPage<'a> {
    /// Its words.
    pub page: &'a PageWords,
    /// Name of its site.
    pub site: &'a str,
    /// Whether it is relevant.
    pub is_relevant: bool,
}

/// State of AdaGrad: weights and sums of squared gradients.
struct AdaGrad {
    weights: Vec<f32>,
    squares: Vec<f32>,
    bias: f32,
    bias_squares: f32,
}

impl AdaGrad {
    fn margin(&self, features: &[(u32, f32)]) -> f32 {
        margin(&self.weights, self.bias, features)
    }

    /// A step by one example.
    fn learn(&mut self, features: &[(u32, f32)], target: f32, weight: f32) {
        let error = weight * (logistic(f64::from(self.margin(features))) as f32 - target);
        for &(place, value) in features {
            let place = place as usize;
            let gradient = error * value + RIDGE * self.weights[place];
            self.squares[place] += gradient * gradient;
            self.weights[place] -= RATE * gradient / (sqrtf(self.squares[place]) + 1e-6);
        }
        self.bias_squares += error * error;
        self.bias -= RATE * error / (sqrtf(self.bias_squares) + 1e-6);
    }
}

/// Weights from examples in their order. Relevant pages are rare: each weighs as much as brings their sum to a quarter
/// of the others'.
fn trained(examples: &[(&[(u32, f32)], bool)]) -> (Vec<f32>, f32) {
    let size = 1 << BITS;
    let mut taken =
        AdaGrad { weights: vec![0.0; size], squares: vec![START; size], bias: 0.0, bias_squares: 0.0 };
    let relevant = examples.iter().filter(|(_, is_relevant)| *is_relevant).count();
    let others = examples.len() - relevant;
    let of_relevant = (others as f32 / relevant.max(1) as f32 / 4.0).max(1.0);
    for _ in 0..EPOCHS {
        for &(features, is_relevant) in examples {
            match is_relevant {
                true => taken.learn(features, 1.0, of_relevant),
                false => taken.learn(features, 0.0, 1.0),
            }
        }
    }
    (taken.weights, taken.bias)
}

/// Trains on labelled pages in their order. The scaling is fitted on margins of pages whose site was held back.
pub fn train(pages: &[LabelledPage]) -> LinearModel {
    let all: Vec<Vec<(u32, f32)>> = pages.iter().map(|labelled| features(labelled.page)).collect();
    let chosen = |is_in: &dyn Fn(&str) -> bool| -> Vec<(&[(u32, f32)], bool)> {
        let examples = pages.iter().zip(&all).filter(|(labelled, _)| is_in(labelled.site));
        examples.map(|(labelled, features)| (features.as_slice(), labelled.is_relevant)).collect()
    };
    let relevant = pages.iter().filter(|labelled| labelled.is_relevant).count() as f64;
    // Platt's targets, which a few examples do not reach.
    let high = (relevant + 1.0) / (relevant + 2.0);
    let low = 1.0 / (pages.len() as f64 - relevant + 2.0);
    let mut margins = vec![];
    for held in 0..FOLDS {
        let (weights, bias) = trained(&chosen(&|site| fold(site, FOLDS) != held));
        for (features, is_relevant) in chosen(&|site| fold(site, FOLDS) == held) {
            margins.push(Example {
                features: [1.0, f64::from(margin(&weights, bias, features))],
                target: if is_relevant { high } else { low },
                weight: 1.0,
            });
        }
    }
    let (weights, bias) = trained(&chosen(&|_| true));
    LinearModel::new(weights, bias, fit(&margins))
}

#[cfg(test)]
mod tests;
