//! Why a page that somebody asked for cannot be requested yet.

use recrawl_archive::timestamp;
use recrawl_console::view::WaitingPage;
use recrawl_crawl::admission::decisions::Decisions;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::Settings;
use recrawl_fetcher::{HostDelay, LeftAlone, asked_again_at};
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, HostTable, Origin};

/// Why the page waits, and until when; none if nothing but its turn keeps it. `now` and the start of the running round in
/// milliseconds since 1970.
///
/// # Errors
/// When the tables cannot be read.
pub fn reason(
    decided: &Decisions,
    settings: &Settings,
    tables: &SledTables,
    url: &CanonicalUrl,
    now: u64,
    round: Option<u64>,
) -> Result<Option<WaitingPage>, Failure> {
    let waits = |why: String, until| Ok(Some(WaitingPage { url: url.to_string(), why, until }));
    let host = url.host();
    if let Some(by) = &decided.paused {
        let why = format!("{} paused the crawl at {} (`recrawl resume` ends that)", by.who, timestamp(by.at));
        return waits(why, None);
    }
    if let Some(by) = decided.paused_hosts.get(&*host) {
        let why = format!("{} paused it at {} (`recrawl resume {host}` ends that)", by.who, timestamp(by.at));
        return waits(why, None);
    }
    let state = tables.load(&Origin::from_url(url))?.unwrap_or_default();
    // A robots.txt that the running round requested answers the pages of that round.
    let is_new = |fetched| round.is_some_and(|round| fetched >= round);
    let answers = state.robots.as_ref().is_some_and(|robots| is_new(robots.fetched));
    // Only a back-off, of the host or of its robots.txt, keeps a request waiting. Any other reason answers it.
    match HostDelay::from_state(&state, &settings.fetch, now).left_alone {
        Some(why @ LeftAlone::BackOff { .. }) => {
            let again = asked_again_at(&state, &settings.fetch);
            if again > now { waits(format!("{host} is skipped: {why}"), Some(again)) } else { Ok(None) }
        }
        Some(why @ LeftAlone::NoRobots { again, .. }) if again > now && !answers => {
            waits(format!("{host} is skipped: {why}"), Some(again))
        }
        _ if state.hold_until > now => {
            waits(format!("{host} asked to wait (Retry-After)"), Some(state.hold_until))
        }
        _ => Ok(None),
    }
}

/// The same in words.
pub fn words(WaitingPage { why, until, .. }: &WaitingPage) -> String {
    let until = until.map(|until| format!(", until {}", timestamp(until)));
    format!("{why}{}", until.unwrap_or_default())
}
