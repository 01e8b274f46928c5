//! Orders to a process of a fleet, by its name: it reads them as often as it shows that it is alive.

use recrawl_vault::{Store, StoreError, VaultError};
use serde::{Deserialize, Serialize};

/// An order. One takes the place of another, but none that of an end; of no use to a process that starts later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeOrder {
    /// End, once the round is committed and all is shipped.
    Drain,
    /// Leave this partition to the command that asks, likewise, and stand by.
    HandOver {
        /// The partition.
        partition: u32,
        /// The epoch by which it is owned: a later one is not meant.
        epoch: u64,
    },
    /// Take this partition once its owner has given it up for this process, which stands by.
    Take {
        /// The partition.
        partition: u32,
        /// The epoch by which it was owned: after a later one others wait for it.
        epoch: u64,
    },
}

fn key(name: &str) -> String {
    format!("order/{name}")
}

impl NodeOrder {
    /// Gives the order; false if the process is to end, which stays in force: whoever drains it waits for that.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn give(self, store: &dyn Store, name: &str) -> Result<bool, VaultError> {
        if self != NodeOrder::Drain && NodeOrder::read(store, name)? == Some(NodeOrder::Drain) {
            return Ok(false);
        }
        let text = serde_json::to_vec(&self).expect("names and numbers are JSON");
        store.replace(&key(name), &text)?;
        Ok(true)
    }

    /// Forgets the order, unless another has taken its place.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn withdraw(self, store: &dyn Store, name: &str) -> Result<(), VaultError> {
        match NodeOrder::read(store, name)? == Some(self) {
            true => NodeOrder::forget(store, name),
            false => Ok(()),
        }
    }

    /// Forgets an order to take a partition, unless it is `kept`: the process begins another, or cannot take it, and others
    /// would wait.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn decline(store: &dyn Store, name: &str, kept: Option<NodeOrder>) -> Result<(), VaultError> {
        match NodeOrder::read(store, name)? {
            Some(take @ NodeOrder::Take { .. }) if Some(take) != kept => NodeOrder::forget(store, name),
            Some(_) | None => Ok(()),
        }
    }

    /// The order to a process; none if there is none that this version knows.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn read(store: &dyn Store, name: &str) -> Result<Option<NodeOrder>, VaultError> {
        match store.read(&key(name), 1 << 10) {
            Err(StoreError::Absent(_)) => Ok(None),
            read => Ok(serde_json::from_slice(&read?).ok()),
        }
    }

    /// Forgets the order to a process: it is done, or was for an earlier one of that name.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn forget(store: &dyn Store, name: &str) -> Result<(), VaultError> {
        Ok(store.remove(&key(name))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_vault::store::MemoryStore;

    #[test]
    fn an_order_takes_the_place_of_another_but_not_that_of_an_end() {
        let store = MemoryStore::new();
        let read = || NodeOrder::read(&store, "a").unwrap();
        let take = NodeOrder::Take { partition: 2, epoch: 3 };
        let hand_over = NodeOrder::HandOver { partition: 2, epoch: 3 };
        assert!(take.give(&store, "a").unwrap() && hand_over.give(&store, "a").unwrap());
        take.withdraw(&store, "a").unwrap();
        assert_eq!(read(), Some(hand_over), "another's is not withdrawn");
        hand_over.withdraw(&store, "a").unwrap();
        assert_eq!(read(), None);
        assert!(take.give(&store, "a").unwrap() && NodeOrder::Drain.give(&store, "a").unwrap());
        assert!(!hand_over.give(&store, "a").unwrap() && !take.give(&store, "a").unwrap());
        assert_eq!(read(), Some(NodeOrder::Drain));
    }

    #[test]
    fn who_begins_a_partition_declines_to_take_another() {
        let store = MemoryStore::new();
        let take = |partition| NodeOrder::Take { partition, epoch: 3 };
        let left = |order: NodeOrder, kept| {
            NodeOrder::forget(&store, "a").unwrap();
            order.give(&store, "a").unwrap();
            NodeOrder::decline(&store, "a", kept).unwrap();
            NodeOrder::read(&store, "a").unwrap()
        };
        assert_eq!(left(take(1), Some(take(1))), Some(take(1)));
        assert_eq!((left(take(1), Some(take(2))), left(take(1), None)), (None, None));
        for other in [NodeOrder::HandOver { partition: 1, epoch: 3 }, NodeOrder::Drain] {
            assert_eq!(left(other, None), Some(other));
        }
    }
}
