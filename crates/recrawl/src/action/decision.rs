//! Pauses and blocks.

use super::{accepted, end_takedown, failure, full, logged, named_host};
use crate::audit::COMMAND_LINE;
use crate::process;
use recrawl_console::view::{Accepted, Change, Effect, Refusal};
use recrawl_crawl::admission::pattern::{FORMS, Pattern, PatternError};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels;
use recrawl_crawl::operator::control::{Control, DecisionResult, MAX_BLOCKS, MAX_HELD_HOSTS, Mark};
use recrawl_crawl::operator::stopped::StoppedCrawl;
use recrawl_crawl::settings::Settings;
use recrawl_crawl::vault;
use recrawl_fetcher::system_clock;
use recrawl_repository::Generation;
use recrawl_types::Origin;

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

/// The same in a stopped crawl, by a command.
///
/// # Errors
/// As [`decide`], and when the data directory cannot be read or written.
pub fn make_stopped(settings: &Settings, change: &Change) -> Result<Accepted, Failure> {
    let mut settings = settings.clone();
    let stopped = StoppedCrawl::open(&settings)?;
    settings.scope.refuse_taken_down(stopped.decided.taken_down.clone());
    let generation = stopped.repository.current();
    let mark = Mark { who: COMMAND_LINE.into(), at: system_clock()() };
    let made = logged(&settings, change, || {
        stopped.decide(|control| decide(control, &settings, &generation, change, mark).map_err(failure))
    })?;
    // It is in force; the vault confirms it, now or at the next start.
    let in_vault = match vault::ship_stopped(&settings, &process::random_tag()?, false) {
        Ok(false) => String::new(),
        Ok(true) => "; the vault has it".into(),
        Err(failure) => format!("; not in the vault yet: {failure}"),
    };
    Ok(Accepted { detail: made.detail + &in_vault, ..made })
}

/// The response to a decision that takes effect at once.
fn decided(effect: DecisionResult, done: String, already: String, limit: usize) -> Result<Accepted, Refusal> {
    match effect {
        DecisionResult::Done => accepted(Effect::Done, done),
        DecisionResult::Already => accepted(Effect::Already, already),
        DecisionResult::Full => Err(full(limit)),
    }
}

fn pause(
    control: &Control,
    generation: &Generation,
    host: Option<&str>,
    mark: Option<Mark>,
) -> Result<Accepted, Refusal> {
    let is_pause = mark.is_some();
    let Some(host) = host else {
        let effect = control.pause(mark).map_err(Refusal::failed)?;
        let done = if is_pause { "crawl paused; requests in flight are finished" } else { "crawl resumed" };
        let already = if is_pause { "the crawl is already paused" } else { "the crawl is not paused" };
        return decided(effect, done.into(), already.into(), 1);
    };
    // All ports of a host are paused together.
    let host = named_host(host)?.name;
    let effect = control.pause_host(&host, mark).map_err(Refusal::failed)?;
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
    while let Some(run) = runs.next_run().map_err(Refusal::failed)? {
        if *Origin::from_url(&run.home().map_err(Refusal::failed)?).host == *host {
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
        return decided(control.block(&pattern, mark).map_err(Refusal::failed)?, done, already, MAX_BLOCKS);
    }
    let effect = control.block(&pattern, mark).map_err(Refusal::failed)?;
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
