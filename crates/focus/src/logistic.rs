//! Logistic regression on few features.

use libm::exp;
use serde::{Deserialize, Serialize};

/// 1 / (1 + e⁻ˣ).
pub fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}

/// Weights of N features. The first feature is 1 in every example.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Weights<const N: usize>(#[serde(with = "array")] pub [f64; N]);

impl<const N: usize> Weights<N> {
    /// Log odds of an example.
    pub fn logit(&self, features: &[f64; N]) -> f64 {
        self.0.iter().zip(features).map(|(weight, feature)| weight * feature).sum()
    }
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
