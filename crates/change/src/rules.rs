//! The rules of change of one repository.

use crate::detector::{Chosen, Comparison};
use crate::fingerprint::{Features, fingerprint};
use crate::noise::NoiseFloor;
use recrawl_types::{Content, ContentKind, Fingerprint};
use serde::{Deserialize, Serialize};

/// How fingerprints are made and compared: the section `[change]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChangeRules {
    /// The rule that decides.
    pub detector: Chosen,
    /// Bits of distance, 0 to 64, that are no change; see each detector for when it applies.
    pub max_distance: u32,
    /// What the SimHash counts.
    pub features: Features,
}

impl Default for ChangeRules {
    fn default() -> Self {
        ChangeRules { detector: Chosen::DEFAULT, max_distance: 0, features: Features::default() }
    }
}

impl ChangeRules {
    /// The fingerprint of a page's visible text under these rules.
    pub fn fingerprint(&self, text: &str) -> Fingerprint {
        fingerprint(text, self.features)
    }

    /// Did the page change from `before` to `after`?
    ///
    /// A page that became something else (a redirect, a file) changed. Redirects and opaque bodies have
    /// no near misses: there the digest decides alone, whatever detector and floor.
    pub fn changed(&self, before: &Content, after: &Content, floor: &NoiseFloor) -> bool {
        if before.kind != after.kind {
            return true;
        }
        match after.kind {
            ContentKind::Opaque | ContentKind::Redirect => {
                before.fingerprint.digest != after.fingerprint.digest
            }
            ContentKind::Text => self.detector.changed(&Comparison::of(
                &before.fingerprint,
                &after.fingerprint,
                self.max_distance,
                floor.floor(),
            )),
        }
    }
}

/// Bits in which the SimHashes of two contents differ: what a [`crate::Tally`] wants to know. None where
/// they are not both texts.
pub fn distance(before: &Content, after: &Content) -> Option<u32> {
    let texts = before.kind == ContentKind::Text && after.kind == ContentKind::Text;
    texts.then(|| simhash::hamming_distance(before.fingerprint.simhash, after.fingerprint.simhash))
}
