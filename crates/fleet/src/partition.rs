//! A partition as its crawl uses it: which links leave, where they go, and what comes in.

use crate::change::{is_outdated, newest_map};
use crate::decisions;
use crate::epoch;
use crate::exchange::{self, ExchangePatience, PlanExchange};
use crate::inbox;
use crate::map::{FleetMap, FormerPartition};
use crate::marks::{MarkFinding, RunMarks, next_run};
use crate::question::{self, QuestionBox, QuestionEnd};
use crate::receive::{ReceivedLinks, RunReading, senders};
use crate::run::{EachLink, NextLink, RunWriter};
use crate::slots::{AddressSlots, SlotKeeper};
use crate::sweep::{has_told, sweep_runs, tell_marks};
use recrawl_vault::{Store, VaultError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

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
    called: AtomicU32,
    planned: AtomicU32,
    untaken: AtomicU64,
    /// By sender, the first epoch of which runs may have to go: each epoch that had an owner costs a list.
    swept: Mutex<BTreeMap<u32, u64>>,
    lease: OnceLock<HoldsLease>,
    given_up: OnceLock<GivingUp>,
    slots: OnceLock<Arc<AddressSlots>>,
    deciding: Mutex<()>,
}

/// Why an owner gives its partition up, once its round is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivingUp {
    /// Its process ends: another one takes the partition at once.
    Drained,
    /// A command asks for the partition.
    HandedOver,
    /// Another map is in force. The same process takes the partition again, by that map, also if its range is as before: whoever
    /// gets its links and runs, plans with it and shares its limits is another, and all that reads the map may read it at any time
    /// of a round. Its turns at addresses go on.
    Outdated,
    /// Its rounds fail again and again: another process may do better.
    Failing,
    /// Another process has its name, and had it before.
    NameTaken,
    /// A format is in force that this program does not know.
    NewerFormat,
}

impl fmt::Display for GivingUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GivingUp::Drained => "this process was drained",
            GivingUp::HandedOver => "a command asked for it",
            GivingUp::Outdated => "the map has changed: it is taken again by the new map",
            GivingUp::Failing => "its rounds fail again and again",
            GivingUp::NameTaken => "another process has this one's name",
            GivingUp::NewerFormat => "the fleet has a newer format",
        })
    }
}

/// Does the lease of an owner hold?
pub type HoldsLease = Box<dyn Fn() -> bool + Send + Sync>;

/// The runs of this process.
struct SentRuns {
    next: u64,
    /// The round of the last run that counts, also of earlier owners.
    last: Option<u32>,
    /// The round of a run that was begun: others may have it by now.
    begun: Option<u32>,
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
    /// A partition of a map, by the owner of an epoch that has [begun](crate::begin). None if the map has no such partition.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn owned(
        store: Arc<dyn Store>,
        map: FleetMap,
        id: u32,
        epoch: u64,
        waits: FleetWaits,
    ) -> Result<Option<Partition>, VaultError> {
        let Some(place) = map.place_of(id) else { return Ok(None) };
        let sent = Mutex::new(SentRuns { next: 0, last: last_round(&*store, id, epoch)?, begun: None });
        Ok(Some(Partition {
            store,
            map,
            place,
            epoch,
            waits,
            sent,
            called: AtomicU32::new(0),
            planned: AtomicU32::new(0),
            untaken: AtomicU64::new(0),
            swept: Mutex::default(),
            lease: OnceLock::new(),
            given_up: OnceLock::new(),
            slots: OnceLock::new(),
            deciding: Mutex::default(),
        }))
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

    /// Asks hosts only while this says so, from now on.
    pub fn hold_to(&self, lease: HoldsLease) {
        self.lease.get_or_init(|| lease);
    }

    /// May a host be asked? Asked before each request: a process that slept must not go on before it notices.
    pub fn may_ask(&self) -> bool {
        self.lease.get().is_none_or(|holds| holds())
    }

    /// Takes turns at addresses from `now` on, if there are other partitions: `delay` milliseconds lie between an answer of an
    /// address and the next request. Without a [keeper](Partition::slot_keeper) it has no turn. `before`: the turns that this
    /// process took last, of any partition; so a change of the map costs it none.
    pub fn share_addresses(&self, delay: u64, now: u64, before: Option<Arc<AddressSlots>>) {
        // The only partition cannot be divided while it has an owner.
        if self.map.ranges().len() > 1 {
            let (id, lease) = (self.id(), self.map.lease());
            let kept = before.and_then(|slots| slots.kept(id, lease, delay, now));
            let new = || Arc::new(AddressSlots::new(id, lease, delay, now));
            self.slots.get_or_init(|| kept.unwrap_or_else(new));
        }
    }

    /// Its turns at addresses; none if it shares none.
    pub fn slots(&self) -> Option<&Arc<AddressSlots>> {
        self.slots.get()
    }

    /// Keeps its turns: for one thread. None if it shares no addresses.
    pub fn slot_keeper(&self) -> Option<SlotKeeper> {
        let (own, slots) = ((self.id(), self.epoch), self.slots.get()?.clone());
        Some(SlotKeeper::new(self.store.clone(), self.map.clone(), own, slots))
    }

    /// Gives it up, at the end of the round; the first reason counts.
    pub fn give_up(&self, why: GivingUp) {
        self.given_up.get_or_init(|| why);
    }

    /// Why it is given up, if so.
    pub fn given_up(&self) -> Option<GivingUp> {
        self.given_up.get().copied()
    }

    /// The map of its fleet.
    pub fn map(&self) -> &FleetMap {
        &self.map
    }

    /// The partition that has the URL of this key.
    pub fn owner_of(&self, key: &[u8]) -> u32 {
        self.map.owner_of(key)
    }

    /// The other partitions.
    pub fn others(&self) -> impl Iterator<Item = u32> + '_ {
        self.map.ranges().iter().map(|range| range.id).filter(|id| *id != self.id())
    }

    /// Sends a message to the owner of a partition: it is there when this returns.
    ///
    /// # Errors
    /// When the store does not take it.
    pub fn send_message(&self, to: u32, message: &impl Serialize) -> Result<(), VaultError> {
        inbox::send(&*self.store, to, message)
    }

    /// The message of a number to a partition: this one, or the one that it was a part of. None if there is none yet.
    ///
    /// # Errors
    /// When it is damaged, or the store does not answer.
    pub fn message<T: DeserializeOwned>(&self, to: u32, number: u64) -> Result<Option<T>, VaultError> {
        inbox::message(&*self.store, to, number)
    }

    /// Asks the owner of another partition, as [`ask`](crate::ask()) does.
    ///
    /// # Errors
    /// When the store does not answer, or the answer is damaged.
    pub fn ask<A: DeserializeOwned>(
        &self,
        other: u32,
        nonce: &str,
        question: &impl Serialize,
        patience: &dyn ExchangePatience,
    ) -> Result<QuestionEnd<A>, VaultError> {
        question::ask(&*self.store, other, nonce, question, patience)
    }

    /// The questions of others to it: for one thread. None if there are no others.
    pub fn questions(&self) -> Option<QuestionBox> {
        let is_alone = self.others().next().is_none();
        (!is_alone).then(|| QuestionBox::new(self.store.clone(), self.id()))
    }

    /// The partition that has the pages of another one by the map in force, which this process may not know.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn heir_of(&self, partition: u32) -> Result<u32, VaultError> {
        let newest = if self.is_outdated()? { newest_map(&*self.store)? } else { None };
        Ok(newest.as_ref().unwrap_or(&self.map).heir_of(partition))
    }

    /// Held while decisions are made, so that those of this process are made in their order as well.
    pub fn deciding(&self) -> MutexGuard<'_, ()> {
        self.deciding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a decision about all partitions behind those that are there, and gives its number. All before `next` are there.
    ///
    /// # Errors
    /// When the store does not take it.
    pub fn decide(&self, next: u64, decision: &impl Serialize) -> Result<u64, VaultError> {
        decisions::decide(&*self.store, next, decision)
    }

    /// The decision of a number about all partitions; none if there is none yet.
    ///
    /// # Errors
    /// When it is damaged, or the store does not answer.
    pub fn decision<T: DeserializeOwned>(&self, number: u64) -> Result<Option<T>, VaultError> {
        decisions::decision(&*self.store, number)
    }

    /// Is another map in force?
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn is_outdated(&self) -> Result<bool, VaultError> {
        is_outdated(&*self.store, &self.map)
    }

    /// Is the run of this round sent, or was that tried? Then no visit may be added to the round: nobody would get its links,
    /// and another try must write the same.
    pub fn has_sent(&self, round: u32) -> bool {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.last.max(sent.begun).is_some_and(|last| last >= round)
    }

    /// The cycle that it plans next, whose own next one is `next`: cycles of a fleet have one number, so that all make one
    /// plan.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn fleet_cycle(&self, next: u32) -> Result<u32, VaultError> {
        exchange::fleet_cycle(&*self.store, self.id(), next)
    }

    /// Asks the store whether others have begun a plan.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn hear_call(&self) -> Result<(), VaultError> {
        let called = exchange::called_cycle(&*self.store)?;
        self.called.fetch_max(called, Ordering::Relaxed);
        Ok(())
    }

    /// The cycle whose plan others have begun, as far as it was heard.
    pub fn called(&self) -> u32 {
        self.called.load(Ordering::Relaxed)
    }

    /// Have others sent runs that are behind these marks?
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn has_incoming(&self, marks: &RunMarks) -> Result<bool, VaultError> {
        for (other, end) in senders(&self.map, self.id()) {
            let mark = marks.get(&other).copied().unwrap_or_default();
            if end.is_none_or(|end| mark < end)
                && !matches!(next_run(&*self.store, other, mark)?, MarkFinding::NotYet(_))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The cycle that this process planned last; 0 before the first.
    pub fn planned(&self) -> u32 {
        self.planned.load(Ordering::Relaxed)
    }

    /// Own runs that the vaults of some others have not, when that was last looked at.
    pub fn untaken(&self) -> u64 {
        self.untaken.load(Ordering::Relaxed)
    }

    /// The exchanges of a cycle's plan.
    pub fn exchange(&self, cycle: u32) -> PlanExchange<'_> {
        self.planned.store(cycle, Ordering::Relaxed);
        PlanExchange::new(&*self.store, &self.map, self.id(), cycle, &*self.waits.plans)
    }

    /// Writes the run of a round, unless it is written: by an earlier try, or by an earlier owner whose seal has it. `next`
    /// gives key and value of each link in order, and false at the end. Gives the number of links.
    ///
    /// # Errors
    /// When the store does not take it, or `next` fails.
    pub fn send<E: From<VaultError>>(&self, round: u32, next: &mut NextLink<'_, E>) -> Result<u64, E> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if sent.last.is_some_and(|last| last >= round) {
            return Ok(0);
        }
        sent.begun = Some(round);
        let mut run = RunWriter::new(&*self.store, self.id(), self.epoch, sent.next, round);
        let (mut key, mut value) = (Vec::new(), Vec::new());
        while next(&mut key, &mut value)? {
            run.push(&key, &value).map_err(E::from)?;
        }
        // After an unknown answer the next try writes the same bytes under the same number.
        let links = run.finish().map_err(E::from)?;
        *sent = SentRuns { next: sent.next + 1, last: Some(round), begun: Some(round) };
        Ok(links)
    }

    /// Tells others the marks that its vault has, and removes own runs that the vaults of all others have.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn sweep(&self, marks: &RunMarks) -> Result<u64, VaultError> {
        tell_marks(&*self.store, self.id(), self.epoch, marks)?;
        // Nobody else removes those of the partitions that it was put together of, who have sent nothing in their last epochs.
        let is_of_this = |former: &&FormerPartition| self.map.heir_of(former.id) == self.id();
        let ended = self.map.former().iter().filter(is_of_this).map(|former| (former.id, former.epoch - 1));
        let (mut removed, mut untaken) = (0, 0);
        let mut begins = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        for (sender, last) in ended.chain([(self.id(), self.epoch)]) {
            let begin = begins.entry(sender).or_insert(1);
            let swept = sweep_runs(&*self.store, &self.map, sender, *begin..=last)?;
            *begin = swept.next;
            removed += swept.removed;
            untaken += swept.untaken;
        }
        self.untaken.store(untaken, Ordering::Relaxed);
        Ok(removed)
    }

    /// Removes messages before this number, which the vault has the effects of. A part of this partition that was divided off
    /// reads them as well, at first: until it has merged a round, they stay.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn sweep_inbox(&self, next: u64) -> Result<(), VaultError> {
        for part in self.map.ranges().iter().filter(|range| range.parent == Some(self.id())) {
            if !has_told(&*self.store, part.id)? {
                return Ok(());
            }
        }
        inbox::sweep(&*self.store, self.id(), next)
    }

    /// Gives the links of all runs behind these marks, and in lockstep up to a round, to `each`: which says whether it takes
    /// key and value.
    ///
    /// # Errors
    /// When the store does not answer, or `each` fails. Damage is counted.
    pub fn receive<E: From<VaultError>>(
        &self,
        marks: &RunMarks,
        round: u32,
        each: &mut EachLink<'_, E>,
    ) -> Result<ReceivedLinks, E> {
        let mut received = ReceivedLinks { marks: marks.clone(), ..ReceivedLinks::default() };
        let bounds = self.map.bounds(self.place);
        for (sender, until) in senders(&self.map, self.id()) {
            let mut times = 0;
            let mut waits = |reached: Option<u32>| {
                // One that ended sends nothing more.
                let is_waited_for = until.is_none() && reached < Some(round) && self.waits.runs.wait(times);
                times += 1;
                is_waited_for
            };
            let reading = RunReading { store: &*self.store, sender, bounds, until };
            reading.read(&mut received, &mut waits, each)?;
        }
        Ok(received)
    }
}

/// The round of the last run of the epochs before this one, as far as it counts; none if there is none.
fn last_round(store: &dyn Store, partition: u32, epoch: u64) -> Result<Option<u32>, VaultError> {
    for older in (1..epoch).rev() {
        if let Some(round) = epoch::sealed(store, partition, older)?.and_then(|seal| seal.round) {
            return Ok(Some(round));
        }
    }
    Ok(None)
}
