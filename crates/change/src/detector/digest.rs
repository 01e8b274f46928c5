//! Any difference is a change.

use super::{Comparison, Detector};

/// Compares digests and ignores distances and floors: the operator wants every difference.
pub(super) struct Digest;

impl Detector for Digest {
    fn name(&self) -> &'static str {
        "digest"
    }

    fn about(&self) -> &'static str {
        "any difference of the visible text, white space aside; learns no noise"
    }

    fn changed(&self, c: &Comparison) -> bool {
        !c.digest_equal
    }
}
