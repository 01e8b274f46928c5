//! Keeps the lists: measures the store's clock, writes the own list of each period in time, and reads those of the others.

use super::list::{AddressList, PeriodLists};
use super::turns::AddressSlots;
use crate::change::{is_outdated, newest_map};
use crate::key;
use crate::map::FleetMap;
use recrawl_vault::{Store, VaultError, numbers};
use std::sync::Arc;

/// Periods for which own lists stay in the store.
const KEPT: u64 = 8;
/// Milliseconds between two steps, at most.
const STEP: u64 = 500;

/// The own clock, in milliseconds.
pub type OwnClock<'c> = &'c dyn Fn() -> u64;

/// The keeper of a partition's lists, by the owner of an epoch.
#[derive(Debug)]
pub struct SlotKeeper {
    store: Arc<dyn Store>,
    map: FleetMap,
    id: u32,
    epoch: u64,
    slots: Arc<AddressSlots>,
    /// Objects that were created to read the store's clock.
    probes: u64,
    /// The last period for which a list was written, or tried to be.
    tried: Option<u64>,
    /// Are the old lists gone that earlier owners left?
    has_swept: bool,
}

impl SlotKeeper {
    /// Nothing is known yet.
    pub fn new(
        store: Arc<dyn Store>,
        map: FleetMap,
        (id, epoch): (u32, u64),
        slots: Arc<AddressSlots>,
    ) -> SlotKeeper {
        let (probes, tried, has_swept) = Default::default();
        SlotKeeper { store, map, id, epoch, slots, probes, tried, has_swept }
    }

    /// Does what is due, and says after how many milliseconds to call it again.
    ///
    /// # Errors
    /// When the store does not answer, or a list is damaged. Call it again all the same.
    pub fn step(&mut self, now: OwnClock<'_>) -> Result<u64, VaultError> {
        let periods = self.slots.periods;
        let Some(time) = self.slots.time(now()) else {
            self.probe(now)?;
            // A store that is slow, or whose clock was set, is asked as often as for a list.
            return Ok(if self.slots.time(now()).is_some() { 1 } else { periods.length() / 2 });
        };
        let next = periods.next(time).max(self.tried.map_or(0, |tried| tried + 1));
        self.slots.will_list(next);
        if time >= periods.due(next) {
            self.write(next, now)?;
        }
        if let Some((period, own)) = self.slots.closed(time) {
            self.read(period, own)?;
        }
        Ok(STEP)
    }

    /// Lists what earlier owners asked, of this partition or of those that it was made of, as far as that is known, and as
    /// there is time before the list of a period: one that comes too late costs all turns of that period.
    fn remember(&self, period: u64, now: OwnClock<'_>) -> Result<(), VaultError> {
        let periods = self.slots.periods;
        let has_time = || self.slots.time(now()).is_some_and(|time| time < periods.late(period));
        let merged = self.map.former().iter().filter(|former| former.into == self.id).map(|former| former.id);
        for elder in
            [self.id].into_iter().chain(self.map.parent_of(self.id)).chain(merged).take_while(|_| has_time())
        {
            let last = numbers(&*self.store, &key::address_lists(elder))?.pop();
            let list = last.map(|last| AddressList::read(&*self.store, elder, last)).transpose()?.flatten();
            list.into_iter().for_each(|list| self.slots.remember(list, now()));
        }
        Ok(())
    }

    /// Measures the store's clock by an object that has no other use.
    fn probe(&mut self, now: OwnClock<'_>) -> Result<(), VaultError> {
        self.probes += 1;
        let key = key::clock(self.id, self.epoch, self.probes);
        let asked = now();
        let created = self.store.create(&key, b"").map(|()| now()).and_then(|answered| {
            self.slots.measured((asked, answered), self.store.created(&key)?);
            Ok(())
        });
        // Also if the answer was lost.
        self.store.remove(&key)?;
        Ok(created?)
    }

    /// Writes the list of a period. It counts only if the store has answered in time: whoever reads it behind the close sees
    /// it.
    fn write(&mut self, period: u64, now: OwnClock<'_>) -> Result<(), VaultError> {
        let is_first = self.tried.replace(period).is_none();
        if is_first && self.slots.has_met_none() {
            // They are of use, and the list does without.
            let _ = self.remember(period, now);
        }
        let asked = now();
        let mut list = self.slots.list(asked);
        if !list.create(&*self.store, self.id, period)? {
            // Of an earlier process, but the partition's all the same: others deal by it.
            let Some(there) = AddressList::read(&*self.store, self.id, period)? else { return Ok(()) };
            list = there;
        }
        let answered = now();
        let is_in_time = |time| time <= self.slots.periods.deadline(period);
        if self.slots.time(answered).is_some_and(is_in_time) {
            self.slots.listed(period, list);
        }
        // An earlier process may have created the same one before: that is no time of this request.
        if !is_first {
            self.slots.measured((asked, answered), self.store.created(&key::addresses(self.id, period))?);
        }
        let Some(oldest) = period.checked_sub(KEPT) else { return Ok(()) };
        let old = match self.has_swept {
            true => vec![oldest],
            false => numbers(&*self.store, &key::address_lists(self.id))?,
        };
        let mut old = old.into_iter().filter(|number| *number <= oldest);
        // One that stays is found by the next list.
        self.has_swept = false;
        old.try_for_each(|number| self.store.remove(&key::addresses(self.id, number)))?;
        self.has_swept = true;
        Ok(())
    }

    /// Reads the lists of a period, which are closed, beside the own one.
    fn read(&mut self, period: u64, own: AddressList) -> Result<(), VaultError> {
        // Behind the close: a partition that has a list was in the map before.
        if is_outdated(&*self.store, &self.map)?
            && let Some(newest) = newest_map(&*self.store)?
        {
            self.map = newest;
        }
        let members: Vec<u32> = self.map.ranges().iter().map(|range| range.id).collect();
        let mut lists = PeriodLists::new(own, members.clone());
        for other in members.into_iter().filter(|id| *id != self.id) {
            if let Some(list) = AddressList::read(&*self.store, other, period)? {
                lists.add(other, list);
            }
        }
        self.slots.put_in_force(period, lists);
        Ok(())
    }
}
