//! The crawl cycle, round by round: each turns generation g into generation g+1. [`crate::clock`] decides
//! which round is next.
//!
//! ```text
//! generation g ──scan──▶ scheduler: score, top k ──schedule──▶ fetcher ──page──▶ change ──visit──────┐
//!      ▲                                                          └────────────▶ extractor ──links───┤
//!      └── commit (one rename) ◀── generation g+1 + report ◀── verifier: sorted merge, records updated ┘
//! ```
//!
//! An interrupted round resumes with the same schedule and the same log.

pub mod carry;
mod gather;
pub mod hints;
mod improvement;
mod inbox;
pub mod inputs;
mod lessons;
mod loading;
mod merge;
mod next;
mod page;
mod pipeline;
pub mod plan;
pub mod ranks;
pub mod readmission;
pub mod requests;
mod rhythm;
mod signals;
mod skipped;
mod transaction;

use crate::clock::{RoundToPlan, RoundToRun};
use crate::crawl::Crawl;
pub use crate::cycle::pipeline::Fetched;
use crate::cycle::plan::{Planned, RoundPlan};
use crate::failure::Failure;
use crate::parts::traps::Traps;
use crate::report::RoundReport;
use crate::round::RoundKind;
use recrawl_fetcher::StoppedBy;
use recrawl_types::CanonicalUrl;
use std::sync::Arc;

/// How a round ended.
pub enum RoundEnd {
    /// Generation g+1 is durable.
    Committed(Box<RoundReport>),
    /// No page is due; nothing was committed.
    NothingDue,
    /// A signal came; the round can be resumed.
    Interrupted,
}

/// Runs one round.
///
/// # Errors
/// When a stage cannot continue. Nothing is lost: the round resumes where its log ends.
pub fn round(crawl: &mut Crawl, next: RoundToRun, seeds: &[CanonicalUrl]) -> Result<RoundEnd, Failure> {
    round_fetched_by(crawl, next, seeds, &mut pipeline::run)
}

/// Fetches the pages of a plan into its log.
pub type Fetch<'f> = dyn FnMut(&Crawl, RoundPlan, &Arc<Traps>) -> Result<Fetched, Failure> + 'f;

/// Runs one round whose pages come from elsewhere than the network: a study of many crawls needs no sockets.
///
/// # Errors
/// As [`round`], and those of `fetch`.
pub fn round_fetched_by(
    crawl: &mut Crawl,
    next: RoundToRun,
    seeds: &[CanonicalUrl],
    fetch: &mut Fetch<'_>,
) -> Result<RoundEnd, Failure> {
    let generation = crawl.repository.current();
    let to_plan = match crawl.begun()? {
        Some(begun) => begun,
        None => crawl.numbered(RoundToPlan::after(&generation, next, &crawl.so_far))?,
    };
    let round = to_plan.round;
    let _cycle = tracing::error_span!("cycle", cycle = round.cycle.0, round = round.round.0).entered();
    crawl.settings.scope.read_opt_out().map_err(Failure::Usage)?;
    crawl.check_contact()?;
    crawl.vault.each(|vault| vault.check())?;

    crawl.space.check()?;
    let began = (crawl.clock)();
    let traps = Arc::new(Traps::new(&crawl.settings.traps, &crawl.tables, round));
    let planned = plan::resume_or_make(crawl, &generation, &to_plan, seeds, &traps);
    let plan = match planned {
        // The others of a fleet may keep a plan waiting.
        Err(failure) if crawl.partition.is_some() && crawl.shutdown.requested() => {
            tracing::info!("no plan was made: {failure}");
            return Ok(RoundEnd::Interrupted);
        }
        Err(failure) => return Err(failure),
        Ok(Planned::Pages(plan)) => *plan,
        Ok(Planned::Nothing) => {
            // An urgent round looks at what was asked for alone.
            if to_plan.kind != RoundKind::Urgent {
                crawl.nothing_due_at = Some((crawl.clock)());
            }
            return Ok(RoundEnd::NothingDue);
        }
    };
    crawl.is_begun = true;
    crawl.planning_took = crawl.since(began);
    let (facts, schedule) = (plan.facts.clone(), plan.schedule.clone());

    let fetched = fetch(crawl, plan, &traps)?;
    crawl.close_archive(fetched.archive)?;
    if fetched.stopped_by == StoppedBy::Stop {
        return Ok(RoundEnd::Interrupted);
    }

    let fetched_at = (crawl.clock)();
    let merged = merge::merge(crawl, &generation, &facts, &schedule, &fetched, &traps)?;
    let report = transaction::commit(crawl, &facts, merged)?;
    crawl.begin_next(&report);
    crawl.merging_took = crawl.since(fetched_at);
    Ok(RoundEnd::Committed(Box::new(report)))
}

#[cfg(test)]
mod tests;
