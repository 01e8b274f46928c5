//! `recrawl status --host HOST`: what is known of a host, as text and as JSON.

use super::decisions_in_force;
use super::failed_visits::{self, HostVisits};
use super::refused::Refusals;
use super::{counted, dates, thousands, traps};
use recrawl_archive::timestamp;
use recrawl_crawl::admission::decisions::Decisions;
use recrawl_crawl::admission::named_host::NamedHost;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels;
use recrawl_crawl::parts::trust;
use recrawl_crawl::settings::Settings;
use recrawl_fetcher::{HostDelay, system_clock};
use recrawl_repository::{Generation, OriginRun, SledTables, StoredRounds};
use recrawl_types::host::{CyclePace, RobotsBody};
use recrawl_types::{HostState, Origin, Scheme, Span};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Lines of robots.txt shown for a host.
const ROBOTS_LINES: usize = 20;

/// An origin's state and pages.
#[derive(Default)]
pub struct KnownOrigin {
    /// The default if the origin has never been contacted.
    pub state: HostState,
    /// None if no page is known.
    pub run: Option<OriginRun>,
}

/// The origins that match `host` and were contacted, or have known pages.
///
/// # Errors
/// When pages or tables cannot be read.
pub fn origins_of(
    tables: &SledTables,
    generation: &Generation,
    host: &NamedHost,
) -> Result<BTreeMap<Origin, KnownOrigin>, Failure> {
    let asked = tables.hosts_named(&host.name)?.into_iter().filter(|(origin, _)| host.is(origin));
    let mut found: BTreeMap<Origin, KnownOrigin> =
        asked.map(|(origin, state)| (origin, KnownOrigin { state, run: None })).collect();
    let mut runs = generation.origin_runs();
    while let Some(run) = runs.next_run().map_err(Failure::work)? {
        let origin = Origin::from_url(&run.home().map_err(Failure::work)?);
        if host.is(&origin) {
            found.entry(origin).or_default().run = Some(run.clone());
        }
    }
    Ok(found)
}

/// The document of `recrawl status --host HOST --json`: an array of origins; none for an unknown
/// host.
///
/// # Errors
/// When pages or tables cannot be read.
pub fn document(
    settings: &Settings,
    tables: &SledTables,
    generation: &Generation,
    decided: &Decisions,
    host: &NamedHost,
) -> Result<Option<Vec<Value>>, Failure> {
    let found = origins_of(tables, generation, host)?;
    let decisions = decisions_in_force::of_host(decided, &host.name);
    if found.is_empty() {
        let opted_out = settings.scope.opt_out().because(&host.name);
        let is_named = opted_out.is_some() || !decisions.is_empty();
        let document = json!({"host": host.name, "opted_out": opted_out, "decisions": decisions});
        return Ok(is_named.then(|| vec![document]));
    }
    let forbidding = settings.forbidding(tables, decided)?;
    let document = |(origin, KnownOrigin { state, run }): (&Origin, &KnownOrigin)| {
        let mut host = host_json(settings, origin, state);
        host["refused"] = Refusals::for_origin(
            &forbidding,
            generation,
            run.as_ref(),
            &forbidding.of_origin(tables, origin)?,
        )?
        .json();
        host["decisions"] = json!(decisions);
        host["lastmod"] = dates::json(settings, &tables.lastmods(origin)?);
        let pings = tables.ping_counts(origin)?;
        if pings.total() > 0 {
            host["pings"] = dates::json(settings, &pings);
        }
        host["traps"] = traps::list(&traps::of_host(&settings.traps, tables, origin)?);
        Ok::<_, Failure>(host)
    };
    found.iter().map(document).collect::<Result<Vec<Value>, Failure>>().map(Some)
}

/// The text of `recrawl status --host HOST`; none for an unknown host.
///
/// # Errors
/// As [`document`].
pub fn text(
    settings: &Settings,
    tables: &SledTables,
    generation: &Generation,
    kept: &StoredRounds,
    decided: &Decisions,
    host: &NamedHost,
) -> Result<Option<String>, Failure> {
    let found = origins_of(tables, generation, host)?;
    let decisions = decisions_in_force::lines(&decisions_in_force::of_host(decided, &host.name));
    let decisions: Vec<String> = decisions.iter().map(|line| format!("operator      {line}")).collect();
    if found.is_empty() {
        let opted_out = settings.scope.opt_out().because(&host.name);
        if opted_out.is_none() && decisions.is_empty() {
            return Ok(None);
        }
        let mut lines = vec![format!("host          {}: no page of it is known", host.name)];
        lines.extend(opted_out.map(|why| format!("opted out     {why}: no requests are sent")));
        return Ok(Some([lines, decisions].concat().join("\n")));
    }
    let forbidding = settings.forbidding(tables, decided)?;
    let mut lines = Vec::new();
    for (origin, KnownOrigin { state, run }) in &found {
        lines.extend(host_lines(settings, origin, state));
        lines.extend(decisions.iter().cloned());
        lines.extend(failed_visits::newest(kept, origin)?.iter().flat_map(HostVisits::lines));
        let refusals = Refusals::for_origin(
            &forbidding,
            generation,
            run.as_ref(),
            &forbidding.of_origin(tables, origin)?,
        )?;
        lines.extend(refusals.lines().iter().map(|line| format!("refused       {line}")));
        lines.push(format!("lastmod       {}", dates::text(settings, &tables.lastmods(origin)?)));
        let pings = tables.ping_counts(origin)?;
        if pings.total() > 0 {
            lines.push(format!("pings         {}", dates::text_of_pings(settings, &pings)));
        }
        let known = traps::of_host(&settings.traps, tables, origin)?;
        lines.extend(traps::lines(&known).map(|line| format!("trap          {line}")));
    }
    Ok(Some(lines.join("\n")))
}

/// The delay and back-off in force now.
fn host_delay(settings: &Settings, state: &HostState) -> HostDelay {
    HostDelay::from_state(state, &settings.fetch, system_clock()())
}

fn pace_json(pace: &CyclePace) -> Value {
    json!({
        "cycle": pace.cycle, "last": pace.last, "requests": pace.requests, "per_minute": pace.per_minute(),
        "per_minute_promised": pace.per_minute_promised(),
    })
}

fn pace_text(pace: &CyclePace) -> String {
    let allowed = match pace.per_minute_promised() {
        Some(rate) => format!("the delay allowed {rate:.1}"),
        None => "no delay".into(),
    };
    let CyclePace { cycle, requests, first, last, .. } = pace;
    match pace.per_minute() {
        Some(rate) => {
            let time = Span::millis(last.saturating_sub(*first)).rounded();
            format!("{rate:.1} requests per minute: {requests} in {time} of cycle {cycle}; {allowed}")
        }
        None if *requests == 0 => "no requests yet".into(),
        None => format!("{} in cycle {cycle}", counted((*requests).into(), "request")),
    }
}

fn host_json(settings: &Settings, origin: &Origin, state: &HostState) -> Value {
    let robots = state.robots.as_ref();
    let text = robots.and_then(|r| match &r.body {
        RobotsBody::Rules(body) => Some(String::from_utf8_lossy(body).into_owned()),
        _ => None,
    });
    let unreachable = robots.and_then(|r| match &r.body {
        RobotsBody::DisallowAll(why) => Some(labels::no_robots(*why)),
        _ => None,
    });
    let delay = host_delay(settings, state);
    let because = delay.because.map(|because| because.to_string());
    let (left_alone, until) = (delay.left_alone.map(|l| l.name()), delay.left_alone.and_then(|l| l.until()));
    json!({
        "host": origin.to_string(), "scheme": if origin.scheme == Scheme::Http { "http" } else { "https" },
        "delay_ms": delay.delay.as_millis() as u64, "delay_because": because, "latency_ms": state.latency,
        "pace": pace_json(&state.pace), "left_alone": left_alone, "left_alone_until": until, "requests": state.requests,
        "robots_denied": state.robots_denied, "validators": trust::name(state.trust.belief),
        "validators_since": state.trust.since, "changes_shown": state.trust.shown, "changes_hidden": state.trust.hidden, "failures": state.failures, "back_off_until": state.back_off_until,
        "last_request": state.last_request, "robots_fetched": robots.map(|r| r.fetched), "robots": text,
        "robots_unreachable": unreachable,
        "opted_out": settings.scope.opt_out().because(&origin.host),
    })
}

fn host_lines(settings: &Settings, origin: &Origin, state: &HostState) -> Vec<String> {
    let mut lines = vec![format!("host          {origin}")];
    if let Some(why) = settings.scope.opt_out().because(&origin.host) {
        lines.push(format!("opted out     {why}: no requests are sent"));
    }
    let HostDelay { delay, because, left_alone } = host_delay(settings, state);
    let because = because.map(|why| format!(": {why}")).unwrap_or_default();
    let delay = Span(delay).rounded();
    lines.push(format!("delay         {delay} between a response and the next request{because}"));
    let last = if state.last_request > 0 { timestamp(state.last_request) } else { "never".into() };
    lines.push(format!("requests      {}, last response {last}", thousands(state.requests)));
    lines.push(format!("pace          {}", pace_text(&state.pace)));
    lines.push(format!("failures      {} in a row", state.failures));
    if let Some(left_alone) = left_alone {
        let until = left_alone.until().map(|at| format!("until {}: ", timestamp(at))).unwrap_or_default();
        lines.push(format!("skipped       {until}{left_alone}"));
    }
    lines.push(format!("validators    {}", trust::words(&state.trust)));
    lines.push(format!(
        "denied        {} by robots.txt, in all cycles",
        counted(state.robots_denied, "visit")
    ));
    let Some(robots) = &state.robots else {
        lines.push("robots.txt    not fetched yet".into());
        return lines;
    };
    let meaning = match &robots.body {
        RobotsBody::AllowAll => "not found: everything is allowed".into(),
        RobotsBody::DisallowAll(why) => {
            format!("{}: everything is forbidden (RFC 9309 section 2.3.1.4)", labels::no_robots(*why))
        }
        RobotsBody::Rules(_) => "in force:".to_owned(),
    };
    lines.push(format!("robots.txt    of {}, {meaning}", timestamp(robots.fetched)));
    // The file is the word of its owner, so it is shown, but a hostile one is cut.
    if let RobotsBody::Rules(body) = &robots.body {
        let text = String::from_utf8_lossy(body);
        lines.extend(text.lines().take(ROBOTS_LINES).map(|line| format!("              {line}")));
        let more = text.lines().count().saturating_sub(ROBOTS_LINES);
        if more > 0 {
            lines.push(format!("              … and {}", counted(more as u64, "more line")));
        }
    }
    lines
}
