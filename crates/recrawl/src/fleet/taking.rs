//! Why a partition is free, in which words a process takes it, and how long it leaves it to another that makes it ready.

use super::NodeOrder;
use std::collections::BTreeMap;

/// Leases for which one that makes a partition ready is waited for: half an hour by default. It may hang, and still tell that it is
/// alive; or it has more to copy, which others then copy beside it.
const PATIENCE: u64 = 20;

/// Other processes that make partitions ready, by name, as this one heard of them by its own clock.
#[derive(Debug, Default)]
pub struct OtherTakers(BTreeMap<String, OtherTaker>);

#[derive(Debug)]
struct OtherTaker {
    order: NodeOrder,
    /// The time in its last account, and when that was heard first.
    told: (u64, u64),
    /// When it was first heard to make this partition ready.
    since: u64,
}

impl OtherTakers {
    /// Hears at `now` that the process of a name makes a partition ready by this order, as it told `at` a time of its own clock.
    /// Is it waited for? Not if it tells nothing new for a lease, and not for ever.
    pub fn are_waited_for(
        &mut self,
        (name, at): (&str, u64),
        order: NodeOrder,
        (now, lease): (u64, u64),
    ) -> bool {
        let new = OtherTaker { order, told: (at, now), since: now };
        match self.0.get_mut(name) {
            Some(known) if known.order == order => {
                if known.told.0 != at {
                    known.told = new.told;
                }
                let age = |since: u64| now.saturating_sub(since);
                age(known.told.1) < lease && age(known.since) < PATIENCE * lease
            }
            _ => {
                self.0.insert(name.to_owned(), new);
                true
            }
        }
    }
}

/// Why a partition is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyFree {
    /// Nobody has owned it.
    New,
    /// The process that owned it ran here, and has ended.
    Own,
    /// Its owner has ended, and its vault has all.
    Freed,
    /// Its owner has given it up for this process.
    HandedOver,
    /// Its owner has shown no sign of life for a lease.
    Silent,
}

impl WhyFree {
    /// May several processes copy it?
    pub fn is_contested(self) -> bool {
        matches!(self, WhyFree::Freed | WhyFree::Silent)
    }

    /// From whom it is taken, for the log: `silent` is the owner's name, and how long it has told nothing. None if from nobody.
    pub fn words(self, partition: u32, silent: Option<(&str, String)>) -> Option<String> {
        Some(match (self, silent) {
            (WhyFree::New | WhyFree::Own, _) => return None,
            (WhyFree::Freed, _) => format!("takes partition {partition}, which its owner has freed"),
            (WhyFree::HandedOver, _) => {
                format!("takes partition {partition}, which its owner has handed over")
            }
            (WhyFree::Silent, Some((owner, time))) => {
                format!("takes partition {partition} over from {owner}, silent for {time}")
            }
            (WhyFree::Silent, None) => {
                format!("takes partition {partition} over: its owner has been silent for a lease")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the own clock alone, whatever theirs tell.
    #[test]
    fn a_process_that_makes_a_partition_ready_is_waited_for_while_it_tells_and_not_for_ever() {
        const LEASE: u64 = 90_000;
        let order = |epoch| NodeOrder::Take { partition: 2, epoch };
        let mut takers = OtherTakers::default();
        let mut waits =
            |name: &str, at, epoch, now| takers.are_waited_for((name, at), order(epoch), (now, LEASE));
        // One has died, and the other hangs.
        assert!(waits("a", 5, 7, 1_000) && waits("b", 5, 7, 1_000));
        assert!(waits("a", 5, 7, 1_000 + LEASE - 1) && !waits("a", 5, 7, 1_000 + LEASE));
        assert!((1..20).all(|lease| waits("b", lease, 7, 1_000 + lease * (LEASE - 1))));
        assert!(!waits("b", 99, 7, 1_000 + 20 * LEASE));
        assert!(waits("b", 99, 8, 1_000 + 20 * LEASE), "it makes it ready once more");
    }

    #[test]
    fn a_takeover_names_the_owner_before() {
        let words = |why: WhyFree| why.words(2, Some(("b", "12 s".into()))).unwrap_or_default();
        assert_eq!(words(WhyFree::Silent), "takes partition 2 over from b, silent for 12 s");
        let gone = WhyFree::Silent.words(2, None).unwrap();
        assert_eq!(gone, "takes partition 2 over: its owner has been silent for a lease");
        assert_eq!(words(WhyFree::Freed), "takes partition 2, which its owner has freed");
        assert_eq!([words(WhyFree::New), words(WhyFree::Own)], ["", ""]);
    }
}
