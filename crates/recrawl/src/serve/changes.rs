//! The changes that operators make over HTTP or the control socket.

use super::formulas;
use super::improve::decisions;
use super::reload;
use super::shared_state::{CrawlPhase, SharedState};
use crate::action::{accepted, decision, full, recrawl, seeds, waiting};
use crate::exclusive_access::ExclusiveAccess;
use recrawl_console::view::Refusal;
use recrawl_console::view::{Accepted, Actor, Change, Effect, WaitingPage};
use recrawl_crawl::operator::control::{DecisionResult, MAX_ASKED, Mark};
use recrawl_crawl::progress::figures::Stage;
use recrawl_types::{CanonicalUrl, ScheduleEntry, Share};

/// Queued pages that are looked up in the tables for the reason why they wait.
const MAX_WAITING: usize = 100;

/// Makes a change. It is stored and in force when this returns.
pub fn make(shared: &SharedState, change: &Change, who: &Actor) -> Result<Accepted, Refusal> {
    let mark = Mark { who: who.name.clone(), at: shared.now() };
    let accepted = match change {
        Change::Pause { .. } | Change::Resume { .. } | Change::Block { .. } | Change::Unblock { .. } => {
            decision::decide(&shared.control, &shared.settings(), &shared.generation(), change, mark)
        }
        Change::AddSeeds { urls } => add_seeds(shared, urls),
        Change::Reload => call_for_reload(shared),
        Change::Recrawl { url } => fetch_now(shared, url, mark),
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

fn step_aside(shared: &SharedState) -> Result<Accepted, Refusal> {
    if !ExclusiveAccess::is_taken(&shared.data_dir).map_err(Refusal::failed)? {
        let todo = "run a command that needs the data directory alone, such as `recrawl takedown`";
        return Err(Refusal::invalid("data directory", "no command waits for it", todo));
    }
    shared.step_aside();
    let settings = shared.settings();
    let detail = match shared.phase() {
        CrawlPhase::Crawling if settings.config.cycle.fill => {
            "the daemon steps aside after the requests in flight"
        }
        CrawlPhase::Crawling => "the daemon steps aside at the end of this cycle, since cycle.fill is off",
        _ => "the daemon steps aside",
    };
    accepted(Effect::NextRound, detail)
}

fn add_seeds(shared: &SharedState, urls: &[String]) -> Result<Accepted, Refusal> {
    let settings = shared.settings();
    let one = match urls {
        [url] => settings.rules.canonicalize(url.trim()).ok(),
        _ => None,
    };
    let waits = one.map(|url| waits(shared, &url)).transpose()?.flatten();
    let when =
        waits.map_or("visited within seconds".into(), |page| format!("it waits: {}", waiting::words(&page)));
    let (accepted, news) = seeds::queue(&shared.control, &settings, &shared.generation(), urls, &when)?;
    // They join the round that is fetching. They stay queued, so that nothing is lost if it ends before.
    let joining = news.into_iter().filter(|_| is_fetching(shared));
    joining.for_each(|entry| _ = shared.steering.ask(entry));
    Ok(accepted)
}

/// Sends SIGHUP to this process, which the daemon handles between two rounds. A wrong configuration is refused at once.
fn call_for_reload(shared: &SharedState) -> Result<Accepted, Refusal> {
    reload::read(shared)
        .map_err(|e| Refusal::invalid("configuration", e.to_string(), "correct it; nothing was changed"))?;
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP)
        .map_err(Refusal::failed)?;
    let from = shared.place.config.file().map_or("the built-in defaults".into(), |file| {
        std::path::absolute(&file).unwrap_or(file).display().to_string()
    });
    accepted(
        Effect::NextRound,
        format!("{from}: in force after the round in progress; the log names what needs a restart"),
    )
}

/// Why a page cannot be requested yet; none if nothing but its turn keeps it.
fn waits(shared: &SharedState, url: &CanonicalUrl) -> Result<Option<WaitingPage>, Refusal> {
    let (decided, settings) = (shared.control.decided(), shared.settings());
    let (now, round) = (shared.now(), shared.live.now().map(|round| round.started));
    waiting::reason(&decided, &settings, &shared.tables, url, now, round).map_err(Refusal::failed)
}

/// The seeds and pages of operators that cannot be requested yet, and why.
pub fn waiting(shared: &SharedState) -> Result<Vec<WaitingPage>, Refusal> {
    let queued = shared.control.first_queued(MAX_WAITING).into_iter();
    queued.filter_map(|url| waits(shared, &url).transpose()).collect()
}

/// Is a round fetching, so that pages can join it?
pub fn is_fetching(shared: &SharedState) -> bool {
    shared.live.now().is_some_and(|now| now.stage == Stage::Fetching)
}

fn fetch_now(shared: &SharedState, text: &str, mark: Mark) -> Result<Accepted, Refusal> {
    let settings = shared.settings();
    let (url, record) =
        recrawl::asked(&shared.control, &settings, &shared.generation(), &shared.tables, text, shared.now())?;
    let effect = shared.control.ask(&url, mark).map_err(Refusal::failed)?;
    // A cycle that is planned but not yet fetching reads the request when it starts to fetch.
    let is_fetching = is_fetching(shared);
    if effect == DecisionResult::Done && is_fetching {
        shared.steering.ask(ScheduleEntry::new(url.clone(), Share::Asked, record));
    }
    let waits =
        waits(shared, &url)?.map(|page| format!("{url} is queued and waits: {}", waiting::words(&page)));
    match (effect, waits) {
        (DecisionResult::Full, _) => Err(full(MAX_ASKED)),
        (DecisionResult::Done, Some(waits)) => accepted(Effect::NextRound, waits),
        (DecisionResult::Already, Some(waits)) => accepted(Effect::Already, waits),
        (DecisionResult::Already, None) => accepted(Effect::Already, format!("{url} is already queued")),
        (DecisionResult::Done, None) if is_fetching => accepted(
            Effect::Done,
            format!("{url} will be fetched as soon as politeness allows, once per cycle"),
        ),
        (DecisionResult::Done, None) => {
            accepted(Effect::NextRound, format!("{url} will be fetched within seconds"))
        }
    }
}
