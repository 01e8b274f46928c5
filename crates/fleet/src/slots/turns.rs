//! The turns of a partition: what its requests ask, and what the keeper of the lists tells.

use super::list::{AddressList, MAX_LISTED, PeriodLists};
use super::{LOOK_AGAIN, Periods, SlotGrid, StoreClock};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Periods for which an address stays listed that nobody asks any more.
const LISTED: u64 = 4;
/// Milliseconds of an answer, where nothing is known.
const USUAL: u64 = 1_000;
/// The usual time shrinks by this part with each faster answer.
const SHRINKS: u64 = 8;

/// Turns at each address that a partition asks. Times are milliseconds of the own clock, as of [`StoreClock`].
#[derive(Debug)]
pub struct AddressSlots {
    id: u32,
    pub(super) periods: Periods,
    state: Mutex<TurnState>,
}

#[derive(Debug)]
struct TurnState {
    grid: SlotGrid,
    clock: StoreClock,
    lists: BTreeMap<u64, PeriodLists>,
    /// Own lists that were there in time, and whose periods were not read.
    unread: BTreeMap<u64, AddressList>,
    /// The first period that may have a list of this process.
    first: Option<u64>,
    met: HashMap<IpAddr, MetAddress>,
    /// When it was last known whose turn it is.
    known: u64,
    /// No request begins before: the last one of an earlier owner may have ended just before this one began.
    begins: u64,
}

#[derive(Debug, Default)]
struct MetAddress {
    /// When somebody wanted to ask it last.
    wanted: u64,
    /// Pages that are due, by host.
    due: HashMap<u64, u64>,
    /// How long its answers usually take at most; none before the first.
    usual: Option<u64>,
}

/// The account that a process gives of its turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotFigures {
    /// Milliseconds for which this process has not known whose turn it is at any address: it asks none.
    pub unknown_for: u64,
    /// By how many milliseconds its clock may differ from the store's; none before it was measured.
    pub clock_bound: Option<u64>,
    /// Milliseconds until it may know whose turn it is; none if it does, or its clock does not tell.
    pub begins_in: Option<u64>,
    /// Hosts that wait for that.
    pub hosts: u64,
}

impl AddressSlots {
    /// The turns of a partition from `now` on. `lease` and `delay`, of an address, in milliseconds.
    pub fn new(id: u32, lease: u64, delay: u64, now: u64) -> AddressSlots {
        let state = Mutex::new(TurnState {
            grid: SlotGrid::new(delay),
            clock: StoreClock::default(),
            lists: BTreeMap::new(),
            unread: BTreeMap::new(),
            first: None,
            met: HashMap::new(),
            known: now,
            begins: now + delay,
        });
        AddressSlots { id, periods: Periods::new(lease), state }
    }

    /// The turns of a process that owned the partition before, and owns it again from `now` on: the lists that it wrote are the
    /// partition's, whoever owned that meanwhile. None if they are of another partition.
    pub(crate) fn kept(self: Arc<Self>, id: u32, lease: u64, delay: u64, now: u64) -> Option<Arc<Self>> {
        if self.id != id || self.periods.length() != Periods::new(lease).length() {
            return None;
        }
        self.set_delay(delay);
        let mut state = self.state();
        state.met.values_mut().for_each(|met| met.due.clear());
        // After a long time it has met none: see `remember`.
        let oldest = now.saturating_sub(LISTED * self.periods.length());
        state.met.retain(|_, met| met.wanted >= oldest);
        (state.known, state.begins) = (now, now + delay);
        drop(state);
        Some(self)
    }

    fn state(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Addresses have another delay from now on. Slots of the old one are not this partition's any more.
    pub fn set_delay(&self, delay: u64) {
        let mut state = self.state();
        if state.grid.delay() != delay {
            state.grid = SlotGrid::new(delay);
            state.lists.clear();
            state.unread.clear();
        }
    }

    /// How many milliseconds to wait, and then ask again, before a request to this address may begin; none if it may begin
    /// now.
    pub fn wait(&self, address: IpAddr, now: u64) -> Option<u64> {
        let mut state = self.state();
        let met = state.met.entry(address).or_default();
        met.wanted = now;
        let usual = met.usual.unwrap_or(USUAL);
        let Some(time) = state.clock.time(now) else { return Some(LOOK_AGAIN) };
        let (grid, lists) = (state.grid, &state.lists);
        let of_slot = |slot: u64| lists.get(&self.periods.at(grid.begin(slot)));
        let wait = grid.wait(time, usual, |slot| Some(of_slot(slot)?.is_own(address, slot, self.id)));
        if of_slot(grid.slot_at(time)).is_some() {
            state.known = now;
        }
        let rests = state.begins.saturating_sub(now);
        if rests > 0 { Some(wait.unwrap_or_default().max(rests)) } else { wait }
    }

    /// A host has this address, and so many pages that are due.
    pub fn met(&self, address: IpAddr, host: u64, pages: u64, now: u64) {
        let mut state = self.state();
        let met = state.met.entry(address).or_default();
        met.wanted = now;
        met.due.insert(host, pages);
    }

    /// A request of a host begins there.
    pub fn began(&self, address: IpAddr, host: u64) {
        let mut state = self.state();
        if let Some(due) = state.met.get_mut(&address).and_then(|met| met.due.get_mut(&host)) {
            *due = due.saturating_sub(1);
        }
    }

    /// An answer came from there, after so many milliseconds.
    pub fn answered(&self, address: IpAddr, took: u64) {
        let mut state = self.state();
        let met = state.met.entry(address).or_default();
        let faded = met.usual.map_or(0, |usual| usual - usual / SHRINKS);
        met.usual = Some(faded.max(took));
    }

    /// The account that it gives of itself.
    pub fn figures(&self, now: u64) -> SlotFigures {
        let mut state = self.state();
        let (grid, time) = (state.grid, state.clock.time(now));
        let period_of = |slot| self.periods.at(grid.begin(slot));
        let has_list = |slot| state.lists.contains_key(&period_of(slot));
        let is_known = time.is_some_and(|time| has_list(grid.slot_at(time)));
        let begins_in = time.filter(|_| !is_known).and_then(|time| {
            let may_have =
                |slot: &u64| has_list(*slot) || state.first.is_some_and(|first| period_of(*slot) >= first);
            let mut slots = grid.slot_at(time) + 1..=grid.slot_at(time + 3 * self.periods.length()) + 1;
            slots.find(may_have).map(|slot| grid.begin(slot) - time)
        });
        // Without a delay nobody asks for a turn.
        let waits = !is_known && grid.delay() > 0;
        if !waits {
            state.known = now;
        }
        let due = state.met.values().filter(|_| waits).flat_map(|met| met.due.values());
        SlotFigures {
            unknown_for: now.saturating_sub(state.known),
            clock_bound: state.clock.bound(now),
            begins_in: begins_in.filter(|_| waits),
            hosts: due.filter(|due| **due > 0).count() as u64,
        }
    }

    /// The store's time.
    pub(super) fn time(&self, now: u64) -> Option<u64> {
        self.state().clock.time(now)
    }

    /// See [`StoreClock::measured`].
    pub(super) fn measured(&self, times: (u64, u64), created: u64) {
        let doubt = 2 * self.periods.length();
        self.state().clock.measured(times, created, doubt);
    }

    /// The addresses that are asked, and were until a while ago.
    pub(super) fn list(&self, now: u64) -> AddressList {
        let mut state = self.state();
        let oldest = now.saturating_sub(LISTED * self.periods.length());
        state.met.retain(|_, met| met.wanted >= oldest);
        let grid = state.grid;
        let a_slot = (grid.open() / grid.delay().max(1)).max(1);
        let weight = |met: &MetAddress| {
            let due = met.due.values().fold(0u64, |sum, due| sum.saturating_add(*due));
            u32::try_from(due.div_ceil(a_slot)).unwrap_or(u32::MAX).max(1)
        };
        state.met.values_mut().for_each(|met| met.due.retain(|_, due| *due > 0));
        let addresses = state.met.iter().take(MAX_LISTED).map(|(address, met)| (*address, weight(met)));
        AddressList { delay: grid.delay(), addresses: addresses.collect() }
    }

    /// Lists these addresses as well, which an earlier owner asked: the first list of this process is made before it has met
    /// them, and of those that it leaves out it has no turn, as others list them.
    pub(super) fn remember(&self, list: AddressList, now: u64) {
        let mut state = self.state();
        for address in list.addresses.into_keys() {
            state.met.entry(address).or_default().wanted = now;
        }
    }

    /// Has it met no address yet?
    pub(super) fn has_met_none(&self) -> bool {
        self.state().met.is_empty()
    }

    /// The next list of this process is that of a period.
    pub(super) fn will_list(&self, period: u64) {
        let mut state = self.state();
        if !state.unread.keys().chain(state.lists.keys()).any(|known| *known + 1 >= period) {
            state.first = Some(period);
        }
    }

    /// The own list of a period was there in time.
    pub(super) fn listed(&self, period: u64, list: AddressList) {
        self.state().unread.insert(period, list);
    }

    /// The earliest period that is closed at a time, and whose lists were not read; with the own one. One that cannot be read
    /// must not keep those behind it from being read.
    pub(super) fn closed(&self, time: u64) -> Option<(u64, AddressList)> {
        let mut state = self.state();
        state.unread.retain(|period, _| *period + 2 > self.periods.at(time));
        let closed = state.unread.iter().find(|(period, _)| time >= self.periods.close(**period));
        closed.map(|(period, list)| (*period, list.clone()))
    }

    /// Are lists of a period in force?
    #[cfg(test)]
    pub(super) fn has_lists(&self, period: u64) -> bool {
        self.state().lists.contains_key(&period)
    }

    /// The lists of a period are in force, unless the delay was changed since.
    pub(super) fn put_in_force(&self, period: u64, lists: PeriodLists) {
        let mut state = self.state();
        state.unread.remove(&period);
        if lists.own.delay != state.grid.delay() {
            return;
        }
        state.lists.insert(period, lists);
        // The longest slot may have begun in an earlier period.
        let kept = state.grid.begin(1) / self.periods.length() + 3;
        state.lists.retain(|known, _| known + kept >= period);
    }
}
