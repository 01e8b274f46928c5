//! The changes that operators make over HTTP or the control socket.

use super::formulas;
use super::hosts;
use super::improve::decisions;
use super::shared_state::{Phase, SharedState};
use super::view::failed;
use crate::command::explain;
use crate::turn::Turn;
use recrawl_console::view::Refusal;
use recrawl_console::view::{Accepted, Change, Did, Who};
use recrawl_crawl::admission::pattern::{FORMS, Pattern, PatternError};
use recrawl_crawl::admission::scope;
use recrawl_crawl::contact_check;
use recrawl_crawl::labels;
use recrawl_crawl::labels::counted;
use recrawl_crawl::operator::control::{
    Control, Effect, MAX_ASKED, MAX_BLOCKS, MAX_HELD_HOSTS, MAX_WAITING_BYTES, MAX_WAITING_SEEDS, Mark,
};
use recrawl_crawl::operator::takedown;
use recrawl_crawl::progress::figures::Stage;
use recrawl_crawl::settings::Settings;
use recrawl_repository::{Generation, SledTables};
use recrawl_types::{CanonicalUrl, Origin, PageRecord, ScheduleEntry, Share, Size, Status};
use std::sync::Arc;

/// How to end a takedown, which only the command does.
fn end_takedown(pattern: &Pattern) -> String {
    format!("to end the takedown, run {}", takedown::ending(pattern))
}

/// What to do about a URL that is out of scope.
fn todo(refusal: &scope::Refusal) -> String {
    match refusal {
        scope::Refusal::TakenDown(pattern) => end_takedown(pattern),
        _ => "change the scope and run `recrawl reload`".into(),
    }
}

/// Makes a change. It is stored and in force when this returns.
pub fn make(shared: &SharedState, change: &Change, who: &Who) -> Result<Accepted, Refusal> {
    let mark = Mark { who: who.name.clone(), at: shared.now() };
    let accepted = match change {
        Change::Pause { .. } | Change::Resume { .. } | Change::Block { .. } | Change::Unblock { .. } => {
            decide(&shared.control, &shared.settings(), &shared.generation(), change, mark)
        }
        Change::AddSeeds { urls } => add_seeds(shared, urls),
        Change::Reload => reload(shared),
        Change::Recrawl { url } => recrawl(shared, url, mark),
        Change::UseFormula { text } => formulas::choose(shared, text, who),
        Change::RollBackFormula => formulas::roll_back(shared),
        Change::HoldLoop
        | Change::ReleaseLoop
        | Change::PromoteCandidate
        | Change::RollBackCandidate
        | Change::LearnNow => return decisions::make(shared, change, who),
        Change::StepAside => step_aside(shared),
    };
    if accepted.is_ok() {
        shared.changed();
    }
    accepted
}

/// Pauses, resumes, blocks or unblocks, also in a stopped crawl. The scope of `settings` has the takedowns;
/// `generation` has the known hosts.
///
/// # Panics
/// At other kinds of changes.
pub fn decide(
    control: &Control,
    settings: &Settings,
    generation: &Generation,
    change: &Change,
    mark: Mark,
) -> Result<Accepted, Refusal> {
    match change {
        Change::Pause { host } => pause(control, generation, host.as_deref(), Some(mark)),
        Change::Resume { host } => pause(control, generation, host.as_deref(), None),
        Change::Block { pattern } => block(control, settings, pattern, Some(mark)),
        Change::Unblock { pattern } => block(control, settings, pattern, None),
        other => unreachable!("{other} is no decision"),
    }
}

fn step_aside(shared: &SharedState) -> Result<Accepted, Refusal> {
    if !Turn::is_taken(&shared.data_dir).map_err(failed)? {
        let todo = "run a command that needs the data directory alone, such as `recrawl takedown`";
        return Err(Refusal::invalid("data directory", "no command waits for it", todo));
    }
    shared.step_aside();
    let settings = shared.settings();
    let detail = match shared.phase() {
        Phase::Crawling if settings.config.cycle.fill => {
            "the daemon steps aside after the requests in flight"
        }
        Phase::Crawling => "the daemon steps aside at the end of this cycle, since cycle.fill is off",
        _ => "the daemon steps aside",
    };
    accepted(Did::NextRound, detail)
}

fn accepted(did: Did, detail: impl Into<String>) -> Result<Accepted, Refusal> {
    Ok(Accepted { did, detail: detail.into() })
}

/// The response to a decision that takes effect at once.
fn decided(effect: Effect, done: String, already: String, limit: usize) -> Result<Accepted, Refusal> {
    match effect {
        Effect::Done => accepted(Did::Done, done),
        Effect::Already => accepted(Did::Already, already),
        Effect::Full => Err(full(limit)),
    }
}

fn full(limit: usize) -> Refusal {
    Refusal::Busy(format!("limit of {limit} reached; remove some first"))
}

fn pause(
    control: &Control,
    generation: &Generation,
    host: Option<&str>,
    mark: Option<Mark>,
) -> Result<Accepted, Refusal> {
    let is_pause = mark.is_some();
    let Some(host) = host else {
        let effect = control.pause(mark).map_err(failed)?;
        let done = if is_pause { "crawl paused; requests in flight are finished" } else { "crawl resumed" };
        let already = if is_pause { "the crawl is already paused" } else { "the crawl is not paused" };
        return decided(effect, done.into(), already.into(), 1);
    };
    // All ports of a host are paused together.
    let host = hosts::named(host)?.name;
    let effect = control.pause_host(&host, mark).map_err(failed)?;
    let unknown = if is_known(generation, &host)? { "" } else { "; no page of it is known" };
    let (done, already) = match is_pause {
        true => (
            format!("{host} paused: none of its pages is requested until it is resumed{unknown}"),
            format!("{host} is already paused{unknown}"),
        ),
        false => (format!("{host} resumed{unknown}"), format!("{host} is not paused{unknown}")),
    };
    decided(effect, done, already, MAX_HELD_HOSTS)
}

/// Is a page of this host known?
fn is_known(generation: &Generation, host: &str) -> Result<bool, Refusal> {
    let mut runs = generation.origin_runs();
    while let Some(run) = runs.next_run().map_err(failed)? {
        if *Origin::of(&run.home().map_err(failed)?).host == *host {
            return Ok(true);
        }
    }
    Ok(false)
}

fn block(
    control: &Control,
    settings: &Settings,
    pattern: &str,
    mark: Option<Mark>,
) -> Result<Accepted, Refusal> {
    let pattern = Pattern::of_some(pattern, &settings.rules)
        .map_err(|PatternError(what)| Refusal::invalid("pattern", what, FORMS))?;
    let what = pattern.meaning();
    if mark.is_some() {
        let (done, already) = (format!("blocked: {what}"), format!("already blocked: {what}"));
        return decided(control.block(&pattern, mark).map_err(failed)?, done, already, MAX_BLOCKS);
    }
    let effect = control.block(&pattern, mark).map_err(failed)?;
    let down: Vec<&Pattern> =
        settings.scope.taken_down().iter().filter(|down| down.meets(&pattern)).collect();
    let mut stays = String::new();
    let blocks: Vec<String> = control
        .decided()
        .blocks
        .keys()
        .filter(|block| block.meets(&pattern))
        .map(Pattern::to_string)
        .collect();
    if !blocks.is_empty() {
        stays += &format!(", but these blocks stay: {}", labels::some_of(&blocks));
    }
    if let Some(first) = down.first() {
        let down: Vec<String> = down.iter().map(ToString::to_string).collect();
        stays += &format!(", but these stay taken down: {}; {}", labels::some_of(&down), end_takedown(first));
    }
    decided(effect, format!("unblocked: {what}{stays}"), format!("not blocked: {what}{stays}"), MAX_BLOCKS)
}

fn add_seeds(shared: &SharedState, urls: &[String]) -> Result<Accepted, Refusal> {
    let (accepted, news) = queue_seeds(
        &shared.control,
        &shared.settings(),
        &shared.generation(),
        urls,
        "visited within seconds",
    )?;
    // They join the round that is fetching. They stay queued, so that nothing is lost if it ends before.
    let joining = news.into_iter().filter(|_| is_fetching(shared));
    joining.for_each(|entry| _ = shared.steering.ask(entry));
    Ok(accepted)
}

/// Queues seeds, also in a stopped crawl; `when` says when they are visited. Returns those that a round in progress may
/// take.
pub fn queue_seeds(
    control: &Control,
    settings: &Settings,
    generation: &Generation,
    urls: &[String],
    when: &str,
) -> Result<(Accepted, Vec<ScheduleEntry>), Refusal> {
    let seeds = admitted(settings, urls)?;
    let (mut news, mut joining) = (Vec::with_capacity(seeds.len()), Vec::new());
    for url in seeds {
        // A known page whose site is not in scope yet also counts as new, since it brings the site
        // into scope.
        let is_in_scope = settings.scope.admits(&url);
        let record = generation.get(&url).map_err(failed)?.map(|(_, record)| record);
        if is_in_scope && record.as_ref().is_some_and(|record| record.known.status != Status::Gone) {
            continue;
        }
        if is_in_scope {
            let record = record.unwrap_or_else(|| PageRecord::discovered(generation.cycle(), 0));
            joining.push(ScheduleEntry::new(url.clone(), Share::Asked, record));
        }
        news.push(url);
    }
    let already = |detail: &str| Ok((Accepted { did: Did::Already, detail: detail.into() }, Vec::new()));
    if news.is_empty() {
        return already("all URLs are already known");
    }
    let blocks = control.blocks();
    let blocked: Vec<String> =
        news.iter().filter(|url| blocks.cover(url).is_some()).map(ToString::to_string).collect();
    let but = match blocked.is_empty() {
        true => String::new(),
        false => format!("; not requested until you unblock them: {}", labels::some_of(&blocked)),
    };
    match control.add_seeds(&news).map_err(failed)? {
        None => Err(Refusal::Busy(format!(
            "seed queue full ({MAX_WAITING_SEEDS} seeds or {}); try again after the next round starts",
            Size(MAX_WAITING_BYTES as u64)
        ))),
        Some(0) => already("all URLs are already known or queued"),
        Some(added) => {
            let detail = format!("{} queued; {when}{but}", counted(added as u64, "seed"));
            Ok((Accepted { did: Did::NextRound, detail }, joining))
        }
    }
}

/// The seeds of these URLs, sorted and without duplicates, if all may be fetched.
pub fn admitted(settings: &Settings, urls: &[String]) -> Result<Vec<CanonicalUrl>, Refusal> {
    let mut seeds = Vec::with_capacity(urls.len());
    for (at, text) in urls.iter().enumerate() {
        let wrong = |what: String, todo: &str| {
            Refusal::invalid(format!("urls[{at}]"), format!("{text:?}: {what}"), todo)
        };
        let url = settings.rules.canonicalize(text.trim());
        let url = url.map_err(|e| wrong(e.to_string(), "write it with https:// or http://"))?;
        if let Some(refusal) = settings.scope_with_seed(&url).refuse(&url) {
            return Err(wrong(refusal.to_string(), &todo(&refusal)));
        }
        seeds.push(url);
    }
    contact_check::check_pages(settings, &seeds).map_err(|e| {
        Refusal::invalid("urls", e.to_string(), "set crawler.contact and run `recrawl reload`")
    })?;
    seeds.sort_unstable();
    seeds.dedup();
    Ok(seeds)
}

/// Sends SIGHUP to this process, which the daemon handles between two rounds. A wrong configuration is refused at once.
fn reload(shared: &SharedState) -> Result<Accepted, Refusal> {
    let at = &shared.place;
    at.settings()
        .map_err(|e| Refusal::invalid("configuration", e.to_string(), "correct it; nothing was changed"))?;
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP).map_err(failed)?;
    let from = at.config.file().map_or("the built-in defaults".into(), |file| {
        std::path::absolute(&file).unwrap_or(file).display().to_string()
    });
    accepted(
        Did::NextRound,
        format!("{from}: in force after the round in progress; the log names what needs a restart"),
    )
}

/// Is a round fetching, so that pages can join it?
pub fn is_fetching(shared: &SharedState) -> bool {
    shared.live.now().is_some_and(|now| now.stage == Stage::Fetching)
}

fn recrawl(shared: &SharedState, text: &str, mark: Mark) -> Result<Accepted, Refusal> {
    let settings = shared.settings();
    let (url, record) =
        asked(&shared.control, &settings, &shared.generation(), &shared.tables, text, shared.now())?;
    let effect = shared.control.ask(&url, mark).map_err(failed)?;
    // A cycle that is planned but not yet fetching reads the request when it starts to fetch.
    let is_fetching = is_fetching(shared);
    if effect == Effect::Done && is_fetching {
        shared.steering.ask(ScheduleEntry::new(url.clone(), Share::Asked, record));
    }
    match effect {
        Effect::Done if is_fetching => {
            accepted(Did::Done, format!("{url} will be fetched as soon as politeness allows, once per cycle"))
        }
        Effect::Done => accepted(Did::NextRound, format!("{url} will be fetched within seconds")),
        Effect::Already => accepted(Did::Already, format!("{url} is already queued")),
        Effect::Full => Err(full(MAX_ASKED)),
    }
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
    let url: CanonicalUrl = settings.rules.canonicalize(text.trim()).map_err(|e| {
        Refusal::invalid("url", format!("{text:?}: {e}"), "write it with https:// or http://")
    })?;
    let Some((_, record)) = generation.get(&url).map_err(failed)? else {
        return Err(Refusal::NotFound(format!("{url}: unknown URL; add it as a seed")));
    };
    if let Some(refusal) = settings.scope.refuse(&url) {
        return Err(Refusal::invalid("url", format!("{url}: {refusal}"), todo(&refusal)));
    }
    if let Some(pattern) = control.blocks().cover(&url) {
        let what = format!("{url} is blocked by {pattern}");
        return Err(Refusal::invalid("url", what, "unblock it first"));
    }
    let robots = explain::robots(settings, &Ok(tables.clone()), &url).map_err(failed)?;
    // An older file is fetched again before the page.
    let is_in_force =
        |fetched: u64| now.saturating_sub(fetched) < settings.fetch.robots_cache.as_millis() as u64;
    if let Some(line) = robots.rule.filter(|_| robots.fetched.is_some_and(is_in_force)) {
        let what = format!("{url}: robots.txt: {}", robots.words);
        return Err(Refusal::invalid("url", what, explain::lift_robots(&line)));
    }
    Ok((url, record))
}
