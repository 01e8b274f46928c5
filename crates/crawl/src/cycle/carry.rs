//! Pages that a round did not reach: it leaves them to the next round of its cycle.

use crate::clock::RoundToPlan;
use crate::crawl::Crawl;
use crate::failure::Failure;
use crate::report::CycleSample;
use crate::report::facts::Facts;
use crate::round::RoundKind;
use recrawl_repository::{
    CarriedPages, CarriedWriter, Generation, Lookup, Ranked, ReadError, ScheduleFile, VisitedIndexes,
};
use recrawl_types::{Cycle, DatedRound, ScheduleEntry, ScheduleSource, Share};

/// Entries read from a schedule at a time.
const READ: usize = 4096;

/// Writes the pages of a schedule that are not done, for the next round. Those of the sample count as not
/// answered yet. Never-fetched pages of a fill round are left out, because the next one plans them again. Explored ones
/// stay, or slow hosts would be explored less.
/// Memory: the rest of one host.
///
/// # Errors
/// When the schedule cannot be read, or the file not be written.
pub fn carry(
    crawl: &Crawl,
    schedule: &ScheduleFile,
    done: &VisitedIndexes,
    facts: &Facts,
    not_yet: &mut CycleSample,
) -> Result<u64, Failure> {
    let next = facts.round().round.next();
    let mut writer = CarriedWriter::create(&*crawl.storage, next).map_err(Failure::work)?;
    let is_planned_anew = |entry: &ScheduleEntry| {
        facts.kind == RoundKind::Fill && entry.share == Share::Discovery && entry.record.visited.is_none()
    };
    for host in schedule.hosts() {
        let (mut rest, mut at) = (Vec::new(), host.start);
        while at < host.start + host.count {
            let entries = schedule.read(host, at, READ)?;
            let indexed = (at..).zip(entries);
            at += READ as u64;
            rest.extend(indexed.filter(|(index, entry)| !done.contains(*index) && !is_planned_anew(entry)));
        }
        rest.sort_by(|(_, a), (_, b)| a.url.cmp(&b.url));
        for (index, entry) in rest {
            crawl.live.moved();
            not_yet.add_unanswered(&entry, &crawl.settings.pages);
            writer.push(&Ranked { entry, rank: index - host.start }).map_err(Failure::work)?;
        }
    }
    writer.finish().map_err(Failure::work)
}

/// The pages carried into a round, with their present records. Pages that were visited meanwhile, or may
/// not be visited any more, are left out.
pub struct Carried<'g> {
    pages: Option<CarriedPages>,
    cycle: Cycle,
    lookup: Lookup<'g>,
}

impl<'g> Carried<'g> {
    /// The pages carried into this round. A file that cannot be read costs its pages their visits in this
    /// cycle, and nothing else.
    pub fn into_round(crawl: &Crawl, generation: &'g Generation, to_plan: &RoundToPlan) -> Carried<'g> {
        let DatedRound { round, cycle } = to_plan.round;
        let pages = match to_plan.begins_cycle() || crawl.so_far.carried == 0 {
            true => None,
            false => CarriedPages::open(&*crawl.storage, round).unwrap_or_else(|error| lost(&error)),
        };
        Carried { pages, cycle, lookup: generation.lookup() }
    }
}

fn lost(error: &ReadError) -> Option<CarriedPages> {
    tracing::warn!(%error, "cannot read the pages that the last round did not reach; they wait for the next cycle");
    None
}

impl Iterator for Carried<'_> {
    type Item = Result<Ranked, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Ranked { entry, rank } = match self.pages.as_mut()?.next_page() {
                Ok(page) => page?,
                Err(error) => {
                    self.pages = lost(&error);
                    return None;
                }
            };
            match self.lookup.take(&entry.url) {
                Ok(Some((_, record)))
                    if record.known.status.is_live() && record.known.last_attempt != self.cycle =>
                {
                    return Some(Ok(Ranked { entry: ScheduleEntry { record, ..entry }, rank }));
                }
                Ok(_) => {}
                Err(error) => return Some(Err(Failure::work(error))),
            }
        }
    }
}
