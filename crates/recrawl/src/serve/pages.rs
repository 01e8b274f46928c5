//! Lists of pages, and the document of one page.

use super::hosts::elsewhere;
use super::shared_state::SharedState;
use crate::action::formula;
use crate::action::recrawl::known_page;
use crate::report::explain::{ExplainedPage, Explanation, unknown};
use crate::report::page::page_json;
use crate::texts;
use recrawl_archive::cap::Bodies;
use recrawl_archive::opener;
use recrawl_console::view::Refusal;
use recrawl_console::view::{OnePage, PageList, PageQuery};
use recrawl_crawl::cycle::plan;
use recrawl_repository::StoredRounds;
use recrawl_types::{CanonicalUrl, UrlRules};
use serde_json::Value;
use std::sync::Arc;

/// The pages whose URLs have a prefix, in URL order. Reads only the blocks that hold them.
pub fn list(shared: &SharedState, ask: &PageQuery) -> Result<PageList, Refusal> {
    let rules = UrlRules::keep_all();
    let key = |text: &str, at: &str, todo: &str| {
        rules.canonicalize(text).map_err(|e| Refusal::invalid(at, format!("{text:?}: {e}"), todo))
    };
    let prefix = match ask.prefix.is_empty() {
        true => None,
        false => Some(key(
            &ask.prefix,
            "prefix",
            "write a URL prefix with a complete host, such as https://example.com/a",
        )?),
    };
    let after = match &ask.cursor {
        None => None,
        Some(text) => Some(key(text, "cursor", "omit it to start over")?),
    };
    let prefix = prefix.as_ref().map_or(&[][..], CanonicalUrl::key);
    let from = after.as_ref().map_or(prefix, |after| after.key().max(prefix));
    let generation = shared.generation();
    let archive = opener::open(&shared.data_dir).map_err(Refusal::failed)?;
    let bodies = Bodies::in_storage(&*archive).map_err(Refusal::failed)?;
    let mut pages = generation.gather(generation.first_ordinal(from)..generation.pages());
    let mut list = PageList { pages: Vec::new(), next: None };
    let mut last = None;
    while let Some((_, url, record)) = pages.next_page().map_err(Refusal::failed)? {
        if url.key() < from || after.as_ref().is_some_and(|after| url == *after) {
            continue;
        }
        if !url.key().starts_with(prefix) {
            break;
        }
        if list.pages.len() == ask.limit {
            list.next = last;
            break;
        }
        list.pages.push(page_json(&url, &record, &bodies));
        last = Some(url.to_string());
    }
    Ok(list)
}

/// The document of `recrawl explain URL --json`, with the difference of the last two texts.
pub fn document(shared: &SharedState, page: &OnePage) -> Result<Value, Refusal> {
    let explanation = explained(shared, page)?;
    let settings = shared.settings();
    let (url, visited) = explanation.page();
    let texts = texts::document(url, visited, &settings, shared.now());
    let mut document = explanation.json();
    document["texts"] = texts;
    Ok(document)
}

/// Everything that decides whether a page is visited next.
pub fn explained(shared: &SharedState, page: &OnePage) -> Result<Explanation, Refusal> {
    let mut settings = (*shared.settings()).clone();
    let generation = shared.generation();
    let (url, found) = known_page(&settings, &generation, &page.url)?;
    let other = page.formula.as_deref().map(formula::parse).transpose()?;
    let tables = Ok(shared.tables.clone());
    if let Some(partition) = shared.partition.as_deref().filter(|partition| !partition.owns(url.key())) {
        return Err(Refusal::NotFound(elsewhere(shared, partition, &url, url.key())));
    }
    // Before a place among the scans is taken: an unknown page needs no scan.
    let Some((ordinal, record)) = found else {
        let why =
            unknown(&mut settings, &shared.control.decided(), &tables, &url).map_err(Refusal::failed)?;
        return Err(Refusal::NotFound(why.to_string()));
    };
    let _scan = shared
        .scans
        .begin()
        .ok_or_else(|| Refusal::Busy("too many page requests are running; try again later".into()))?;
    let kept = StoredRounds::new(shared.storage.clone(), generation.number());
    let history = shared.visited.history(&kept, &url).map_err(Refusal::failed)?;
    let reports = shared.reports(1);
    let (is_other_formula, formula) = (other.is_some(), other.map_or_else(|| shared.formula(), Arc::new));
    // Ranks are kept for the crawl's formula only.
    let ranks = match is_other_formula {
        true => None,
        false => {
            let request =
                plan::request(&settings, generation.cycle().next(), generation.pages(), shared.random_seed);
            let kept = &shared.ranks;
            Some(
                kept.get_or_gather(&request, &formula, &generation, &shared.tables, &settings)
                    .map_err(Refusal::failed)?,
            )
        }
    };
    let decided = shared.control.decided();
    let page = ExplainedPage {
        url,
        ordinal,
        record,
        formula: (*formula).clone(),
        is_other_formula,
        last: reports.first(),
        cycle_starts: shared.cycle_starts(),
        random_seed: shared.random_seed,
        history,
        ranks: ranks.as_deref(),
        decided: &decided,
    };
    Explanation::for_page(page, &mut settings, &generation, || tables).map_err(Refusal::failed)
}
