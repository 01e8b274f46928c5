//! `recrawl search`: searches the texts of the pages, beside a daemon or without one.

use super::{counted, last_commit, print, print_json, refused};
use crate::cli::{PastTime, SearchArgs};
use crate::report::search;
use recrawl_archive::timestamp;
use recrawl_console::view::{SearchList, SearchQuery, SearchResult, SearchSort};
use recrawl_crawl::failure::Failure;

pub fn run(args: &SearchArgs) -> Result<(), Failure> {
    let list = found(args)?;
    if args.on.json {
        return print_json(&list);
    }
    if let Some(note) = note(&list) {
        tracing::warn!("{note}");
    }
    list.results.iter().flat_map(lines).try_for_each(print)
}

/// The pages, as of the last commit.
///
/// # Errors
/// When the query is invalid, or there is no index, or something cannot be read.
pub fn found(args: &SearchArgs) -> Result<SearchList, Failure> {
    let (settings, repository) = last_commit(&args.on.at)?;
    let query = SearchQuery {
        words: args.words.join(" "),
        host: args.host.clone(),
        since: args.changed_since.map_or(0, PastTime::begin),
        sort: if args.newest { SearchSort::Newest } else { SearchSort::Best },
        limit: args.limit as usize,
    };
    search::answer(&settings, &repository.current(), &query).map_err(refused)
}

/// Says that no page was found, or none that has all words.
pub fn note(list: &SearchList) -> Option<String> {
    match list {
        SearchList { results, .. } if results.is_empty() => Some("no page has these words".into()),
        SearchList { is_partial: true, total, .. } => {
            Some(format!("no page has all of these words; some of them: {}", counted(*total, "page")))
        }
        _ => None,
    }
}

/// Title, address and snippet.
pub fn lines(SearchResult { url, title, fetched_at, snippet }: &SearchResult) -> Vec<String> {
    let snippet: String = snippet.iter().map(|part| &*part.text).collect();
    let mut lines = vec![
        title.clone().unwrap_or_else(|| url.clone()),
        format!("    {url}  {}", timestamp(fetched_at * 1000)),
    ];
    if !snippet.trim().is_empty() {
        lines.push(format!("    {}", snippet.trim()));
    }
    lines
}
