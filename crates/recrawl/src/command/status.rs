//! `recrawl status`: the state of a crawl, or of one host.

mod decisions_in_force;
mod guarded;
mod refused;

use super::{counted, dates, print, print_json, thousands, traps};
use crate::cli::StatusArgs;
use decisions_in_force::DecisionsInForce;
use recrawl_archive::{cap, timestamp};
use recrawl_crawl::admission::decisions::Decisions;
use recrawl_crawl::admission::named_host::NamedHost;
use recrawl_crawl::data_dir::WARC;
use recrawl_crawl::explain::forbidding::Forbidding;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels;
use recrawl_crawl::lessons::trust;
use recrawl_crawl::open_read;
use recrawl_crawl::settings::Settings;
use recrawl_crawl::settings::formula_file;
use recrawl_fetcher::host_delay::HostDelay;
use recrawl_fetcher::system_clock;
use recrawl_repository::{Generation, OriginRun, SledTables};
use recrawl_types::host::{Pace, RobotsBody};
use recrawl_types::{HostState, Origin, Scheme};
use refused::Refusals;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Cycles shown.
const CYCLES: usize = 10;
/// Hosts shown: those with the most pages.
const HOSTS: usize = 10;
/// Lines of robots.txt shown for a host.
const ROBOTS_LINES: usize = 20;

pub fn run(args: &StatusArgs) -> Result<(), Failure> {
    let settings = args.at.settings()?;
    match &args.host {
        Some(host) => one_host(&settings, host, args.json),
        None => crawl(&settings, args.json),
    }
}

/// An origin's key as printed text.
fn origin_text(key: &[u8]) -> String {
    let mut url = key.to_vec();
    url.push(b'/');
    recrawl_types::CanonicalUrl::from_key(&url).map_or_else(|_| "?".into(), |u| Origin::of(&u).to_string())
}

fn crawl(settings: &Settings, as_json: bool) -> Result<(), Failure> {
    let repository = open_read::repository(settings)?;
    let generation = repository.current();
    let reports = open_read::last_cycles(&repository, CYCLES)?;
    let mut origins = generation.origins().map_err(Failure::work)?;
    origins.sort_by_key(|o| std::cmp::Reverse(o.pages));
    let in_force = DecisionsInForce::of(settings);
    let in_progress = {
        let tables = open_read::tables(&settings.data_dir).ok();
        open_read::in_progress(&**repository.storage(), &generation, tables.as_deref())
    };
    if let Err(fault) = &in_progress {
        tracing::warn!("cannot read the schedule of the cycle in progress: {fault}");
    }
    let warc = settings.data_dir.join(WARC);
    let archive =
        cap::taken(&warc).map_err(|e| Failure::Work(format!("cannot read {}: {e}", warc.display())))?;
    // A broken formula is only reported here; it keeps the next cycle from starting.
    let formula = formula_file::in_force(settings);
    if let Err(fault) = &formula {
        tracing::warn!("cannot read the formula in force; no cycle starts without it: {fault}");
    }
    let summary = generation.summary();
    if as_json {
        let hosts: Vec<Value> = origins
            .iter()
            .take(HOSTS)
            .map(|o| json!({"host": origin_text(&o.key), "pages": o.pages, "visited": o.visited}))
            .collect();
        return print_json(&json!({
            "data_dir": settings.data_dir, "generation": summary.number, "pages": summary.pages,
            "visited": summary.visited, "gone": summary.gone, "hosts": summary.origins, "bytes": summary.bytes,
            "archive": {"files": archive.files, "bytes": archive.bytes},
            "policy": settings.policy.name,
            "formula": formula.as_ref().ok().filter(|_| settings.policy.is_formula()).map(|formula| formula.expr.to_string()),
            "formula_error": formula.as_ref().err().map(ToString::to_string),
            "controls": in_force.json(), "controls_unknown": in_force.unknown(),
            "decisions": in_force.list(), "cycle_in_progress": in_progress.as_ref().ok().copied().flatten(),
            "cycles": reports, "largest_hosts": hosts,
        }));
    }
    print(format!("data        {}", settings.data_dir.display()))?;
    print(format!("generation  {}", summary.number))?;
    print(format!(
        "pages       {} known, {} visited, {} gone",
        thousands(summary.pages),
        thousands(summary.visited),
        thousands(summary.gone)
    ))?;
    print(format!("hosts       {}", thousands(summary.origins)))?;
    match &formula {
        _ if settings.formula_is_idle().is_some() => {
            print(format!("policy      {}: {}", settings.policy.name, settings.policy.help))?;
        }
        Ok(formula) => print(format!("formula     {}: {}", formula.name, formula.expr))?,
        Err(fault) => print(format!("formula     unreadable: {fault}"))?,
    }
    match &in_progress {
        Ok(None) => {}
        Ok(Some(cycle)) => {
            print(format!("in progress {cycle}; unless a crawl runs, the next start resumes it"))?
        }
        Err(fault) => print(format!("in progress unreadable: {fault}"))?,
    }
    print(format!("control     {}", in_force.words()))?;
    let decisions = in_force.list().unwrap_or_default();
    decisions_in_force::lines(&decisions).iter().try_for_each(|line| print(format!("            {line}")))?;
    print(format!("repository  {}", counted(summary.bytes, "byte")))?;
    let cap::Files { files, bytes } = archive;
    let files = counted(files.into(), "WARC file");
    print(format!("archive     {} in {files}", counted(bytes, "byte")))?;
    print(
        "\ncycle  started               scheduled  fetched  changed  change rate  failed  skipped  seconds  stopped by",
    )?;
    for report in &reports {
        print(format!(
            "{:>5}  {}  {:>9}  {:>7}  {:>7}  {:>11}  {:>6}  {:>7}  {:>7.1}  {}",
            report.cycle,
            timestamp(report.started),
            report.scheduled,
            report.tally.fetched,
            report.tally.changed,
            report.change_rate.map_or("-".into(), |r| format!("{r:.3}")),
            report.tally.all_failed(),
            report.tally.all_skipped(),
            report.seconds,
            report.stopped_by
        ))?;
    }
    let refused: u64 = reports.iter().map(|report| report.tally.refused).sum();
    if refused > 0 {
        let visits = counted(refused, "visit");
        print(format!("\nrefused     {visits} in these cycles: {}", labels::REFUSED_ADDRESS))?;
    }
    print("\nlargest hosts                                 pages    visited")?;
    for origin in origins.iter().take(HOSTS) {
        print(format!(
            "{:40}  {:>9}  {:>9}",
            origin_text(&origin.key),
            thousands(origin.pages),
            thousands(origin.visited)
        ))?;
    }
    Ok(())
}

/// Why the tables cannot be opened; if a crawl has them, with `route` of its console, which can
/// answer.
fn beside(why: String, route: &str) -> String {
    match why.starts_with("in use by") {
        true => format!("in use by the running crawl; use `{route}` of its console, or stop the crawl first"),
        false => why,
    }
}

/// An origin's state and pages.
#[derive(Default)]
struct KnownOrigin {
    /// The default if the origin has never been contacted.
    state: HostState,
    /// None if no page is known.
    run: Option<OriginRun>,
}

/// The origins that match `host` and were contacted, or have known pages.
fn origins_of(
    tables: &SledTables,
    generation: &Generation,
    host: &NamedHost,
) -> Result<BTreeMap<Origin, KnownOrigin>, Failure> {
    let asked = tables.hosts_named(&host.name)?.into_iter().filter(|(origin, _)| host.is(origin));
    let mut found: BTreeMap<Origin, KnownOrigin> =
        asked.map(|(origin, state)| (origin, KnownOrigin { state, run: None })).collect();
    let mut runs = generation.origin_runs();
    while let Some(run) = runs.next_run().map_err(Failure::work)? {
        let origin = Origin::of(&run.home().map_err(Failure::work)?);
        if host.is(&origin) {
            found.entry(origin).or_default().run = Some(run);
        }
    }
    Ok(found)
}

/// The document of `recrawl status --host HOST --json`: an array of origins; none for an unknown
/// host.
///
/// # Errors
/// When pages or tables cannot be read.
pub fn host_document(
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
    let forbidding = Forbidding::of(settings, tables, decided)?;
    let document = |(origin, KnownOrigin { state, run }): (&Origin, &KnownOrigin)| {
        let mut host = host_json(settings, origin, state);
        host["refused"] =
            Refusals::of(&forbidding, generation, run.as_ref(), &forbidding.of_origin(tables, origin)?)?
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

fn one_host(settings: &Settings, host: &str, as_json: bool) -> Result<(), Failure> {
    let named = NamedHost::parse(host).map_err(|what| Failure::Usage(format!("--host: {what}")))?;
    let tables = open_read::tables(&settings.data_dir)
        .map_err(|why| Failure::Work(format!("{host}: {}", beside(why, "GET /api/v1/hosts/HOST"))))?;
    let unknown = || Failure::Work(format!("{host}: unknown host; `recrawl status` lists the largest hosts"));
    let repository = open_read::repository(settings)?;
    let generation = repository.current();
    let decided = open_read::decisions(&settings.data_dir, || Ok(tables.clone()))?;
    if as_json {
        let found = host_document(settings, &tables, &generation, &decided, &named)?;
        return print_json(&found.ok_or_else(unknown)?);
    }
    let found = origins_of(&tables, &generation, &named)?;
    let decisions = decisions_in_force::lines(&decisions_in_force::of_host(&decided, &named.name));
    let print_decisions = || decisions.iter().try_for_each(|line| print(format!("operator      {line}")));
    if found.is_empty() {
        let opted_out = settings.scope.opt_out().because(&named.name);
        if opted_out.is_none() && decisions.is_empty() {
            return Err(unknown());
        }
        print(format!("host          {host}: no page of it is known"))?;
        opted_out.map_or(Ok(()), |why| print(format!("opted out     {why}: no requests are sent")))?;
        return print_decisions();
    }
    let forbidding = Forbidding::of(settings, &tables, &decided)?;
    found.iter().try_for_each(|(origin, KnownOrigin { state, run })| {
        print_host(settings, origin, state)?;
        print_decisions()?;
        if let Some((cycle, visits)) = guarded::refused(&repository.kept(), origin)? {
            let visits = counted(visits, "visit");
            print(format!("addresses     {visits} refused in cycle {cycle}: {}", labels::REFUSED_ADDRESS))?;
        }
        let refusals =
            Refusals::of(&forbidding, &generation, run.as_ref(), &forbidding.of_origin(&tables, origin)?)?;
        refusals.lines().iter().try_for_each(|line| print(format!("refused       {line}")))?;
        print(format!("lastmod       {}", dates::text(settings, &tables.lastmods(origin)?)))?;
        let pings = tables.ping_counts(origin)?;
        if pings.total() > 0 {
            print(format!("pings         {}", dates::text_of_pings(settings, &pings)))?;
        }
        let known = traps::of_host(&settings.traps, &tables, origin)?;
        traps::lines(&known).try_for_each(|line| print(format!("trap          {line}")))
    })
}

/// The delay and back-off in force now.
fn host_delay(settings: &Settings, state: &HostState) -> HostDelay {
    HostDelay::of(state, &settings.fetch, system_clock()())
}

fn pace_json(pace: &Pace) -> Value {
    json!({
        "cycle": pace.cycle, "requests": pace.requests, "per_minute": pace.per_minute(),
        "per_minute_promised": pace.per_minute_promised(),
    })
}

fn pace_text(pace: &Pace) -> String {
    let allowed = match pace.per_minute_promised() {
        Some(rate) => format!("the delay allowed {rate:.1}"),
        None => "no delay".into(),
    };
    let Pace { cycle, requests, first, last, .. } = pace;
    match pace.per_minute() {
        Some(rate) => {
            let seconds = last.saturating_sub(*first) as f64 / 1000.0;
            format!("{rate:.1} requests per minute: {requests} in {seconds:.1} s of cycle {cycle}; {allowed}")
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

fn print_host(settings: &Settings, origin: &Origin, state: &HostState) -> Result<(), Failure> {
    print(format!("host          {origin}"))?;
    if let Some(why) = settings.scope.opt_out().because(&origin.host) {
        print(format!("opted out     {why}: no requests are sent"))?;
    }
    let delay = host_delay(settings, state);
    let pace = pace_text(&state.pace);
    let HostDelay { delay, because, left_alone } = delay;
    let because = because.map(|why| format!(": {why}")).unwrap_or_default();
    print(format!("delay         {delay:?} between a response and the next request{because}"))?;
    let last = if state.last_request > 0 { timestamp(state.last_request) } else { "never".into() };
    print(format!("requests      {}, last response {last}", thousands(state.requests)))?;
    print(format!("pace          {pace}"))?;
    print(format!("failures      {} in a row", state.failures))?;
    if let Some(left_alone) = left_alone {
        let until = left_alone.until().map(|at| format!("until {}: ", timestamp(at))).unwrap_or_default();
        print(format!("skipped       {until}{left_alone}"))?;
    }
    print(format!("validators    {}", trust::words(&state.trust)))?;
    print(format!("denied        {} by robots.txt, in all cycles", counted(state.robots_denied, "visit")))?;
    match &state.robots {
        None => print("robots.txt    not fetched yet"),
        Some(robots) => {
            let meaning = match &robots.body {
                RobotsBody::AllowAll => "not found: everything is allowed".into(),
                RobotsBody::DisallowAll(why) => {
                    format!("{}: everything is forbidden (RFC 9309 section 2.3.1.4)", labels::no_robots(*why))
                }
                RobotsBody::Rules(_) => "in force:".to_owned(),
            };
            print(format!("robots.txt    of {}, {meaning}", timestamp(robots.fetched)))?;
            if let RobotsBody::Rules(body) = &robots.body {
                let text = String::from_utf8_lossy(body);
                for line in text.lines().take(ROBOTS_LINES) {
                    print(format!("              {line}"))?;
                }
                let more = text.lines().count().saturating_sub(ROBOTS_LINES);
                if more > 0 {
                    print(format!("              … and {}", counted(more as u64, "more line")))?;
                }
            }
            Ok(())
        }
    }
}
