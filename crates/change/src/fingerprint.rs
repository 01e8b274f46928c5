//! From text to fingerprint.

use crate::simhash::simhash;
use crate::words::Words;
use recrawl_types::Fingerprint;
use serde::{Deserialize, Serialize};

/// What a SimHash counts. Belongs to a repository for life: fingerprints of different features
/// compare as noise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Features {
    /// Single words: blind to their order.
    Words,
    /// Three words in a row (a text of fewer is one feature).
    #[default]
    Shingles,
}

impl Features {
    fn width(self) -> usize {
        match self {
            Features::Words => 1,
            Features::Shingles => 3,
        }
    }
}

/// The fingerprint of a page's visible text. White space counts only as a border between words, for the
/// SimHash and for the digest.
pub fn fingerprint(text: &str, features: Features) -> Fingerprint {
    let words = Words::of(text);
    Fingerprint {
        simhash: simhash(&words, features.width()),
        digest: xxhash_rust::xxh3::xxh3_128(words.joined()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_no_content_and_order_is_for_shingles_only() {
        for features in [Features::Words, Features::Shingles] {
            let a = fingerprint(" one two\n\nthree  four five\u{a0}six ", features);
            assert_eq!(a, fingerprint("one two three four five six", features));
        }
        let (there, back) = ("one two three four five six", "six five four three two one");
        assert_eq!(fingerprint(there, Features::Words).simhash, fingerprint(back, Features::Words).simhash);
        assert_ne!(
            fingerprint(there, Features::Shingles).simhash,
            fingerprint(back, Features::Shingles).simhash
        );
        assert_ne!(fingerprint(there, Features::Words).digest, fingerprint(back, Features::Words).digest);
    }

    #[test]
    fn texts_of_few_words() {
        let empty = fingerprint(" \n", Features::Shingles);
        assert_eq!(empty.simhash, 0);
        assert_eq!(empty.digest, fingerprint("", Features::Words).digest);
        assert_ne!(fingerprint("one", Features::Shingles), fingerprint("two", Features::Shingles));
        assert_ne!(fingerprint("one two", Features::Shingles).simhash, 0);
    }
}
