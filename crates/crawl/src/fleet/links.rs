//! Links between partitions: which leave at a merge, which come in, and how far in the runs of others a commit is.

use super::divide::{PARENT_INBOX, ParentInbox};
use crate::crawl::Crawl;
use crate::failure::Failure;
use crate::parts::traps::{LateTraps, Traps};
use crate::stored::{keep, kept};
use recrawl_fleet::{Partition, RunMark, RunMarks};
use recrawl_repository::SledTables;
use recrawl_repository::codec::LinkRef;
use recrawl_types::{CanonicalUrl, DatedRound, Round};
use recrawl_verifier::{Batch, BatchError, BatchLimits, FoundLinks, OutgoingLinks, TrapSign, TrapSigns};
use serde::{Deserialize, Serialize};

/// The number of the next message in the inbox of the partition; in the tables.
pub const NEXT_MESSAGE: &str = "fleet_inbox";

/// The number of the next decision about all partitions. A new partition inherits it with the effects of those before.
pub const NEXT_DECISION: &str = "fleet_decisions";

/// The links of a round that leave the partition.
pub struct Leaving<'c> {
    partition: &'c Partition,
    links: OutgoingLinks,
    failed: Option<BatchError>,
}

impl<'c> Leaving<'c> {
    /// None of a crawl that is alone.
    pub fn begin(crawl: &'c Crawl, round: DatedRound, limits: BatchLimits) -> Option<Leaving<'c>> {
        let partition = crawl.partition.as_deref()?;
        Some(Leaving {
            partition,
            links: OutgoingLinks::new(crawl.storage.clone(), round, limits),
            failed: None,
        })
    }

    /// Takes a link that leaves; false for one that stays.
    pub fn take(&mut self, link: &LinkRef<'_>) -> bool {
        if self.partition.owns(link.key) {
            return false;
        }
        if let Err(error) = self.links.add(link) {
            self.failed.get_or_insert(error);
        }
        true
    }

    /// Sends them as the run of the round. From then on others may use them, whatever becomes of the round: so the log that
    /// they come from must be as durable, and is shipped first.
    ///
    /// # Errors
    /// When they cannot be read, or the store does not take them.
    pub fn send(self, crawl: &Crawl, round: Round) -> Result<u64, Failure> {
        self.failed.map_or(Ok(()), Err).map_err(Failure::work)?;
        if !self.partition.has_sent(round.0) {
            let read = kept(&crawl.tables, NEXT_MESSAGE)?.unwrap_or_default();
            let of_parent: Option<ParentInbox> = kept(&crawl.tables, PARENT_INBOX)?.flatten();
            crawl.vault.each(|vault| vault.ship_all())?;
            // Its parent removes what this partition has not read, once it tells its marks.
            if of_parent.is_none() {
                sweep(crawl, self.partition, round, read);
            }
        }
        let mut links = self.links.finish().map_err(Failure::work)?;
        let mut next = |key: &mut Vec<u8>, value: &mut Vec<u8>| links.next(key, value).map_err(Failure::work);
        let sent = self.partition.send(round.0, &mut next)?;
        links.remove().map_err(Failure::work)?;
        Ok(sent)
    }
}

/// Removes runs that all have, and messages before the number `read`: the vault was just shipped, and has the marks of the
/// rounds before, and what these messages changed. Objects that stay longer do no harm.
fn sweep(crawl: &Crawl, partition: &Partition, round: Round, read: u64) {
    let swept = marks_before(&crawl.tables, round).and_then(|marks| {
        partition.sweep(&marks)?;
        Ok(partition.sweep_inbox(read)?)
    });
    if let Err(error) = swept {
        tracing::warn!("runs and messages that all partitions have stay in the store: {error}");
    }
}

/// Adds the links that other partitions found to the batch of a round. `dropped` is told of each that this partition's traps
/// leave out. Gives the marks that the commit must keep; none of a crawl that is alone.
///
/// # Errors
/// When a run cannot be read, or the batch cannot spill.
pub fn take_in(
    crawl: &Crawl,
    round: DatedRound,
    batch: &mut Batch,
    (traps, late): (&Traps, &mut LateTraps<'_>),
    dropped: &mut dyn FnMut(&[u8], bool),
) -> Result<Option<RunMarks>, Failure> {
    let Some(partition) = crawl.partition.as_deref() else { return Ok(None) };
    let marks = marks_before(&crawl.tables, round.round)?;
    // Links come in the order of their URLs: one look serves all of an origin.
    let mut signs: (Vec<u8>, Option<TrapSigns>) = Default::default();
    let mut each = |key: &[u8], value: &[u8]| -> Result<bool, Failure> {
        let Ok(found) = FoundLinks::read(value) else { return Ok(false) };
        let origin = CanonicalUrl::origin_of(key);
        if signs.0 != origin {
            signs = (origin.to_vec(), traps.signs_of(origin));
        }
        // The sender knows no traps of other partitions.
        let is_cut_off = signs.1.as_ref().is_some_and(|sign| sign(key) == TrapSign::CutOff);
        if is_cut_off || late.leave_out(key) {
            dropped(key, found.hops() == 0 && !found.is_only_listed());
            return Ok(true);
        }
        batch.add_found(key, found).map_err(Failure::work)?;
        crawl.live.moved();
        Ok(true)
    };
    let received = partition.receive(&marks, round.round.0, &mut each)?;
    for (sender, refused) in &received.refused {
        tracing::warn!(
            sender,
            links = refused.links,
            blocks = refused.blocks,
            runs = refused.runs,
            "refused links of a partition: damaged"
        );
    }
    Ok(Some(received.marks))
}

/// Marks as of a round.
#[derive(Serialize, Deserialize)]
struct StoredMarks {
    round: Round,
    marks: RunMarks,
}

fn name(slot: u32) -> String {
    format!("fleet_marks_{slot}")
}

/// The marks that the rounds before this one left. A round that was not committed may have left some as well.
pub(super) fn marks_before(tables: &SledTables, round: Round) -> Result<RunMarks, Failure> {
    Ok(newest_before(tables, round)?.map(|(_, stored)| stored.marks).unwrap_or_default())
}

/// Begins with the marks of the partition that this one was a part of, and behind all that that one has sent: its links
/// to here never left it.
pub(super) fn inherit_marks(
    tables: &SledTables,
    round: Round,
    parent: u32,
    next: RunMark,
) -> Result<(), Failure> {
    let mut marks = marks_before(tables, round)?;
    marks.insert(parent, next);
    begin_marks(tables, marks)
}

/// Begins with these marks.
pub(super) fn begin_marks(tables: &SledTables, marks: RunMarks) -> Result<(), Failure> {
    let stored = StoredMarks { round: Round(0), marks };
    (0..2).try_for_each(|slot| keep(tables, &name(slot), &stored))
}

/// Removes all marks: of a crawl that is alone again.
pub(super) fn forget_marks(tables: &SledTables) -> Result<(), Failure> {
    Ok((0..2).try_for_each(|slot| tables.remove_setting(&name(slot)).map(drop))?)
}

fn newest_before(tables: &SledTables, round: Round) -> Result<Option<(u32, StoredMarks)>, Failure> {
    let mut newest: Option<(u32, StoredMarks)> = None;
    for slot in 0..2 {
        let Some(stored) = kept::<StoredMarks>(tables, &name(slot))?.filter(|stored| stored.round < round)
        else {
            continue;
        };
        if newest.as_ref().is_none_or(|(_, other)| other.round < stored.round) {
            newest = Some((slot, stored));
        }
    }
    Ok(newest)
}

/// Keeps the marks that a round leaves, in place of those that are not of the rounds before it. They count once the round is
/// committed: a crash before that merges it again, from the marks before.
///
/// # Errors
/// When the tables cannot be read or written.
pub fn keep_marks(tables: &SledTables, round: Round, marks: Option<RunMarks>) -> Result<(), Failure> {
    let Some(marks) = marks else { return Ok(()) };
    let slot = newest_before(tables, round)?.map_or(0, |(slot, _)| 1 - slot);
    keep(tables, &name(slot), &StoredMarks { round, marks })
}
