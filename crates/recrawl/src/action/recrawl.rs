//! A page that an operator wants fetched now.

use super::todo;
use crate::report::explain;
use recrawl_console::view::Refusal;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::operator::control::Control;
use recrawl_crawl::settings::{KnownPage, Settings};
use recrawl_repository::{Generation, SledTables};
use recrawl_types::{CanonicalUrl, PageRecord};
use std::sync::Arc;

/// The page that an operator names.
pub fn known_page(settings: &Settings, generation: &Generation, text: &str) -> Result<KnownPage, Refusal> {
    settings.known_page(text, generation).map_err(|failure| match failure {
        Failure::Usage(why) => Refusal::invalid("url", why, "write it as https://example.com/page"),
        Failure::Work(why) => Refusal::failed(why),
    })
}

/// The known page that an operator asks for, if it may be fetched; also in a crawl without a daemon.
pub fn asked(
    control: &Control,
    settings: &Settings,
    generation: &Generation,
    tables: &Arc<SledTables>,
    text: &str,
    now: u64,
) -> Result<(CanonicalUrl, PageRecord), Refusal> {
    let (url, found) = known_page(settings, generation, text)?;
    let Some((_, record)) = found else {
        return Err(Refusal::NotFound(format!("{url}: unknown URL; add it as a seed")));
    };
    if let Some(refusal) = settings.scope.refuse(&url) {
        return Err(Refusal::invalid("url", format!("{url}: {refusal}"), todo(&refusal)));
    }
    if let Some(pattern) = control.blocks().cover(&url) {
        let what = format!("{url} is blocked by {pattern}");
        return Err(Refusal::invalid("url", what, "unblock it first"));
    }
    let robots = explain::robots(settings, &Ok(tables.clone()), &url).map_err(Refusal::failed)?;
    // An older file is fetched again before the page.
    let is_in_force =
        |fetched: u64| now.saturating_sub(fetched) < settings.fetch.robots_cache.as_millis() as u64;
    if let Some(line) = robots.rule.filter(|_| robots.fetched.is_some_and(is_in_force)) {
        let what = format!("{url}: robots.txt: {}", robots.words);
        return Err(Refusal::invalid("url", what, explain::lift_robots(&line)));
    }
    Ok((url, record))
}
