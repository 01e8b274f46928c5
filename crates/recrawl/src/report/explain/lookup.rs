//! Looks up a URL's host, scope and dates in the tables. A running crawl locks the tables; the
//! answers that need them are then unknown.

use crate::report::{dates, traps};
use recrawl_crawl::admission::blocks::Blocks;
use recrawl_crawl::admission::decisions::Decisions;
use recrawl_crawl::admission::gates::{ClosedGate, Gates, OriginGates};
use recrawl_crawl::admission::pattern::Pattern;
use recrawl_crawl::admission::scope::ScopeRefusal;
use recrawl_crawl::data_dir::TABLES;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels;
use recrawl_crawl::open_read::Tables;
use recrawl_crawl::operator::control::Mark;
use recrawl_crawl::parts::seed_hosts;
use recrawl_crawl::settings::Settings;
use recrawl_fetcher::robots::RobotsRules;
use recrawl_fetcher::{HostDelay, LeftAlone, system_clock};
use recrawl_types::host::RobotsBody;
use recrawl_types::{CanonicalUrl, HostTable, Origin, PageRecord, Ping};

/// The page's date from a sitemap or feed, and whether the scheduler trusts it.
#[derive(Default)]
pub struct PageLastmod {
    /// Trust in its origin's dates, as text; none if the page has no date.
    pub trust: Option<String>,
    /// Does a trusted date say that the page changed since its last visit?
    pub is_news: bool,
}

/// The error for an unknown URL, with the rule that refuses it, if any.
pub fn unknown(
    settings: &mut Settings,
    decided: &Decisions,
    tables: &Tables,
    url: &CanonicalUrl,
) -> Result<Failure, Failure> {
    let refusal = scope(settings, decided, tables, url)?.flatten();
    let refusal = refusal.map(|refusal| format!("outside the crawl: {refusal}"));
    let trap = || Ok(trap(settings, tables, url)?.and_then(|trap| trap.refusal()));
    let why = refusal.map_or_else(trap, |refusal| Ok::<_, Failure>(Some(refusal)))?;
    let why = why.unwrap_or_else(|| "not a seed, and no visited page links to it".into());
    Ok(Failure::Work(format!("{url}: unknown URL: {why}")))
}

/// Evidence about the URL's trap patterns.
pub fn trap(
    settings: &Settings,
    tables: &Tables,
    url: &CanonicalUrl,
) -> Result<Option<traps::UrlTrap>, Failure> {
    let Ok(tables) = tables else { return Ok(None) };
    traps::UrlTrap::find(&settings.traps, tables, url).map_err(Failure::from)
}

/// Why the page is outside the scope, if it is. The outer option is none if the seed sites cannot
/// be read.
pub fn scope(
    settings: &mut Settings,
    decided: &Decisions,
    tables: &Tables,
    url: &CanonicalUrl,
) -> Result<Option<Option<ScopeRefusal>>, Failure> {
    settings.scope.refuse_taken_down(decided.taken_down.clone());
    if settings.config.scope.hosts.is_empty() {
        let Ok(tables) = tables else {
            return Ok(refusal_without_tables(settings, url).map(Some));
        };
        settings.admit_seed_sites(tables, &[])?;
    }
    Ok(Some(settings.scope.refuse(url)))
}

/// The gates that are closed to a page, in order; with locked tables, those that are known without them.
/// The settings have the scope as [`scope`] left it.
pub fn closed(
    settings: &Settings,
    decided: &Decisions,
    tables: &Tables,
    url: &CanonicalUrl,
    is_visited: bool,
) -> Result<Vec<ClosedGate>, Failure> {
    if let Ok(tables) = tables {
        let forbidding = settings.forbidding(tables, decided)?;
        let of_origin = forbidding.of_origin(tables, &Origin::from_url(url))?;
        return Ok(forbidding.gates(&of_origin, url, is_visited));
    }
    let (blocks, origin) = (Blocks::from_patterns(decided.blocks.keys()), OriginGates::default());
    let gates = Gates { scope: None, blocks: &blocks, is_trap: &|_| false, origin: &origin };
    let refusal = refusal_without_tables(settings, url).map(ClosedGate::Scope);
    Ok(refusal.into_iter().chain(gates.closed_to(url, is_visited)).collect())
}

/// Why the page is outside the scope, as far as that is known without the sites of the seeds: opt-outs and
/// takedowns, for example.
fn refusal_without_tables(settings: &Settings, url: &CanonicalUrl) -> Option<ScopeRefusal> {
    let knows_hosts = !settings.config.scope.hosts.is_empty();
    settings.scope.refuse(url).filter(|refusal| knows_hosts || *refusal != ScopeRefusal::Host)
}

/// Why the page's host is skipped, if it is.
pub fn left_alone(
    settings: &Settings,
    tables: &Tables,
    url: &CanonicalUrl,
) -> Result<Option<LeftAlone>, Failure> {
    let Ok(tables) = tables else { return Ok(None) };
    let state = tables.load(&Origin::from_url(url))?;
    Ok(state.and_then(|state| HostDelay::from_state(&state, &settings.fetch, system_clock()()).left_alone))
}

/// When a seed that failed and was never fetched is tried again, in milliseconds since 1970. A try while its host is skipped
/// waits for that to end.
pub fn seed_retry(
    tables: &Tables,
    url: &CanonicalUrl,
    record: &PageRecord,
    left_alone: Option<LeftAlone>,
) -> Result<Option<u64>, Failure> {
    let Some(tables) = tables.as_deref().ok().filter(|_| seed_hosts::is_failed_seed(record)) else {
        return Ok(None);
    };
    let retries = seed_hosts::retries(tables)?;
    let host_waits = left_alone.and_then(|why| why.until()).unwrap_or_default();
    Ok(retries.get(&Origin::from_url(url).to_string()).map(|retry| retry.at.max(host_waits)))
}

/// The page's date and the trust in it.
pub fn lastmod(
    settings: &Settings,
    tables: &Tables,
    url: &CanonicalUrl,
    record: &PageRecord,
) -> Result<PageLastmod, Failure> {
    let Ok(tables) = tables else { return Ok(PageLastmod::default()) };
    if record.known.lastmod == 0 {
        return Ok(PageLastmod::default());
    }
    let counts = tables.lastmods(&Origin::from_url(url))?;
    let is_news = record.known.is_announced && counts.is_trusted(settings.config.hints.min_trust.0);
    Ok(PageLastmod { trust: Some(dates::text(settings, &counts)), is_news })
}

/// The pings of the page that no visit has answered, and the trust in its host's pings, as text.
pub fn ping(
    settings: &Settings,
    tables: &Tables,
    url: &CanonicalUrl,
) -> Result<Option<(Ping, String)>, Failure> {
    let Ok(tables) = tables else { return Ok(None) };
    let Some(ping) = tables.ping(url)? else { return Ok(None) };
    let counts = tables.ping_counts(&Origin::from_url(url))?;
    Ok(Some((ping, dates::text_of_pings(settings, &counts))))
}

/// What robots.txt says about a page.
pub struct RobotsAnswer {
    /// Text for people.
    pub words: String,
    /// The rule that forbids it.
    pub rule: Option<String>,
    /// When the file was fetched, in milliseconds since 1970.
    pub fetched: Option<u64>,
}

/// Applies the robots.txt in force to the page.
pub fn robots(settings: &Settings, tables: &Tables, url: &CanonicalUrl) -> Result<RobotsAnswer, Failure> {
    let open = |words: String| RobotsAnswer { words, rule: None, fetched: None };
    let tables = match tables {
        Ok(tables) => tables,
        Err(why) => return Ok(open(format!("unknown: {TABLES}: {why}"))),
    };
    let Some(robots) = tables.load(&Origin::from_url(url))?.and_then(|state| state.robots) else {
        return Ok(open("not fetched yet".into()));
    };
    let when = recrawl_archive::timestamp(robots.fetched);
    let (words, rule) = match robots.body {
        RobotsBody::AllowAll => (format!("allowed: no robots.txt at {when}"), None),
        RobotsBody::DisallowAll(why) => {
            (format!("{} at {when}: everything is forbidden for now", labels::no_robots(why)), None)
        }
        RobotsBody::Rules(body) => {
            let rules = RobotsRules::parse(&body, settings.fetch.product_token());
            match rules.forbids(url.path_and_query()).map(|rule| rule.to_string()) {
                Some(rule) => (format!("forbidden by `{rule}` (file of {when})"), Some(rule)),
                None => (format!("allowed (file of {when})"), None),
            }
        }
    };
    Ok(RobotsAnswer { words, rule, fetched: Some(robots.fetched) })
}

/// Operators' decisions about a page.
#[derive(Default)]
pub struct PageDecisions {
    /// The pattern that blocks the page, and who added it.
    pub blocked: Option<(Pattern, Mark)>,
    /// Who paused the host.
    pub host: Option<Mark>,
    /// Who paused the crawl.
    pub all: Option<Mark>,
}

impl PageDecisions {
    /// All decisions, the strongest first, as text and mark.
    pub fn all(&self) -> Vec<(String, &Mark)> {
        let blocked = self.blocked.iter().map(|(pattern, mark)| (format!("blocked ({pattern})"), mark));
        let host = self.host.iter().map(|mark| ("host paused".into(), mark));
        let all = self.all.iter().map(|mark| ("crawl paused".into(), mark));
        blocked.chain(host).chain(all).collect()
    }
}

/// The operators' decisions that apply to a page.
pub fn held(decided: &Decisions, url: &CanonicalUrl) -> PageDecisions {
    let pattern = Blocks::from_patterns(decided.blocks.keys()).cover(url);
    let blocked =
        pattern.and_then(|pattern| decided.blocks.get(&pattern).cloned().map(|mark| (pattern, mark)));
    let host = decided.paused_hosts.get(&*url.host()).cloned();
    PageDecisions { blocked, host, all: decided.paused.clone() }
}
