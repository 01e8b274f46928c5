//! Pages that promises ask of a plan.

use super::request;
use crate::crawl::Crawl;
use crate::failure::Failure;
use crate::parts::promises::account::PromiseAccount;
use crate::parts::promises::{self, PromiseSurvey, Surveyed};
use recrawl_repository::Generation;
use recrawl_types::Cycle;
use std::time::Duration;

/// The pages that the first plan of a cycle visits to keep promises, and what was kept so far. Warns of promises that are
/// broken, or cannot be kept. `k` is that of the cycle: promises count on half of it, however many rounds there are.
///
/// # Errors
/// When pages, visits or tables cannot be read.
pub(super) fn planned(
    crawl: &Crawl,
    generation: &Generation,
    cycle: Cycle,
    k: u64,
) -> Result<Surveyed, Failure> {
    let measured = |since, now| promises::period(&crawl.settings.config, since, now);
    let surveyed = survey_of(crawl, generation, cycle, k, measured, |survey| survey.survey())?;
    surveyed.accounts.iter().for_each(PromiseAccount::log);
    Ok(surveyed)
}

/// Refuses to start a crawl with a promise that cannot be kept. It counts on the configured period: the time since
/// the last start is no cycle that takes long, since the crawl stood still.
///
/// # Errors
/// [`Failure::Usage`] with the limit that binds; when something cannot be read.
pub fn check(crawl: &Crawl) -> Result<(), Failure> {
    let generation = crawl.repository.current();
    let (cycle, pages) = (generation.cycle().next(), generation.pages());
    let k = request(&crawl.settings, cycle, pages, crawl.random_seed).pages;
    let configured = |_, _| crawl.settings.config.cycle.period.0;
    survey_of(crawl, &generation, cycle, k, configured, |survey| survey.check())
}

/// `period` gets the start of the last cycle and the present time.
fn survey_of<T: Default>(
    crawl: &Crawl,
    generation: &Generation,
    cycle: Cycle,
    k: u64,
    period: impl FnOnce(u64, u64) -> Duration,
    work: impl FnOnce(&PromiseSurvey<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if crawl.settings.promises.is_empty() {
        return Ok(T::default());
    }
    let (now, since) = ((crawl.clock)(), crawl.so_far.started.unwrap_or_default());
    let decided = crawl.control.decided();
    work(&PromiseSurvey {
        rules: crawl.settings.promise_rules(Some(&crawl.tables), &decided)?,
        period: period(since, now),
        generation,
        kept: &crawl.repository.kept(),
        cycle,
        k,
        now,
        since,
        on_progress: &|| crawl.live.moved(),
    })
}
