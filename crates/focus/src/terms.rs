//! Term sets: what a topic's pages say by their genre, by their content, and in their URLs (Assis 2008, chapter 3).

mod file;
mod matcher;

pub use file::TermsError;
pub use matcher::{Matcher, TermCounts};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

/// Terms of a set.
pub const MAX_TERMS: usize = 500;
/// Words of a term, without stopwords.
pub const MAX_TERM_WORDS: usize = 3;
/// Bytes of a term.
pub const MAX_TERM_BYTES: usize = 128;
/// Bytes of a file of terms: three full sets of long terms do not fit, hand-written ones have one kilobyte.
pub const MAX_FILE_BYTES: usize = 64 * 1024;

/// One of the sets of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TermSet {
    /// The kind of text: a syllabus, a job offer.
    Genre,
    /// The subject: databases.
    Content,
    /// Terms of URLs.
    Url,
}

impl TermSet {
    /// All sets, in the order of their places.
    pub const ALL: [TermSet; 3] = [TermSet::Genre, TermSet::Content, TermSet::Url];

    /// The key of a term file.
    pub fn name(self) -> &'static str {
        match self {
            TermSet::Genre => "genre",
            TermSet::Content => "content",
            TermSet::Url => "url",
        }
    }
}

/// How the similarities to genre and content become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Combine {
    /// The weighted mean (Algorithm 2, step 7).
    #[default]
    Mean,
    /// The weighted geometric mean: 0 if either is 0.
    Product,
    /// The lesser of the two; weights do not matter.
    Minimum,
}

/// Where the terms of the URL set are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UrlTerms {
    /// In the URL (section 3).
    #[default]
    Url,
    /// In the page's text (Algorithm 2, step 8, as printed).
    Text,
}

/// Weights of importance (Algorithm 2; values of section 4.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Weights {
    /// GW.
    pub genre: f64,
    /// CW.
    pub content: f64,
    /// GCW, of genre and content together.
    pub combined: f64,
    /// UW.
    pub url: f64,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights { genre: 5.0, content: 5.0, combined: 7.0, url: 3.0 }
    }
}

/// A topic as sets of terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Topic {
    terms: [Vec<String>; 3],
    /// Weights of the similarities.
    pub weights: Weights,
    /// How genre and content become one.
    pub combine: Combine,
    /// Where URL terms are looked for.
    pub url_terms: UrlTerms,
}

impl Topic {
    /// The terms of a set as written. The set of URL terms may be empty.
    pub fn terms(&self, set: TermSet) -> &[String] {
        &self.terms[set as usize]
    }

    /// The topic with one set that holds the terms of both genre and content: the comparison of Table 4.4.
    pub fn as_one_set(&self) -> Topic {
        let [genre, content, url] = self.terms.clone();
        let mut all = genre;
        all.extend(content.into_iter().filter(|term| !self.terms[0].contains(term)));
        Topic { terms: [all.clone(), all, url], ..self.clone() }
    }

    /// XXH3-64 of all that a score depends on, in hexadecimal. Comments and layout of the file do not matter.
    pub fn digest(&self) -> String {
        let mut hash = Xxh3::new();
        hash.update(b"recrawl term sets 1");
        for set in &self.terms {
            hash.update(&(set.len() as u64).to_le_bytes());
            for term in set {
                hash.update(&(term.len() as u64).to_le_bytes());
                hash.update(term.as_bytes());
            }
        }
        let Weights { genre, content, combined, url } = self.weights;
        [genre, content, combined, url].iter().for_each(|weight| hash.update(&weight.to_le_bytes()));
        hash.update(&[self.combine as u8, self.url_terms as u8]);
        format!("{:016x}", hash.digest())
    }

    /// The final score of Algorithm 2, steps 7 and 9. Without URL terms or a URL it is that of genre and content.
    pub fn final_score(&self, genre: f64, content: f64, url: Option<f64>) -> f64 {
        let Weights { genre: gw, content: cw, combined: gcw, url: uw } = self.weights;
        let combined = match self.combine {
            Combine::Mean => (gw * genre + cw * content) / (gw + cw),
            Combine::Product => libm::pow(genre, gw / (gw + cw)) * libm::pow(content, cw / (gw + cw)),
            Combine::Minimum => genre.min(content),
        };
        match url {
            Some(url) => (gcw * combined + uw * url) / (gcw + uw),
            None => combined,
        }
    }
}

#[cfg(test)]
mod tests;
