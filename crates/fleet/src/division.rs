//! Dividing a partition: a new map, in force by one create.
//!
//! A map that divides a partition names the partition's next epoch, and a nonce. It is in force once a process with that
//! nonce has taken the epoch, and void if another process has. So the owner of an epoch, who reads the map after it took
//! the epoch, knows its range for as long as it owns: whoever divides the partition later takes a later epoch.
//!
//! The order of writes:
//! 1. the map, which reserves its number, and that of the new partition
//! 2. the vault of the new partition, whole
//! 3. the epoch of the divided one: from here on the map is in force
//!
//! Whoever is stopped before 3 leaves the map before in force. The next owner of the partition takes the epoch: then the
//! map is void, and what was made of the new partition is swept. The numbers of both are never used again. The divided
//! partition loses nothing by all this: its next owner drops what lies in the other range.

use crate::change::{DivisionError, next_numbers};
use crate::epoch::partition_store;
use crate::map::{FleetMap, MapDivision, PartitionRange};
use recrawl_types::CanonicalUrl;
use recrawl_vault::{Store, VaultError, take_epoch};

/// Checks that a partition can be divided at a site, and gives the map after that; nothing is written. `map` is the one in
/// force, and `epoch` the next one of the partition.
///
/// # Errors
/// Why not.
pub fn divided(
    store: &dyn Store,
    map: &FleetMap,
    (parent, site): (u32, &str),
    (epoch, nonce): (u64, &str),
) -> Result<FleetMap, DivisionError> {
    let place = map.place_of(parent).ok_or(DivisionError::NoPartition(parent))?;
    let begin = CanonicalUrl::key_of_host(site);
    if map.place_of_key(&begin) != place || map.bounds(place).0 == begin {
        return Err(DivisionError::Outside { site: site.to_owned(), partition: parent });
    }
    let (number, child) = next_numbers(store, map)?;
    let mut ranges = map.ranges().to_vec();
    ranges
        .insert(place + 1, PartitionRange { id: child, begin: Some(site.to_owned()), parent: Some(parent) });
    let division = MapDivision { parent, child, epoch, nonce: nonce.to_owned() };
    let map = FleetMap::new(number, ranges)?.with_lease(map.lease()).with_former(map.former().to_vec());
    Ok(map.with_division(Some(division)))
}

/// Puts the map of a division in force. The vault of the new partition is whole.
///
/// # Errors
/// [`VaultError::Lost`] if another process has taken the epoch: the map is void.
pub fn put_in_force(store: &dyn Store, map: &FleetMap, at: u64) -> Result<(), VaultError> {
    map.division().map_or(Ok(()), |MapDivision { parent, epoch, nonce, .. }| {
        take_epoch(&partition_store(store, *parent), *epoch, nonce, at)
    })
}

#[cfg(test)]
mod tests;
