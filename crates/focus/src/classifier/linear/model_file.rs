//! The file of a model: a mark, bias and scaling, the weights, and a checksum. All numbers are little-endian.

use super::{BITS, LinearModel};
use crate::logistic::Weights;
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

/// Mark and version.
const MARK: &[u8; 16] = b"recrawl linear 1";
/// Bytes of a file.
pub(super) const BYTES: usize = MARK.len() + 4 + 2 * 8 + 4 * (1 << BITS) + 8;

/// Why a file is no model.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ModelError {
    /// Another file, or one of another version.
    #[error("not a model of this version (train it again with `recrawl-lab focus train --out`)")]
    Mark,
    /// Cut or grown.
    #[error("a model has {BYTES} bytes, this file has {0} (train it again)")]
    Length(usize),
    /// Changed.
    #[error("the checksum is wrong (train it again)")]
    Checksum,
    /// A weight that is no number.
    #[error("a weight is not finite (train it again)")]
    NotFinite,
}

impl LinearModel {
    /// The file of this model.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(BYTES);
        out.extend_from_slice(MARK);
        out.extend_from_slice(&self.bias.to_le_bytes());
        self.scaling.0.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        self.weights.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        let checksum = xxh3_64(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Reads the file of a model.
    ///
    /// # Errors
    /// If it is another file, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<LinearModel, ModelError> {
        if !bytes.starts_with(MARK) {
            return Err(ModelError::Mark);
        }
        if bytes.len() != BYTES {
            return Err(ModelError::Length(bytes.len()));
        }
        let (content, checksum) = bytes.split_at(BYTES - 8);
        if checksum != xxh3_64(content).to_le_bytes() {
            return Err(ModelError::Checksum);
        }
        let content = &content[MARK.len()..];
        let single = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("four bytes"));
        let double = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let model = LinearModel {
            bias: single(&content[..4]),
            scaling: Weights([double(&content[4..12]), double(&content[12..20])]),
            weights: content[20..].chunks_exact(4).map(single).collect(),
        };
        let is_finite = model.bias.is_finite()
            && model.scaling.0.iter().all(|number| number.is_finite())
            && model.weights.iter().all(|number| number.is_finite());
        if is_finite { Ok(model) } else { Err(ModelError::NotFinite) }
    }
}
