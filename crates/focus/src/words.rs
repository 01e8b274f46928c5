//! Words of a text: split, in lower case, stemmed and without accents; as text, or as 64-bit hashes.
//!
//! Words are those of UAX 29. Stopwords are left out (Assis 2008, section 4.1.3), so a phrase reaches across them.
//! Scripts without spaces give pairs of neighbouring characters instead of words.

mod language;
mod search;

pub use language::{Language, MAX_GUESSED};
pub use search::{each_sought_word, is_half_pair};

use rust_stemmers::Stemmer;
use std::borrow::Cow;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a page's text that are read by default.
pub const MAX_TEXT: usize = 64 * 1024;
/// Bytes of a word that count. A longer run of letters is hardly a word; it ends here.
pub const MAX_WORD: usize = 64;
/// Bytes of a URL that are read for words.
pub const MAX_URL: usize = 2048;
/// Words of an anchor that are read.
pub const MAX_ANCHOR_WORDS: usize = 32;
/// Places of the table of stems seen before: some 400 kB.
const CACHE: usize = 1 << 14;

/// The longest beginning of a text that fits into `bytes`.
pub fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The hash of a sequence of words from the hash of its beginning and that of its last word.
pub fn joined(before: u64, word: u64) -> u64 {
    (before.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Reads the words of texts. It keeps the stems of words that it met, which are the same in every order of reading.
pub struct Words {
    stemmers: Vec<Option<Stemmer>>,
    /// By the hash of a word in its language: this hash and that of its stem; stem 0 is a stopword.
    seen: Vec<(u64, u64)>,
    lower: String,
    folded: String,
}

/// Stopwords by language.
static STOPWORDS: LazyLock<Vec<HashSet<&'static str>>> = LazyLock::new(|| {
    Language::all().map(|language| language.stopwords().iter().copied().collect()).collect()
});

impl Default for Words {
    fn default() -> Words {
        Words::new()
    }
}

impl Words {
    /// A reader that has met no word.
    pub fn new() -> Words {
        Words {
            stemmers: Language::all().map(|language| language.algorithm().map(Stemmer::create)).collect(),
            seen: vec![(0, 0); CACHE],
            lower: String::new(),
            folded: String::new(),
        }
    }

    /// Appends the hashes of the words of a text to `out`, at most `most`. Only the first `bytes` bytes are read.
    pub fn hashes(&mut self, text: &str, language: Language, bytes: usize, most: usize, out: &mut Vec<u64>) {
        let end = out.len().saturating_add(most);
        each_word(head(text, bytes), |_, word| {
            if let Some(stem) = self.hash(word, language) {
                out.push(stem);
            }
            out.len() < end
        });
    }

    /// The words of a text: each as it is written, in lower case, and its stem.
    pub fn pairs(&mut self, text: &str, language: Language, bytes: usize) -> Vec<(String, String)> {
        let mut out = vec![];
        each_word(head(text, bytes), |_, word| {
            if self.reduce(word, language) {
                out.push((self.lower.clone(), self.folded.clone()));
            }
            true
        });
        out
    }

    /// Appends the hashes of the words of a URL: host, path and query, without scheme, split at all but letters.
    pub fn of_url(&mut self, url: &str, language: Language, out: &mut Vec<u64>) {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let parts = head(rest, MAX_URL).split(|c: char| !c.is_alphabetic()).filter(|part| !part.is_empty());
        for part in parts {
            match part.is_ascii() {
                // A run of Latin letters is one word.
                true => out.extend(self.hash(part, language)),
                false => self.hashes(part, language, MAX_URL, MAX_URL, out),
            }
        }
    }

    /// The hash of a word's stem; nothing for a stopword.
    fn hash(&mut self, word: &str, language: Language) -> Option<u64> {
        let mut ascii = [0; MAX_WORD];
        let language_number = language.place() as u64;
        let key = if word.is_ascii() && word.len() <= MAX_WORD {
            let lower = &mut ascii[..word.len()];
            lower.copy_from_slice(word.as_bytes());
            lower.make_ascii_lowercase();
            joined(xxh3_64(lower), language_number)
        } else {
            joined(xxh3_64(word.as_bytes()), Language::COUNT as u64 + language_number)
        };
        let place = key as usize % CACHE;
        let stem = match self.seen[place] {
            (known, stem) if known == key => stem,
            _ => {
                let stem =
                    if self.reduce(word, language) { xxh3_64(self.folded.as_bytes()).max(1) } else { 0 };
                self.seen[place] = (key, stem);
                stem
            }
        };
        Some(stem).filter(|&stem| stem != 0)
    }

    /// Puts a word in lower case into `lower` and its stem without accents into `folded`; false for a stopword.
    fn reduce(&mut self, word: &str, language: Language) -> bool {
        self.lower(word);
        if STOPWORDS[language.place()].contains(self.lower.as_str()) {
            return false;
        }
        self.fold_stem(language);
        !self.folded.is_empty()
    }

    fn lower(&mut self, word: &str) {
        self.lower.clear();
        if word.is_ascii() {
            self.lower.extend(word.chars().map(|c| c.to_ascii_lowercase()));
        } else {
            // One spelling for wide and narrow letters and ligatures, without signs that only say where a line may end.
            let letters =
                word.nfkc().filter(|c| !matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}'));
            self.lower.extend(letters.flat_map(char::to_lowercase).map(|c| if c == '’' { '\'' } else { c }));
        }
        let end = head(&self.lower, MAX_WORD).len();
        self.lower.truncate(end);
    }

    fn fold_stem(&mut self, language: Language) {
        self.folded.clear();
        fold(&stemmed(&self.stemmers[language.place()], &self.lower), &mut self.folded);
    }
}

/// The stem of a word in lower case.
fn stemmed<'w>(stemmer: &Option<Stemmer>, lower: &'w str) -> Cow<'w, str> {
    match stemmer {
        // The Greek stemmer panics at some words. They stay as they are.
        Some(stemmer) => {
            catch_unwind(AssertUnwindSafe(|| stemmer.stem(lower))).unwrap_or(Cow::Borrowed(lower))
        }
        None => Cow::Borrowed(lower),
    }
}

/// Appends a word without its accents: the marks of Latin, Greek and Cyrillic letters, and the points of Hebrew and Arabic,
/// which texts mostly leave out. Vowel signs of other scripts are part of a word and stay.
fn fold(word: &str, out: &mut String) {
    match word.is_ascii() {
        true => out.push_str(word),
        false => out.extend(word.nfd().filter(|c| !is_accent(*c)).nfc()),
    }
}

fn is_accent(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}'
        | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}'
        | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{652}' | '\u{670}')
}

/// Calls `with` for each word of a text, and the byte at which it begins, until it returns false.
pub fn each_word(text: &str, mut with: impl FnMut(usize, &str) -> bool) {
    let words = text.unicode_word_indices();
    let pieces = words.map(|(at, word)| (at, word, word.chars().next().is_some_and(unspaced)));
    each_piece(text, pieces, |at, word, _| with(at, word));
}

/// Calls `with` for each word and each pair of characters of a text, until it returns false. Of the last pair of its run,
/// it gets the last character as well. The pieces tell whether they are in a script without spaces.
fn each_piece<'t>(
    text: &'t str,
    pieces: impl Iterator<Item = (usize, &'t str, bool)>,
    mut with: impl FnMut(usize, &'t str, Option<&'t str>) -> bool,
) {
    // Begin and end of a run of characters in a script without spaces.
    let mut run: Option<(usize, usize)> = None;
    for (at, word, is_unspaced) in pieces {
        if let Some((begin, end)) = run {
            if is_unspaced && end == at {
                run = Some((begin, at + word.len()));
                continue;
            }
            run = None;
            if !bigrams(text, (begin, end), &mut with) {
                return;
            }
        }
        if is_unspaced {
            run = Some((at, at + word.len()));
        } else {
            let whole = without_elision(word);
            if !with(at + word.len() - whole.len(), whole, None) {
                return;
            }
        }
    }
    if let Some(run) = run {
        bigrams(text, run, &mut with);
    }
}

/// Articles and other short words of French, Italian and Catalan that stand before an apostrophe. In other languages they do
/// not, but in names.
const ELIDED: [&str; 19] = [
    "all", "c", "d", "dall", "dell", "j", "jusqu", "l", "lorsqu", "m", "n", "nell", "puisqu", "qu", "quell",
    "s", "sull", "t", "un",
];

/// A word without the elided one before it: of *l'assurance*, *assurance*.
fn without_elision(word: &str) -> &str {
    let Some((elided, rest)) = word.split_once(['\'', '’']) else { return word };
    let is_elided = ELIDED.iter().any(|known| known.eq_ignore_ascii_case(elided));
    if is_elided && rest.starts_with(char::is_alphabetic) { rest } else { word }
}

/// Calls `with` for each pair of neighbouring characters, or for a single one; false if it returned false.
fn bigrams<'t>(
    text: &'t str,
    (begin, end): (usize, usize),
    with: &mut impl FnMut(usize, &'t str, Option<&'t str>) -> bool,
) -> bool {
    let characters = text[begin..end].char_indices().filter(|(_, c)| !is_mark(*c));
    let mut starts = characters.map(|(at, _)| begin + at).chain([end]);
    let (Some(mut first), Some(mut second)) = (starts.next(), starts.next()) else { return true };
    if second == end {
        return with(begin, &text[begin..end], None);
    }
    for next in starts {
        if !with(first, &text[first..next], (next == end).then(|| &text[second..end])) {
            return false;
        }
        (first, second) = (second, next);
    }
    true
}

/// Whether a character belongs to the one before it: a sound mark of Kana, a vowel or final consonant of Hangul in parts.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{1160}'..='\u{11ff}' | '\u{3099}' | '\u{309a}' | '\u{ff9e}' | '\u{ff9f}')
}

/// Whether a character is of a script that puts no spaces between words.
fn unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0e00..=0x0eff // Thai, Lao
        | 0x1000..=0x109f // Myanmar
        | 0x1780..=0x17ff // Khmer
        | 0x3005..=0x3007
        | 0x3040..=0x30ff // Hiragana, Katakana
        | 0x31f0..=0x31ff
        | 0x3400..=0x4dbf // Han
        | 0x4e00..=0x9fff
        | 0xf900..=0xfaff
        | 0xff66..=0xff9f
        | 0x20000..=0x323af)
}

#[cfg(test)]
mod tests;
