//! Orders to a process of a fleet, by its name: it reads them as often as it shows that it is alive.

use recrawl_vault::{Store, StoreError, VaultError};
use serde::{Deserialize, Serialize};

/// An order. One takes the place of another; of no use to a process that starts later.
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
    /// Gives the order.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn give(self, store: &dyn Store, name: &str) -> Result<(), VaultError> {
        let text = serde_json::to_vec(&self).expect("names and numbers are JSON");
        Ok(store.replace(&key(name), &text)?)
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
