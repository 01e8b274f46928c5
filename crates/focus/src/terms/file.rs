//! Term files: TOML with the sets `genre`, `content` and `url`, and how their similarities become one.

use super::{
    Combine, MAX_FILE_BYTES, MAX_TERM_BYTES, MAX_TERM_WORDS, MAX_TERMS, TermSet, Topic, UrlTerms, Weights,
};
use crate::words::{Language, Words};
use recrawl_types::Size;
use serde::Deserialize;
use std::collections::HashMap;
use thiserror::Error;
use toml::Spanned;

/// Why a term file is refused, with the line and a remedy.
#[derive(Debug, Error, PartialEq)]
pub enum TermsError {
    /// The file is too long.
    #[error("the file is longer than {} (keep the most telling terms)", Size(MAX_FILE_BYTES as u64))]
    TooLong,
    /// Not TOML, or not these keys.
    #[error("line {line}: {message}{remedy}")]
    Toml {
        /// Line of the file, from 1.
        line: usize,
        /// The parser's message.
        message: String,
        /// Advice in parentheses, or nothing.
        remedy: String,
    },
    /// A set without terms.
    #[error("line {line}: `{set}` has no terms (list at least one, or remove the key if it is `url`)")]
    Empty {
        /// Line of the file.
        line: usize,
        /// Name of the set.
        set: &'static str,
    },
    /// A set with too many terms.
    #[error("line {line}: `{set}` has {terms} terms, at most {MAX_TERMS} are allowed (remove the commonest)")]
    TooMany {
        /// Line of the file.
        line: usize,
        /// Name of the set.
        set: &'static str,
        /// Terms in it.
        terms: usize,
    },
    /// A term that cannot be looked for.
    #[error("line {line}: term {term:?} of `{set}` {problem}")]
    Term {
        /// Line of the file.
        line: usize,
        /// Name of the set.
        set: &'static str,
        /// The term.
        term: String,
        /// What is wrong, and a remedy.
        problem: String,
    },
    /// A weight that is no weight, or two of them that are both 0.
    #[error("line {line}: {problem}")]
    Weights {
        /// Line of the file.
        line: usize,
        /// What is wrong, and a remedy.
        problem: String,
    },
}

/// The keys of a term file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TermKeys {
    genre: Spanned<Vec<Spanned<String>>>,
    content: Spanned<Vec<Spanned<String>>>,
    url: Option<Spanned<Vec<Spanned<String>>>>,
    weights: Option<Spanned<Weights>>,
    #[serde(default)]
    combine: Combine,
    #[serde(default)]
    url_terms: UrlTerms,
}

/// Names of the keys, to suggest one.
const KEYS: [&str; 10] =
    ["genre", "content", "url", "weights", "combine", "url_terms", "combined", "mean", "product", "minimum"];

impl Topic {
    /// Reads a term file and checks it.
    ///
    /// # Errors
    /// The first problem, with its line.
    pub fn from_toml(text: &str) -> Result<Topic, TermsError> {
        if text.len() > MAX_FILE_BYTES {
            return Err(TermsError::TooLong);
        }
        let line =
            |at: usize| text.as_bytes()[..at.min(text.len())].iter().filter(|&&b| b == b'\n').count() + 1;
        let keys: TermKeys = toml::from_str(text).map_err(|error| {
            let message = error.message().replace('\n', "; ");
            TermsError::Toml {
                line: line(error.span().map_or(0, |span| span.start)),
                remedy: remedy(&message),
                message,
            }
        })?;
        let mut terms: [Vec<String>; 3] = Default::default();
        let lists = [Some(keys.genre), Some(keys.content), keys.url];
        for (set, list) in TermSet::ALL.into_iter().zip(lists) {
            if let Some(list) = list {
                let at = line(list.span().start);
                terms[set as usize] = checked(set, at, list.into_inner(), line)?;
            }
        }
        let at = keys.weights.as_ref().map_or(1, |weights| line(weights.span().start));
        let weights = keys.weights.map_or_else(Weights::default, Spanned::into_inner);
        weights.check().map_err(|problem| TermsError::Weights { line: at, problem })?;
        Ok(Topic { terms, weights, combine: keys.combine, url_terms: keys.url_terms })
    }

    /// The text of a term file that [`Topic::from_toml`] reads back as this topic.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        for set in TermSet::ALL.into_iter().filter(|set| !self.terms(*set).is_empty()) {
            let quoted = self.terms(set).iter().map(|term| toml::Value::from(term.as_str()).to_string());
            out.push_str(&format!("{} = [{}]\n", set.name(), quoted.collect::<Vec<_>>().join(", ")));
        }
        let name = |value: toml::Value| value.to_string();
        let combine = toml::Value::try_from(self.combine).expect("a name");
        let url_terms = toml::Value::try_from(self.url_terms).expect("a name");
        out.push_str(&format!("combine = {}\nurl_terms = {}\n", name(combine), name(url_terms)));
        let Weights { genre, content, combined, url } = self.weights;
        out.push_str(&format!(
            "weights = {{ genre = {genre:?}, content = {content:?}, combined = {combined:?}, url = {url:?} }}\n"
        ));
        out
    }
}

impl Weights {
    fn check(self) -> Result<(), String> {
        let Weights { genre, content, combined, url } = self;
        let named = [("genre", genre), ("content", content), ("combined", combined), ("url", url)];
        if let Some((name, weight)) = named.iter().find(|(_, weight)| !(0.0..=1e6).contains(weight)) {
            return Err(format!("weight `{name}` is {weight} (use a number from 0 to 1000000)"));
        }
        for (first, second, sum) in
            [("genre", "content", genre + content), ("combined", "url", combined + url)]
        {
            if sum == 0.0 {
                return Err(format!("weights `{first}` and `{second}` are both 0 (one must be greater)"));
            }
        }
        Ok(())
    }
}

/// The terms of a set, each trimmed and with single spaces.
fn checked(
    set: TermSet,
    at: usize,
    list: Vec<Spanned<String>>,
    line: impl Fn(usize) -> usize,
) -> Result<Vec<String>, TermsError> {
    let name = set.name();
    if list.is_empty() {
        return Err(TermsError::Empty { line: at, set: name });
    }
    if list.len() > MAX_TERMS {
        return Err(TermsError::TooMany { line: at, set: name, terms: list.len() });
    }
    let (mut words, mut known) = (Words::new(), HashMap::new());
    let mut terms = Vec::with_capacity(list.len());
    for term in list {
        let at = line(term.span().start);
        let term = term.into_inner().split_whitespace().collect::<Vec<_>>().join(" ");
        let problem = match known.get(&term.to_lowercase()) {
            Some(before) => Some(format!("is on line {before} already (remove one of them)")),
            None => unfit(&term, &mut words),
        };
        if let Some(problem) = problem {
            return Err(TermsError::Term { line: at, set: name, term, problem });
        }
        known.insert(term.to_lowercase(), at);
        terms.push(term);
    }
    Ok(terms)
}

/// Why a term cannot be looked for.
fn unfit(term: &str, words: &mut Words) -> Option<String> {
    if term.len() > MAX_TERM_BYTES {
        return Some(format!("has {} bytes (use at most {MAX_TERM_BYTES})", term.len()));
    }
    let mut count = |language| {
        let mut hashes = vec![];
        words.hashes(term, language, MAX_TERM_BYTES, usize::MAX, &mut hashes);
        hashes.len()
    };
    let all = count(Language::OTHER);
    if all == 0 {
        return Some("has no word (use letters or digits)".into());
    }
    // The language of the term is not known here: it fits if some language leaves three words of it.
    let least = Language::all().map(&mut count).min().unwrap_or(all);
    (least > MAX_TERM_WORDS).then(|| {
        format!(
            "has {least} words (use one to {MAX_TERM_WORDS}; a script without spaces has one for each two neighbouring \
             characters)"
        )
    })
}

/// The key or value that was probably meant by an unknown one.
fn remedy(message: &str) -> String {
    let unknown = message.strip_prefix("unknown field `").or(message.strip_prefix("unknown variant `"));
    let typed = unknown.and_then(|rest| rest.split('`').next());
    let nearest = typed.and_then(|typed| {
        let errors = |key: &&str| strsim::osa_distance(typed, key);
        KEYS.into_iter().min_by_key(errors).filter(|key| errors(key) <= 2 && *key != typed)
    });
    nearest.map_or_else(String::new, |key| format!(" (did you mean `{key}`?)"))
}
