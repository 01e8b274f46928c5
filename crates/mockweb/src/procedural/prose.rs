//! Generates text: phrases made once from syllables, and sentences made from phrases.

use crate::seed::Stream;

const PROSE: u64 = 0x7072_6f73;
/// Enough phrases that two pages share few three-word sequences, and few enough to fit in a cache.
const PHRASES: u32 = 1 << 14;
const WORDS: u32 = 4_000;

/// The vocabulary of a web.
pub struct Prose {
    seed: u64,
    text: Vec<u8>,
    /// Start of each phrase in `text`, and the end of the last one.
    starts: Vec<u32>,
}

impl Prose {
    /// Generates the vocabulary in a few milliseconds.
    pub fn new(seed: u64) -> Prose {
        let mut stream = Stream::new(&[seed, PROSE]);
        let words: Vec<Vec<u8>> = (0..WORDS).map(|_| word(&mut stream)).collect();
        let mut text = Vec::new();
        let mut starts = Vec::with_capacity(PHRASES as usize + 1);
        for _ in 0..PHRASES {
            starts.push(text.len() as u32);
            for i in 0..4 + stream.below(5) {
                if i > 0 {
                    text.push(b' ');
                }
                // Squaring makes some words common and most words rare.
                let at = stream.unit();
                text.extend_from_slice(&words[(at * at * f64::from(WORDS)) as usize]);
            }
        }
        starts.push(text.len() as u32);
        Prose { seed, text, starts }
    }

    fn phrase(&self, stream: &mut Stream) -> &[u8] {
        let at = stream.below(PHRASES) as usize;
        &self.text[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Appends a phrase determined by the numbers, about 30 bytes.
    pub fn push_phrase(&self, parts: [u64; 3], out: &mut Vec<u8>) {
        out.extend_from_slice(self.phrase(&mut self.stream(parts)));
    }

    /// Appends a sentence determined by the numbers, about 100 bytes.
    pub fn push_sentence(&self, parts: [u64; 3], out: &mut Vec<u8>) {
        let mut stream = self.stream(parts);
        for i in 0..3 {
            if i > 0 {
                out.extend_from_slice(b", ");
            }
            out.extend_from_slice(self.phrase(&mut stream));
        }
        out.extend_from_slice(b". ");
    }

    fn stream(&self, parts: [u64; 3]) -> Stream {
        Stream::new(&[self.seed, PROSE, parts[0], parts[1], parts[2]])
    }
}

fn word(stream: &mut Stream) -> Vec<u8> {
    const HEADS: &[u8] = b"bcdfghklmnprstvw";
    const VOWELS: &[u8] = b"aeiou";
    let mut word = Vec::new();
    for _ in 0..1 + stream.below(3) {
        word.push(HEADS[stream.below(HEADS.len() as u32) as usize]);
        word.push(VOWELS[stream.below(VOWELS.len() as u32) as usize]);
        if stream.below(3) == 0 {
            word.push(HEADS[stream.below(HEADS.len() as u32) as usize]);
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_differ_by_every_number_and_repeat_by_all() {
        let prose = Prose::new(4);
        let sentence = |parts| {
            let mut out = Vec::new();
            prose.push_sentence(parts, &mut out);
            out
        };
        assert_eq!(sentence([1, 2, 3]), sentence([1, 2, 3]));
        for other in [[0, 2, 3], [1, 0, 3], [1, 2, 0]] {
            assert_ne!(sentence([1, 2, 3]), sentence(other));
        }
        assert!(sentence([1, 2, 3]).len() > 40);
    }
}
