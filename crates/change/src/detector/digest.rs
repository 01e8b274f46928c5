//! Any difference is a change.

use super::{ContentComparison, Detector};

/// Compares digests and ignores distances and floors: the operator wants every difference.
pub(super) struct DigestDetector;

impl Detector for DigestDetector {
    fn name(&self) -> &'static str {
        "digest"
    }

    fn about(&self) -> &'static str {
        "any difference of the visible text, white space aside; learns no noise"
    }

    fn changed(&self, c: &ContentComparison) -> bool {
        !c.digest_equal
    }
}
