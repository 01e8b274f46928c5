//! Words of a text as tantivy takes them: stemmed in the text's language, in lower case, without accents. A word may have
//! several stems, in one place of the text.

use recrawl_focus::words::each_sought_word;
use recrawl_focus::{Language, Words};
use std::ops::Range;
use std::sync::LazyLock;
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer, TokenizerManager};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Name of the tokenizer. It has a digest of what the tokenizer makes of a sample, and is a part of the schema: so an index
/// with other stems is made anew, whatever changed them.
pub(crate) static STEMS: LazyLock<String> =
    LazyLock::new(|| format!("recrawl_stems_{:016x}", fingerprint(sample_stems)));
/// Forms of words in each language that has a stemmer, one without, a script without spaces.
const SAMPLE: &str = "The nationally renowned gardeners were running happily. Die Häuser der größten Städte. Les journaux \
    nationaux parlaient souvent. Los trabajadores hablaban rápidamente. As informações estavam disponíveis. \
    Le informazioni parlavano velocemente. De mooiste huizen werden verkocht. De vackraste husen såldes. De smukkeste \
    husene blev solgt. Husene ble solgt raskeste. Taloissamme puhuttiin kauniisti. A legszebb házakban beszélgettek. \
    Cele mai frumoase casele vorbeau. Evlerimizden geliyorlardı. Самые красивые дома продавались. Τα ομορφότερα σπίτια \
    πουλήθηκαν. والكتاب المدرسون يكتبون. வீடுகளில் பேசினார்கள். Nejkrásnější domy. 全文検索エンジン. e.V. l'été wi-fi 3.14 \
    Donau\u{ad}dampf ＡＢＣ ﬁne ﾊﾝｶｸ información łódka Ankara'da 서울입니다 👟 CO₂";
/// Places of the table of stems seen before: some 600 kB.
const SEEN: usize = 1 << 14;

/// A text with its language before it: a tokenizer gets nothing but a text.
pub(crate) fn marked(language: Language, text: &str) -> String {
    let mut marked = String::with_capacity(1 + text.len());
    marked.push(char::from(language.place() as u8));
    marked.push_str(text);
    marked
}

/// A digest of the stems of the sample in each language.
fn fingerprint(stems: impl Fn(Language) -> Vec<String>) -> u64 {
    let all = Language::all().map(|language| format!("{} {}", language.name(), stems(language).join(" ")));
    xxh3_64(all.collect::<Vec<_>>().join("\n").as_bytes())
}

fn sample_stems(language: Language) -> Vec<String> {
    let (mut stemming, mut stems) = (Stemming::default(), Vec::new());
    let text = marked(language, SAMPLE);
    stemming.token_stream(&text).process(&mut |token| stems.push(token.text.clone()));
    stems
}

/// The tokenizers of an index.
pub(crate) fn tokenizers() -> TokenizerManager {
    let manager = TokenizerManager::default();
    manager.register(&STEMS, TextAnalyzer::from(Stemming::default()));
    manager
}

/// Stems words, and remembers stems: most words of a text are among a few thousand.
pub(crate) struct Stemmer {
    words: Words,
    /// By the hash of a word in its language: this hash and the stems.
    seen: Vec<(u64, WordStems)>,
}

/// The stem of a word, and another one if it has accents. Two spellings of a word have one in common.
type WordStems = (Box<str>, Option<Box<str>>);

impl Default for Stemmer {
    fn default() -> Stemmer {
        Stemmer { words: Words::new(), seen: vec![(0, WordStems::default()); SEEN] }
    }
}

impl Stemmer {
    /// The stems of a word: one or two.
    pub fn stems(&mut self, word: &str, language: Language) -> impl Iterator<Item = &str> {
        let key = xxh3_64_with_seed(word.as_bytes(), language.place() as u64).max(1);
        let place = key as usize % SEEN;
        if self.seen[place].0 != key {
            let (stem, other) = self.words.stems(word, language);
            self.seen[place] = (key, (stem.into(), other.map(String::into)));
        }
        let (stem, other) = &self.seen[place].1;
        std::iter::once(&**stem).chain(other.as_deref())
    }
}

/// The tokenizer.
#[derive(Default)]
pub(crate) struct Stemming {
    stemmer: Stemmer,
    found: Vec<FoundStem>,
    /// The letters of all stems.
    letters: String,
    token: Token,
}

/// A stem in a text.
struct FoundStem {
    /// Begin and end of its word, and the number of the word.
    word: Range<usize>,
    position: usize,
    /// Begin and end of its letters.
    letters: Range<usize>,
}

/// tantivy takes a copy for each field and segment.
impl Clone for Stemming {
    fn clone(&self) -> Stemming {
        Stemming::default()
    }
}

impl Tokenizer for Stemming {
    type TokenStream<'a> = Stems<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stems<'a> {
        let place = text.bytes().next().unwrap_or_default();
        let language = Language::all().nth(place.into()).unwrap_or(Language::OTHER);
        let text = text.get(1..).unwrap_or_default();
        let Stemming { stemmer, found, letters, token } = self;
        found.clear();
        letters.clear();
        token.reset();
        let mut position = 0;
        each_sought_word(text, |at, word, part| {
            let first = found.len();
            for sought in [Some(word), part].into_iter().flatten() {
                for stem in stemmer.stems(sought, language) {
                    if found[first..].iter().any(|known| letters[known.letters.clone()] == *stem) {
                        continue;
                    }
                    let begin = letters.len();
                    letters.push_str(stem);
                    found.push(FoundStem {
                        word: at..at + word.len(),
                        position,
                        letters: begin..letters.len(),
                    });
                }
            }
            position += 1;
            true
        });
        Stems { stemming: self, next: 0 }
    }
}

/// The stems of one text.
pub(crate) struct Stems<'a> {
    stemming: &'a mut Stemming,
    next: usize,
}

impl TokenStream for Stems<'_> {
    fn advance(&mut self) -> bool {
        let Stemming { found, letters, token, .. } = &mut *self.stemming;
        let Some(stem) = found.get(self.next) else { return false };
        (token.offset_from, token.offset_to, token.position) =
            (stem.word.start, stem.word.end, stem.position);
        token.text.clear();
        token.text.push_str(&letters[stem.letters.clone()]);
        self.next += 1;
        true
    }

    fn token(&self) -> &Token {
        &self.stemming.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.stemming.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_stemmer_of_any_language_is_another_tokenizer() {
        let now = fingerprint(sample_stems);
        assert_eq!(*STEMS, format!("recrawl_stems_{now:016x}"));
        for changed in Language::all().filter(|language| *language != Language::OTHER) {
            let stems = |language| sample_stems(if language == changed { Language::OTHER } else { language });
            assert_ne!(fingerprint(stems), now, "{}", changed.name());
        }
    }
}
