//! Leases: an owner shows that it is alive, and stops before another may take its partition.
//!
//! Each side counts by its own clock, from what it did or saw itself; so offsets of clocks do not matter, and drift matters
//! only beyond the third of a lease that lies between an owner's end and a successor's beginning.

use crate::epoch::is_there;
use crate::key;
use recrawl_vault::{Store, StoreError, VaultError};

/// An owner's lease. Times are milliseconds of a clock that runs on while the machine is suspended.
#[derive(Clone, Copy, Debug)]
pub struct Lease {
    length: u64,
    /// When the last beat was sent that succeeded.
    sent: u64,
}

impl Lease {
    /// A lease of this length, which begins at `now`: the epoch was taken then or later.
    pub fn new(length: u64, now: u64) -> Lease {
        Lease { length, sent: now }
    }

    /// A beat that was sent at `sent` has succeeded by `now`. One that is too late extends nothing: a successor may have looked
    /// before it, and take the partition after it. So a lease that is over stays over, and its owner takes the next epoch like
    /// anybody else.
    pub fn beaten(&mut self, sent: u64, now: u64) {
        if self.holds(now) {
            self.sent = self.sent.max(sent);
        }
    }

    /// May the owner ask hosts and write? Not after two thirds of the lease, and not by a clock that was set back.
    pub fn holds(&self, now: u64) -> bool {
        now >= self.sent && now - self.sent < self.length * 2 / 3
    }
}

/// Another node's look at an owner.
#[derive(Clone, Copy, Debug)]
pub struct LeaseWatch {
    length: u64,
    /// The epoch and counter that were seen last, and when they were first seen.
    seen: Option<(u64, u64, u64)>,
}

impl LeaseWatch {
    /// A look at an owner whose lease has this length.
    pub fn new(length: u64) -> LeaseWatch {
        LeaseWatch { length, seen: None }
    }

    /// The owner of this epoch shows this counter, by an answer that came at `answered` to what was asked at `asked`. Has it
    /// not stepped for a whole lease? The wait begins with the answer: the beat may be younger than the question.
    pub fn is_over(&mut self, epoch: u64, counter: u64, (asked, answered): (u64, u64)) -> bool {
        match self.seen {
            Some((seen_epoch, seen, since))
                if (seen_epoch, seen) == (epoch, counter) && answered >= since =>
            {
                asked.saturating_sub(since) >= self.length
            }
            // Also after a clock that was set back: the wait begins anew.
            _ => {
                self.seen = Some((epoch, counter, answered));
                false
            }
        }
    }
}

/// Shows that the owner of an epoch is alive; the caller counts. Fails if a later epoch was taken, or the store has nothing of
/// this one any more: a disk that was unmounted, or a prefix that was wiped.
///
/// # Errors
/// [`VaultError::Lost`]; or when the store does not answer.
pub fn beat(store: &dyn Store, partition: u32, epoch: u64, counter: u64) -> Result<(), VaultError> {
    let own = key::epoch(partition, epoch);
    if !is_there(store, &own)? {
        let what = "is gone; was the prefix of the fleet wiped, or its disk unmounted?";
        return Err(VaultError::Away(format!("{}: {what}", store.locate(&own))));
    }
    let later = key::epoch(partition, epoch + 1);
    if is_there(store, &later)? {
        return Err(VaultError::Lost { object: store.locate(&later) });
    }
    Ok(store.replace(&key::beat(partition, epoch), counter.to_string().as_bytes())?)
}

/// Shows that the owner of an epoch has ended, and has shipped all: nobody needs to wait for its lease.
///
/// # Errors
/// When the store does not answer.
pub fn release(store: &dyn Store, partition: u32, epoch: u64) -> Result<(), VaultError> {
    end_with(store, partition, epoch, RELEASED)
}

/// Shows that the owner of an epoch has ended, and has shipped all, for the command that asked.
///
/// # Errors
/// When the store does not answer.
pub fn hand_over(store: &dyn Store, partition: u32, epoch: u64) -> Result<(), VaultError> {
    end_with(store, partition, epoch, HANDED_OVER)
}

fn end_with(store: &dyn Store, partition: u32, epoch: u64, counter: u64) -> Result<(), VaultError> {
    Ok(store.replace(&key::beat(partition, epoch), counter.to_string().as_bytes())?)
}

/// The counter of an owner that has ended.
pub const RELEASED: u64 = u64::MAX;

/// The counter of an owner that has ended for a command that asked for its partition. Others wait for the lease: if the
/// command is stopped, nobody else needs to notice.
pub const HANDED_OVER: u64 = u64::MAX - 1;

/// The counter of an owner; 0 before its first beat.
///
/// # Errors
/// When the store does not answer.
pub fn counter(store: &dyn Store, partition: u32, epoch: u64) -> Result<u64, VaultError> {
    let key = key::beat(partition, epoch);
    match store.read(&key, 20) {
        Err(StoreError::Absent(_)) => Ok(0),
        Err(error) => Err(error.into()),
        // Whatever else stands there does not step, so it is no sign of life.
        Ok(bytes) => Ok(std::str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok()).unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_into_a_store_that_was_wiped_is_no_sign_of_life() {
        let store = recrawl_vault::store::MemoryStore::new();
        crate::begin(&store, 1, 0, "a", 1).unwrap();
        beat(&store, 1, 1, 5).unwrap();
        assert_eq!(counter(&store, 1, 1).unwrap(), 5);
        store.remove(&key::epoch(1, 1)).unwrap();
        let told = beat(&store, 1, 1, 6).unwrap_err().to_string();
        assert!(told.contains("was the prefix of the fleet wiped"), "{told}");
        release(&store, 1, 1).unwrap();
        assert_eq!(counter(&store, 1, 1).unwrap(), RELEASED);
    }

    #[test]
    fn an_owner_stops_before_a_successor_begins_whatever_their_clocks_show() {
        const LEASE: u64 = 60_000;
        // The clock of the successor runs a quarter faster, and is a day ahead.
        let successor = |at: u64| {
            let now = 86_400_000 + at + at / 4;
            (now, now)
        };
        let mut lease = Lease::new(LEASE, 0);
        let mut watch = LeaseWatch::new(LEASE);
        lease.beaten(10_000, 10_500);
        // It sees the counter only once it was sent.
        assert!(!watch.is_over(1, 1, successor(10_000)));
        let last = (10_000..200_000).step_by(100).take_while(|at| lease.holds(*at)).last().unwrap();
        let first = (10_000..200_000).step_by(100).find(|at| watch.is_over(1, 1, successor(*at))).unwrap();
        assert_eq!((last, first), (49_900, 58_000));
        assert!(!lease.holds(9_000), "a clock that was set back ends it");
        assert!(!watch.is_over(1, 2, successor(90_000)), "a step begins anew");
        assert!(!watch.is_over(1, 2, (5, 5)), "and so does a clock that was set back");
        let mut slow = LeaseWatch::new(LEASE);
        assert!(!slow.is_over(1, 1, (0, 30_000)), "the beat may have come just before the answer");
        assert!(!slow.is_over(1, 1, (89_999, 89_999)) && slow.is_over(1, 1, (90_000, 90_000)));
        lease.beaten(4_000, 20_000);
        assert!(lease.holds(20_000), "an older answer that comes late takes nothing away");
        lease.beaten(49_000, 50_000);
        assert!(!lease.holds(50_000), "an answer that comes when the lease is over extends nothing");
    }
}
