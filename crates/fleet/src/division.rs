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

use crate::epoch::partition_store;
use crate::key;
use crate::map::{FleetMap, MapDivision, MapError, PartitionRange, read_map, write_map};
use recrawl_types::CanonicalUrl;
use recrawl_vault::{Store, VaultError, epoch_taker, numbers, take_epoch};

/// How far a map is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapState {
    /// It counts, unless a later one does.
    InForce,
    /// Its division is being made, or its maker was stopped.
    Pending,
    /// It never will count.
    Void,
}

/// Why a partition cannot be divided.
#[derive(Debug, thiserror::Error)]
pub enum DivisionError {
    /// There is no such partition.
    #[error("the fleet has no partition {0}")]
    NoPartition(u32),
    /// The site is not behind the beginning of its range.
    #[error("{site} does not lie in partition {partition}, behind its first site")]
    Outside {
        /// Where to divide.
        site: String,
        /// The partition.
        partition: u32,
    },
    /// Another division is not done.
    #[error(
        "partition {0} is being divided by another process; if that was stopped, try again when partition {0} has an owner"
    )]
    Pending(u32),
    /// A cut that is none.
    #[error("{0}")]
    Map(#[from] MapError),
    /// The store does not answer, or an object is damaged.
    #[error("{0}")]
    Store(#[from] VaultError),
}

pub(crate) fn state(store: &dyn Store, map: &FleetMap) -> Result<MapState, VaultError> {
    let Some(MapDivision { parent, epoch, nonce, .. }) = map.division() else { return Ok(MapState::InForce) };
    Ok(match epoch_taker(&partition_store(store, *parent), *epoch)? {
        None => MapState::Pending,
        Some(taker) if taker == *nonce => MapState::InForce,
        Some(_) => MapState::Void,
    })
}

/// The map in force: of those whose division is done, that of the highest number. None if there is no fleet.
///
/// # Errors
/// When one is damaged, or the store does not answer.
pub fn newest_map(store: &dyn Store) -> Result<Option<FleetMap>, VaultError> {
    for number in numbers(store, key::MAPS)?.into_iter().rev() {
        if let Some(map) = read_map(store, number)?
            && state(store, &map)? == MapState::InForce
        {
            return Ok(Some(map));
        }
    }
    Ok(None)
}

/// The maps behind the one in force, with their states.
fn later_maps(store: &dyn Store, map: &FleetMap) -> Result<Vec<(FleetMap, MapState)>, VaultError> {
    let mut later = Vec::new();
    for number in numbers(store, key::MAPS)?.into_iter().filter(|number| *number > map.number()) {
        if let Some(map) = read_map(store, number)? {
            let state = state(store, &map)?;
            later.push((map, state));
        }
    }
    Ok(later)
}

/// Is a later map in force than this one? For those who look again and again: it lists nothing while there is none.
///
/// # Errors
/// When the store does not answer.
pub fn is_outdated(store: &dyn Store, map: &FleetMap) -> Result<bool, VaultError> {
    Ok(read_map(store, map.number() + 1)?.is_some()
        && later_maps(store, map)?.iter().any(|(_, state)| *state == MapState::InForce))
}

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
    let later = later_maps(store, map)?;
    if let Some((pending, _)) = later.iter().find(|(_, state)| *state != MapState::Void) {
        return Err(DivisionError::Pending(pending.division().map_or(parent, |division| division.parent)));
    }
    // Numbers of void maps, and of their partitions, were written below.
    let ids = later.iter().map(|(map, _)| map).chain([map]).flat_map(FleetMap::ranges).map(|range| range.id);
    let child = ids.max().unwrap_or_default() + 1;
    let number = later.last().map_or(map.number(), |(map, _)| map.number()) + 1;
    let mut ranges = map.ranges().to_vec();
    ranges
        .insert(place + 1, PartitionRange { id: child, begin: Some(site.to_owned()), parent: Some(parent) });
    let division = MapDivision { parent, child, epoch, nonce: nonce.to_owned() };
    Ok(FleetMap::new(number, ranges)?.with_lease(map.lease()).with_division(Some(division)))
}

/// Writes the map of a division, which is not in force yet.
///
/// # Errors
/// If another process was faster, or the store does not answer.
pub fn propose(store: &dyn Store, map: &FleetMap) -> Result<(), VaultError> {
    write_map(store, map)
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

/// Removes what was made of partitions that void maps name. Gives the number of objects.
///
/// # Errors
/// When the store does not answer.
pub fn sweep_void(store: &dyn Store, map: &FleetMap) -> Result<u64, VaultError> {
    let mut removed = 0;
    for (later, state) in later_maps(store, map)? {
        let Some(MapDivision { child, .. }) = later.division().filter(|_| state == MapState::Void) else {
            continue;
        };
        for object in store.list(&key::partition(*child))? {
            store.remove(&object.key)?;
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests;
