//! What a round leaves to the next one of its cycle: the pages that it did not reach, the sample that
//! they belong to, and the bytes that the cycle has spent.

use crate::crawl::Crawl;
use crate::failure::Failure;
use crate::report::Sample;
use crate::report::facts::Facts;
use crate::stored::{keep, kept};
use recrawl_repository::{CarriedPages, CarriedWriter, Done, Generation, ScheduleFile};
use recrawl_types::{Origin, Round, ScheduleEntry, ScheduleSource, Share, Status};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Entries read from a schedule at a time.
const READ: usize = 4096;

/// The sample and the bytes of a cycle up to a round. Empty unless pages are carried or bytes limited.
#[derive(Default, Serialize, Deserialize)]
pub struct CycleTotals {
    round: Round,
    /// Sums of the rounds since the one that planned the carried pages.
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
        let budget = &crawl.settings.config.budget;
        let is_limited = budget.bytes_per_host.0 > 0 || budget.bytes_per_cycle.0 > 0;
        let spent: Vec<_> = if is_limited { spent.into_iter().collect() } else { Vec::new() };
        if !crawl.settings.config.cycle.fill || sample.is_none() && spent.is_empty() {
            return Ok(());
        }
        keep(&crawl.tables, &name(round), &CycleTotals { round, sample, spent })
    }
}

/// Writes the pages of a schedule that are not done for the next round, and counts those of the sample as
/// not answered yet. Never-fetched URLs are left to the next fill round, which plans them anew. Memory: the
/// rest of one host.
///
/// # Errors
/// When the schedule cannot be read, or the file not be written.
pub fn carry(
    crawl: &Crawl,
    schedule: &ScheduleFile,
    done: &Done,
    next: Round,
    not_yet: &mut Sample,
) -> Result<u64, Failure> {
    let mut writer = CarriedWriter::create(&*crawl.storage, next).map_err(Failure::work)?;
    for host in schedule.hosts() {
        let (mut rest, mut at) = (Vec::new(), host.start);
        while at < host.start + host.count {
            let entries = schedule.read(host, at, READ)?;
            let indexed = (at..).zip(entries);
            at += READ as u64;
            rest.extend(
                indexed.filter(|(index, entry)| entry.share != Share::Discovery && !done.contains(*index)),
            );
        }
        rest.sort_by(|(_, a), (_, b)| a.url.cmp(&b.url));
        for (_, entry) in rest {
            crawl.live.moved();
            not_yet.add_unanswered(&entry);
            writer.push(&entry).map_err(Failure::work)?;
        }
    }
    writer.finish().map_err(Failure::work)
}

/// The pages carried into a round, with their present records. Pages that were visited meanwhile, or may
/// not be visited any more, are left out.
pub struct Carried<'g> {
    generation: &'g Generation,
    pages: Option<CarriedPages>,
    cycle: recrawl_types::Cycle,
}

impl<'g> Carried<'g> {
    /// Into the round that these facts will be of.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn into_round(
        crawl: &Crawl,
        generation: &'g Generation,
        round: recrawl_types::DatedRound,
        begins_cycle: bool,
    ) -> Result<Carried<'g>, Failure> {
        let pages = match begins_cycle {
            true => None,
            false => CarriedPages::open(&*crawl.storage, round.round).map_err(Failure::work)?,
        };
        Ok(Carried { generation, pages, cycle: round.cycle })
    }
}

impl Iterator for Carried<'_> {
    type Item = Result<ScheduleEntry, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let entry = match self.pages.as_mut()?.next_page() {
                Ok(entry) => entry?,
                Err(error) => return Some(Err(Failure::work(error))),
            };
            match self.generation.get(&entry.url) {
                Ok(Some((_, record)))
                    if record.known.status == Status::Live && record.known.last_attempt != self.cycle =>
                {
                    return Some(Ok(ScheduleEntry { record, ..entry }));
                }
                Ok(_) => {}
                Err(error) => return Some(Err(Failure::work(error))),
            }
        }
    }
}
