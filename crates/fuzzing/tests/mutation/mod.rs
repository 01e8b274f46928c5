//! Small changes to known inputs, the same for the same seed and number.

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Makes one input.
pub struct Mutator(ChaCha8Rng);

impl Mutator {
    pub fn new(seed: u64, number: u64) -> Mutator {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(number);
        Mutator(random)
    }

    /// One of the inputs, changed in one to eight places.
    pub fn mutate(mut self, inputs: &[Vec<u8>], words: &[Vec<u8>]) -> Vec<u8> {
        let mut input = inputs.choose(&mut self.0).expect("a target has inputs").clone();
        for _ in 0..self.0.random_range(1..=8) {
            self.change(&mut input, inputs, words);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, inputs: &[Vec<u8>], words: &[Vec<u8>]) {
        let at = self.0.random_range(0..=input.len());
        let end = (at + self.0.random_range(0..=16)).min(input.len());
        match self.0.random_range(0..7) {
            0 => drop(
                input.splice(at..at, words.choose(&mut self.0).expect("a target has words").iter().copied()),
            ),
            1 => drop(
                input.splice(at..end, words.choose(&mut self.0).expect("a target has words").iter().copied()),
            ),
            2 => drop(input.drain(at..end)),
            3 => {
                let part = input[at..end].to_vec();
                input.splice(at..at, part);
            }
            4 => {
                let other = inputs.choose(&mut self.0).expect("a target has inputs");
                let from = self.0.random_range(0..=other.len());
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            5 if at < input.len() => {
                input[at] = *[0, 1, 0x7f, 0x80, 0xff, b' '].choose(&mut self.0).expect("bytes")
            }
            _ if at < input.len() => input[at] ^= 1 << self.0.random_range(0..8),
            _ => input.push(self.0.random()),
        }
    }
}

/// The words of a dictionary in libFuzzer's form: each in quotes on a line of its own, odd bytes as `\xAB`.
pub fn words(dictionary: &str) -> Vec<Vec<u8>> {
    dictionary.lines().map(word).collect()
}

fn word(line: &str) -> Vec<u8> {
    let quoted = line.strip_prefix('"').and_then(|line| line.strip_suffix('"'));
    let mut rest = quoted.unwrap_or_else(|| panic!("a word in quotes: {line}"));
    let mut word = Vec::new();
    while let Some(first) = rest.chars().next() {
        let (byte, length) = match rest.strip_prefix("\\x") {
            Some(hex) => (u8::from_str_radix(&hex[..2], 16).expect("two hex digits"), 4),
            None if first == '\\' => (rest.as_bytes()[1], 2),
            None => (rest.as_bytes()[0], 1),
        };
        word.push(byte);
        rest = &rest[length..];
    }
    word
}
