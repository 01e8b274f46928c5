//! Client limit for connections and event streams: a total, and less than that for one client.
//!
//! One client that opens many connections must not block `/health` for another; otherwise a
//! supervisor would restart the process. A client is a [`network`].

use crate::network;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// One client gets at most all but 1/[`KEPT`] of the seats.
const KEPT: usize = 4;

/// A limited number of seats.
pub struct Seats {
    free: Arc<Semaphore>,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
    all: usize,
}

/// A seat; dropping it frees the seat.
pub struct Seat {
    from: IpAddr,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
    _permit: OwnedSemaphorePermit,
}

impl Seats {
    /// `all` free seats.
    pub fn new(all: usize) -> Seats {
        Seats { free: Arc::new(Semaphore::new(all)), taken: Arc::default(), all }
    }

    /// A seat for the client at `from`; none if all are taken, or if the client has its maximum.
    pub fn take(&self, from: IpAddr) -> Option<Seat> {
        let from = network::of(from);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let of_this = taken.get(&from).copied().unwrap_or(0);
        if of_this >= self.all - self.all / KEPT {
            return None;
        }
        let permit = self.free.clone().try_acquire_owned().ok()?;
        taken.insert(from, of_this + 1);
        Some(Seat { from, taken: self.taken.clone(), _permit: permit })
    }

    /// Number of taken seats.
    pub fn taken(&self) -> usize {
        self.all - self.free.available_permits()
    }

    /// Waits until all seats are free.
    pub async fn empty(&self) {
        let all = u32::try_from(self.all).unwrap_or(u32::MAX);
        // The semaphore is never closed, so this ends only when all seats are free.
        let _all = self.free.acquire_many(all).await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_this) = taken.get_mut(&self.from) {
            *of_this -= 1;
            if *of_this == 0 {
                taken.remove(&self.from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_client_does_not_get_all() {
        let (seats, greedy, other) =
            (Seats::new(8), IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let mut held: Vec<Seat> = std::iter::from_fn(|| seats.take(greedy)).collect();
        assert_eq!(held.len(), 6);
        held.extend(std::iter::from_fn(|| seats.take(other)));
        assert_eq!((held.len(), seats.taken()), (8, 8), "the rest is for others");
        assert!(seats.take([10, 0, 0, 3].into()).is_none());
        drop(held.remove(0));
        assert!(seats.take(greedy).is_some(), "a place that was given back");
        drop(held);
        seats.empty().await;
        assert!(seats.taken.lock().unwrap().is_empty(), "who has none is forgotten");
    }

    #[tokio::test]
    async fn all_addresses_of_an_ipv6_network_are_one_client() {
        let seats = Seats::new(8);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut held: Vec<Seat> =
            (1..=8).map_while(|host| seats.take(address(&format!("2001:db8::{host}")))).collect();
        assert_eq!(held.len(), 6, "addresses of one /64 share what one client may have");
        held.extend(seats.take(address("2001:db8:0:1::1")));
        held.extend(seats.take(address("::ffff:192.0.2.1")));
        assert_eq!(held.len(), 8, "the rest is for others");
        drop(held);
        let mut held: Vec<Seat> = std::iter::from_fn(|| seats.take(address("192.0.2.1"))).collect();
        assert_eq!(held.len(), 6);
        assert!(seats.take(address("::ffff:192.0.2.1")).is_none(), "the same address in its other spelling");
        held.clear();
        seats.empty().await;
        assert!(seats.taken.lock().unwrap().is_empty(), "who has none is forgotten");
    }

    #[test]
    fn of_few_places_one_client_may_have_all() {
        let seats = Seats::new(3);
        let held: Vec<Seat> = std::iter::from_fn(|| seats.take([127, 0, 0, 1].into())).collect();
        assert_eq!(held.len(), 3);
    }
}
