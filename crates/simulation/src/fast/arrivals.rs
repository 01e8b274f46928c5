//! The states that pages reached in the current cycle.

use super::states::NOWHERE;
use recrawl_types::History;

/// A hash table of the rows whose pages were visited in this cycle. Pages of other rows cannot be
/// in the same state, since their last visit was in another cycle.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    /// Rows by the hash of their state, or [`NOWHERE`]; the length is a power of two, at most half
    /// full.
    slots: Vec<u32>,
}

/// The free slot for a row that is not in the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot(usize);

impl Arrivals {
    /// Empties the table and reserves space for `rows` rows.
    pub fn clear(&mut self, rows: usize) {
        self.slots.clear();
        self.slots.resize((2 * rows).next_power_of_two(), NOWHERE);
    }

    /// The row with this history at this site, as `same` recognises it, or the free slot for it.
    pub fn find(&self, history: &History, site: u32, same: impl Fn(u32) -> bool) -> Result<u32, Slot> {
        let mask = self.slots.len() - 1;
        let mut place = hash(history, site) as usize & mask;
        loop {
            match self.slots[place] {
                NOWHERE => return Err(Slot(place)),
                row if same(row) => return Ok(row),
                _ => place = (place + 1) & mask,
            }
        }
    }

    /// Inserts a row at the slot that [`find`](Self::find) returned.
    pub fn insert(&mut self, slot: Slot, row: u32) {
        self.slots[slot.0] = row;
    }
}

/// A fast hash of a history and a site. The last visit is omitted, since all rows share it. Results
/// do not depend on the hash.
fn hash(h: &History, site: u32) -> u64 {
    let two = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let days = |d: usize| u32::from(h.weekdays[d]) << 16 | u32::from(h.weekdays[d + 1]);
    let decayed = h.decayed.map(f32::to_bits);
    let words = [
        two(h.visits, h.changes),
        two(h.first.0, h.last_change.0),
        h.ramp_visits,
        h.ramp_cycles,
        h.geometric_visits.to_bits(),
        h.geometric_cycles.to_bits(),
        two(h.changed_cycles, h.streak),
        two(decayed[0], decayed[1]),
        two(decayed[2], days(0)),
        two(days(2), days(4)),
        two(h.weekdays[6].into(), site),
    ];
    // Independent products; the factors are odd and very different.
    let factor = |i: usize| 0x9e37_79b9_7f4a_7c15u64.rotate_left(5 * i as u32) | 1;
    let sum =
        (0..).zip(words).fold(0u64, |sum, (i, word)| sum ^ word.wrapping_mul(factor(i)).rotate_left(32));
    let sum = (sum ^ sum >> 32).wrapping_mul(factor(0));
    sum ^ sum >> 32
}
