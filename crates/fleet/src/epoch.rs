//! Epochs of a partition, and what of an epoch counts once it is over.
//!
//! Each owner takes the next epoch. A predecessor that is only cut off may still create objects, and its creates may arrive
//! late. So a successor reads how far the predecessor came and creates its seal: what lands later never happened.

use crate::key;
use recrawl_vault::{Store, StoreError, VaultError, create_or_find, framed, read_framed};
use serde::{Deserialize, Serialize};

/// Times that a successor reads again because the predecessor has committed meanwhile. It has ended, or will soon.
const MAX_READS: u32 = 64;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EpochHeader {
    nonce: String,
}

/// The part of an epoch that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// The number of the last manifest; none if there is none.
    pub manifest: Option<u64>,
    /// Steps, manifests and logs, with lower numbers count.
    pub steps: u64,
    /// Runs with lower numbers count.
    pub runs: u64,
}

/// The highest epoch of a partition; 0 before the first. `known` is one that is there, or 0.
///
/// # Errors
/// When the store does not answer.
pub(crate) fn highest(store: &dyn Store, partition: u32, known: u64) -> Result<u64, VaultError> {
    let mut epoch = known;
    while is_there(store, &key::epoch(partition, epoch + 1))? {
        epoch += 1;
    }
    Ok(epoch)
}

/// The highest epoch of a partition, by one list; 0 before the first. For a start: whoever watches asks for the next one.
///
/// # Errors
/// When the store does not answer.
pub fn newest(store: &dyn Store, partition: u32) -> Result<u64, VaultError> {
    let folder = key::epochs(partition);
    let listed = store.list(&folder)?;
    let numbers = listed.iter().filter_map(|object| object.key.strip_prefix(&folder)?.parse().ok());
    // One that was taken since the list was made.
    highest(store, partition, numbers.max().unwrap_or(0))
}

/// Takes the epoch after one whose owner has ended, or whose lease is over, and seals what is older and has no seal. A later
/// epoch would be that of an owner whom nobody has watched. `nonce` is one that no other process has. Gives the epoch.
///
/// The order is the argument. The epoch first: whoever reads a run, and then finds no later epoch, knows that each later seal
/// covers the run. Then, of each older epoch, its manifests, then its runs, then its logs: a manifest is created behind the
/// runs of what it commits, and a run behind the logs that it was made of. So a sealed manifest has its runs sealed, and a
/// sealed run its logs.
///
/// # Errors
/// [`VaultError::Lost`] if another process took that epoch.
pub fn begin(store: &dyn Store, partition: u32, after: u64, nonce: &str) -> Result<u64, VaultError> {
    let epoch = after + 1;
    let key = key::epoch(partition, epoch);
    match create_or_find(store, &key, &framed(&key, &EpochHeader { nonce: nonce.to_owned() }, b"")) {
        Err(StoreError::Exists(object)) => return Err(VaultError::Lost { object }),
        done => done?,
    }
    // Seals are created in the order of epochs, so those before one that is there are there.
    let mut unsealed = epoch;
    while unsealed > 1 && sealed(store, partition, unsealed - 1)?.is_none() {
        unsealed -= 1;
    }
    (unsealed..epoch).try_for_each(|older| seal(store, partition, older))?;
    Ok(epoch)
}

/// The seal of an epoch; none if there is none.
///
/// # Errors
/// When it is damaged, or the store does not answer.
pub fn sealed(store: &dyn Store, partition: u32, epoch: u64) -> Result<Option<Seal>, VaultError> {
    read_framed(store, &key::seal(partition, epoch))
}

fn seal(store: &dyn Store, partition: u32, epoch: u64) -> Result<(), VaultError> {
    let found = reached(store, partition, epoch)?;
    let key = key::seal(partition, epoch);
    match create_or_find(store, &key, &framed(&key, &found, b"")) {
        // Another successor was faster; its seal counts for all.
        Err(StoreError::Exists(_)) => Ok(()),
        done => Ok(done?),
    }
}

/// How far the owner of an epoch came.
fn reached(store: &dyn Store, partition: u32, epoch: u64) -> Result<Seal, VaultError> {
    let mut steps = 0;
    let mut manifest = None;
    for _ in 0..MAX_READS {
        (steps, manifest) = behind(store, partition, epoch, steps, manifest)?;
        let mut runs = 0;
        while is_there(store, &key::run(partition, epoch, runs))? {
            runs += 1;
        }
        let (all, newest) = behind(store, partition, epoch, steps, manifest)?;
        if newest == manifest {
            return Ok(Seal { manifest, steps: all, runs });
        }
        // A manifest that came behind the runs may commit some that were not read.
        (steps, manifest) = (all, newest);
    }
    let what = "its owner goes on, although its lease is over; try again when it has ended";
    Err(VaultError::Away(format!("{}: {what}", store.locate(&key::epoch(partition, epoch)))))
}

/// The number behind the last step, and the last manifest, from what is known of them. Steps have one sequence of numbers.
fn behind(
    store: &dyn Store,
    partition: u32,
    epoch: u64,
    mut steps: u64,
    mut manifest: Option<u64>,
) -> Result<(u64, Option<u64>), VaultError> {
    loop {
        if !is_there(store, &key::log(partition, epoch, steps))? {
            if !is_there(store, &key::manifest(partition, epoch, steps))? {
                return Ok((steps, manifest));
            }
            manifest = Some(steps);
        }
        steps += 1;
    }
}

/// Is there an object of that key?
pub(crate) fn is_there(store: &dyn Store, key: &str) -> Result<bool, VaultError> {
    match store.read_range(key, 0, 1) {
        Ok(_) => Ok(true),
        Err(StoreError::Absent(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
