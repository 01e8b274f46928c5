//! Words as a search looks for them.
//!
//! People type words without accents, and without what some languages put behind a name. So a search has more words than a
//! focused crawl, whose classifiers keep the ones that they were trained with.

use super::{Language, Words, each_piece, is_accent, is_mark, stemmed, unspaced};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

impl Words {
    /// The stems of a word without accents: first that of the word itself, then, if it differs, that of the word as it is
    /// typed without accents. Two spellings of a word have one in common.
    pub fn stems(&mut self, word: &str, language: Language) -> (String, Option<String>) {
        self.lower(word);
        let stemmer = &self.stemmers[language.place()];
        let stem = bare(&stemmed(stemmer, &self.lower));
        let of_plain = bare(&stemmed(stemmer, &bare(&self.lower)));
        let other = (of_plain != stem).then_some(of_plain);
        (stem, other)
    }
}

/// A word without its accents, and with plain letters for those that people replace if their keyboard lacks them.
fn bare(word: &str) -> String {
    if word.is_ascii() {
        return word.to_owned();
    }
    let mut bare = String::with_capacity(word.len());
    for c in word.nfd().filter(|c| !is_accent(*c)).nfc() {
        match c {
            'ł' => bare.push('l'),
            'đ' | 'ð' => bare.push('d'),
            'ø' => bare.push('o'),
            'æ' => bare.push_str("ae"),
            'œ' => bare.push_str("oe"),
            'ß' => bare.push_str("ss"),
            'ı' => bare.push('i'),
            'þ' => bare.push_str("th"),
            'ħ' => bare.push('h'),
            'ŋ' => bare.push('n'),
            'ґ' => bare.push('г'),
            // Persian and Arabic keyboards have other letters for one.
            'ک' => bare.push('ك'),
            'ی' | 'ى' => bare.push('ي'),
            // The shape of a sign, and the colour of a hand.
            '\u{fe0e}' | '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' => {}
            c => bare.push(c),
        }
    }
    match bare.is_empty() {
        true => word.to_owned(),
        false => bare,
    }
}

/// Calls `with` for each word of a text, the byte at which it begins, and a part of it that is found alone: what stands
/// before an apostrophe, or the last character of a script without spaces. Hangul counts as such a script, since its
/// particles are written together with their word; and a picture is a word.
pub fn each_sought_word<'t>(text: &'t str, mut with: impl FnMut(usize, &'t str, Option<&'t str>) -> bool) {
    let segments = text.split_word_bound_indices().filter(|(_, segment)| segment.chars().any(is_sought));
    let pieces = formulas(text, segments).flat_map(|(at, segment)| {
        pieces(segment).map(move |(from, piece, is_unspaced)| (at + from, piece, is_unspaced))
    });
    each_piece(text, pieces, |at, word, last| with(at, word, last.or_else(|| before_ending(word))));
}

/// Joins the parts of H₂O, which UAX 29 takes for three words.
fn formulas<'t>(
    text: &'t str,
    segments: impl Iterator<Item = (usize, &'t str)>,
) -> impl Iterator<Item = (usize, &'t str)> {
    let is_low = |c: Option<char>| c.is_some_and(|c| matches!(c, '₀'..='₉'));
    let mut segments = segments.peekable();
    std::iter::from_fn(move || {
        let (at, first) = segments.next()?;
        let (mut end, mut last) = (at + first.len(), first);
        let joins = |last: &str, next: &str| is_low(last.chars().next_back()) || is_low(next.chars().next());
        while let Some((_, next)) = segments.next_if(|(from, next)| *from == end && joins(last, next)) {
            (end, last) = (end + next.len(), next);
        }
        Some((at, &text[at..end]))
    })
}

/// Is it one character of a script without spaces, and so the beginning of pairs?
pub fn is_half_pair(word: &str) -> bool {
    let mut characters = word.chars().filter(|c| !is_mark(*c));
    characters.next().is_some_and(is_unspaced) && characters.next().is_none()
}

/// The parts of a segment that are in a script with spaces, or not.
fn pieces(segment: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut rest = segment;
    std::iter::from_fn(move || {
        let at = segment.len() - rest.len();
        let kind = rest.chars().next().map(is_unspaced)?;
        // Signs and marks belong to what stands before them.
        let differs = |c: char| c.is_alphanumeric() && is_unspaced(c) != kind;
        let (piece, behind) = rest.split_at(rest.find(differs).unwrap_or(rest.len()));
        rest = behind;
        Some((at, piece, kind))
    })
}

/// The word before an apostrophe or a colon and an ending, as in *Ankara'da* and *USA:n*.
fn before_ending(word: &str) -> Option<&str> {
    let (name, ending) = word.split_once(['\'', '’', ':'])?;
    (name.chars().nth(1).is_some() && ending != "t").then_some(name)
}

fn is_unspaced(c: char) -> bool {
    unspaced(c) || matches!(c, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7af}')
}

fn is_sought(c: char) -> bool {
    let is_picture =
        matches!(c, '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1f3fa}' | '\u{1f400}'..='\u{1faff}');
    is_picture || c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sought(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each_sought_word(text, |at, word, part| {
            assert!(text[at..].starts_with(word), "{at} {word}");
            words.push(part.map_or(word.to_owned(), |part| format!("{word}+{part}")));
            true
        });
        words
    }

    #[test]
    fn two_spellings_of_a_word_have_a_stem_in_common() {
        let mut words = Words::new();
        for (language, written, typed) in [
            ("es", "información", "informacion"),
            ("pt", "informações", "informacoes"),
            ("pt", "São", "sao"),
            ("fr", "brûlée", "brulee"),
            ("fr", "œuvre", "oeuvre"),
            ("de", "Größe", "grosse"),
            ("da", "smørrebrød", "smorrebrod"),
            ("pl", "Łódź", "lodz"),
            ("vi", "đường", "duong"),
            ("is", "Þjóð fæða", "thjod faeda"),
            ("is", "Æsir", "aesir"),
            ("tr", "ılık", "ilik"),
            ("tr", "İSTANBUL", "istanbul"),
            ("mt", "Ħamrun", "hamrun"),
            ("uk", "ґанок", "ганок"),
            ("ru", "ёлка", "елка"),
            ("fa", "کتاب", "كتاب"),
            ("fa", "فارسی", "فارسي"),
        ] {
            for language in [Language::of_tag(language), Language::OTHER, Language::of_tag("en")] {
                let mut of = |word| {
                    let (stem, other) = words.stems(word, language);
                    [Some(stem), other]
                };
                let (written_stems, typed_stems) = (of(written), of(typed));
                let is_common = typed_stems
                    .iter()
                    .flatten()
                    .any(|stem| written_stems.iter().flatten().any(|other| other == stem));
                assert!(is_common, "{written} {written_stems:?} {typed} {typed_stems:?}");
            }
        }
        // A word without accents has one stem, and an inflected one is the same in both ways.
        assert_eq!(words.stems("Running", Language::of_tag("en")), ("run".into(), None));
        let spanish = Language::of_tag("es");
        assert_eq!(words.stems("informaciones", spanish).0, words.stems("información", spanish).0);
    }

    #[test]
    fn hangul_is_found_without_its_particles() {
        assert_eq!(sought("서울입니다 책"), ["서울", "울입", "입니", "니다+다", "책"]);
        assert_eq!(sought("iPhone은 2023년에"), ["iPhone", "은", "2023", "년에+에"]);
        let in_parts: String = "서울".nfd().collect();
        assert_eq!(Words::new().stems(&in_parts, Language::OTHER).0, "서울");
        assert_eq!(sought(&in_parts).len(), 1);
    }

    #[test]
    fn a_part_that_people_type_alone_is_found_too() {
        assert_eq!(
            sought("Ankara'da USA:n don't O'Brien l'eau"),
            ["Ankara'da+Ankara", "USA:n+USA", "don't", "O'Brien", "eau"]
        );
        assert_eq!(sought("猫と犬"), ["猫と", "と犬+犬"]);
        assert!(
            is_half_pair("猫") && is_half_pair("か\u{3099}") && !is_half_pair("猫と") && !is_half_pair("a")
        );
    }

    #[test]
    fn a_formula_is_a_word() {
        assert_eq!(
            sought("CO₂, H₂O und C₆H₁₂O₆ in m² Text¹ ₂ 水₂"),
            ["CO₂", "H₂O", "und", "C₆H₁₂O₆", "in", "m", "²", "Text", "¹", "₂", "水", "₂",]
        );
        assert_eq!(Words::new().stems("CO₂", Language::OTHER).0, "co2");
    }

    #[test]
    fn a_picture_is_a_word() {
        assert_eq!(sought("We sell 👟, ☀️ — and 👍🏽!"), ["We", "sell", "👟", "☀️", "and", "👍🏽"]);
        let mut words = Words::new();
        assert_eq!(words.stems("👍🏽", Language::OTHER), words.stems("👍", Language::OTHER));
        assert_eq!(words.stems("☀️", Language::OTHER), words.stems("☀", Language::OTHER));
        assert_eq!(words.stems("\u{fe0f}", Language::OTHER).0, "\u{fe0f}");
    }
}
