//! Turns at addresses that several partitions ask.
//!
//! A host lies in one partition, but an address may serve hosts of many. Time by the store's clock is cut in slots, and each
//! slot of an address is dealt to one partition. Clocks differ by [`CLOCK_BOUND`] at most, or their owners ask nothing.
//!
//! Before each *period* every owner creates a list of its addresses, and after the period's lists are *closed* it reads those
//! of the others. What a slot is dealt by are the lists of the period in which it begins:
//!
//! - an owner whose list was not there before the close asks no address at all: so whoever misses a list misses nobody
//! - an address that one list has belongs to that partition alone, without gaps but its delay
//! - an address that several lists have is dealt among these by their weights
//! - an address that no list has was met since, and is dealt among all partitions of the map
//! - whoever meets an address that only other lists have waits for its own next list
//!
//! Two owners that ask an address therefore know each other, and deal alike. A map is read with the lists, behind the close:
//! a new partition has no list before its map is in force, so no owner overlooks it.

mod clock;
mod keeper;
mod list;
mod turns;

pub use clock::StoreClock;
pub use keeper::SlotKeeper;
pub use turns::{AddressSlots, SlotFigures};

use std::net::IpAddr;
use xxhash_rust::xxh3::xxh3_64;

/// Milliseconds by which a clock may differ from the store's.
pub const CLOCK_BOUND: u64 = 1_000;
/// Milliseconds in which requests begin, at least.
const SHORTEST: u64 = 10_000;
/// The same, as a multiple of the delay.
const DELAYS: u64 = 4;
/// Slots that are looked at for the next turn.
const AHEAD: u64 = 4;
/// Milliseconds until somebody looks again who does not know whose turn it is.
const LOOK_AGAIN: u64 = 1_000;
/// Milliseconds of the shortest period.
const SHORTEST_PERIOD: u64 = 6_000;

/// Where slots begin and end, for addresses with a delay. Times are milliseconds of the store's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotGrid {
    delay: u64,
}

impl SlotGrid {
    pub(crate) fn new(delay: u64) -> SlotGrid {
        SlotGrid { delay }
    }

    /// The delay of an address.
    pub(crate) fn delay(self) -> u64 {
        self.delay
    }

    /// Time of a slot in which requests may begin, also if the next one is another's.
    pub(crate) fn open(self) -> u64 {
        SHORTEST.max(self.delay.saturating_mul(DELAYS))
    }

    /// Time at the end of a slot in which nobody begins: the first clock may be late, and the second one early.
    fn gap(self) -> u64 {
        self.delay + 2 * CLOCK_BOUND
    }

    fn length(self) -> u64 {
        self.open().saturating_add(self.gap())
    }

    pub(crate) fn begin(self, slot: u64) -> u64 {
        slot.saturating_mul(self.length())
    }

    pub(crate) fn slot_at(self, time: u64) -> u64 {
        time / self.length()
    }

    /// How long to wait before a request may begin whose answer usually takes so long; none if it may begin now. `is_own`:
    /// is a slot this partition's? None if that is not known yet.
    pub(crate) fn wait(self, time: u64, usual: u64, is_own: impl Fn(u64) -> Option<bool>) -> Option<u64> {
        let slot = self.slot_at(time);
        let now = is_own(slot);
        if now == Some(true) {
            let ends = slot + 1..slot + AHEAD;
            let end = ends.clone().find(|next| is_own(*next) != Some(true)).unwrap_or(ends.end);
            // An answer that takes half of a slot or more must begin in the first half: it would never begin otherwise.
            if time + usual.min(self.open() / 2) <= self.begin(end) - self.gap() {
                return None;
            }
        }
        let next = (slot + 1..=slot + AHEAD).find(|next| is_own(*next) == Some(true)).unwrap_or(slot + 1);
        let wait = (self.begin(next) - time).max(1);
        Some(if now.is_none() { wait.min(LOOK_AGAIN) } else { wait })
    }
}

/// A partition that shares an address, and its weight.
pub(crate) type Sharer = (u32, u32);

/// The partition that has a slot of an address: each by its weight, in the long run. Whoever has it among many has it also
/// among fewer, so two that know each other never both have it, whomever else they know. The arithmetic is that of integers,
/// and alike on all machines.
pub(crate) fn taker(address: IpAddr, slot: u64, sharers: impl Iterator<Item = Sharer>) -> Option<u32> {
    let time = |(id, weight): Sharer| {
        let mut text = [0; 28];
        let bytes = match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
            IpAddr::V6(v6) => v6.octets(),
        };
        text[..16].copy_from_slice(&bytes);
        text[16..24].copy_from_slice(&slot.to_be_bytes());
        text[24..].copy_from_slice(&id.to_be_bytes());
        (minus_log2(xxh3_64(&text)), u64::from(weight.max(1)), id)
    };
    // The first of events that come at rates: the smallest exponential time, divided by the weight.
    let first = sharers.map(time).min_by(|(time, weight, id), (other, other_weight, other_id)| {
        let (one, two) =
            (u128::from(*time) * u128::from(*other_weight), u128::from(*other) * u128::from(*weight));
        one.cmp(&two).then(id.cmp(other_id))
    });
    first.map(|(_, _, id)| id)
}

/// −log₂(n / 2⁶⁴) with 32 fractional bits.
fn minus_log2(n: u64) -> u64 {
    let n = n.max(1);
    let zeros = u64::from(n.leading_zeros());
    // From 1 to 2, with 63 fractional bits.
    let mut x = u128::from(n << zeros);
    let mut fraction = 0;
    for bit in (0..32).rev() {
        x = (x * x) >> 63;
        if x >> 64 != 0 {
            x >>= 1;
            fraction |= 1 << bit;
        }
    }
    ((1 + zeros) << 32) - fraction
}

/// The periods of a fleet: for each there is one list of each partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Periods {
    length: u64,
}

impl Periods {
    /// Of a fleet with leases of so many milliseconds.
    pub(crate) fn new(lease: u64) -> Periods {
        Periods { length: SHORTEST_PERIOD.max(lease / 2) }
    }

    pub(crate) fn length(self) -> u64 {
        self.length
    }

    pub(crate) fn at(self, time: u64) -> u64 {
        time / self.length
    }

    /// When its lists are read, at the earliest.
    pub(crate) fn close(self, period: u64) -> u64 {
        (period * self.length).saturating_sub(self.length / 3)
    }

    /// When a list must be there, by its writer's clock: before the close by the clock of any reader.
    pub(crate) fn deadline(self, period: u64) -> u64 {
        self.close(period).saturating_sub(2 * CLOCK_BOUND)
    }

    /// When to write a list.
    pub(crate) fn due(self, period: u64) -> u64 {
        self.deadline(period).saturating_sub(self.length / 4)
    }

    /// From when on nothing else is asked of the store before a list is written.
    pub(crate) fn late(self, period: u64) -> u64 {
        self.deadline(period).saturating_sub(self.length / 8)
    }

    /// The first period for which a list may be in time.
    pub(crate) fn next(self, time: u64) -> u64 {
        let at = self.at(time);
        (at..).find(|period| self.deadline(*period) > time).unwrap_or(at)
    }
}

#[cfg(test)]
mod tests;
