//! Symbols: a code of one byte for each of up to 255 strings of one to eight bytes that are frequent in a block's keys (FSST:
//! Boncz, Neumann & Leis, VLDB 2020). Each key is coded alone, so a new key among others leaves their bytes as they are.

use crate::file::bytes::{Malformed, Put, Take};
use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;

/// The longest symbol.
const LONGEST: usize = 8;
/// The code that says that the byte behind it stands for itself.
const ESCAPE: u8 = 255;
/// Buckets of pairs of bytes.
const BUCKETS: usize = 1 << 10;
/// Rounds of choosing symbols. Each chooses from the symbols of the round before and their pairs.
const ROUNDS: usize = 4;
/// Times that a symbol must save a byte of the sample to be worth its place.
const LEAST_GAIN: u32 = 16;

/// Symbols by code, the longest first. The default has none.
#[derive(Clone, PartialEq)]
pub(crate) struct Symbols {
    symbols: Vec<Symbol>,
    /// The bytes and the length of each code's symbol. The length is 0 for a code without a symbol.
    words: [u64; 256],
    lengths: [u8; 256],
    /// The code of each single byte that is a symbol; else [`ESCAPE`].
    bytes: [u8; 256],
    /// The codes of longer symbols, by the bucket of their first two bytes, the longest first.
    codes: Vec<u8>,
    /// Where the codes of each bucket begin.
    starts: [u8; BUCKETS + 1],
}

impl Default for Symbols {
    fn default() -> Symbols {
        Symbols {
            symbols: Vec::new(),
            words: [0; 256],
            lengths: [0; 256],
            bytes: [ESCAPE; 256],
            codes: Vec::new(),
            starts: [0; BUCKETS + 1],
        }
    }
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.symbols).finish()
    }
}

/// The bucket of a word's first two bytes.
fn bucket(word: u64) -> usize {
    usize::from((word as u16).wrapping_mul(0x9e5b) >> 6)
}

/// Bytes, the first one lowest, and zeros behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Symbol {
    word: u64,
    length: u8,
}

impl Symbol {
    fn byte(byte: u8) -> Symbol {
        Symbol { word: byte.into(), length: 1 }
    }

    /// Both together; none if they are too long.
    fn and(self, next: Symbol) -> Option<Symbol> {
        let length = self.length + next.length;
        let is_short = usize::from(length) <= LONGEST;
        is_short.then(|| Symbol { word: self.word | next.word << (8 * self.length), length })
    }

    /// Does the text begin with this symbol? The first `length` bytes of `word` are text.
    fn begins(self, word: u64, length: usize) -> bool {
        usize::from(self.length) <= length && (word ^ self.word) << (64 - 8 * u32::from(self.length)) == 0
    }

    fn order(self) -> (Reverse<u8>, u64) {
        (Reverse(self.length), self.word)
    }
}

/// The bytes of a text from `at` on, where it does not end, as a word.
#[inline]
fn word(text: &[u8], at: usize) -> u64 {
    match (text[at..].first_chunk(), text.last_chunk()) {
        (Some(bytes), _) => u64::from_le_bytes(*bytes),
        // The last eight bytes without those before `at`.
        (None, Some(bytes)) => u64::from_le_bytes(*bytes) >> (8 * (at + LONGEST - text.len())),
        (None, None) => text[at..].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

impl Symbols {
    fn new(mut symbols: Vec<Symbol>) -> Symbols {
        symbols.sort_unstable_by_key(|symbol| symbol.order());
        let mut new = Symbols::default();
        for (code, symbol) in symbols.iter().enumerate() {
            (new.words[code], new.lengths[code]) = (symbol.word, symbol.length);
        }
        let long = symbols.iter().take_while(|symbol| symbol.length > 1).count();
        for (code, symbol) in symbols.iter().enumerate().skip(long) {
            new.bytes[symbol.word as usize] = code as u8;
        }
        new.codes.extend(0..long as u8);
        new.codes.sort_by_key(|&code| bucket(symbols[usize::from(code)].word));
        for symbol in &symbols[..long] {
            new.starts[bucket(symbol.word) + 1] += 1;
        }
        for at in 1..new.starts.len() {
            new.starts[at] += new.starts[at - 1];
        }
        Symbols { symbols, ..new }
    }

    /// The symbols that shorten these texts most.
    pub fn from_texts(texts: &[&[u8]]) -> Symbols {
        let mut symbols = Symbols::default();
        for _ in 0..ROUNDS {
            symbols = symbols.better(texts);
        }
        symbols
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The best of these, of single bytes, and of all pairs that stand side by side.
    fn better(&self, texts: &[&[u8]]) -> Symbols {
        let mut found: Vec<Symbol> = Vec::new();
        for text in texts {
            let mut last: Option<Symbol> = None;
            let mut at = 0;
            while at < text.len() {
                let next = self.next(text, at).map_or(Symbol::byte(text[at]), |code| self.symbols[code]);
                found.push(next);
                found.extend(last.and_then(|last| last.and(next)));
                at += usize::from(next.length);
                last = Some(next);
            }
        }
        found.sort_unstable();
        // A single byte would take two bytes without a symbol.
        let gain = |same: &[Symbol]| same.len() as u32 * u32::from(same[0].length);
        let mut gains: Vec<(Reverse<u32>, Symbol)> =
            found.chunk_by(|a, b| a == b).map(|same| (Reverse(gain(same)), same[0])).collect();
        gains.retain(|(Reverse(gain), _)| *gain >= LEAST_GAIN);
        gains.sort_unstable();
        gains.truncate(usize::from(ESCAPE));
        Symbols::new(gains.into_iter().map(|(_, symbol)| symbol).collect())
    }

    /// The code of the longest symbol that a text goes on with at `at`.
    fn next(&self, text: &[u8], at: usize) -> Option<usize> {
        let word = word(text, at);
        let codes: Range<usize> = self.starts[bucket(word)].into()..self.starts[bucket(word) + 1].into();
        let is_next = |code: &&u8| self.symbols[usize::from(**code)].begins(word, text.len() - at);
        let code = *self.codes[codes].iter().find(is_next).unwrap_or(&self.bytes[usize::from(text[at])]);
        (code != ESCAPE).then_some(code.into())
    }

    /// Appends a text in codes.
    pub fn encode(&self, text: &[u8], out: &mut Vec<u8>) {
        let mut at = 0;
        while at < text.len() {
            match self.next(text, at) {
                Some(code) => {
                    out.push(code as u8);
                    at += usize::from(self.symbols[code].length);
                }
                None => {
                    out.extend_from_slice(&[ESCAPE, text[at]]);
                    at += 1;
                }
            }
        }
    }

    /// Appends the text that was encoded so.
    #[inline]
    pub fn decode(&self, coded: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        let (mut codes, mut is_sound) = (coded.iter(), true);
        while let Some(&code) = codes.next() {
            if code == ESCAPE {
                out.push(*codes.next().ok_or(Malformed("a key ends with half a code"))?);
                continue;
            }
            let length = usize::from(self.lengths[usize::from(code)]);
            is_sound &= length > 0;
            // Eight bytes are one store; those behind the symbol are cut off again.
            let end = out.len() + length;
            out.extend_from_slice(&self.words[usize::from(code)].to_le_bytes());
            out.truncate(end);
        }
        if is_sound { Ok(()) } else { Err(Malformed("a code without a symbol")) }
    }

    /// Appends the symbols: their number, their lengths, their bytes.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.put_u8(self.symbols.len() as u8);
        out.extend(self.symbols.iter().map(|symbol| symbol.length));
        for symbol in &self.symbols {
            out.extend_from_slice(&symbol.word.to_le_bytes()[..usize::from(symbol.length)]);
        }
    }

    /// Takes what [`Symbols::put`] wrote.
    pub fn take(take: &mut Take<'_>) -> Result<Symbols, Malformed> {
        let count = take.u8()?;
        let mut symbols = Vec::with_capacity(count.into());
        for &length in take.slice(count.into())? {
            if !(1..=LONGEST).contains(&length.into()) {
                return Err(Malformed("a symbol of no length, or too long"));
            }
            symbols.push(Symbol { word: 0, length });
        }
        for symbol in &mut symbols {
            symbol.word = word(take.slice(symbol.length.into())?, 0);
        }
        if !symbols.is_sorted_by(|a, b| a.order() < b.order()) {
            return Err(Malformed("its symbols are not in order"));
        }
        Ok(Symbols::new(symbols))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn texts() -> impl Strategy<Value = Vec<Vec<u8>>> {
        vec(
            prop_oneof![
                vec(any::<u8>(), 0..40),
                "[ab]{0,60}|(abc/){0,20}|(page-){0,4}[0-9]{0,9}".prop_map(String::into_bytes)
            ],
            0..30,
        )
    }

    fn symbols_of(texts: &[Vec<u8>]) -> Symbols {
        Symbols::from_texts(&texts.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    proptest! {
        #[test]
        fn texts_come_back(sample in texts(), texts in texts()) {
            let symbols = symbols_of(&sample);
            let mut bytes = Vec::new();
            symbols.put(&mut bytes);
            let mut take = Take(&bytes);
            prop_assert_eq!(&Symbols::take(&mut take).unwrap(), &symbols);
            take.end().unwrap();
            for text in texts {
                let (mut coded, mut back) = (Vec::new(), Vec::new());
                symbols.encode(&text, &mut coded);
                symbols.decode(&coded, &mut back).unwrap();
                prop_assert_eq!(&back, &text);
                // Each code is that of the longest symbol there is, as a plain search has it.
                let mut at = 0;
                for code in codes(&coded) {
                    let is_next = |symbol: &&Symbol| text[at..].starts_with(&symbol.word.to_le_bytes()[..usize::from(symbol.length)]);
                    let longest = symbols.symbols.iter().filter(is_next).map(|symbol| symbol.length).max();
                    let found = code.map(|code| symbols.symbols[usize::from(code)].length);
                    prop_assert_eq!(found, longest);
                    at += usize::from(found.unwrap_or(1));
                }
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..300), coded in vec(any::<u8>(), 0..40)) {
            let mut take = Take(&bytes);
            if let Ok(symbols) = Symbols::take(&mut take) {
                let mut text = Vec::new();
                if symbols.decode(&coded, &mut text).is_ok() {
                    prop_assert!(text.len() <= LONGEST * coded.len());
                }
                let mut again = Vec::new();
                symbols.put(&mut again);
                prop_assert_eq!(&again[..], &bytes[..bytes.len() - take.0.len()]);
            }
        }
    }

    /// The codes; none for a byte that stands for itself.
    fn codes(coded: &[u8]) -> Vec<Option<u8>> {
        let mut rest = coded.iter();
        let next = || {
            let code = *rest.next()?;
            Some((code != ESCAPE).then_some(code).or_else(|| rest.next().and(None)))
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn frequent_strings_become_symbols_and_the_shorter_text_is_worth_it() {
        let sample: Vec<Vec<u8>> =
            (0..300).map(|i| format!("/products/item-{i}.html").into_bytes()).collect();
        let symbols = symbols_of(&sample);
        let mut coded = Vec::new();
        sample.iter().for_each(|text| symbols.encode(text, &mut coded));
        let plain: usize = sample.iter().map(Vec::len).sum();
        assert!(coded.len() * 3 < plain, "{} of {plain}", coded.len());
        assert!(symbols_of(&[]).is_empty());
    }

    #[test]
    fn damaged_symbols_are_refused() {
        let take = |bytes: &[u8]| Symbols::take(&mut Take(bytes)).map(|_| ());
        assert_eq!(take(&[2, 1, 1, b'a', b'b']), Ok(()));
        assert_eq!(take(&[2, 1, 1, b'b', b'a']), Err(Malformed("its symbols are not in order")));
        assert_eq!(take(&[2, 1, 1, b'a', b'a']), Err(Malformed("its symbols are not in order")));
        assert_eq!(take(&[1, 0]), Err(Malformed("a symbol of no length, or too long")));
        assert_eq!(
            take(&[1, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
            Err(Malformed("a symbol of no length, or too long"))
        );
        assert!(take(&[1, 2, b'a']).is_err() && take(&[]).is_err());
        let symbols = Symbols::new(vec![Symbol::byte(b'a')]);
        let decode = |coded: &[u8]| symbols.decode(coded, &mut Vec::new());
        assert_eq!(decode(&[0, ESCAPE, 7]), Ok(()));
        assert_eq!(decode(&[1]), Err(Malformed("a code without a symbol")));
        assert_eq!(decode(&[ESCAPE]), Err(Malformed("a key ends with half a code")));
    }
}
