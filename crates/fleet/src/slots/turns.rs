//! The turns of a partition: what its requests ask, and what the keeper of the lists tells.

use super::list::{AddressList, MAX_LISTED, PeriodLists};
use super::{LOOK_AGAIN, Periods, SlotGrid, StoreClock};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

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
    met: HashMap<IpAddr, MetAddress>,
    /// When it was last known whose turn it is.
    known: u64,
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
}

impl AddressSlots {
    /// The turns of a partition from `now` on. `lease` and `delay`, of an address, in milliseconds.
    pub fn new(id: u32, lease: u64, delay: u64, now: u64) -> AddressSlots {
        let state = Mutex::new(TurnState {
            grid: SlotGrid::new(delay),
            clock: StoreClock::default(),
            lists: BTreeMap::new(),
            met: HashMap::new(),
            known: now,
        });
        AddressSlots { id, periods: Periods::new(lease), state }
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
        wait
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
        let is_known = state.clock.time(now).is_some_and(|time| {
            let slot = state.grid.slot_at(time);
            state.lists.contains_key(&self.periods.at(state.grid.begin(slot)))
        });
        // Without a delay nobody asks for a turn.
        if is_known || state.grid.delay() == 0 {
            state.known = now;
        }
        SlotFigures { unknown_for: now.saturating_sub(state.known), clock_bound: state.clock.bound(now) }
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

    /// Are lists of a period in force?
    #[cfg(test)]
    pub(super) fn has_lists(&self, period: u64) -> bool {
        self.state().lists.contains_key(&period)
    }

    /// The lists of a period are in force, unless the delay was changed since.
    pub(super) fn put_in_force(&self, period: u64, lists: PeriodLists) {
        let mut state = self.state();
        if lists.own.delay != state.grid.delay() {
            return;
        }
        state.lists.insert(period, lists);
        // The longest slot may have begun in an earlier period.
        let kept = state.grid.begin(1) / self.periods.length() + 3;
        state.lists.retain(|known, _| known + kept >= period);
    }
}
