//! Which parts of a page's history a score reads.

use crate::{History, history_fields};
use std::ops::BitOr;

/// A set of fields of [`History`], and of what is known of a page's site. Pages that agree in the fields
/// that a formula reads have the same score, and after the same visits they agree again: that makes a
/// simulation over distinct states exact. [`History::last`] is in every set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reads(u32);

impl Reads {
    /// [`StateColumns::global_rate`](crate::StateColumns::global_rate): the same for all pages of a cycle.
    pub const GLOBAL_RATE: Reads = Reads(1 << 14);
    /// [`StateColumns::site_rate`](crate::StateColumns::site_rate): the same for all pages of a site.
    pub const SITE_RATE: Reads = Reads(1 << 15);

    /// [`StateColumns::signals`](crate::StateColumns::signals), with the precision and the recall of the
    /// host's signals.
    pub const SIGNALS: Reads = Reads(1 << 16);

    /// [`StateColumns::sibling_rate`](crate::StateColumns::sibling_rate) and
    /// [`StateColumns::burst`](crate::StateColumns::burst).
    pub const SIBLINGS: Reads = Reads(1 << 17);
    /// [`StateColumns::next_change`](crate::StateColumns::next_change).
    pub const NEXT_CHANGE: Reads = Reads(1 << 18);
    /// [`StateColumns::relevance`](crate::StateColumns::relevance).
    pub const RELEVANCE: Reads = Reads(1 << 19);
    /// [`StateColumns::section_rate`](crate::StateColumns::section_rate).
    pub const SECTION: Reads = Reads(1 << 20);
    /// [`StateColumns::importance`](crate::StateColumns::importance).
    pub const IMPORTANCE: Reads = Reads(1 << 21);
    /// [`StateColumns::in_links_rank`](crate::StateColumns::in_links_rank).
    pub const IN_LINKS: Reads = Reads(1 << 22);

    /// That model with its feature of sections: other weights.
    pub const NEXT_CHANGE_BY_SECTION: Reads = Reads(1 << 23);

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

    /// Does a score that reads this need a pass over all pages before it?
    pub const fn needs_first_pass(self) -> bool {
        self.needs_priors() || self.contains(Reads::IN_LINKS)
    }

    /// Does a score that reads this have to be given signals?
    pub const fn needs_signals(self) -> bool {
        self.contains(Reads::SIGNALS)
    }

    /// Does a score that reads this have to be given what the siblings of pages showed?
    pub const fn needs_siblings(self) -> bool {
        self.contains(Reads::SIBLINGS)
    }

    /// Does a score that reads this have to be given the rates of sections?
    pub const fn needs_sections(self) -> bool {
        self.contains(Reads::SECTION)
    }

    /// Does the score of a page depend on its neighbours in the order of URLs?
    pub const fn needs_neighbours(self) -> bool {
        self.needs_siblings() || self.needs_sections()
    }
}

/// The sets of a field: one for all of it, or one for each value of an array.
trait Sets<T>: Copy {
    /// Does a score that reads `set` read anything of the field?
    fn meet(self, set: Reads) -> bool;
    /// The value, zero where `set` does not have it.
    fn keep(self, set: Reads, value: T) -> T;
}

impl<T: Default> Sets<T> for Reads {
    fn meet(self, set: Reads) -> bool {
        self.0 & set.0 != 0
    }

    fn keep(self, set: Reads, value: T) -> T {
        if set.contains(self) { value } else { T::default() }
    }
}

impl<T: Copy + Default, const N: usize> Sets<[T; N]> for [Reads; N] {
    fn meet(self, set: Reads) -> bool {
        self.into_iter().any(|one| Sets::<T>::meet(one, set))
    }

    fn keep(self, set: Reads, values: [T; N]) -> [T; N] {
        std::array::from_fn(|i| self[i].keep(set, values[i]))
    }
}

macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident: $type:ty, since $since:literal
       [$reads:ident: $sets:ty = $bits:expr, needs $($needs:ident)*];)*) => {
        impl Reads {
            $(#[doc = concat!("[`History::", stringify!($name), "`]")]
            pub const $reads: $sets = $bits;)*

            /// This set with all that [`History::record`] needs to bring its fields up to date.
            pub fn closed(self) -> Reads {
                let mut closed = self;
                $(if Sets::<$type>::meet(Reads::$reads, self) {
                    $(closed = closed | Reads::$needs;)*
                })*
                closed
            }

            /// The history with all fields outside the [closed](Reads::closed) set at their defaults.
            pub fn project(self, history: &History) -> History {
                let set = self.closed();
                History { $($name: Reads::$reads.keep(set, history.$name),)* }
            }
        }
    };
}

history_fields!(fields);

impl BitOr for Reads {
    type Output = Reads;

    fn bitor(self, other: Reads) -> Reads {
        self.and(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cycle;
    use proptest::prelude::*;

    proptest! {
        /// What a set leaves out is never missed: a projected history grows as the whole one does.
        #[test]
        fn a_projected_history_goes_on_as_the_whole_one(
            set in any::<u32>(), steps in prop::collection::vec((1u32..40, any::<bool>()), 1..40),
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

    impl Reads {
        /// Inputs that are neither of a record nor one of the groups above.
        const BESIDE: [Reads; 4] = [Reads::NEXT_CHANGE, Reads::RELEVANCE, Reads::IMPORTANCE, Reads::IN_LINKS];
    }

    /// Which fields each bit stands for.
    macro_rules! owners {
        ($($(#[$doc:meta])* $name:ident: $type:ty, since $since:literal
           [$reads:ident: $sets:ty = $bits:expr, needs $($needs:ident)*];)*) => {
            fn owners(bit: Reads) -> Vec<&'static str> {
                let mut owners = Vec::new();
                $(if Sets::<$type>::meet(Reads::$reads, bit) {
                    owners.push(stringify!($name));
                })*
                owners
            }
        };
    }

    history_fields!(owners);

    #[test]
    fn every_field_has_bits_of_its_own() {
        for bit in (0..u32::BITS).map(|bit| Reads(1 << bit)) {
            let beside = [bit.needs_priors(), bit.needs_signals(), bit.needs_neighbours()];
            let others =
                beside.map(usize::from).iter().sum::<usize>() + usize::from(Reads::BESIDE.contains(&bit));
            assert!(owners(bit).len() + others <= 1, "{bit:?} stands for {:?}", owners(bit));
        }
        let mut whole = History::first_fetch(Cycle(3));
        whole.record(Cycle(5), true);
        whole.record(Cycle(9), true);
        let last = History { last: whole.last, ..History::default() };
        assert_eq!(Reads::LAST.project(&whole), last, "every other field has a bit");
    }
}
