//! Turns the round's log into the verifier's batch and the report's counts, and shows its visits to the lessons.

use crate::crawl::Crawl;
use crate::cycle::lessons::RoundLessons;
use crate::failure::Failure;
use crate::fleet::{self, Leaving};
use crate::page_rules::RuleUse;
use crate::parts::improve::arms::ArmsFacts;
use crate::parts::improve::found::FoundByShare;
use crate::parts::traps::Traps;
use crate::report::{PageResponses, Tally};
use recrawl_fleet::RunMarks;
use recrawl_repository::codec::LinkRef;
use recrawl_repository::{VisitLog, VisitedIndexes};
use recrawl_types::{DatedRound, Origin, ScheduleSource, Visit};
use recrawl_verifier::{Batch, BatchLimits, SortedBatch};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The content of a cycle's log.
pub struct Gathered {
    /// Visits and links, sorted.
    pub batch: SortedBatch,
    /// Counts for the report.
    pub tally: Tally,
    /// Responses by host, for the report's intervals.
    pub responses: PageResponses,
    /// Visits beside what was expected of them; none if the plan was not measured.
    pub found: Option<FoundByShare>,
    /// Pages of the schedule that are done.
    pub done: VisitedIndexes,
    /// Bytes of pages, by origin; empty without a budget.
    pub bytes: BTreeMap<Origin, u64>,
    /// How far it is in the links of other partitions; none of a crawl that is alone.
    pub marks: Option<RunMarks>,
}

/// Reads the log once, from front to back, in bounded memory.
///
/// # Errors
/// When the log cannot be read, or the batch cannot spill.
#[tracing::instrument(level = "error", name = "gather", skip_all)]
pub fn read_log(
    crawl: &Crawl,
    round: DatedRound,
    schedule: &dyn ScheduleSource,
    traps: &Traps,
    lessons: &mut RoundLessons<'_>,
    arms: Option<&ArmsFacts>,
) -> Result<Gathered, Failure> {
    let memory_bytes = crawl.settings.config.storage.batch_memory.0 as usize;
    // What leaves is a batch of its own.
    let batches = 1 + usize::from(crawl.partition.is_some());
    let limits = BatchLimits { memory_bytes: memory_bytes / batches };
    let mut leaving = Leaving::begin(crawl, round, limits);
    let mut batch = Batch::new(crawl.storage.clone(), round, limits);
    let (mut tally, mut responses) = (Tally::default(), PageResponses::default());
    let log = VisitLog::read(&*crawl.storage, round.round).map_err(Failure::work)?;
    let budget = &crawl.settings.config.budget;
    let is_limited = budget.bytes_per_host.0 > 0 || budget.bytes_per_cycle.0 > 0;
    let (mut done, mut bytes, mut found) = (VisitedIndexes::default(), BTreeMap::new(), None::<FoundByShare>);
    let weighs = crawl.settings.pages.weighing().is_some();
    let (mut rule_use, lessons) = (RuleUse::default(), RefCell::new(lessons));
    let observe = |visit: &Visit, links: usize| {
        visit.index.into_iter().for_each(|index| done.insert(index));
        if is_limited && visit.bytes > 0 {
            let sum: &mut u64 = bytes.entry(Origin::from_url(&visit.url)).or_default();
            *sum = sum.saturating_add(visit.bytes);
        }
        tally.add(visit, links);
        if weighs {
            tally.weigh(visit, crawl.settings.pages.importance(&visit.url));
        }
        tally.without_text += u64::from(rule_use.observe(visit, &crawl.settings.change));
        responses.add(visit, arms, &crawl.settings.pages);
        if visit.standing.is_some() {
            found.get_or_insert_default().add(visit);
        }
        lessons.borrow_mut().visited(visit);
        crawl.live.moved();
    };
    let (mut late, mut left_out) = (traps.late(), 0);
    let admit = |link: &LinkRef<'_>| {
        if leaving.as_mut().is_some_and(|leaving| leaving.take(link)) {
            return false;
        }
        let is_left_out = late.leave_out(link.key);
        if is_left_out {
            left_out += 1;
            lessons.borrow_mut().dropped(link.key, link.hops == 0 && !link.listed);
        }
        !is_left_out
    };
    batch.add_log(log, schedule, observe, admit).map_err(Failure::work)?;
    rule_use.warn(&crawl.settings.pages);
    if let Some(leaving) = leaving {
        leaving.send(crawl, round.round)?;
    }
    let mut dropped = |key: &[u8], is_linked| lessons.borrow_mut().dropped(key, is_linked);
    let marks = fleet::take_in(crawl, round, &mut batch, (traps, &mut late), &mut dropped)?;
    tally.links_seen -= left_out;
    tally.links_trapped += left_out;
    let batch = batch.finish().map_err(Failure::work)?;
    Ok(Gathered { batch, tally, responses, found, done, bytes, marks })
}
