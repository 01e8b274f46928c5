//! The ranks of all pages in the next cycle, for questions about single pages.

use super::shared_state::SharedState;
use super::ticker::Ticker;
use recrawl_crawl::cycle::plan;
use recrawl_crawl::cycle::ranks::Ranks;
use recrawl_crawl::settings::Settings;
use recrawl_repository::Generation;
use recrawl_scheduler::PlanRequest;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How soon after a question or a commit pages are ranked.
const EVERY: Duration = Duration::from_secs(1);

/// The ranks by the crawl's formula, if they are kept: then [`watch`] need not gather them.
pub fn kept(shared: &SharedState, settings: &Settings, generation: &Generation) -> Option<Arc<Ranks>> {
    shared.ranks.get(&request(shared, settings, generation), &shared.formula(), generation)
}

fn request(shared: &SharedState, settings: &Settings, generation: &Generation) -> PlanRequest {
    plan::request(settings, generation.cycle().next(), generation.pages(), shared.random_seed)
}

/// Ranks all pages soon after a question that had to do with a sample, and after a commit if somebody asked about a
/// page since the commit before.
///
/// # Errors
/// When no thread can be started.
pub fn watch(shared: Arc<SharedState>) -> io::Result<Ticker> {
    Ticker::start("ranks", EVERY, move || {
        let generation = shared.generation();
        if !shared.ranks.are_due(generation.number()) {
            return;
        }
        // If too many scans run, the next question asks again.
        let Some(_scan) = shared.scans.begin() else { return };
        let (settings, formula) = (shared.settings(), shared.formula());
        let request = request(&shared, &settings, &generation);
        let gather = || Ranks::gather(&request, &formula, &generation, &shared.tables, &settings);
        if let Err(why) = shared.ranks.replace(gather) {
            tracing::warn!("cannot rank the pages: {why}");
        }
    })
}
