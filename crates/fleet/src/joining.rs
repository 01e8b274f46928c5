//! Putting partitions together: two neighbours into a new one, or all into a folder, by which the fleet ends.
//!
//! The reverse of a [division](crate::divided), with more than one owner to ask: no epoch of one partition can decide, since
//! another one may be taken meanwhile. So a map that puts partitions together has a *verdict*, created once: in force, or
//! void.
//!
//! The order of writes:
//! 1. the map, which reserves its number, and that of the new partition. It names the epoch by which its maker owns each part
//! 2. the vault of the new partition, or the folder, whole
//! 3. the verdict
//!
//! Whoever takes a part takes its epoch first, and then looks for such a map: one without a verdict it makes void. Whoever makes the map
//! writes it first, and then looks whether each epoch is still the last. So one of both sees the other, and nobody crawls a
//! part whose pages are another's.
//!
//! The new partition has a number that none had. So ranges of a number only ever shrink, and nothing that one has sent leads to its
//! own range. Those that ended stay in the map as senders: others read their last runs.

use crate::change::{DivisionError, MapState, Verdict, later_maps, next_numbers};
use crate::epoch::is_there;
use crate::key;
use crate::map::{FleetMap, FormerPartition, MapJoining, PartitionEnd, PartitionRange};
use recrawl_vault::{Store, StoreError, VaultError, create_or_find, framed};

/// Creates the verdict, unless the other one is there: false.
fn decide(store: &dyn Store, map: u64, in_force: bool) -> Result<bool, VaultError> {
    let key = key::verdict(map);
    match create_or_find(store, &key, &framed(&key, &Verdict { in_force }, b"")) {
        Err(StoreError::Exists(_)) => Ok(false),
        done => Ok(done.map(|()| true)?),
    }
}

/// Checks that two partitions can be put together, and gives the map after that; nothing is written. `map` is the one in
/// force, and the epochs are those by which the caller owns both.
///
/// # Errors
/// Why not.
pub fn joined(
    store: &dyn Store,
    map: &FleetMap,
    [left, right]: [PartitionEnd; 2],
    nonce: &str,
) -> Result<FleetMap, DivisionError> {
    let place_of = |id: u32| map.place_of(id).ok_or(DivisionError::NoPartition(id));
    let place = place_of(left.id)?;
    if place_of(right.id)? != place + 1 {
        return Err(DivisionError::NoNeighbours(left.id, right.id));
    }
    let (number, into) = next_numbers(store, map)?;
    let mut ranges = map.ranges().to_vec();
    let begin = ranges[place].begin.clone();
    ranges.splice(place..place + 2, [PartitionRange { id: into, begin, parent: None }]);
    // What was divided off one of both and has told nothing yet has no parent that it could spend the part of.
    let mut former = map.former().to_vec();
    former.extend([left, right].map(|PartitionEnd { id, epoch }| FormerPartition { id, epoch, into }));
    let joining = MapJoining { parts: vec![left, right], into: Some(into), nonce: nonce.to_owned() };
    let map = FleetMap::new(number, ranges)?.with_lease(map.lease()).with_former(former);
    Ok(map.with_joining(Some(joining)))
}

/// The map by which a fleet ends: all partitions are put together elsewhere. Nothing is written. The ends are in the order of the
/// map's ranges.
///
/// # Errors
/// [`DivisionError::Changed`] if the ends are not those of all partitions, [`DivisionError::Pending`], or when the store does not
/// answer.
pub fn left(
    store: &dyn Store,
    map: &FleetMap,
    ends: Vec<PartitionEnd>,
    nonce: &str,
) -> Result<FleetMap, DivisionError> {
    if !ends.iter().map(|end| end.id).eq(map.ranges().iter().map(|range| range.id)) {
        return Err(DivisionError::Changed);
    }
    let (number, _) = next_numbers(store, map)?;
    let joining = MapJoining { parts: ends, into: None, nonce: nonce.to_owned() };
    let last = FleetMap::new(number, map.ranges().to_vec())?.with_lease(map.lease());
    Ok(last.with_former(map.former().to_vec()).with_joining(Some(joining)))
}

/// Puts a map in force that was proposed, and puts partitions together. What it makes is whole.
///
/// # Errors
/// [`VaultError::Lost`] if another process has taken one of them: the map is void, or will be.
pub fn put_joining_in_force(store: &dyn Store, map: &FleetMap) -> Result<(), VaultError> {
    let parts = map.joining().map(|joining| &joining.parts[..]).unwrap_or_default();
    for PartitionEnd { id, epoch } in parts {
        let later = key::epoch(*id, epoch + 1);
        if is_there(store, &later)? {
            return Err(VaultError::Lost { object: store.locate(&later) });
        }
    }
    match decide(store, map.number(), true)? {
        true => Ok(()),
        false => Err(VaultError::Lost { object: store.locate(&key::verdict(map.number())) }),
    }
}

/// Makes later maps void that would put a partition together with others, and have no verdict: their makers own it no more. Called by
/// whoever has just taken an epoch of it, before anything else.
///
/// # Errors
/// When the store does not answer.
pub fn void_joinings(store: &dyn Store, map: &FleetMap, partition: u32) -> Result<(), VaultError> {
    for (later, state) in later_maps(store, map)? {
        let is_of = |joining: &MapJoining| joining.parts.iter().any(|part| part.id == partition);
        if state == MapState::Pending && later.joining().is_some_and(is_of) {
            // One that was put in force meanwhile is found by whoever looks for the newest map next.
            decide(store, later.number(), false)?;
        }
    }
    Ok(())
}

/// Removes what partitions that ended have in the store but for their epochs, seals, messages and runs, which others read: the
/// bodies of their pages are in the vault of another one. Gives the number of objects.
///
/// # Errors
/// When the store does not answer.
pub fn sweep_former(store: &dyn Store, map: &FleetMap) -> Result<u64, VaultError> {
    let mut removed = 0;
    for former in map.former() {
        let folder = key::partition(former.id);
        let stays = |key: &str| {
            let within = key.strip_prefix(&folder).unwrap_or(key);
            let kinds = ["epoch/", "seal/", "inbox/", "begun"];
            kinds.iter().any(|kind| within.starts_with(kind)) || within.contains("/links/")
        };
        for object in store.list(&folder)?.iter().filter(|object| !stays(&object.key)) {
            store.remove(&object.key)?;
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests;
