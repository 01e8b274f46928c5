//! From a round's log to the next generation, not yet committed.

use crate::crawl::Crawl;
use crate::cycle::carry;
use crate::cycle::gather::{self, Gathered};
use crate::cycle::lessons::RoundLessons;
use crate::cycle::pipeline::Fetched;
use crate::cycle::requests;
use crate::failure::Failure;
use crate::parts::focus::lesson::FocusLesson;
use crate::parts::improve::arms::Division;
use crate::parts::improve::found::FoundByShare;
use crate::parts::noise::site::SiteNoise;
use crate::parts::traps::Traps;
use crate::report::cycle_totals::CycleTotals;
use crate::report::facts::Facts;
use crate::report::{CycleSample, RoundReport, Tally};
use crate::round::RoundKind;
use recrawl_fetcher::StoppedBy;
use recrawl_fleet::RunMarks;
use recrawl_repository::{BLOCK_PAGES, Generation, GenerationWriter, ScheduleFile, VisitLog};
use recrawl_types::{Origin, ScheduleSource};
use recrawl_verifier::{MergeReport, MergeRules, SortedBatch, Waiting};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum merge threads; more would wait for the one that merges.
const MERGE_THREADS: usize = 4;

/// Known pages up to which no link waits, if `cycle.fill` is on: it merges them all in a moment.
const SMALL: u64 = 100_000;

/// A round that is merged and not committed.
pub struct MergedRound<'g> {
    /// The next generation, but for its commit.
    pub next: GenerationWriter<'g>,
    /// The lessons. Those of traps are stored already, but for the last origin; the others are not.
    pub lessons: RoundLessons<'g>,
    /// The report to be committed.
    pub report: RoundReport,
    /// The arms that its estimates are of.
    pub division: Option<Division>,
    /// The sample of the cycle, if later rounds add to it.
    pub sample: Option<CycleSample>,
    /// Bytes that the cycle has spent, by origin.
    pub spent: BTreeMap<Origin, u64>,
    /// See [`Gathered::marks`].
    pub marks: Option<RunMarks>,
}

/// Merges what a round fetched. Nothing that it writes counts before the commit, but for evidence of traps, which names its
/// round.
///
/// # Errors
/// When the log, the generation or the tables cannot be read, or the disk takes no more.
pub fn merge<'g>(
    crawl: &Crawl,
    generation: &'g Generation,
    facts: &Facts,
    schedule: &Arc<ScheduleFile>,
    fetched: &Fetched,
    traps: &Traps,
) -> Result<MergedRound<'g>, Failure> {
    let round = facts.round();
    let log_bytes = VisitLog::bytes(&*crawl.storage, round.round).map_err(Failure::work)?;
    crawl.space.check_merge(generation, log_bytes, fetched.skipped)?;
    let mut lessons = RoundLessons::begin(crawl, generation, facts)?;
    let Gathered { batch, tally, responses, found, done, bytes, marks } =
        gather::read_log(crawl, round, &**schedule, traps, &mut lessons, facts.arms.as_ref())?;
    let (requisites, [converted, not_converted]) = (fetched.requisites, fetched.conversions);
    let tally = Tally {
        asked_again: fetched.asked_again,
        converted,
        not_converted,
        requisites_requested: requisites.requested,
        requisites_archived: requisites.archived,
        requisites_same: requisites.same,
        requisites_refused: requisites.refused,
        requisites_failed: requisites.failed,
        requisites_left_out: requisites.left_out,
        ..tally
    };
    let totals = CycleTotals::before(&crawl.tables, facts)?;
    let spent = totals.spent(&bytes);
    let sample = CycleSample::new(&tally, responses, facts);
    let sample = totals.sample.map_or(sample.clone(), |mut sum| {
        sum.add(&sample);
        sum
    });
    let (mut with_carried, mut carried) = (sample.clone(), 0);
    if matches!(fetched.stopped_by, StoppedBy::SlowHosts | StoppedBy::FirstLook) {
        carry::carry(crawl, schedule, &done, facts, &mut with_carried)?;
        carried = schedule.len() - done.count();
    }

    let mut next = crawl.repository.begin(generation, round.cycle).map_err(Failure::work)?;
    let merged = into_next(crawl, generation, facts, batch, &mut next, traps, &mut lessons)?;
    requests::keep(crawl, round.round, &mut next)?;
    let now = (crawl.clock)();
    let report = RoundReport::new(facts, tally, &with_carried, &merged, fetched.stopped_by, now);
    let found = found.map(|found| FoundByShare { overlap: facts.overlap, ..found });
    let focus = lessons.focus.as_ref().map(FocusLesson::report);
    let revisits_left = match facts.kind {
        RoundKind::Revisit => facts.revisits_left,
        RoundKind::Fill | RoundKind::Urgent => crawl.so_far.revisits_left,
    };
    Ok(MergedRound {
        next,
        lessons,
        report: RoundReport { carried, found, focus, ..report },
        division: with_carried.division(),
        sample: Some(sample).filter(|_| carried > 0 || revisits_left > 0),
        spent,
        marks,
    })
}

/// Merges the batch of a round into the next generation.
fn into_next<'g>(
    crawl: &Crawl,
    generation: &'g Generation,
    facts: &Facts,
    batch: SortedBatch,
    next: &mut GenerationWriter<'g>,
    traps: &Traps,
    lessons: &mut RoundLessons<'g>,
) -> Result<MergeReport, Failure> {
    crawl.live.begin_passing(generation.pages());
    let floors = SiteNoise::new(&crawl.tables, crawl.settings.noise_rules());
    let lessons = RefCell::new(lessons);
    let rules = MergeRules {
        cycle: facts.cycle,
        max_hops: crawl.settings.max_hops(),
        max_pages_per_host: crawl.settings.config.scope.max_pages_per_host,
        traps_of: &|origin| traps.signs_of(origin),
        waiting: waiting(crawl, generation, facts),
        block_pages: BLOCK_PAGES,
        threads: std::thread::available_parallelism().map_or(1, usize::from).min(MERGE_THREADS),
        judge: &|url, before, after| floors.judge(url, before, after),
        on_comparison: &|url, newer, changed| lessons.borrow_mut().compared(url, newer, changed),
        on_first_visit: &|url, content| lessons.borrow_mut().visited_first(url, content),
        on_tried: &|url, tried| lessons.borrow_mut().tried(url, tried),
        on_found: &|key, known| lessons.borrow_mut().found(key, known),
        on_dropped: &|key, is_linked| lessons.borrow_mut().dropped(key, is_linked),
        on_progress: &|pages| crawl.live.passed(pages),
    };
    let merge = || recrawl_verifier::merge(generation, batch, next, &rules);
    tracing::error_span!("merge").in_scope(merge).map_err(Failure::work)
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
