//! What the tables beside the pages say of an address: its host, its scope, its dates. A crawl that runs keeps the
//! tables to itself; then what they say is left open.

use crate::command::{dates, traps};
use crate::control::{Blocks, Mark};
use crate::crawl::TABLES;
use crate::decisions::Decisions;
use crate::failure::Failure;
use crate::lastmods::is_trusted;
use crate::reading::Tables;
use crate::scope::Refusal;
use crate::settings::Settings;
use crate::words;
use recrawl_fetcher::promise::{LeftAlone, Promise};
use recrawl_fetcher::robots::Rules;
use recrawl_fetcher::system_clock;
use recrawl_types::host::RobotsBody;
use recrawl_types::{CanonicalUrl, HostTable, Origin, PageRecord};

/// What a sitemap or feed says of the page, and whether it is acted upon.
#[derive(Default)]
pub struct Lastmod {
    /// How far its origin's dates are trusted, in words; none where the page has no date.
    pub trust: Option<String>,
    /// Does a trusted date say that the page changed since its last visit?
    pub is_news: bool,
}

/// Why an address is not among the pages: what refuses it, if something does.
pub fn unknown(
    settings: &mut Settings,
    decided: &Decisions,
    tables: &Tables,
    url: &CanonicalUrl,
) -> Result<Failure, Failure> {
    let refusal =
        scope(settings, decided, tables, url)?.flatten().map(|refusal| format!("refused: {refusal}"));
    let trap = || Ok(trap(settings, tables, url)?.and_then(|trap| trap.refusal()));
    let why = refusal.map_or_else(trap, |refusal| Ok::<_, Failure>(Some(refusal)))?;
    let why = why.unwrap_or_else(|| "no seed names it and no page visited so far links to it".into());
    Ok(Failure::Work(format!("{url}: not known: {why}")))
}

/// What is known of the patterns of its address.
pub fn trap(
    settings: &Settings,
    tables: &Tables,
    url: &CanonicalUrl,
) -> Result<Option<traps::Standing>, Failure> {
    let Ok(tables) = tables else { return Ok(None) };
    traps::Standing::of(&settings.traps, tables, url).map_err(Failure::from)
}

/// Why the page does not belong to the crawl, if it does not. None where the sites of the seeds cannot be read.
pub fn scope(
    settings: &mut Settings,
    decided: &Decisions,
    tables: &Tables,
    url: &CanonicalUrl,
) -> Result<Option<Option<Refusal>>, Failure> {
    settings.scope.refuse_taken_down(decided.taken_down.clone());
    if settings.config.scope.hosts.is_empty() {
        let Ok(tables) = tables else { return Ok(None) };
        settings.scope.admit_sites(crate::crawl::seed_sites(tables, &[])?);
    }
    Ok(Some(settings.scope.refuse(url)))
}

/// Why the page's host is left alone, if it is. What robots.txt says of it stands apart.
pub fn left_alone(
    settings: &Settings,
    tables: &Tables,
    url: &CanonicalUrl,
) -> Result<Option<LeftAlone>, Failure> {
    let Ok(tables) = tables else { return Ok(None) };
    let state = tables.load(&Origin::of(url))?;
    Ok(state.and_then(|state| Promise::of(&state, &settings.fetch, system_clock()()).left_alone))
}

/// What a date of the page's is worth.
pub fn lastmod(
    settings: &Settings,
    tables: &Tables,
    url: &CanonicalUrl,
    record: &PageRecord,
) -> Result<Lastmod, Failure> {
    let Ok(tables) = tables else { return Ok(Lastmod::default()) };
    if record.known.lastmod == 0 {
        return Ok(Lastmod::default());
    }
    let counts = tables.lastmods(&Origin::of(url))?;
    let is_news = record.known.is_announced && is_trusted(&counts, settings.config.hints.min_trust.0);
    Ok(Lastmod { trust: Some(dates::text(settings, &counts)), is_news })
}

/// What robots.txt says of a page.
pub struct Robots {
    /// For people.
    pub words: String,
    /// Is the page forbidden, for now or as long as the file stays as it is?
    pub is_forbidden: bool,
    /// The line that forbids it.
    pub rule: Option<String>,
    /// When the file was fetched, in milliseconds since 1970.
    pub fetched: Option<u64>,
}

/// What robots.txt says of the page.
pub fn robots(settings: &Settings, tables: &Tables, url: &CanonicalUrl) -> Result<Robots, Failure> {
    let open = |words: String| Robots { words, is_forbidden: false, rule: None, fetched: None };
    let tables = match tables {
        Ok(tables) => tables,
        Err(why) => return Ok(open(format!("not looked up: {TABLES}: {why}"))),
    };
    let Some(robots) = tables.load(&Origin::of(url))?.and_then(|state| state.robots) else {
        return Ok(open("not fetched yet".into()));
    };
    let when = recrawl_archive::timestamp(robots.fetched);
    let (words, is_forbidden, rule) = match robots.body {
        RobotsBody::AllowAll => (format!("allowed: there was none at {when}"), false, None),
        RobotsBody::DisallowAll(why) => {
            (format!("{} at {when}: all is forbidden for now", words::no_robots(why)), true, None)
        }
        RobotsBody::Rules(body) => {
            let rules = Rules::parse(&body, settings.fetch.product_token());
            match rules.forbids(url.path_and_query()).map(|rule| rule.to_string()) {
                Some(rule) => (format!("forbidden by `{rule}` in the file of {when}"), true, Some(rule)),
                None => (format!("allowed by the file of {when}"), false, None),
            }
        }
    };
    Ok(Robots { words, is_forbidden, rule, fetched: Some(robots.fetched) })
}

/// What operators decided of a page.
#[derive(Default)]
pub struct Held {
    /// The pattern that blocks it.
    pub blocked: Option<(String, Mark)>,
    /// The pause of its host.
    pub host: Option<Mark>,
    /// The pause of all.
    pub all: Option<Mark>,
}

impl Held {
    /// All that holds, the strongest first, in words and by whom.
    pub fn all(&self) -> Vec<(String, &Mark)> {
        let blocked = self.blocked.iter().map(|(pattern, mark)| (format!("{pattern} was blocked"), mark));
        let host = self.host.iter().map(|mark| ("its host was paused".into(), mark));
        let all = self.all.iter().map(|mark| ("the whole crawl was paused".into(), mark));
        blocked.chain(host).chain(all).collect()
    }

    /// The strongest.
    pub fn first(&self) -> Option<(String, &Mark)> {
        self.all().into_iter().next()
    }
}

/// What operators decided of the page.
pub fn held(decided: &Decisions, url: &CanonicalUrl) -> Held {
    let pattern = Blocks::of(decided.blocks.keys()).cover(url);
    let blocked =
        pattern.and_then(|pattern| decided.blocks.get(&pattern).cloned().map(|mark| (pattern, mark)));
    let host = decided.paused_hosts.get(&*url.host()).cloned();
    Held { blocked, host, all: decided.paused.clone() }
}
