//! Client limit for connections and event streams: a total, and less than that for one client.
//!
//! One client that opens many connections must not block `/health` for another; otherwise a
//! supervisor would restart the process. A client is a [`network`].

use crate::network;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// One client gets at most all but 1/[`RESERVED`] of the slots.
const RESERVED: usize = 4;

/// A limited number of slots, of which one client gets only a part.
pub struct ClientLimit {
    free: Arc<Semaphore>,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
    all: usize,
}

/// A slot, freed when dropped.
pub struct ClientSlot {
    from: IpAddr,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
    _permit: OwnedSemaphorePermit,
}

impl ClientLimit {
    /// `all` free slots.
    pub fn new(all: usize) -> ClientLimit {
        ClientLimit { free: Arc::new(Semaphore::new(all)), taken: Arc::default(), all }
    }

    /// A slot for the client at `from`; none if all are taken, or if the client has its maximum.
    pub fn take(&self, from: IpAddr) -> Option<ClientSlot> {
        let from = network::client(from);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let of_client = taken.get(&from).copied().unwrap_or(0);
        if of_client >= self.all - self.all / RESERVED {
            return None;
        }
        let permit = self.free.clone().try_acquire_owned().ok()?;
        taken.insert(from, of_client + 1);
        Some(ClientSlot { from, taken: self.taken.clone(), _permit: permit })
    }

    /// Number of taken slots.
    pub fn taken(&self) -> usize {
        self.all - self.free.available_permits()
    }

    /// Waits until all slots are free.
    pub async fn all_free(&self) {
        let all = u32::try_from(self.all).unwrap_or(u32::MAX);
        // The semaphore is never closed, so this ends only when all slots are free.
        let _all = self.free.acquire_many(all).await;
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_client) = taken.get_mut(&self.from) {
            *of_client -= 1;
            if *of_client == 0 {
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
        let (slots, greedy, other) =
            (ClientLimit::new(8), IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let mut held: Vec<ClientSlot> = std::iter::from_fn(|| slots.take(greedy)).collect();
        assert_eq!(held.len(), 6);
        held.extend(std::iter::from_fn(|| slots.take(other)));
        assert_eq!((held.len(), slots.taken()), (8, 8), "the rest is for others");
        assert!(slots.take([10, 0, 0, 3].into()).is_none());
        drop(held.remove(0));
        assert!(slots.take(greedy).is_some(), "a slot that was freed");
        drop(held);
        slots.all_free().await;
        assert!(slots.taken.lock().unwrap().is_empty(), "clients without a slot are removed");
    }

    #[tokio::test]
    async fn all_addresses_of_an_ipv6_network_are_one_client() {
        let slots = ClientLimit::new(8);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut held: Vec<ClientSlot> =
            (1..=8).map_while(|host| slots.take(address(&format!("2001:db8::{host}")))).collect();
        assert_eq!(held.len(), 6, "addresses of one /64 share the limit of one client");
        held.extend(slots.take(address("2001:db8:0:1::1")));
        held.extend(slots.take(address("::ffff:192.0.2.1")));
        assert_eq!(held.len(), 8, "the rest is for others");
        drop(held);
        let mut held: Vec<ClientSlot> = std::iter::from_fn(|| slots.take(address("192.0.2.1"))).collect();
        assert_eq!(held.len(), 6);
        assert!(slots.take(address("::ffff:192.0.2.1")).is_none(), "the same address in its other spelling");
        held.clear();
        slots.all_free().await;
        assert!(slots.taken.lock().unwrap().is_empty(), "clients without a slot are removed");
    }

    #[test]
    fn of_few_slots_one_client_may_have_all() {
        let slots = ClientLimit::new(3);
        let held: Vec<ClientSlot> = std::iter::from_fn(|| slots.take([127, 0, 0, 1].into())).collect();
        assert_eq!(held.len(), 3);
    }
}
