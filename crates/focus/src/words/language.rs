//! The language of a text: which stemmer and which stopwords it needs.

use rust_stemmers::Algorithm;
use whatlang::Lang;

/// Bytes of a text from which its language is guessed.
pub const MAX_GUESSED: usize = 4096;

/// A language with a Snowball stemmer.
struct LanguageRow {
    /// ISO 639-1 codes that a `lang` attribute may name; the first one names the list of stopwords.
    codes: &'static [&'static str],
    name: &'static str,
    guessed: Lang,
    algorithm: Algorithm,
}

const fn row(
    codes: &'static [&'static str],
    name: &'static str,
    guessed: Lang,
    algorithm: Algorithm,
) -> LanguageRow {
    LanguageRow { codes, name, guessed, algorithm }
}

/// The languages with a stemmer. A [`Language`] is a place in this table.
static TABLE: [LanguageRow; 18] = [
    row(&["ar"], "Arabic", Lang::Ara, Algorithm::Arabic),
    row(&["da"], "Danish", Lang::Dan, Algorithm::Danish),
    row(&["nl"], "Dutch", Lang::Nld, Algorithm::Dutch),
    row(&["en"], "English", Lang::Eng, Algorithm::English),
    row(&["fi"], "Finnish", Lang::Fin, Algorithm::Finnish),
    row(&["fr"], "French", Lang::Fra, Algorithm::French),
    row(&["de"], "German", Lang::Deu, Algorithm::German),
    row(&["el"], "Greek", Lang::Ell, Algorithm::Greek),
    row(&["hu"], "Hungarian", Lang::Hun, Algorithm::Hungarian),
    row(&["it"], "Italian", Lang::Ita, Algorithm::Italian),
    row(&["no", "nb", "nn"], "Norwegian", Lang::Nob, Algorithm::Norwegian),
    row(&["pt"], "Portuguese", Lang::Por, Algorithm::Portuguese),
    row(&["ro"], "Romanian", Lang::Ron, Algorithm::Romanian),
    row(&["ru"], "Russian", Lang::Rus, Algorithm::Russian),
    row(&["es"], "Spanish", Lang::Spa, Algorithm::Spanish),
    row(&["sv"], "Swedish", Lang::Swe, Algorithm::Swedish),
    row(&["ta"], "Tamil", Lang::Tam, Algorithm::Tamil),
    row(&["tr"], "Turkish", Lang::Tur, Algorithm::Turkish),
];

/// The language of a text: one with a stemmer, or any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Language(u8);

impl Language {
    /// Number of different values.
    pub const COUNT: usize = TABLE.len() + 1;
    /// A language without a stemmer: words stay as they are, and no word is a stopword.
    pub const OTHER: Language = Language(TABLE.len() as u8);

    /// All values.
    pub fn all() -> impl Iterator<Item = Language> {
        (0..Language::COUNT as u8).map(Language)
    }

    /// The language of a tag of BCP 47, such as `pt-BR`: only its first part counts.
    pub fn of_tag(tag: &str) -> Language {
        let first = tag.trim().split(['-', '_']).next().unwrap_or("").to_ascii_lowercase();
        Language::at(|row| row.codes.contains(&first.as_str()))
    }

    /// The language that the first 4 KiB of a text look like. Too little text, or a language without a stemmer, is
    /// [`Language::OTHER`].
    pub fn guess(text: &str) -> Language {
        match whatlang::detect(super::head(text, MAX_GUESSED)).filter(whatlang::Info::is_reliable) {
            Some(info) => Language::at(|row| row.guessed == info.lang()),
            None => Language::OTHER,
        }
    }

    /// The language of a page: by its `lang` attribute if there is one, else guessed from its text.
    pub fn of_page(tag: Option<&str>, text: &str) -> Language {
        match tag.filter(|tag| !tag.trim().is_empty()) {
            Some(tag) => Language::of_tag(tag),
            None => Language::guess(text),
        }
    }

    /// English name, or `other`.
    pub fn name(self) -> &'static str {
        TABLE.get(self.place()).map_or("other", |row| row.name)
    }

    /// Place among [`Language::all`].
    pub fn place(self) -> usize {
        usize::from(self.0)
    }

    /// Its stemmer.
    pub(super) fn algorithm(self) -> Option<Algorithm> {
        TABLE.get(self.place()).map(|row| row.algorithm)
    }

    /// Its stopwords, in lower case.
    pub(super) fn stopwords(self) -> &'static [&'static str] {
        TABLE.get(self.place()).and_then(|row| stop_words::lookup(row.codes[0])).unwrap_or(&[])
    }

    fn at(is: impl Fn(&LanguageRow) -> bool) -> Language {
        TABLE.iter().position(is).map_or(Language::OTHER, |place| Language(place as u8))
    }
}
