//! The crawl cycle: turns generation g into generation g+1.
//!
//! ```text
//! generation g ──scan──▶ scheduler: score, top k ──schedule──▶ fetcher ──page──▶ change ──visit──────┐
//!      ▲                                                          └────────────▶ extractor ──links───┤
//!      └── commit (one rename) ◀── generation g+1 + report ◀── verifier: sorted merge, records updated ┘
//! ```
//!
//! An interrupted cycle resumes with the same schedule and the same log.

mod gather;
pub mod hints;
mod inbox;
mod page;
mod pipeline;
pub mod plan;
pub mod priors;
pub mod ranks;
pub mod readmission;

use crate::crawl::Crawl;
use crate::cycle::gather::Gathered;
use crate::failure::Failure;
use crate::lessons::dates::LastmodLesson;
use crate::lessons::site_noise::SiteNoise;
use crate::lessons::traps::{TrapLesson, Traps};
use crate::report::CycleReport;
use recrawl_fetcher::StoppedBy;
use recrawl_repository::{BLOCK_PAGES, VisitLog};
use recrawl_types::CanonicalUrl;
use recrawl_verifier::MergeRules;
use std::sync::Arc;

/// Maximum merge threads; more would wait for the one that merges.
const MERGE_THREADS: usize = 4;

/// How a turn of the cycle ended.
pub enum Turn {
    /// Generation g+1 is durable.
    Committed(Box<CycleReport>),
    /// A signal came; the cycle can be resumed.
    Interrupted,
}

/// Runs one cycle.
///
/// # Errors
/// When a stage cannot continue. Nothing is lost: the cycle resumes where its log ends.
pub fn turn(crawl: &mut Crawl, seeds: &[CanonicalUrl]) -> Result<Turn, Failure> {
    let generation = crawl.repository.current();
    let round = generation.dated().in_next_cycle();
    let cycle = round.cycle;
    let _cycle = tracing::error_span!("cycle", cycle = cycle.0).entered();
    crawl.settings.scope.read_opt_out().map_err(Failure::Usage)?;

    crawl.space.check()?;
    let traps = Arc::new(Traps::new(&crawl.settings.traps, &crawl.tables, round));
    let plan = plan::resume_or_make(crawl, &generation, round, seeds, &traps)?;
    let facts = plan.facts.clone();

    let fetched = pipeline::run(crawl, plan, &traps)?;
    crawl.close_archive(fetched.archive)?;
    if fetched.stopped_by == StoppedBy::Stop {
        return Ok(Turn::Interrupted);
    }

    crawl
        .space
        .check_merge(&generation, VisitLog::bytes(&*crawl.storage, round.round).map_err(Failure::work)?)?;
    let Gathered { batch, tally, responses, noise, trust } = gather::read_log(crawl, round, &traps)?;

    crawl.live.begin_passing(generation.pages());
    let mut next = crawl.repository.begin(&generation, cycle).map_err(Failure::work)?;
    let (floors, dates) = (SiteNoise::new(&crawl.tables), LastmodLesson::default());
    let lesson = TrapLesson::new(&crawl.settings.traps, &crawl.tables, round);
    let rules = MergeRules {
        cycle,
        max_hops: crawl.settings.max_hops(),
        max_pages_per_host: crawl.settings.config.scope.max_pages_per_host,
        waiting: crawl.settings.waiting(),
        block_pages: BLOCK_PAGES,
        threads: std::thread::available_parallelism().map_or(1, usize::from).min(MERGE_THREADS),
        judge: &|url, before, after| floors.judge(&crawl.settings.change, url, before, after),
        on_dated_visit: &|url, newer, changed| dates.observe(url, newer, changed),
        on_first_visit: &|url, content| lesson.observe(url, content),
        on_progress: &|pages| crawl.live.passed(pages),
    };
    let merge = || recrawl_verifier::merge(&generation, batch, &mut next, &rules);
    let merged = tracing::error_span!("merge").in_scope(merge).map_err(Failure::work)?;

    let now = (crawl.clock)();
    let report = CycleReport::new(&facts, tally, &responses, &merged, fetched.stopped_by, now);
    crawl.tables.apply_round(round.round, noise.fold(&crawl.tables)?)?;
    dates.keep(&crawl.tables, round.round)?;
    trust.keep(&crawl.tables, round)?;
    lesson.keep()?;
    crawl.tables.flush()?;
    let commit = || crawl.repository.commit(next, &report.to_json());
    tracing::error_span!("commit").in_scope(commit).map_err(Failure::work)?;
    crawl.cap_archive();
    Ok(Turn::Committed(Box::new(report)))
}

#[cfg(test)]
mod tests;
