//! `recrawl add URL…`: seeds for a running daemon, or for the next crawl in the data directory.

use super::control::{failure, tell};
use crate::audit;
use crate::cli::AddArgs;
use crate::daemon::Daemon;
use crate::serve::changes;
use recrawl_console::view::{Accepted, Change};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::operator::stopped::StoppedCrawl;
use recrawl_crawl::settings::Settings;
use serde_json::json;

/// When a crawl that is not running visits its seeds.
const LATER: &str = "the next `recrawl crawl` or `recrawl serve` visits them";

pub fn run(args: &AddArgs) -> Result<(), Failure> {
    tell(&add(&args.at.settings()?, &args.urls)?, args.json)
}

/// Queues these seeds.
///
/// # Errors
/// Why one of them may not be fetched; then none is queued.
pub fn add(settings: &Settings, urls: &[String]) -> Result<Accepted, Failure> {
    if let Some(daemon) = Daemon::in_charge(&settings.data_dir)? {
        return by_daemon(&daemon, urls);
    }
    let mut settings = settings.clone();
    // First: a wrong URL touches nothing.
    changes::admitted(&settings, urls).map_err(failure)?;
    let stopped = StoppedCrawl::begin(&settings)?;
    settings.scope.refuse_taken_down(stopped.decided.taken_down.clone());
    settings.admit_seed_sites(&stopped.tables, &[])?;
    let generation = stopped.repository.current();
    let queue = || {
        let queued = stopped.decide(|control| {
            let queued = changes::queue_seeds(control, &settings, &generation, urls, LATER);
            queued.map(|(accepted, _)| accepted).map_err(failure)
        })?;
        Ok((queued.clone(), queued))
    };
    audit::logged(&settings.data_dir, &Change::AddSeeds { urls: urls.to_vec() }, queue)
}

/// Sends seeds to a daemon.
///
/// # Errors
/// The problem that the daemon reports.
pub fn by_daemon(daemon: &Daemon, urls: &[String]) -> Result<Accepted, Failure> {
    daemon.change("POST", "/api/v1/seeds", Some(&json!({"urls": urls})))
}
