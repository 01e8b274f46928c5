//! What format version 1 did not keep of a page's history, worked out from what it kept.
//!
//! The geometric sums are histories themselves, read as binary numbers. By visits the bit in front of the
//! point is the last comparison, the one behind it the comparison before; by cycles it is the cycle of the
//! last change, and the next one the cycle before that. An `f64` has 53 such bits. So the streak, the changes
//! by weekday and the decayed sums are exact where all changes lie within 53 cycles of the last one (older
//! ones are left out), and only the cycles before changes are an estimate.

use recrawl_types::{Cycle, History, StateColumns, decay};

/// Bits of an `f64`.
const BITS: u32 = f64::MANTISSA_DIGITS;

/// Fills the columns that version 1 does not have, for the visited pages at `places`.
pub(crate) fn complete_rows(columns: &mut StateColumns, places: &[usize]) {
    for &row in places {
        let mut history = columns.history(row).expect("a place is that of a visited page");
        complete(&mut history);
        columns.set_history(row, &history);
    }
}

/// Fills the fields that version 1 does not have.
pub(crate) fn complete(history: &mut History) {
    let watched = u64::from(history.last.since(history.first));
    let (n, x) = (u64::from(history.visits), u64::from(history.changes));
    // All visits alike: those that met a change had their part of the time.
    let changed_cycles = (watched * x + n / 2).checked_div(n).unwrap_or(0).min(watched);
    history.changed_cycles = u32::try_from(changed_cycles).unwrap_or(u32::MAX);
    history.streak = streak(history);
    (history.decayed, history.weekdays) = Default::default();
    let mut before = Cycle(0);
    for cycle in changes(history).into_iter().rev() {
        for (sum, half_life) in history.decayed.iter_mut().zip(decay::HALF_LIVES) {
            // As `History::record` does it, to the last bit.
            *sum = (f64::from(*sum) * decay::weight(half_life, cycle.since(before)) + 1.0) as f32;
        }
        let weekday = &mut history.weekdays[cycle.0 as usize % 7];
        *weekday = weekday.saturating_add(1);
        before = cycle;
    }
}

/// Is the bit that stands `place` places behind the one in front of the point set?
fn bit(sum: f64, place: u32) -> bool {
    // A sum of 53 ones and more is rounded up to 2.
    sum >= 2.0 || (sum * f64::from_bits(u64::from(1023 + place) << 52)) as u64 & 1 == 1
}

fn streak(history: &History) -> u32 {
    if history.changes == history.visits {
        return history.visits;
    }
    let last = history.last_visit_changed();
    // Noughts in front of the first one are the exponent's, which reaches further than the bits.
    let places = history.visits.min(if last { BITS } else { 1000 });
    (0..places).take_while(|&place| bit(history.geometric_visits, place) == last).count() as u32
}

/// The cycles of the changes, latest first: up to 53 cycles before the last one.
fn changes(history: &History) -> Vec<Cycle> {
    let seen = history.last_change.since(history.first).min(BITS - 1);
    let ages = (0..=seen).filter(|&age| bit(history.geometric_cycles, age));
    ages.map(|age| Cycle(history.last_change.0 - age)).take(history.changes as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What version 1 kept of a history, completed.
    fn upgraded(history: &History) -> History {
        let mut kept = History {
            changed_cycles: 0,
            streak: 0,
            decayed: Default::default(),
            weekdays: Default::default(),
            ..*history
        };
        complete(&mut kept);
        kept
    }

    proptest! {
        #[test]
        fn a_history_of_53_cycles_comes_back_but_for_the_cycles_before_changes(
            steps in proptest::collection::vec((1u32..5, any::<bool>()), 0..40)
        ) {
            let mut history = History::first_fetch(Cycle(6));
            let mut now = 6;
            for (gap, changed) in steps {
                now += gap;
                if now - 6 <= BITS {
                    history.record(Cycle(now), changed);
                }
            }
            let upgraded = upgraded(&history);
            prop_assert_eq!(History { changed_cycles: history.changed_cycles, ..upgraded }, history);
            prop_assert!(upgraded.changed_cycles <= history.last.since(history.first));
            prop_assert_eq!(upgraded.changed_cycles == 0, history.changes == 0);
        }
    }

    #[test]
    fn what_lies_further_back_is_left_out_and_never_more_than_there_is() {
        for changed in [true, false] {
            let mut history = History::first_fetch(Cycle(1));
            (2..=500).for_each(|cycle| history.record(Cycle(cycle), changed));
            let upgraded = upgraded(&history);
            assert_eq!(upgraded.streak, 499);
            assert_eq!(upgraded.changed_cycles, history.changed_cycles);
            let counted: u32 = upgraded.weekdays.iter().map(|&count| u32::from(count)).sum();
            assert_eq!(counted, if changed { BITS } else { 0 });
            assert!(upgraded.decayed.iter().zip(history.decayed).all(|(sum, whole)| *sum <= whole));
        }
        let never = History::first_fetch(Cycle(9));
        assert_eq!(upgraded(&never), never);
    }
}
