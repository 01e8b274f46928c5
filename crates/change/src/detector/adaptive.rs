//! Exact on clean sites, by distance on noisy ones.

use super::{ContentComparison, Detector};

/// On a site without noise every difference counts, however small. On a site with a noise floor,
/// only a difference above the floor counts.
pub(super) struct Adaptive;

impl Detector for Adaptive {
    fn name(&self) -> &'static str {
        "adaptive"
    }

    fn about(&self) -> &'static str {
        "any difference; on a site with a noise floor, SimHashes further apart than floor and max_distance"
    }

    fn changed(&self, c: &ContentComparison) -> bool {
        match c.floor {
            _ if c.digest_equal => false,
            None => true,
            Some(floor) => c.distance > floor.max(c.max_distance),
        }
    }
}
