//! `recrawl promises`: whether pages are visited as `[[promises]]` promise, now and in the last cycles.

use super::{print_json, print_labelled};
use crate::cli::OnCrawl;
use crate::daemon::{Daemon, ReadsApi};
use crate::report::promises::{CYCLES, PromiseSources, Promises};
use recrawl_crawl::cycle::plan;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::parts::promises::PromiseSurvey;
use recrawl_crawl::settings::Settings;

pub fn run(args: &OnCrawl) -> Result<(), Failure> {
    let settings = args.at.settings_to_read()?;
    if let Some(daemon) = Daemon::beside(&settings.data_dir) {
        const PATH: &str = "/api/v1/promises";
        let unknown =
            || Failure::work("the answer of the daemon has no promises; is the daemon of another version?");
        return match args.json {
            true => print_json(&daemon.json(PATH)?.ok_or_else(unknown)?),
            false => print_labelled(&daemon.text(PATH)?.ok_or_else(unknown)?),
        };
    }
    let repository = open_read::repository(&settings)?;
    let tables = open_read::tables(&settings.data_dir).map_err(Failure::Work)?;
    let decided = open_read::decisions(&settings.data_dir, || Ok(tables.clone()))?;
    let reports = open_read::last_cycles(&repository, CYCLES)?.into_iter().rev().collect::<Vec<_>>();
    let promises = Promises::count(PromiseSources {
        settings: &settings,
        tables: &tables,
        generation: &repository.current(),
        kept: &repository.kept(),
        decided: &decided,
        random_seed: reports.first().map_or(0, |report| report.random_seed),
        reports,
        now: recrawl_fetcher::system_clock()(),
    })?;
    if args.json { print_json(&promises.json()) } else { print_labelled(promises.text()) }
}

/// Refuses promises that cannot be kept, as far as an existing data directory tells; without one, nothing is known.
///
/// # Errors
/// [`Failure::Usage`] with the limit that binds; when the directory cannot be read.
pub fn check(settings: &Settings) -> Result<(), Failure> {
    if settings.promises.is_empty() {
        return Ok(());
    }
    let repository = match open_read::repository(settings) {
        Err(failure) if failure.is_usage() => return Ok(()),
        repository => repository?,
    };
    // A running crawl has them: then the delays of the configuration count.
    let tables = open_read::tables(&settings.data_dir).ok();
    let decided = open_read::decisions(&settings.data_dir, || tables.clone().ok_or_else(String::new))?;
    let generation = repository.current();
    let cycle = generation.cycle().next();
    PromiseSurvey {
        rules: settings.promise_rules(tables.as_deref(), &decided)?,
        period: settings.config.cycle.period.0,
        generation: &generation,
        kept: &repository.kept(),
        cycle,
        k: plan::request(settings, cycle, generation.pages(), 0).pages,
        now: recrawl_fetcher::system_clock()(),
        since: 0,
        on_progress: &|| {},
    }
    .check()
}
