//! Changes of the map: which of the maps is in force, and what those that never will be left.
//!
//! A map is written before it counts. [Divisions](crate::divided) and [joinings](crate::joined) say what puts theirs in force.

use crate::epoch::partition_store;
use crate::key;
use crate::map::{FleetMap, MapDivision, MapError, read_map, write_map};
use recrawl_vault::{Store, VaultError, epoch_taker, numbers, read_framed};
use serde::{Deserialize, Serialize};

/// The verdict on a map that puts partitions together: does it count?
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verdict {
    pub in_force: bool,
}

fn verdict(store: &dyn Store, map: u64) -> Result<MapState, VaultError> {
    let verdict: Option<Verdict> = read_framed(store, &key::verdict(map))?;
    Ok(match verdict {
        None => MapState::Pending,
        Some(Verdict { in_force: true }) => MapState::InForce,
        Some(Verdict { in_force: false }) => MapState::Void,
    })
}

/// How far a map is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapState {
    /// It counts, unless a later one does.
    InForce,
    /// Its change is being made, or the maker was stopped.
    Pending,
    /// It never will count.
    Void,
}

/// Why partitions cannot be divided or put together.
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
    /// The partitions are no neighbours in the order of URLs.
    #[error(
        "partitions {0} and {1} are no neighbours, the first before the second; see `recrawl fleet status`"
    )]
    NoNeighbours(u32, u32),
    /// Another change of the map is not done.
    #[error(
        "partition {partition} is being {what} by another process; if that was stopped, try again when partition \
         {partition} has an owner"
    )]
    Pending {
        /// The partition, or the first of several.
        partition: u32,
        /// The change that is made of it.
        what: &'static str,
    },
    /// Another change was faster, and there are other partitions now.
    #[error("another command has changed the partitions meanwhile; nothing was done, try again")]
    Changed,
    /// The sites do not cut the order of URLs into ranges.
    #[error("{0}")]
    Map(#[from] MapError),
    /// The store does not answer, or an object is damaged.
    #[error("{0}")]
    Store(#[from] VaultError),
}

pub(crate) fn state(store: &dyn Store, map: &FleetMap) -> Result<MapState, VaultError> {
    if map.joining().is_some() {
        return verdict(store, map.number());
    }
    let Some(MapDivision { parent, epoch, nonce, .. }) = map.division() else { return Ok(MapState::InForce) };
    Ok(match epoch_taker(&partition_store(store, *parent), *epoch)? {
        None => MapState::Pending,
        Some(taker) if taker == *nonce => MapState::InForce,
        Some(_) => MapState::Void,
    })
}

/// The map in force: of those whose change is done, that of the highest number. None if there is no fleet.
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
pub(crate) fn later_maps(store: &dyn Store, map: &FleetMap) -> Result<Vec<(FleetMap, MapState)>, VaultError> {
    let mut later = Vec::new();
    for number in numbers(store, key::MAPS)?.into_iter().filter(|number| *number > map.number()) {
        if let Some(map) = read_map(store, number)? {
            let state = state(store, &map)?;
            later.push((map, state));
        }
    }
    Ok(later)
}

/// Has a partition of this map the range with which the fleet began? Then nothing of it was ever another's.
///
/// # Errors
/// When the store does not answer.
pub fn has_first_range(store: &dyn Store, map: &FleetMap, id: u32) -> Result<bool, VaultError> {
    for number in 1..map.number() {
        if let Some(earlier) = read_map(store, number)?
            && state(store, &earlier)? == MapState::InForce
            && !earlier.has_alike(map, id)
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Is a later map in force than this one? For those who look again and again: it lists nothing while there is none.
///
/// # Errors
/// When the store does not answer.
pub fn is_outdated(store: &dyn Store, map: &FleetMap) -> Result<bool, VaultError> {
    Ok(read_map(store, map.number() + 1)?.is_some()
        && later_maps(store, map)?.iter().any(|(_, state)| *state == MapState::InForce))
}

/// The numbers of the next map and of the next partition. Those of void maps, and of their partitions, were written below.
pub(crate) fn next_numbers(store: &dyn Store, map: &FleetMap) -> Result<(u64, u32), DivisionError> {
    let later = later_maps(store, map)?;
    if let Some((pending, _)) = later.iter().find(|(_, state)| *state != MapState::Void) {
        return Err(pending_change(pending));
    }
    let known = || later.iter().map(|(map, _)| map).chain([map]);
    let ids = known().flat_map(FleetMap::ranges).map(|range| range.id);
    let former = known().flat_map(FleetMap::former).map(|former| former.id);
    let number = later.last().map_or(map.number(), |(map, _)| map.number()) + 1;
    Ok((number, ids.chain(former).max().unwrap_or_default() + 1))
}

/// Why no other map can be made now.
fn pending_change(pending: &FleetMap) -> DivisionError {
    let first = pending.ranges()[0].id;
    match (pending.division(), pending.joining()) {
        (Some(division), _) => DivisionError::Pending { partition: division.parent, what: "divided" },
        (None, joining) => DivisionError::Pending {
            partition: joining.and_then(|joining| joining.parts.first()).map_or(first, |part| part.id),
            what: if pending.is_end() { "taken out of the fleet" } else { "merged" },
        },
    }
}

/// Writes the map of a change, which is not in force yet.
///
/// # Errors
/// If another process was faster, or the store does not answer.
pub fn propose(store: &dyn Store, map: &FleetMap) -> Result<(), VaultError> {
    write_map(store, map)
}

/// Removes what was made of partitions that void maps name. Gives the number of objects.
///
/// # Errors
/// When the store does not answer.
pub fn sweep_void(store: &dyn Store, map: &FleetMap) -> Result<u64, VaultError> {
    let mut removed = 0;
    for (later, state) in later_maps(store, map)? {
        let joined = later.joining().and_then(|joining| joining.into);
        let Some(made) =
            later.division().map(|division| division.child).or(joined).filter(|_| state == MapState::Void)
        else {
            continue;
        };
        for object in store.list(&key::partition(made))? {
            store.remove(&object.key)?;
            removed += 1;
        }
    }
    Ok(removed)
}
