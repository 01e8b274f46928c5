//! The part of a text that shows why a query found it. It is cut into plain parts: what shows them escapes them.

use crate::query::TextQuery;
use crate::words::Stemmer;
use recrawl_focus::Language;
use recrawl_focus::words::{each_sought_word, head, is_half_pair};
use std::collections::HashMap;

/// Bytes of a snippet, about three lines.
const LENGTH: usize = 240;
/// Bytes before the first word that was found.
const BEFORE: usize = 60;
/// Bytes of a text that are read.
const MAX_TEXT: usize = 256 << 10;

/// Begin and end of a word, and the number of the word of the query.
type WordPlace = (usize, usize, usize);

/// A part of a snippet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnippetPiece {
    /// Plain text, white space collapsed.
    pub text: String,
    /// Is it a word of the query?
    pub is_match: bool,
}

/// Cuts snippets for a query.
pub struct Snippets<'q> {
    query: &'q TextQuery,
    stemmer: Stemmer,
}

impl Snippets<'_> {
    /// For a query.
    pub fn new(query: &TextQuery) -> Snippets<'_> {
        Snippets { query, stemmer: Stemmer::default() }
    }

    /// The snippet of a text in a language: the place with most words of the query, or the beginning.
    pub fn cut(&mut self, text: &str, language: Language) -> Vec<SnippetPiece> {
        let text = head(text, MAX_TEXT);
        let (places, words) = self.places(text, language);
        pieces(text, &places, words)
    }

    /// Begin and end of each word of the query, and which one it is; the number of different ones.
    fn places(&mut self, text: &str, language: Language) -> (Vec<WordPlace>, usize) {
        let Snippets { query, stemmer } = self;
        let mut sought: HashMap<String, usize> = HashMap::new();
        let mut words = 0;
        for word in query.sought() {
            // Two words with a stem in common are one.
            let stems: Vec<String> = stemmer.stems(word, language).map(str::to_owned).collect();
            let number = stems.iter().find_map(|stem| sought.get(stem).copied()).unwrap_or(words);
            words = words.max(number + 1);
            sought.extend(stems.into_iter().map(|stem| (stem, number)));
        }
        let half_pairs: Vec<_> = sought.iter().filter(|(stem, _)| is_half_pair(stem)).collect();
        let mut number = |word: &str| {
            stemmer.stems(word, language).find_map(|stem| {
                let begun = || half_pairs.iter().find(|(half, _)| stem.starts_with(half.as_str()));
                sought.get(stem).or_else(|| Some(begun()?.1)).copied()
            })
        };
        let mut places = Vec::new();
        each_sought_word(text, |at, word, part| {
            if let Some(number) = number(word).or_else(|| number(part?)) {
                places.push((at, at + word.len(), number));
            }
            true
        });
        (places, words)
    }
}

fn pieces(text: &str, places: &[WordPlace], words: usize) -> Vec<SnippetPiece> {
    let first = densest(places, words);
    let begin = places.get(first).map_or(0, |place| begin_of(text, place.0));
    let end = end_of(text, begin);
    let mut parts = Vec::new();
    let mut push = |part: &str, is_match: bool| {
        let words: Vec<&str> = part.split_whitespace().collect();
        let edge = |is_space: bool| if is_space { " " } else { "" };
        let text = match words.is_empty() {
            true => edge(!part.is_empty()).to_owned(),
            false => {
                let (before, after) =
                    (part.starts_with(char::is_whitespace), part.ends_with(char::is_whitespace));
                format!("{}{}{}", edge(before), words.join(" "), edge(after))
            }
        };
        if !text.is_empty() {
            parts.push(SnippetPiece { text, is_match });
        }
    };
    if begin > 0 {
        push("… ", false);
    }
    let mut shown = begin;
    for (from, to, _) in places.iter().skip(first).take_while(|(_, to, _)| *to <= end) {
        // Pairs of characters of a script without spaces overlap.
        push(&text[shown..(*from).max(shown)], false);
        push(&text[(*from).max(shown)..*to], true);
        shown = *to;
    }
    push(&text[shown..end], false);
    if end < text.len() {
        push(" …", false);
    }
    parts
}

/// The place from which a snippet has most different words of the query; the first of several.
fn densest(places: &[WordPlace], words: usize) -> usize {
    let (mut counts, mut different, mut end) = (vec![0; words], 0, 0);
    let (mut best, mut most) = (0, 0);
    for (first, place) in places.iter().enumerate() {
        while let Some(next) = places.get(end).filter(|next| next.1 <= place.0 + LENGTH - BEFORE) {
            different += usize::from(counts[next.2] == 0);
            counts[next.2] += 1;
            end += 1;
        }
        if different > most {
            (best, most) = (first, different);
        }
        if first < end {
            counts[place.2] -= 1;
            different -= usize::from(counts[place.2] == 0);
        } else {
            end = first + 1;
        }
    }
    best
}

/// The beginning of a line or word at most [`BEFORE`] bytes before a place.
fn begin_of(text: &str, place: usize) -> usize {
    let from = head(text, place.saturating_sub(BEFORE)).len();
    if from == 0 {
        return 0;
    }
    let before = &text[from..place];
    let last_line = before.rfind('\n').map(|newline| newline + 1);
    // Without a space: a script that has none, or a long word.
    from + last_line
        .or_else(|| Some(before.len() - before.split_once(char::is_whitespace)?.1.len()))
        .unwrap_or(0)
}

/// The end of a snippet that begins here: the end of a word, if there is one.
fn end_of(text: &str, begin: usize) -> usize {
    let end = head(text, begin + LENGTH).len();
    match text[begin..end].rfind(char::is_whitespace).filter(|_| end < text.len()) {
        Some(space) if space > LENGTH / 2 => begin + space,
        _ => end,
    }
}

#[cfg(test)]
mod tests;
