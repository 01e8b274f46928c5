//! Which parts of a page's history a score reads.

use crate::{Cycle, History};
use std::ops::BitOr;

/// A set of fields of [`History`], and of what is known of a page's site. Pages that agree in the fields
/// that a formula reads have the same score, and after the same visits they agree again: that makes a
/// simulation over distinct states exact. [`History::last`] is in every set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reads(u32);

impl Reads {
    /// Nothing but [`History::last`].
    pub const LAST: Reads = Reads(0);
    /// [`History::visits`].
    pub const VISITS: Reads = Reads(1);
    /// [`History::changes`].
    pub const CHANGES: Reads = Reads(1 << 1);
    /// [`History::first`].
    pub const FIRST: Reads = Reads(1 << 2);
    /// [`History::last_change`].
    pub const LAST_CHANGE: Reads = Reads(1 << 3);
    /// [`History::ramp_visits`].
    pub const RAMP_VISITS: Reads = Reads(1 << 4);
    /// [`History::ramp_cycles`].
    pub const RAMP_CYCLES: Reads = Reads(1 << 5);
    /// [`History::geometric_visits`].
    pub const GEOMETRIC_VISITS: Reads = Reads(1 << 6);
    /// [`History::geometric_cycles`].
    pub const GEOMETRIC_CYCLES: Reads = Reads(1 << 7);
    /// [`History::changed_cycles`].
    pub const CHANGED_CYCLES: Reads = Reads(1 << 8);
    /// [`History::streak`].
    pub const STREAK: Reads = Reads(1 << 9);
    /// [`History::decayed`], one set for each half-life.
    pub const DECAYED: [Reads; 3] = [Reads(1 << 10), Reads(1 << 11), Reads(1 << 12)];
    /// [`History::weekdays`].
    pub const WEEKDAYS: Reads = Reads(1 << 13);
    /// [`StateColumns::global_rate`](crate::StateColumns::global_rate): the same for all pages of a cycle.
    pub const GLOBAL_RATE: Reads = Reads(1 << 14);
    /// [`StateColumns::site_rate`](crate::StateColumns::site_rate): the same for all pages of a site.
    pub const SITE_RATE: Reads = Reads(1 << 15);

    /// Are all of `other` in this set?
    pub const fn contains(self, other: Reads) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets together.
    pub const fn and(self, other: Reads) -> Reads {
        Reads(self.0 | other.0)
    }

    /// Does a score that reads this have to be given the rates of sites or of all pages?
    pub const fn needs_priors(self) -> bool {
        self.0 & (Reads::GLOBAL_RATE.0 | Reads::SITE_RATE.0) != 0
    }

    /// This set with all that [`History::record`] needs to bring its fields up to date.
    pub fn closed(self) -> Reads {
        let needs: [(Reads, Reads); 6] = [
            (Reads::RAMP_VISITS, Reads::VISITS),
            (Reads::RAMP_CYCLES, Reads::FIRST),
            (Reads::GEOMETRIC_CYCLES, Reads::LAST_CHANGE),
            (Reads::STREAK, Reads::VISITS.and(Reads::CHANGES).and(Reads::LAST_CHANGE)),
            (Reads::DECAYED[0], Reads::LAST_CHANGE),
            (Reads::DECAYED[1], Reads::LAST_CHANGE),
        ];
        let mut closed = self;
        for (field, needed) in needs.into_iter().chain([(Reads::DECAYED[2], Reads::LAST_CHANGE)]) {
            if self.contains(field) {
                closed = closed | needed;
            }
        }
        closed
    }

    /// The history with all fields outside the [closed](Reads::closed) set at their defaults.
    pub fn project(self, history: &History) -> History {
        let set = self.closed();
        let cycle = |field: Reads, value: Cycle| if set.contains(field) { value } else { Cycle::default() };
        History {
            visits: keep(set, Reads::VISITS, history.visits),
            changes: keep(set, Reads::CHANGES, history.changes),
            first: cycle(Reads::FIRST, history.first),
            last: history.last,
            last_change: cycle(Reads::LAST_CHANGE, history.last_change),
            ramp_visits: keep(set, Reads::RAMP_VISITS, history.ramp_visits),
            ramp_cycles: keep(set, Reads::RAMP_CYCLES, history.ramp_cycles),
            geometric_visits: keep(set, Reads::GEOMETRIC_VISITS, history.geometric_visits),
            geometric_cycles: keep(set, Reads::GEOMETRIC_CYCLES, history.geometric_cycles),
            changed_cycles: keep(set, Reads::CHANGED_CYCLES, history.changed_cycles),
            streak: keep(set, Reads::STREAK, history.streak),
            decayed: std::array::from_fn(|h| keep(set, Reads::DECAYED[h], history.decayed[h])),
            weekdays: keep(set, Reads::WEEKDAYS, history.weekdays),
        }
    }
}

fn keep<T: Default>(set: Reads, field: Reads, value: T) -> T {
    if set.contains(field) { value } else { T::default() }
}

impl BitOr for Reads {
    type Output = Reads;

    fn bitor(self, other: Reads) -> Reads {
        self.and(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What a set leaves out is never missed: a projected history grows as the whole one does.
        #[test]
        fn a_projected_history_goes_on_as_the_whole_one(
            set in 0u32..1 << 16, steps in prop::collection::vec((1u32..40, any::<bool>()), 1..40),
        ) {
            let set = Reads(set);
            let mut whole = History::first_fetch(Cycle(3));
            let mut projected = set.project(&whole);
            let mut now = 3;
            for (gap, changed) in steps {
                now += gap;
                whole.record(Cycle(now), changed);
                projected.record(Cycle(now), changed);
                projected = set.project(&projected);
                prop_assert_eq!(projected, set.project(&whole));
                prop_assert!(!set.contains(Reads::STREAK) || projected.streak == whole.streak);
                prop_assert!(!set.contains(Reads::DECAYED[2]) || projected.decayed[2] == whole.decayed[2]);
            }
            let all = Reads(u32::MAX);
            prop_assert_eq!(all.project(&whole), whole);
        }
    }
}
