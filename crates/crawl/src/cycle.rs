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
mod next;
mod page;
mod pipeline;
pub mod plan;
pub mod ranks;
pub mod readmission;
pub mod requests;
mod signals;
mod skipped;

use crate::clock::{NextRound, RoundToPlan};
use crate::crawl::Crawl;
use crate::cycle::gather::Gathered;
pub use crate::cycle::pipeline::Fetched;
use crate::cycle::plan::{Plan, Planned};
use crate::failure::Failure;
use crate::focus::lesson::FocusLesson;
use crate::improve::found::FoundByShare;
use crate::lessons::dates::LastmodLesson;
use crate::lessons::next_change::NextChangeLesson;
use crate::lessons::site_noise::SiteNoise;
use crate::lessons::traps::{TrapLesson, Traps};
use crate::report::cycle_totals::CycleTotals;
use crate::report::facts::Facts;
use crate::report::{RoundReport, Sample, history};
use crate::round::RoundKind;
use recrawl_fetcher::StoppedBy;
use recrawl_repository::{BLOCK_PAGES, Generation, VisitLog};
use recrawl_types::{CanonicalUrl, ScheduleSource};
use recrawl_verifier::{MergeRules, Waiting};
use std::cell::RefCell;
use std::sync::Arc;

/// Maximum merge threads; more would wait for the one that merges.
const MERGE_THREADS: usize = 4;

/// Known pages up to which no link waits, if `cycle.fill` is on: it merges them all in a moment.
const SMALL: u64 = 100_000;

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
pub fn round(crawl: &mut Crawl, next: NextRound, seeds: &[CanonicalUrl]) -> Result<RoundEnd, Failure> {
    round_fetched_by(crawl, next, seeds, &mut pipeline::run)
}

/// Fetches the pages of a plan into its log.
pub type Fetch<'f> = dyn FnMut(&Crawl, Plan, &Arc<Traps>) -> Result<Fetched, Failure> + 'f;

/// Runs one round whose pages come from elsewhere than the network: a study of many crawls needs no sockets.
///
/// # Errors
/// As [`round`], and those of `fetch`.
pub fn round_fetched_by(
    crawl: &mut Crawl,
    next: NextRound,
    seeds: &[CanonicalUrl],
    fetch: &mut Fetch<'_>,
) -> Result<RoundEnd, Failure> {
    let generation = crawl.repository.current();
    let to_plan = match crawl.begun()? {
        Some(begun) => begun,
        None => RoundToPlan::after(&generation, next, &crawl.so_far),
    };
    let RoundToPlan { round, kind, .. } = to_plan;
    let cycle = round.cycle;
    let _cycle = tracing::error_span!("cycle", cycle = cycle.0, round = round.round.0).entered();
    crawl.settings.scope.read_opt_out().map_err(Failure::Usage)?;

    crawl.space.check()?;
    let traps = Arc::new(Traps::new(&crawl.settings.traps, &crawl.tables, round));
    let plan = match plan::resume_or_make(crawl, &generation, &to_plan, seeds, &traps)? {
        Planned::Pages(plan) => *plan,
        Planned::Nothing => {
            crawl.nothing_due_at = Some((crawl.clock)());
            return Ok(RoundEnd::NothingDue);
        }
    };
    crawl.is_begun = true;
    let (facts, schedule) = (plan.facts.clone(), plan.schedule.clone());

    let fetched = fetch(crawl, plan, &traps)?;
    crawl.close_archive(fetched.archive)?;
    if fetched.stopped_by == StoppedBy::Stop {
        return Ok(RoundEnd::Interrupted);
    }

    let log_bytes = VisitLog::bytes(&*crawl.storage, round.round).map_err(Failure::work)?;
    crawl.space.check_merge(&generation, log_bytes, fetched.skipped)?;
    let Gathered { batch, tally, responses, found, noise, trust, pings, done, bytes } =
        gather::read_log(crawl, round, &*schedule, &traps)?;
    let totals = CycleTotals::before(&crawl.tables, &facts)?;
    let spent = totals.spent(&bytes);
    let sample = Sample::new(&tally, responses, &facts);
    let sample = totals.sample.map_or(sample.clone(), |mut sum| {
        sum.add(&sample);
        sum
    });
    let (mut with_carried, mut carried) = (sample.clone(), 0);
    if fetched.stopped_by == StoppedBy::SlowHosts {
        carry::carry(crawl, &schedule, &done, &facts, &mut with_carried)?;
        carried = schedule.len() - done.count();
    }

    crawl.live.begin_passing(generation.pages());
    let passed = |_| crawl.live.moved();
    let formula = facts.formula_toml.as_deref();
    let next_change =
        NextChangeLesson::of_round(&crawl.tables, &generation, (round, kind), formula, &passed)?
            .map(RefCell::new);
    let focus = focus_lesson(crawl, &generation, &facts)?.map(RefCell::new);
    let mut next = crawl.repository.begin(&generation, cycle).map_err(Failure::work)?;
    let (floors, dates) =
        (SiteNoise::new(&crawl.tables, crawl.settings.noise_rules()), LastmodLesson::default());
    let lesson = TrapLesson::new(&crawl.settings.traps, &crawl.tables, round);
    let rules = MergeRules {
        cycle,
        max_hops: crawl.settings.max_hops(),
        max_pages_per_host: crawl.settings.config.scope.max_pages_per_host,
        traps_of: &|origin| traps.signs_of(origin),
        waiting: waiting(crawl, &generation, &facts),
        block_pages: BLOCK_PAGES,
        threads: std::thread::available_parallelism().map_or(1, usize::from).min(MERGE_THREADS),
        judge: &|url, before, after| floors.judge(url, before, after),
        on_comparison: &|url, newer, changed| {
            newer.into_iter().for_each(|newer| dates.observe(url, newer, changed));
            pings.compared(url, changed);
            next_change.iter().for_each(|lesson| lesson.borrow_mut().compared(url, changed));
        },
        on_first_visit: &|url, content| lesson.observe(url, content),
        on_tried: &|url, tried| focus.iter().for_each(|focus| focus.borrow_mut().tried(url, tried)),
        on_found: &|key, known| focus.iter().for_each(|focus| focus.borrow_mut().found(key, known)),
        on_progress: &|pages| crawl.live.passed(pages),
    };
    let merge = || recrawl_verifier::merge(&generation, batch, &mut next, &rules);
    let merged = tracing::error_span!("merge").in_scope(merge).map_err(Failure::work)?;

    requests::keep(crawl, round.round, &mut next)?;
    let now = (crawl.clock)();
    let report = RoundReport::new(&facts, tally, &with_carried, &merged, fetched.stopped_by, now);
    let found = found.map(|found| FoundByShare { overlap: facts.overlap, ..found });
    let focus = focus.map(|focus| focus.into_inner().keep(&crawl.tables)).transpose()?;
    let report = RoundReport { carried, found, focus, ..report };
    improvement::note(crawl, &facts, &report, with_carried.division())?;
    let revisits_left =
        if kind == RoundKind::Revisit { facts.revisits_left } else { crawl.so_far.revisits_left };
    let is_sampled_again = carried > 0 || revisits_left > 0;
    CycleTotals::leave(
        &crawl.tables,
        &crawl.settings.config.cycle,
        round.round,
        is_sampled_again.then_some(sample),
        spent,
    )?;
    crawl.tables.apply_round(round.round, noise.fold(&crawl.tables)?)?;
    dates.keep(&crawl.tables, round.round)?;
    pings.keep(round.round)?;
    trust.keep(&crawl.tables, round)?;
    lesson.keep()?;
    next_change.map_or(Ok(()), |lesson| lesson.into_inner().keep(&crawl.tables))?;
    crawl.tables.flush()?;
    let commit = || crawl.repository.commit(next, &report.to_json());
    tracing::error_span!("commit").in_scope(commit).map_err(Failure::work)?;
    if let Err(failure) = history::shorten(&mut crawl.repository) {
        tracing::warn!("the reports of old rounds could not be added up: {failure}");
    }
    pings.forget()?;
    crawl.survey.forget();
    crawl.so_far.add(&report);
    crawl.is_begun = false;
    (crawl.nothing_due_at, crawl.is_stirred) = (None, false);
    crawl.pings.end_round();
    crawl.cap_archive();
    Ok(RoundEnd::Committed(Box::new(report)))
}

/// The lesson of a focused crawl; none of another.
fn focus_lesson(
    crawl: &Crawl,
    generation: &Generation,
    facts: &Facts,
) -> Result<Option<FocusLesson>, Failure> {
    let Some(rules) = &crawl.settings.focus else { return Ok(None) };
    let survey = crawl.survey(rules, generation, facts.round())?;
    let lesson =
        FocusLesson::of_round(rules.clone(), survey, &crawl.tables, facts.round(), facts.focus.as_ref());
    lesson.map(Some)
}

/// Which links may wait for the merge of a later cycle. When nothing but waiting links is left to fill, they
/// are merged.
fn waiting(crawl: &Crawl, generation: &Generation, facts: &Facts) -> Waiting {
    let configured = crawl.settings.waiting();
    let is_small = crawl.settings.config.cycle.fill && generation.pages() < SMALL;
    let is_last = facts.kind == RoundKind::Fill && crawl.so_far.has_run_dry();
    match is_small || is_last {
        true => Waiting { max_cycles: 0, ..configured },
        false => Waiting { has_turns: facts.cycle_started.is_none(), ..configured },
    }
}

#[cfg(test)]
mod tests;
