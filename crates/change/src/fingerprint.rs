//! Makes the fingerprint of a text.

use crate::simhash::simhash;
use crate::words::Words;
use recrawl_types::Fingerprint;
use recrawl_types::visible::visible;
use serde::{Deserialize, Serialize};

/// The features that a SimHash counts. Fixed for the life of a repository, since fingerprints of
/// different features cannot be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Features {
    /// Single words; ignores their order.
    Words,
    /// Three consecutive words. A shorter text is one feature.
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

/// The fingerprint of a page's visible text. SimHash and digest treat any white space as a word
/// boundary only, and skip what a reader does not see.
pub fn fingerprint(text: &str, features: Features) -> Fingerprint {
    let words = Words::split_text(&visible(text));
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
    fn what_nobody_sees_is_no_content() {
        let seen = fingerprint("caf\u{e9} au lait for 3 people", Features::Shingles);
        for text in
            ["cafe\u{301} au lait for 3 people", "caf\u{e9} au\u{200b} la\u{ad}it \u{200e}for 3 people"]
        {
            assert_eq!(fingerprint(text, Features::Shingles), seen, "{text:?}");
        }
        // As releases before this rule stored it.
        assert_eq!(seen.digest, xxhash_rust::xxh3::xxh3_128("caf\u{e9} au lait for 3 people".as_bytes()));
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
