//! Detectors: rules that decide from two fingerprints whether a page's text changed.
//!
//! A new detector is a file under `detector/` and a line in [`ALL`].

mod adaptive;
mod digest;
mod simhash;

use recrawl_types::Fingerprint;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// What a detector knows about two visits of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentComparison {
    /// Whether the texts' digests are equal, and so the texts.
    pub digest_equal: bool,
    /// Bits in which their SimHashes differ, 0 to 64; 0 if the digests are equal.
    pub distance: u32,
    /// The configured distance up to which texts count as the same.
    pub max_distance: u32,
    /// The distance up to which texts of this site differ without a change ([`crate::NoiseFloor`]);
    /// none for a site without noise.
    pub floor: Option<u32>,
}

impl ContentComparison {
    /// Compares two fingerprints of texts.
    pub fn compare(
        before: &Fingerprint,
        after: &Fingerprint,
        max_distance: u32,
        floor: Option<u32>,
    ) -> ContentComparison {
        ContentComparison {
            digest_equal: before.digest == after.digest,
            distance: ::simhash::hamming_distance(before.simhash, after.simhash),
            max_distance,
            floor,
        }
    }
}

/// A rule.
pub trait Detector: Sync {
    /// Name in the configuration.
    fn name(&self) -> &'static str;

    /// One sentence for the reference.
    fn about(&self) -> &'static str;

    /// Whether the text changed. Never true for equal texts.
    fn changed(&self, comparison: &ContentComparison) -> bool;
}

/// All detectors.
pub const ALL: &[&dyn Detector] = &[&adaptive::Adaptive, &digest::DigestDetector, &simhash::SimHash];

/// A detector of the list, chosen by name.
#[derive(Clone, Copy)]
pub struct ChosenDetector(&'static dyn Detector);

impl ChosenDetector {
    /// The detector that did best in the measurements (docs/change-detection.md).
    pub const DEFAULT: ChosenDetector = ChosenDetector(&adaptive::Adaptive);
}

impl std::ops::Deref for ChosenDetector {
    type Target = dyn Detector;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

/// Error: no detector has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown change detector {0:?}; choose one of {names}",
    names = ALL.iter().map(|d| d.name()).collect::<Vec<_>>().join(", ")
)]
pub struct UnknownDetector(pub String);

impl FromStr for ChosenDetector {
    type Err = UnknownDetector;

    fn from_str(name: &str) -> Result<ChosenDetector, UnknownDetector> {
        let found = ALL.iter().find(|d| d.name() == name);
        found.map(|d| ChosenDetector(*d)).ok_or_else(|| UnknownDetector(name.to_owned()))
    }
}

impl fmt::Debug for ChosenDetector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl PartialEq for ChosenDetector {
    fn eq(&self, other: &ChosenDetector) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for ChosenDetector {}

impl Serialize for ChosenDetector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<'de> Deserialize<'de> for ChosenDetector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ChosenDetector, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
