//! Classifiers: how relevant a page is. A new one is a file under `classifier/` and a line in [`ALL`].

pub mod linear;
pub mod terms;

use crate::words::{Language, MAX_TEXT, Words};

/// A page as it arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageText<'a> {
    /// Its URL; none if it shall not be read.
    pub url: Option<&'a str>,
    /// The tag of its `lang` attribute.
    pub language: Option<&'a str>,
    /// Its title.
    pub title: &'a str,
    /// Its visible text.
    pub text: &'a str,
}

/// The words of a page as hashes of their stems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageWords {
    /// Language of the page.
    pub language: Language,
    /// Words of the title, then of the text.
    pub words: Vec<u64>,
    /// Words of the URL; empty if it was not read.
    pub url: Vec<u64>,
    /// Whether the URL was read.
    pub has_url: bool,
}

impl PageWords {
    /// Reads a page up to `bytes` bytes of its text.
    pub fn read(page: &PageText, bytes: usize, words: &mut Words) -> PageWords {
        let language = Language::of_page(page.language, page.text);
        let mut reading = PageWords { language, words: vec![], url: vec![], has_url: page.url.is_some() };
        words.hashes(page.title, language, bytes.min(MAX_TEXT), usize::MAX, &mut reading.words);
        words.hashes(page.text, language, bytes, usize::MAX, &mut reading.words);
        if let Some(url) = page.url {
            words.of_url(url, language, &mut reading.url);
        }
        reading
    }
}

/// What a classifier says of a page; all values from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Assessment {
    /// How relevant the page is.
    pub relevance: f64,
    /// Similarity to the genre terms.
    pub genre: f64,
    /// Similarity to the content terms.
    pub content: f64,
    /// Similarity to the URL terms, if there are such and the URL was read.
    pub url: Option<f64>,
}

/// Scores pages.
pub trait Classifier: Sync {
    /// Scores a page. The same words give the same scores, bit for bit, on every machine.
    fn assess(&self, page: &PageWords) -> Assessment;
}

/// A classifier of the list.
#[derive(Clone, Copy, Debug)]
pub struct ClassifierKind {
    /// Name on the command line.
    pub name: &'static str,
    /// One sentence for the reference.
    pub about: &'static str,
    /// Whether it is trained and needs the file of a model.
    pub needs_model: bool,
}

/// All classifiers.
pub const ALL: &[ClassifierKind] = &[linear::KIND, terms::KIND];

#[cfg(test)]
mod tests;
