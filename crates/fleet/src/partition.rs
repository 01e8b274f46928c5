//! A partition as its crawl uses it: which links leave, where they go, and what comes in.

use crate::epoch;
use crate::exchange::{ExchangePatience, PlanExchange};
use crate::map::FleetMap;
use crate::marks::{MarkFinding, RunMarks, next_run};
use crate::run::{EachLink, NextLink, ReceivedRun, RefusedParts, RunWriter};
use recrawl_vault::{Store, VaultError};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// How long a crawl waits for the others.
pub struct FleetWaits {
    /// For what they tell of a plan.
    pub plans: Box<dyn ExchangePatience>,
    /// For their runs of a round. Nobody waits for these, but in lockstep.
    pub runs: Box<dyn ExchangePatience>,
}

/// A partition that a process owns.
pub struct Partition {
    store: Arc<dyn Store>,
    map: FleetMap,
    place: usize,
    epoch: u64,
    waits: FleetWaits,
    sent: Mutex<SentRuns>,
}

/// The runs of this process.
struct SentRuns {
    next: u64,
    /// The round of the last run that counts, also of earlier owners.
    last: Option<u32>,
}

/// The result of receiving.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceivedLinks {
    /// The next runs to ask for: for the commit that has the links.
    pub marks: RunMarks,
    /// Links that were taken.
    pub links: u64,
    /// By sender, what was not taken.
    pub refused: BTreeMap<u32, RefusedParts>,
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partition")
            .field("id", &self.id())
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl Partition {
    /// Takes a partition of a map after an epoch that is over, as [`begin`](crate::begin); `nonce` is one that no other process has. None if the map has no such partition.
    ///
    /// # Errors
    /// [`VaultError::Lost`] if another process takes it at the same moment; or when the store does not answer.
    pub fn begin(
        store: Arc<dyn Store>,
        map: FleetMap,
        id: u32,
        after: u64,
        nonce: &str,
        waits: FleetWaits,
    ) -> Result<Option<Partition>, VaultError> {
        let Some(place) = map.place_of(id) else { return Ok(None) };
        let epoch = epoch::begin(&*store, id, after, nonce)?;
        let sent = Mutex::new(SentRuns { next: 0, last: last_round(&*store, id, epoch)? });
        Ok(Some(Partition { store, map, place, epoch, waits, sent }))
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.map.ranges()[self.place].id
    }

    /// The epoch of its owner.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Has it the URL of this key?
    pub fn owns(&self, key: &[u8]) -> bool {
        let (begin, end) = self.map.bounds(self.place);
        key >= begin && end.is_none_or(|end| key < end)
    }

    /// The exchanges of a cycle's plan.
    pub fn exchange(&self, cycle: u32) -> PlanExchange<'_> {
        PlanExchange::new(&*self.store, &self.map, self.id(), cycle, &*self.waits.plans)
    }

    /// Writes the run of a round, unless it is written: by an earlier try, or by an earlier owner whose seal has it. `next`
    /// gives key and value of each link in order, and false at the end. Gives the number of links.
    ///
    /// # Errors
    /// When the store does not take it, or `next` fails.
    pub fn send<E: From<VaultError>>(
        &self,
        round: u32,
        steps: u64,
        next: &mut NextLink<'_, E>,
    ) -> Result<u64, E> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if sent.last.is_some_and(|last| last >= round) {
            return Ok(0);
        }
        let mut run = RunWriter::new(&*self.store, self.id(), self.epoch, sent.next, round, steps);
        let (mut key, mut value) = (Vec::new(), Vec::new());
        while next(&mut key, &mut value)? {
            run.push(&key, &value).map_err(E::from)?;
        }
        // After an unknown answer the next try writes the same bytes under the same number.
        let links = run.finish().map_err(E::from)?;
        *sent = SentRuns { next: sent.next + 1, last: Some(round) };
        Ok(links)
    }

    /// Gives the links of all runs behind these marks, and in lockstep up to a round, to `each`: which says whether it takes
    /// key and value.
    ///
    /// # Errors
    /// When a run is damaged or missing, the store does not answer, or `each` fails.
    pub fn receive<E: From<VaultError>>(
        &self,
        marks: &RunMarks,
        round: u32,
        each: &mut EachLink<'_, E>,
    ) -> Result<ReceivedLinks, E> {
        let mut received = ReceivedLinks { marks: marks.clone(), ..ReceivedLinks::default() };
        for range in self.map.ranges().iter().filter(|range| range.id != self.id()) {
            let mut mark = marks.get(&range.id).copied().unwrap_or_default();
            let (mut times, mut reached, mut refused) = (0, None, RefusedParts::default());
            let mut counted = |key: &[u8], value: &[u8]| -> Result<bool, E> {
                let is_taken = each(key, value)?;
                received.links += u64::from(is_taken);
                Ok(is_taken)
            };
            loop {
                match next_run(&*self.store, range.id, mark).map_err(E::from)? {
                    MarkFinding::Run(run, behind) => {
                        let bounds = self.map.bounds(self.place);
                        let of_run = run.links_within(&*self.store, bounds, &mut counted)?;
                        refused.blocks += of_run.blocks;
                        refused.links += of_run.links;
                        (mark, reached) = (behind, Some(run.round()));
                    }
                    MarkFinding::NotYet(behind) => {
                        mark = behind;
                        if reached >= Some(round) || !self.waits.runs.wait(times) {
                            break;
                        }
                        times += 1;
                    }
                }
            }
            received.marks.insert(range.id, mark);
            if refused != RefusedParts::default() {
                received.refused.insert(range.id, refused);
            }
        }
        Ok(received)
    }
}

/// The round of the last run of the epochs before this one, as far as it counts; none if there is none.
fn last_round(store: &dyn Store, partition: u32, epoch: u64) -> Result<Option<u32>, VaultError> {
    for older in (1..epoch).rev() {
        let runs = epoch::sealed(store, partition, older)?.map_or(0, |seal| seal.runs);
        if let Some(last) = runs.checked_sub(1) {
            return Ok(ReceivedRun::open(store, partition, older, last)?.map(|run| run.round()));
        }
    }
    Ok(None)
}
