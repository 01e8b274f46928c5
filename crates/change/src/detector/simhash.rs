//! A distance between the SimHashes is a change.

use super::{ContentComparison, Detector};

/// The classic near-duplicate test (Manku et al. 2007), with the site's noise floor if that is
/// higher.
pub(super) struct SimHash;

impl Detector for SimHash {
    fn name(&self) -> &'static str {
        "simhash"
    }

    fn about(&self) -> &'static str {
        "SimHashes further apart than max_distance, or than the site's noise floor if that is higher"
    }

    fn changed(&self, c: &ContentComparison) -> bool {
        !c.digest_equal && c.distance > c.max_distance.max(c.floor.unwrap_or(0))
    }
}
