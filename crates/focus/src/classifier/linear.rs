//! `linear`: logistic regression on hashed words, pairs of words and words of the URL.
//!
//! Its margin, of 32-bit floats, becomes a probability by Platt scaling (2000). `recrawl-lab focus train` trains it.

mod model_file;

pub use model_file::ModelError;

use super::{Assessment, Classifier, ClassifierKind, PageWords, terms::Terms};
use crate::logistic::{Weights, logistic};
use crate::words::joined;
use libm::{log1pf, sqrtf};

/// The entry in the list.
pub const KIND: ClassifierKind = ClassifierKind {
    name: "linear",
    about: "logistic regression on words, pairs of words and words of the URL; trained on labelled pages",
    needs_model: true,
};

/// Hashed features: 2 to the power of this, 1 MiB of weights.
pub const BITS: u32 = 18;
/// Trained weights, with the scaling of their margins.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearModel {
    weights: Vec<f32>,
    bias: f32,
    /// Log odds = offset + slope · margin.
    scaling: Weights<2>,
}

/// Hashed features of a page: places, ascending, and values. Words, pairs and words of the URL have length 1 each.
pub fn features(page: &PageWords) -> Vec<(u32, f32)> {
    let place = |hash: u64, kind: u64| (joined(hash, kind) >> (64 - BITS)) as u32;
    let words = page.words.iter().map(|&word| place(word, 1)).collect();
    let pairs = page.words.windows(2).map(|two| place(joined(two[0], two[1]), 2)).collect();
    let url = page.url.iter().map(|&word| place(word, 3)).collect();
    let mut out = vec![];
    for places in [words, pairs, url] {
        append(places, &mut out);
    }
    out.sort_unstable_by_key(|(place, _)| *place);
    out
}

/// Appends the places of one kind with ln(1 + count), scaled to length 1.
fn append(mut places: Vec<u32>, out: &mut Vec<(u32, f32)>) {
    places.sort_unstable();
    let counted: Vec<(u32, f32)> =
        places.chunk_by(|a, b| a == b).map(|same| (same[0], log1pf(same.len() as f32))).collect();
    let length = sqrtf(counted.iter().map(|(_, value)| value * value).sum());
    out.extend(counted.into_iter().map(|(place, value)| (place, value / length)));
}

/// Bias and weighted features of a page.
pub fn margin(weights: &[f32], bias: f32, features: &[(u32, f32)]) -> f32 {
    features.iter().fold(bias, |sum, &(place, value)| sum + weights[place as usize] * value)
}

impl LinearModel {
    /// A model of trained weights, one for each of 2 to the power of [`BITS`] features.
    pub fn new(weights: Vec<f32>, bias: f32, scaling: Weights<2>) -> LinearModel {
        LinearModel { weights, bias, scaling }
    }

    /// The probability that a page is relevant.
    pub fn probability(&self, page: &PageWords) -> f64 {
        let margin = margin(&self.weights, self.bias, &features(page));
        logistic(self.scaling.logit(&[1.0, f64::from(margin)]))
    }
}

/// A model, with the terms that the links of a page are compared with.
pub struct Linear {
    model: LinearModel,
    terms: Terms,
}

impl Linear {
    /// A classifier by a model.
    pub fn new(model: LinearModel, terms: Terms) -> Linear {
        Linear { model, terms }
    }
}

impl Classifier for Linear {
    fn assess(&self, page: &PageWords) -> Assessment {
        Assessment { relevance: self.model.probability(page), ..self.terms.assess(page) }
    }
}

#[cfg(test)]
mod tests;
