//! A query as people write it: words, "phrases" and -words that must not be there.

use crate::schema::FIELDS;
use crate::words::Stemmer;
use recrawl_focus::Language;
use recrawl_focus::words::{each_sought_word, is_half_pair};
use std::ops::Bound;
use tantivy::Term;
use tantivy::query::{
    BooleanQuery, BoostQuery, ConstScoreQuery, Occur, PhrasePrefixQuery, PhraseQuery, Query as Weighed,
    RangeQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};

/// Bytes of a query. A longer one is no question.
pub const MAX_QUERY_BYTES: usize = 1000;
/// Words of a query: each reads the list of its pages.
pub const MAX_QUERY_WORDS: usize = 32;
/// Pairs of characters that one character begins.
const MAX_PAIRS: u32 = 1 << 12;
/// Weight of a word in the title beside one in the text.
const TITLE: f32 = 3.0;
/// Likewise in a heading.
const HEADING: f32 = 1.5;

/// The reason why a text is no query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// It is longer than [`MAX_QUERY_BYTES`].
    #[error("the query has {0} bytes, at most {MAX_QUERY_BYTES} are read")]
    TooLong(usize),
    /// It has more than [`MAX_QUERY_WORDS`].
    #[error("the query has {0} words, at most {MAX_QUERY_WORDS} are looked up")]
    TooManyWords(usize),
    /// It has no word that pages are to have.
    #[error("the query has no word to look for")]
    Empty,
}

/// Neighbouring words that a page is to have, or must not have.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Clause {
    words: Vec<String>,
    is_excluded: bool,
}

/// A query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextQuery {
    clauses: Vec<Clause>,
    host: Option<String>,
    since: u64,
    is_newest_first: bool,
}

impl TextQuery {
    /// Reads a query. A quote that is not closed reaches to the end.
    ///
    /// # Errors
    /// That it has too many words, or none.
    pub fn parse(text: &str) -> Result<TextQuery, QueryError> {
        if text.len() > MAX_QUERY_BYTES {
            return Err(QueryError::TooLong(text.len()));
        }
        let mut clauses = Vec::new();
        let mut add = |text: &str, is_excluded: bool| {
            let mut words = Vec::new();
            each_sought_word(text, |_, word, _| {
                words.push(word.to_owned());
                true
            });
            if !words.is_empty() {
                clauses.push(Clause { words, is_excluded });
            }
        };
        // A minus before a quote excludes the phrase.
        let mut excludes_phrase = false;
        for (part, text) in text.split(['"', '“', '”', '„']).enumerate() {
            if part % 2 == 1 {
                add(text, std::mem::take(&mut excludes_phrase));
                continue;
            }
            for word in text.split_whitespace() {
                match word.strip_prefix('-') {
                    Some(excluded) => add(excluded, true),
                    None => add(word, false),
                }
            }
            excludes_phrase =
                text.ends_with('-') && !text.trim_end_matches('-').ends_with(char::is_alphanumeric);
        }
        let words = clauses.iter().map(|clause| clause.words.len()).sum();
        if words > MAX_QUERY_WORDS {
            return Err(QueryError::TooManyWords(words));
        }
        match clauses.iter().all(|clause| clause.is_excluded) {
            true => Err(QueryError::Empty),
            false => Ok(TextQuery { clauses, host: None, since: 0, is_newest_first: false }),
        }
    }

    /// Only pages of this host, or with `*.` before it of this domain.
    pub fn of_host(self, host: Option<&str>) -> TextQuery {
        TextQuery { host: host.map(str::to_ascii_lowercase), ..self }
    }

    /// Only pages with a text of this time or later, in seconds since 1970.
    pub fn since(self, since: u64) -> TextQuery {
        TextQuery { since, ..self }
    }

    /// The newest texts first, instead of the best.
    pub fn newest_first(self, is_newest_first: bool) -> TextQuery {
        TextQuery { is_newest_first, ..self }
    }

    /// Are the newest texts to come first?
    pub(crate) fn is_newest_first(&self) -> bool {
        self.is_newest_first
    }

    /// Words whose stems are looked for.
    pub(crate) fn sought(&self) -> impl Iterator<Item = &str> {
        let sought = self.clauses.iter().filter(|clause| !clause.is_excluded);
        sought.flat_map(|clause| clause.words.iter().map(String::as_str))
    }

    /// Has it several words, of which a page can have some?
    pub(crate) fn is_divisible(&self) -> bool {
        self.clauses.iter().filter(|clause| !clause.is_excluded).count() > 1
    }

    /// The query for an index with pages in these languages: for all words, or some.
    pub(crate) fn weighed(&self, languages: &[Language], needs_all: bool) -> BooleanQuery {
        let mut stemming = Stemmer::default();
        let (mut all, mut sought) = (Vec::<(Occur, Box<dyn Weighed>)>::new(), Vec::new());
        for clause in &self.clauses {
            let mut stems: Vec<Vec<String>> = Vec::new();
            for language in languages {
                // A page has the last stem of each word that is written the same but for accents.
                let of_words = clause.words.iter().map(|word| {
                    let stems: Vec<_> = stemming.stems(word, *language).map(str::to_owned).collect();
                    (stems[0].clone(), stems[stems.len() - 1].clone())
                });
                let (first, last) = of_words.unzip();
                stems.extend([first, last]);
            }
            stems.sort_unstable();
            stems.dedup();
            match clause.is_excluded {
                true => all.push((Occur::MustNot, any(FIELDS.text, &stems))),
                false => {
                    sought.push(any(FIELDS.text, &stems));
                    let singles: Vec<Vec<String>> =
                        stems.concat().into_iter().map(|stem| vec![stem]).collect();
                    for (field, weight) in [(FIELDS.title, TITLE), (FIELDS.headings, HEADING)] {
                        all.push((Occur::Should, Box::new(BoostQuery::new(any(field, &singles), weight))));
                    }
                }
            }
        }
        match needs_all {
            true => all.extend(sought.into_iter().map(|query| (Occur::Must, query))),
            false => all.push((Occur::Must, Box::new(BooleanQuery::union(sought)))),
        }
        let mut filter = |query: Box<dyn Weighed>| {
            all.push((Occur::Must, Box::new(ConstScoreQuery::new(query, 0.0))));
        };
        if let Some(host) = &self.host {
            filter(term(FIELDS.host, host));
        }
        if self.since > 0 {
            let from = Bound::Included(Term::from_field_u64(FIELDS.fetched_at, self.since));
            filter(Box::new(RangeQuery::new(from, Bound::Unbounded)));
        }
        BooleanQuery::new(all)
    }
}

/// Pages that have one of these sequences of stems.
fn any(field: Field, stems: &[Vec<String>]) -> Box<dyn Weighed> {
    let sequence = |stems: &Vec<String>| -> Box<dyn Weighed> {
        let terms = || stems.iter().map(|stem| Term::from_field_text(field, stem)).collect();
        match &stems[..] {
            [.., last] if is_half_pair(last) => {
                let mut pairs = PhrasePrefixQuery::new(terms());
                pairs.set_max_expansions(MAX_PAIRS);
                Box::new(pairs)
            }
            [stem] => term(field, stem),
            _ => Box::new(PhraseQuery::new(terms())),
        }
    };
    match stems {
        [stems] => sequence(stems),
        several => Box::new(BooleanQuery::union(several.iter().map(sequence).collect())),
    }
}

fn term(field: Field, text: &str) -> Box<dyn Weighed> {
    Box::new(TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::WithFreqs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, bool)> {
        let clauses = TextQuery::parse(text).unwrap().clauses;
        clauses.into_iter().map(|clause| (clause.words.join(" "), clause.is_excluded)).collect()
    }

    #[test]
    fn words_phrases_and_what_must_not_be_there_are_told_apart() {
        let some = |text: &str| (text.to_owned(), false);
        let none = |text: &str| (text.to_owned(), true);
        assert_eq!(read("Größe  \"of the world\" -web"), [some("Größe"), some("of the world"), none("web")]);
        assert_eq!(read("a -\"b c\" d"), [some("a"), none("b c"), some("d")]);
        assert_eq!(read("wi-fi e.V. --help"), [some("wi fi"), some("e.V"), none("help")]);
        // A quote that is not closed, or closed twice.
        assert_eq!(read("say \"to be"), [some("say"), some("to be")]);
        assert_eq!(read("\"\"\"a b\" c"), [some("a b"), some("c")]);
        assert_eq!(read("検索 👟"), [some("検索"), some("👟")]);
    }

    #[test]
    fn a_text_without_a_word_and_one_that_is_too_long_are_no_queries() {
        for text in ["", "  ", "\"", "-", "-a -\"b c\"", "!?", "\u{200b}"] {
            assert_eq!(TextQuery::parse(text), Err(QueryError::Empty), "{text:?}");
        }
        assert_eq!(TextQuery::parse(&"a".repeat(100_000)), Err(QueryError::TooLong(100_000)));
        assert_eq!(TextQuery::parse(&"a ".repeat(40)), Err(QueryError::TooManyWords(40)));
        assert!(TextQuery::parse(&"a ".repeat(MAX_QUERY_WORDS)).is_ok());
    }
}
