//! The addresses that a partition asks in a period.

use super::Sharer;
use crate::key;
use recrawl_vault::{Store, StoreError, VaultError, create_or_find, framed, read_framed};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

/// Addresses of a list at most. Others count as met since.
pub(crate) const MAX_LISTED: usize = 1 << 16;

/// As stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddressList {
    /// Milliseconds between an answer and the next request: partitions with different delays have different slots.
    pub delay: u64,
    /// By address, the slots that its due pages need.
    pub addresses: BTreeMap<IpAddr, u32>,
}

impl AddressList {
    /// Creates the list of a period; false if an earlier process of the partition created another.
    pub(crate) fn create(&self, store: &dyn Store, partition: u32, period: u64) -> Result<bool, VaultError> {
        let key = key::addresses(partition, period);
        match create_or_find(store, &key, &framed(&key, self, b"")) {
            Err(StoreError::Exists(_)) => Ok(false),
            created => Ok(created.map(|()| true)?),
        }
    }

    pub(crate) fn read(
        store: &dyn Store,
        partition: u32,
        period: u64,
    ) -> Result<Option<AddressList>, VaultError> {
        let key = key::addresses(partition, period);
        let list = read_framed::<AddressList>(store, &key)?;
        match list {
            Some(list) if list.addresses.len() > MAX_LISTED => Err(VaultError::Damaged {
                object: store.locate(&key),
                offset: 0,
                what: format!("it has {} addresses", list.addresses.len()),
            }),
            list => Ok(list),
        }
    }
}

/// The lists of a period, as a partition sees them.
#[derive(Debug, Default)]
pub(crate) struct PeriodLists {
    pub own: AddressList,
    /// All partitions of the map.
    pub members: Vec<u32>,
    others: HashMap<IpAddr, Vec<Sharer>>,
    /// Partitions whose addresses have another delay: their slots differ.
    differing: BTreeSet<u32>,
}

impl PeriodLists {
    pub(crate) fn new(own: AddressList, members: Vec<u32>) -> PeriodLists {
        PeriodLists { own, members, ..PeriodLists::default() }
    }

    /// Adds the list of another partition.
    pub(crate) fn add(&mut self, partition: u32, list: AddressList) {
        if list.delay != self.own.delay {
            self.differing.insert(partition);
        }
        for (address, weight) in list.addresses {
            self.others.entry(address).or_default().push((partition, weight));
        }
    }

    /// Is a slot of an address the partition's?
    pub(crate) fn is_own(&self, address: IpAddr, slot: u64, own: u32) -> bool {
        let others = self.others.get(&address).map(Vec::as_slice).unwrap_or_default();
        match self.own.addresses.get(&address) {
            Some(weight) => {
                let is_alike = others.iter().all(|(id, _)| !self.differing.contains(id));
                let sharers = others.iter().copied().chain([(own, *weight)]);
                is_alike && super::taker(address, slot, sharers) == Some(own)
            }
            None if others.is_empty() && self.differing.is_empty() => {
                super::taker(address, slot, self.members.iter().map(|id| (*id, 1))) == Some(own)
            }
            None => false,
        }
    }
}
