//! Answers queries. An index is opened for each one: so an answer is of the last commit, whoever made it.

use crate::error::{SearchError, guarded};
use crate::folder::IndexFolder;
use crate::query::TextQuery;
use crate::schema::FIELDS;
use crate::writer::open;
use recrawl_focus::Language;
use std::path::Path;
use tantivy::collector::{Count, TopDocs};
use tantivy::schema::Value;
use tantivy::{Order, ReloadPolicy, Searcher, TantivyDocument};

/// Pages of an answer.
pub const MAX_HITS: usize = 1000;

/// Weight of a new text beside one of long ago, less one.
const FRESHNESS: f32 = 0.1;
/// Seconds after which half of that is left.
const HALF_LIFE: f32 = 30.0 * 86_400.0;

/// A page that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// As it was indexed.
    pub url: String,
    /// As it was indexed.
    pub title: Option<String>,
    /// Time of the text, in seconds since 1970.
    pub fetched_at: u64,
    /// The language in which its words were stemmed.
    pub language: Language,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BestPages {
    /// The best pages first.
    pub hits: Vec<Hit>,
    /// Pages that have the words.
    pub total: usize,
    /// Do these have only some of the words, since none has all?
    pub is_partial: bool,
}

/// The best `limit` pages for a query, at most [`MAX_HITS`]: those that have all words, or, if none does, some.
///
/// # Errors
/// That there is no index, or it is damaged, or it cannot be read.
pub fn search(folder: &Path, query: &TextQuery, limit: usize) -> Result<BestPages, SearchError> {
    guarded(|| {
        let reader = open(IndexFolder::to_read(folder)?)?
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()?;
        let searcher: Searcher = reader.searcher();
        let languages = languages(&searcher)?;
        let found = best(&searcher, query, &languages, true, limit)?;
        match found.total == 0 && query.is_divisible() {
            true => best(&searcher, query, &languages, false, limit),
            false => Ok(found),
        }
    })
}

fn best(
    searcher: &Searcher,
    query: &TextQuery,
    languages: &[Language],
    needs_all: bool,
    limit: usize,
) -> Result<BestPages, SearchError> {
    if languages.is_empty() {
        return Ok(BestPages::default());
    }
    let (weighed, top) = (query.weighed(languages, needs_all), TopDocs::with_limit(limit.clamp(1, MAX_HITS)));
    let read = |address| Ok::<_, SearchError>(hit(&searcher.doc(address)?));
    let (hits, total) = if query.is_newest_first() {
        let newest = top.order_by_u64_field("fetched_at", Order::Desc);
        let (newest, total) = searcher.search(&weighed, &(newest, Count))?;
        (newest.into_iter().map(|(_, address)| read(address)).collect::<Result<_, _>>()?, total)
    } else {
        let (best, total) = searcher.search(&weighed, &(top.order_by_score(), Count))?;
        let best = best.into_iter().map(|(score, address)| Ok((score, read(address)?)));
        (freshened(best.collect::<Result<_, SearchError>>()?), total)
    };
    Ok(BestPages { hits, total, is_partial: !needs_all && total > 0 })
}

/// Puts newer texts a little before older ones, among those that were found.
fn freshened(mut found: Vec<(f32, Hit)>) -> Vec<Hit> {
    let newest = found.iter().map(|(_, hit)| hit.fetched_at).max().unwrap_or_default();
    for (score, hit) in &mut found {
        let age = (newest - hit.fetched_at) as f32;
        *score *= 1.0 + FRESHNESS * (-age / HALF_LIFE).exp2();
    }
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    found.into_iter().map(|(_, hit)| hit).collect()
}

/// The languages of the pages.
fn languages(searcher: &Searcher) -> Result<Vec<Language>, SearchError> {
    let mut languages = Vec::new();
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(FIELDS.language)?;
        let mut names = index.terms().stream().map_err(tantivy::TantivyError::from)?;
        while let Some((name, _)) = names.next() {
            languages.push(named(&String::from_utf8_lossy(name)));
        }
    }
    languages.sort_unstable_by_key(|language: &Language| language.place());
    languages.dedup();
    Ok(languages)
}

fn named(name: &str) -> Language {
    Language::all().find(|language| language.name() == name).unwrap_or(Language::OTHER)
}

fn hit(document: &TantivyDocument) -> Hit {
    let text = |field| document.get_first(field).and_then(|value| value.as_str()).map(str::to_owned);
    Hit {
        url: text(FIELDS.url).unwrap_or_default(),
        title: text(FIELDS.shown_title),
        fetched_at: document.get_first(FIELDS.fetched_at).and_then(|time| time.as_u64()).unwrap_or_default(),
        language: named(&text(FIELDS.language).unwrap_or_default()),
    }
}
