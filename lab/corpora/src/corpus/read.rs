//! Reads the four parts of a corpus: `sites.tsv`, `pages.tsv`, `links.tsv` and `text.jsonl`, unpacked.

use super::{Corpus, CorpusLink, CorpusPage, CorpusSite, LinkKind};
use recrawl_types::Size;
use serde::Deserialize;
use std::io::{self, BufRead};
use thiserror::Error;

/// Bytes of a line.
const MAX_LINE: u64 = 4 << 20;
/// Pages of a corpus.
const MAX_PAGES: usize = 5_000_000;
/// Links of a corpus.
const MAX_LINKS: usize = 50_000_000;

/// Why a part cannot be read, with its line.
#[derive(Debug, Error)]
pub enum CorpusError {
    /// The source cannot be read or unpacked.
    #[error("line {line}: {cause}")]
    Read {
        /// Line, from 1.
        line: usize,
        /// The cause.
        cause: io::Error,
    },
    /// A line without meaning.
    #[error("line {line}: {problem}")]
    Line {
        /// Line, from 1.
        line: usize,
        /// The fault, and what belongs there.
        problem: String,
    },
}

/// Calls `with` for each line.
fn lines(
    mut source: impl BufRead,
    mut with: impl FnMut(usize, &str) -> Result<(), String>,
) -> Result<(), CorpusError> {
    let mut text = String::new();
    for line in 1.. {
        text.clear();
        let read = io::Read::take(&mut source, MAX_LINE).read_line(&mut text);
        let bytes = read.map_err(|cause| CorpusError::Read { line, cause })?;
        if bytes == 0 {
            break;
        }
        if bytes as u64 == MAX_LINE && !text.ends_with('\n') {
            return Err(CorpusError::Line { line, problem: format!("longer than {}", Size(MAX_LINE)) });
        }
        with(line, text.trim_end_matches(['\n', '\r']))
            .map_err(|problem| CorpusError::Line { line, problem })?;
    }
    Ok(())
}

/// Calls `with` for each row of a table, with the values of the columns that are asked for.
fn rows<const N: usize>(
    source: impl BufRead,
    columns: [&str; N],
    mut with: impl FnMut([&str; N]) -> Result<(), String>,
) -> Result<(), CorpusError> {
    let mut places = [0; N];
    lines(source, |line, text| {
        let cells: Vec<&str> = text.split('\t').collect();
        if line == 1 {
            for (place, column) in places.iter_mut().zip(columns) {
                *place = cells
                    .iter()
                    .position(|cell| *cell == column)
                    .ok_or_else(|| format!("no column `{column}` (the first line names the columns)"))?;
            }
            return Ok(());
        }
        let cell = |place: usize| cells.get(place).copied();
        match places.iter().all(|place| cell(*place).is_some()) {
            true => with(places.map(|place| cell(place).unwrap_or_default())),
            false => Err(format!("{} columns, which are too few", cells.len())),
        }
    })
}

fn number(text: &str, what: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{what} {text:?} is no number"))
}

/// Reads `sites.tsv`. Sites are numbered in order.
///
/// # Errors
/// A line that is no site.
pub fn read_sites(source: impl BufRead, corpus: &mut Corpus) -> Result<(), CorpusError> {
    rows(source, ["site_id", "site", "topics", "language"], |[id, name, topics, language]| {
        if number(id, "site_id")? as usize != corpus.sites.len() {
            return Err(format!("site_id {id} instead of {} (number sites from 0)", corpus.sites.len()));
        }
        corpus.sites.push(CorpusSite {
            name: name.into(),
            topics: topics.split_whitespace().map(str::to_owned).collect(),
            language: language.into(),
            home: u32::MAX,
        });
        Ok(())
    })
}

/// Reads `pages.tsv` after the sites. Pages are numbered in order; the first page of a site is its home.
///
/// # Errors
/// A line that is no page, or a site without pages.
pub fn read_pages(source: impl BufRead, corpus: &mut Corpus) -> Result<(), CorpusError> {
    let columns = ["page_id", "site_id", "url", "title", "genre", "chars"];
    rows(source, columns, |[id, site, url, title, genre, chars]| {
        let place = corpus.pages.len();
        if number(id, "page_id")? as usize != place || place == MAX_PAGES {
            return Err(format!(
                "page_id {id} instead of {place} (number pages from 0, at most {MAX_PAGES})"
            ));
        }
        let site = number(site, "site_id")?;
        let known = corpus.sites.get_mut(site as usize).ok_or_else(|| format!("unknown site {site}"))?;
        known.home = known.home.min(place as u32);
        corpus.pages.push(CorpusPage {
            url: url.into(),
            site,
            title: title.into(),
            text: String::new(),
            genre: genre.into(),
            chars: number(chars, "chars")?,
        });
        Ok(())
    })?;
    corpus.links = vec![vec![]; corpus.pages.len()];
    match corpus.sites.iter().position(|site| site.home == u32::MAX) {
        Some(empty) => Err(CorpusError::Line {
            line: corpus.pages.len() + 1,
            problem: format!("site {} has no page", corpus.sites[empty].name),
        }),
        None => Ok(()),
    }
}

/// Reads `links.tsv` after the pages.
///
/// # Errors
/// A line that is no link between pages.
pub fn read_links(source: impl BufRead, corpus: &mut Corpus) -> Result<(), CorpusError> {
    let mut count = 0;
    rows(source, ["from", "to", "kind", "anchor"], |[from, to, kind, anchor]| {
        let (from, to) = (number(from, "from")?, number(to, "to")?);
        if to as usize >= corpus.pages.len() || count == MAX_LINKS {
            return Err(format!("a link to page {to}, which is unknown, or more than {MAX_LINKS} links"));
        }
        let kind = LinkKind::ALL.into_iter().find(|known| known.name() == kind);
        let kind = kind.ok_or("the kind of a link is body, nav or list")?;
        let links = corpus.links.get_mut(from as usize).ok_or_else(|| format!("unknown page {from}"))?;
        links.push(CorpusLink { to, kind, anchor: anchor.into() });
        count += 1;
        Ok(())
    })
}

/// A line of `text.jsonl`.
#[derive(Deserialize)]
struct TextLine {
    page_id: u32,
    text: String,
}

/// Reads `text.jsonl` after the pages. A page that it lacks has no text.
///
/// # Errors
/// A line that is no text of a page.
pub fn read_texts(source: impl BufRead, corpus: &mut Corpus) -> Result<(), CorpusError> {
    lines(source, |_, line| {
        let TextLine { page_id, text } = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let page = corpus.pages.get_mut(page_id as usize).ok_or_else(|| format!("unknown page {page_id}"))?;
        page.text = text;
        Ok(())
    })
}
