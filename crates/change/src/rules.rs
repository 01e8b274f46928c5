//! The change rules of one repository.

use crate::detector::{ChosenDetector, ContentComparison};
use crate::fingerprint::{Features, fingerprint};
use crate::noise::NoiseFloor;
use recrawl_types::{Content, ContentKind, Fingerprint};
use serde::{Deserialize, Serialize};

/// How fingerprints are made and compared: the section `[change]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChangeRules {
    /// The rule that decides.
    pub detector: ChosenDetector,
    /// Maximum distance in bits, 0 to 64, that is no change; each detector says when it applies.
    pub max_distance: u32,
    /// The features of the SimHash.
    pub features: Features,
}

impl Default for ChangeRules {
    fn default() -> Self {
        ChangeRules { detector: ChosenDetector::DEFAULT, max_distance: 0, features: Features::default() }
    }
}

impl ChangeRules {
    /// The fingerprint of a page's visible text under these rules.
    pub fn fingerprint(&self, text: &str) -> Fingerprint {
        fingerprint(text, self.features)
    }

    /// Whether the page changed from `before` to `after`.
    ///
    /// A page whose kind changed (to a redirect, a file) changed, unless the same body is read as text now. Redirects, sitemaps and opaque
    /// bodies have no near-duplicates: only the digest decides, whatever the detector and the
    /// floor. Texts that different rules selected show no change: the caller makes both fingerprints under the same
    /// rule where it can.
    pub fn changed(&self, before: &Content, after: &Content, floor: &NoiseFloor) -> bool {
        if before.kind != after.kind {
            // Earlier releases compared JSON byte by byte.
            let is_read_now = before.kind == ContentKind::Opaque && after.kind == ContentKind::Text;
            return !is_read_now || before.payload != after.payload;
        }
        match after.kind {
            _ if before.rule != after.rule => false,
            ContentKind::Opaque | ContentKind::Redirect | ContentKind::Hints => {
                before.fingerprint.digest != after.fingerprint.digest
            }
            ContentKind::Text => self.detector.changed(&ContentComparison::compare(
                &before.fingerprint,
                &after.fingerprint,
                self.max_distance,
                floor.floor(),
            )),
        }
    }
}

/// What a comparison found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// No difference that counts.
    Equal,
    /// A difference within the noise floor, which is no change.
    WithinNoise,
    /// A change.
    Changed,
}

/// Bits in which the SimHashes of two contents differ, for [`crate::NoiseTally`]. `None` unless both are
/// texts that the same rule selected.
pub fn distance(before: &Content, after: &Content) -> Option<u32> {
    let texts = before.kind == ContentKind::Text && after.kind == ContentKind::Text;
    (texts && before.rule == after.rule)
        .then(|| simhash::hamming_distance(before.fingerprint.simhash, after.fingerprint.simhash))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseTally;
    use recrawl_types::Share;

    fn content(kind: ContentKind, simhash: u64, digest: u128) -> Content {
        Content { kind, fingerprint: Fingerprint { simhash, digest }, ..Content::default() }
    }

    fn noisy() -> NoiseFloor {
        let mut floor = NoiseFloor::default();
        for _ in 0..3 {
            let mut tally = NoiseTally::default();
            (0..20).for_each(|_| tally.observe(Share::Warmup, 1, false, 4));
            floor.fold(&tally);
        }
        assert_eq!(floor.floor(), Some(8));
        floor
    }

    #[test]
    fn kinds_differ_and_only_texts_have_a_floor() {
        let rules = ChangeRules::default();
        let floor = noisy();
        for (before, after, on_clean, on_noisy) in [
            (content(ContentKind::Text, 0, 1), content(ContentKind::Text, 0, 1), false, false),
            (content(ContentKind::Text, 0, 1), content(ContentKind::Text, 0b1, 2), true, false),
            (content(ContentKind::Text, 0, 1), content(ContentKind::Text, 0x1ff, 2), true, true),
            (content(ContentKind::Text, 0, 1), content(ContentKind::Opaque, 0, 1), true, true),
            (content(ContentKind::Opaque, 0, 1), content(ContentKind::Opaque, 0, 2), true, true),
            (content(ContentKind::Opaque, 0, 1), content(ContentKind::Opaque, 0, 1), false, false),
            (content(ContentKind::Redirect, 0, 1), content(ContentKind::Redirect, 0, 2), true, true),
            (content(ContentKind::Redirect, 0, 1), content(ContentKind::Redirect, 0, 1), false, false),
        ] {
            assert_eq!(
                rules.changed(&before, &after, &NoiseFloor::default()),
                on_clean,
                "{before:?} {after:?}"
            );
            assert_eq!(rules.changed(&before, &after, &floor), on_noisy, "{before:?} {after:?}");
        }
        let ruled = |rule, digest| Content { rule, ..content(ContentKind::Text, 0, digest) };
        for (before, after, expected) in [(0, 1, false), (1, 2, false), (1, 1, true)] {
            assert_eq!(rules.changed(&ruled(before, 1), &ruled(after, 2), &NoiseFloor::default()), expected);
        }
        let lax = ChangeRules { detector: "simhash".parse().unwrap(), max_distance: 64, ..rules };
        let (a, b) = (content(ContentKind::Opaque, 0, 1), content(ContentKind::Opaque, 0, 2));
        assert!(lax.changed(&a, &b, &floor));
    }

    #[test]
    fn only_texts_have_a_distance() {
        let text = content(ContentKind::Text, 0b1011, 1);
        assert_eq!(distance(&text, &content(ContentKind::Text, 0b1, 2)), Some(2));
        assert_eq!(distance(&text, &content(ContentKind::Redirect, 0, 2)), None);
        assert_eq!(distance(&text, &Content { rule: 1, ..text.clone() }), None);
    }

    #[test]
    fn the_configuration_is_checked_and_comes_back() {
        let read = |text: &str| serde_json::from_str::<ChangeRules>(text).map_err(|e| e.to_string());
        assert_eq!(read("{}"), Ok(ChangeRules::default()));
        let rules = read(r#"{"detector":"simhash","max_distance":3,"features":"words"}"#).unwrap();
        assert_eq!(
            (rules.detector.name(), rules.max_distance, rules.features),
            ("simhash", 3, Features::Words)
        );
        assert_eq!(read(&serde_json::to_string(&rules).unwrap()), Ok(rules));
        assert!(
            read(r#"{"detector":"md5"}"#).unwrap_err().contains("choose one of adaptive, digest, simhash")
        );
        assert!(read(r#"{"max_distnace":3}"#).unwrap_err().contains("max_distnace"));
    }
}
