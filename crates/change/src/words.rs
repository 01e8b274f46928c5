//! A text as words with one space between them.
//!
//! White space is layout: two texts that differ in nothing else are the same content.

/// The words of a text, laid out for hashing.
pub(crate) struct Words {
    /// The words joined by single spaces, then [`Words::PADDING`] zeros.
    bytes: Vec<u8>,
    /// Where each word ends in `bytes`; the next one begins one byte later.
    ends: Vec<usize>,
}

/// Bytes above ASCII in a block of eight.
const HIGH: u64 = 0x8080_8080_8080_8080;

impl Words {
    /// The hash reads eight bytes at a time, past a word's end too.
    pub(crate) const PADDING: usize = 8;

    /// Splits at white space, as [`str::split_whitespace`] does.
    pub(crate) fn split_text(text: &str) -> Words {
        let mut words = Words {
            bytes: Vec::with_capacity(text.len() + 1 + Self::PADDING),
            ends: Vec::with_capacity(text.len() / 5),
        };
        if !words.take(text.as_bytes()) {
            words.bytes.clear();
            words.ends.clear();
            words.split(text.as_bytes());
        }
        words.bytes.resize(words.len() + Self::PADDING, 0);
        words
    }

    /// Takes a text whose words have one byte of white space between them, as the extractor's texts
    /// have, as it is. False if it is none.
    fn take(&mut self, text: &[u8]) -> bool {
        self.bytes.extend_from_slice(text);
        let mut start = 0;
        let is_taken = candidates(text, |at| {
            match space(&text[at..]) {
                0 => {}
                1 if at > start => {
                    self.bytes[at] = b' ';
                    self.ends.push(at);
                    start = at + 1;
                }
                _ => return false,
            }
            true
        });
        if start < text.len() {
            self.ends.push(text.len());
        }
        is_taken && (start < text.len() || text.is_empty())
    }

    fn split(&mut self, text: &[u8]) {
        let mut start = 0;
        candidates(text, |at| {
            let length = space(&text[at..]);
            if length > 0 {
                self.push(&text[start..at]);
                start = at + length;
            }
            true
        });
        self.push(&text[start..]);
    }

    fn push(&mut self, word: &[u8]) {
        if word.is_empty() {
            return;
        }
        if !self.bytes.is_empty() {
            self.bytes.push(b' ');
        }
        self.bytes.extend_from_slice(word);
        self.ends.push(self.bytes.len());
    }

    /// Number of words.
    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of the joined words.
    fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The joined words, without padding.
    pub(crate) fn joined(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }

    /// The joined words with their padding: what [`Words::runs`] point into.
    pub(crate) fn padded(&self) -> &[u8] {
        &self.bytes
    }

    /// All runs of `n` words in a row as ranges of bytes; one run of all words where there are
    /// fewer.
    pub(crate) fn runs(&self, n: usize) -> impl Iterator<Item = (usize, usize)> {
        let n = n.clamp(1, self.count().max(1));
        let starts = std::iter::once(0).chain(self.ends.iter().map(|end| end + 1));
        starts.zip(self.ends.iter().skip(n - 1).copied())
    }
}

/// Calls a function with each place where white space may begin, until it returns false. Returns
/// whether it never did.
#[inline]
fn candidates(text: &[u8], mut take: impl FnMut(usize) -> bool) -> bool {
    let mut blocks = text.chunks_exact(8);
    for (i, block) in blocks.by_ref().enumerate() {
        let block = u64::from_le_bytes(block.try_into().expect("eight bytes"));
        // Bytes below 0x21 or above ASCII: adding 0x5F carries into a byte's high bit from 0x21 on.
        let low = !((block & !HIGH) + 0x5F5F_5F5F_5F5F_5F5F);
        let mut candidates = (low | block) & HIGH;
        while candidates != 0 {
            if !take(i * 8 + candidates.trailing_zeros() as usize / 8) {
                return false;
            }
            candidates &= candidates - 1;
        }
    }
    (text.len() - blocks.remainder().len()..text.len()).all(take)
}

/// Bytes of the white space (Unicode's property White_Space) that `text` begins with; 0 for none.
fn space(text: &[u8]) -> usize {
    match text {
        [b' ' | b'\t'..=b'\r', ..] => 1,
        [0xC2, 0x85 | 0xA0, ..] => 2,
        [0xE1, 0x9A, 0x80, ..] => 3,
        [0xE2, 0x80, 0x80..=0x8A | 0xA8 | 0xA9 | 0xAF, ..] => 3,
        [0xE2, 0x81, 0x9F, ..] => 3,
        [0xE3, 0x80, 0x80, ..] => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_and_runs_equal_splitting_and_windows(
            text in "[a-z\u{0}-\u{20}]{0,40}|[a-c]{1,3}([ \n][a-cé]{1,5}){0,9}|[abß€\u{85}\u{a0}\u{1680}\u{2003}\u{200b}\u{2028}\u{202f}\u{205f}\u{3000}\u{1c} \n]{0,40}",
            n in 1usize..5,
        ) {
            let words = Words::split_text(&text);
            let expected: Vec<&str> = text.split_whitespace().collect();
            prop_assert_eq!(words.joined().to_vec(), expected.join(" ").into_bytes());
            prop_assert_eq!(words.count(), expected.len());
            let runs: Vec<&[u8]> = words.runs(n).map(|(from, to)| &words.padded()[from..to]).collect();
            let windows: Vec<String> = match expected.len() {
                0 => vec![],
                few if few < n => vec![expected.join(" ")],
                _ => expected.windows(n).map(|w| w.join(" ")).collect(),
            };
            prop_assert_eq!(runs, windows.iter().map(|w| w.as_bytes()).collect::<Vec<_>>());
        }
    }
}
