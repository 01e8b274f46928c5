//! The ranks of all pages in the next cycle, for questions about single pages.

use super::shared_state::SharedState;
use super::ticker::Ticker;
use recrawl_console::view::Refusal;
use recrawl_crawl::cycle::plan;
use recrawl_crawl::cycle::ranks::Ranks;
use recrawl_crawl::settings::Settings;
use recrawl_repository::Generation;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How soon after a commit pages are ranked.
const EVERY: Duration = Duration::from_secs(1);

/// The ranks by the crawl's formula. Reads the states of all pages if none are kept.
pub fn get_or_compute(
    shared: &SharedState,
    settings: &Settings,
    generation: &Generation,
) -> Result<Arc<Ranks>, Refusal> {
    let formula = shared.formula();
    let request = plan::request(settings, generation.cycle().next(), generation.pages(), shared.random_seed);
    shared
        .ranks
        .get_or_compute(&request, &formula, generation, &shared.tables, settings)
        .map_err(Refusal::failed)
}

/// Ranks all pages soon after a commit if somebody asked about a page since the commit before. So the next
/// question does not wait.
///
/// # Errors
/// When no thread can be started.
pub fn watch(shared: Arc<SharedState>) -> io::Result<Ticker> {
    Ticker::start("ranks", EVERY, move || {
        let generation = shared.generation();
        if !shared.ranks.are_due(generation.number()) {
            return;
        }
        // If too many scans run, the next question ranks the pages.
        if let Some(_scan) = shared.scans.begin()
            && let Err(why) = get_or_compute(&shared, &shared.settings(), &generation)
        {
            tracing::warn!("cannot rank the pages: {why}");
        }
    })
}
