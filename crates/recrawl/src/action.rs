//! The changes that operators make: what each may be made of, what it does, and what is said of it. The daemon makes
//! them for its console; commands make them where no daemon runs.

pub mod decision;
pub mod formula;
pub mod improve;
pub mod recrawl;
pub mod seeds;
pub mod waiting;

use crate::audit;
use crate::daemon::Daemon;
use recrawl_console::view::{Accepted, Change, Effect, Refusal};
use recrawl_crawl::admission::named_host::NamedHost;
use recrawl_crawl::admission::pattern::Pattern;
use recrawl_crawl::admission::scope;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::operator::stopped::StoppedCrawl;
use recrawl_crawl::operator::takedown;
use recrawl_crawl::settings::Settings;
use recrawl_types::Cycle;

/// Makes a change for a command: by the running daemon, or else in the data directory. It is logged.
///
/// # Errors
/// Why it cannot be made, or that it cannot be logged.
///
/// # Panics
/// Without a daemon, at a change that only a daemon makes.
pub fn make(settings: &Settings, change: &Change) -> Result<Accepted, Failure> {
    if let Some(daemon) = Daemon::in_charge(&settings.data_dir)? {
        return daemon.make(change);
    }
    match change {
        Change::Pause { .. } | Change::Resume { .. } | Change::Block { .. } | Change::Unblock { .. } => {
            decision::make_stopped(settings, change)
        }
        Change::AddSeeds { urls } => seeds::add_stopped(settings, urls),
        Change::UseFormula { text } => formula::choose_stopped(settings, text),
        Change::RollBackFormula => formula::roll_back_stopped(settings),
        Change::HoldLoop | Change::ReleaseLoop | Change::PromoteCandidate | Change::RollBackCandidate => {
            improve::make_stopped(settings, change)
        }
        Change::LearnNow | Change::Recrawl { .. } | Change::Reload | Change::StepAside => {
            unreachable!("only a daemon can {change}")
        }
    }
}

/// Makes a change in the data directory of a stopped crawl, and logs it.
fn logged(
    settings: &Settings,
    change: &Change,
    make: impl FnOnce() -> Result<Accepted, Failure>,
) -> Result<Accepted, Failure> {
    audit::logged(&settings.data_dir, change, || make().map(|made| (made.clone(), made)))
}

/// As a running daemon's answer would fail.
pub fn failure(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Invalid { what, todo, .. } => Failure::Usage(format!("{what}; {todo}")),
        other => Failure::Work(other.to_string()),
    }
}

/// Parses a host, as listed or by its name alone.
///
/// # Errors
/// Why the text names no host.
pub fn named_host(text: &str) -> Result<NamedHost, Refusal> {
    NamedHost::parse(text)
        .map_err(|what| Refusal::invalid("host", what, "use a host as listed by /api/v1/hosts"))
}

pub fn accepted(did: Effect, detail: impl Into<String>) -> Result<Accepted, Refusal> {
    Ok(Accepted { did, detail: detail.into() })
}

/// The refusal of a list that has `limit` entries.
pub fn full(limit: usize) -> Refusal {
    Refusal::Busy(format!("limit of {limit} reached; remove some first"))
}

/// The first cycle of a stopped crawl that is not yet planned.
fn unplanned_cycle(stopped: &StoppedCrawl) -> Result<Cycle, Failure> {
    let generation = stopped.repository.current();
    let planned = open_read::in_progress(&*stopped.storage, &generation, Some(&stopped.tables))?;
    Ok(planned.and_then(|planned| planned.cycle).unwrap_or_else(|| generation.cycle()).next())
}

/// How to end a takedown, which only the command does.
fn end_takedown(pattern: &Pattern) -> String {
    format!("to end the takedown, run {}", takedown::ending(pattern))
}

/// What to do about a URL that is out of scope.
fn todo(refusal: &scope::ScopeRefusal) -> String {
    match refusal {
        scope::ScopeRefusal::TakenDown(pattern) => end_takedown(pattern),
        _ => "change the scope and run `recrawl reload`".into(),
    }
}
