//! What a round leaves to the next one of its cycle: the pages that it did not reach, the sample that
//! they belong to, and the bytes that the cycle has spent.

use crate::crawl::Crawl;
use crate::cycle::plan::RoundToPlan;
use crate::failure::Failure;
use crate::report::Sample;
use crate::report::facts::{Facts, RoundKind};
use crate::stored::{keep, kept};
use recrawl_repository::{
    CarriedPages, CarriedWriter, Done, Generation, Lookup, Ranked, ReadError, ScheduleFile, SledTables,
};
use recrawl_types::{Cycle, DatedRound, Origin, Round, ScheduleEntry, ScheduleSource, Share, Status};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Entries read from a schedule at a time.
const READ: usize = 4096;

/// The sample and the bytes of a cycle up to a round. Empty unless pages are carried, k has parts to come, or
/// bytes are limited.
#[derive(Default, Serialize, Deserialize)]
pub struct CycleTotals {
    #[serde(default)]
    round: Round,
    /// The sample of the cycle, while later rounds add to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
    /// Bytes by origin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    spent: Vec<(Origin, u64)>,
}

/// Two names in turn: what a round leaves that is not committed does not replace what it began with.
fn name(round: Round) -> String {
    format!("cycle_totals_{}", round.0 % 2)
}

impl CycleTotals {
    /// Those of the rounds before this one, of its cycle.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn before(crawl: &Crawl, facts: &Facts) -> Result<CycleTotals, Failure> {
        let round = facts.round().round;
        let is_first = facts.cycle_started.is_none();
        let Some(last) = round.0.checked_sub(1).map(Round).filter(|_| !is_first) else {
            return Ok(CycleTotals::default());
        };
        let left: Option<CycleTotals> = kept(&crawl.tables, &name(last))?;
        Ok(left.filter(|left| left.round == last).unwrap_or_default())
    }

    /// Removes those of all rounds, which name hosts.
    ///
    /// # Errors
    /// When the tables cannot be written.
    pub fn forget(tables: &SledTables) -> Result<(), Failure> {
        [Round(0), Round(1)].into_iter().try_for_each(|round| match tables.setting(&name(round))? {
            Some(_) => keep(tables, &name(round), &CycleTotals::default()),
            None => Ok(()),
        })
    }

    /// Bytes by origin, with those of this round.
    pub fn spent(&self, of_round: &BTreeMap<Origin, u64>) -> BTreeMap<Origin, u64> {
        let mut spent = of_round.clone();
        for (origin, bytes) in &self.spent {
            let sum = spent.entry(origin.clone()).or_default();
            *sum = sum.saturating_add(*bytes);
        }
        spent
    }

    /// Keeps what this round leaves, if anything. Durable with the next flush of the tables.
    ///
    /// # Errors
    /// When the tables cannot be written.
    pub fn leave(
        crawl: &Crawl,
        round: Round,
        sample: Option<Sample>,
        spent: BTreeMap<Origin, u64>,
    ) -> Result<(), Failure> {
        let cycle = &crawl.settings.config.cycle;
        if !cycle.fill && cycle.rounds.0.count() == 1 {
            return Ok(());
        }
        let spent = spent.into_iter().collect();
        keep(&crawl.tables, &name(round), &CycleTotals { round, sample, spent })
    }
}

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
    done: &Done,
    facts: &Facts,
    not_yet: &mut Sample,
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
            not_yet.add_unanswered(&entry);
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
                    if record.known.status == Status::Live && record.known.last_attempt != self.cycle =>
                {
                    return Some(Ok(Ranked { entry: ScheduleEntry { record, ..entry }, rank }));
                }
                Ok(_) => {}
                Err(error) => return Some(Err(Failure::work(error))),
            }
        }
    }
}
