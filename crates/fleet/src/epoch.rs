//! Epochs of a partition, and what of an epoch counts once it is over.
//!
//! Each owner takes the next epoch. A predecessor that is only cut off may still create objects, and its creates may arrive
//! late. So a successor reads how far the predecessor came and creates its seal: what lands later never happened.

use crate::key;
use crate::run::ReceivedRun;
use recrawl_vault::store::StoreWithin;
use recrawl_vault::{Seal, Store, StoreError, VaultError, numbers, take_epoch};

/// Times that a successor reads again because the predecessor has committed meanwhile. It has ended, or will soon.
const MAX_READS: u32 = 64;

/// The highest epoch of a partition; 0 before the first. `known` is one that is there, or 0.
///
/// # Errors
/// When the store does not answer.
pub fn highest(store: &dyn Store, partition: u32, known: u64) -> Result<u64, VaultError> {
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
    let listed = numbers(store, &key::epochs(partition))?;
    // One that was taken since the list was made.
    highest(store, partition, listed.last().copied().unwrap_or(0))
}

/// Takes the epoch after one whose owner has ended, or whose lease is over, and seals what is older and has no seal. A later
/// epoch would be that of an owner whom nobody has watched. `nonce` is one that no other process has. Gives the epoch.
///
/// The order is the argument. The epoch first: whoever reads a run, and then finds no later epoch, knows that each later seal
/// covers the run. Then the seals.
///
/// # Errors
/// [`VaultError::Lost`] if another process took that epoch.
pub fn begin(store: &dyn Store, partition: u32, after: u64, nonce: &str, at: u64) -> Result<u64, VaultError> {
    take_epoch(&partition_store(store, partition), after + 1, nonce, at)?;
    seal_before(store, partition, after + 1)?;
    Ok(after + 1)
}

/// The store of a partition's vault.
pub fn partition_store(store: &dyn Store, partition: u32) -> StoreWithin<&dyn Store> {
    StoreWithin::new(store, key::partition(partition))
}

/// Seals the epochs before one that was just taken, as far as they have no seal.
///
/// Of each older epoch it reads the manifests, then the runs, then the logs: a manifest is created behind the runs of what it
/// commits, and a run behind the logs that it was made of. So a sealed manifest has its runs sealed, and a sealed run its logs.
///
/// # Errors
/// When the store does not answer.
pub fn seal_before(store: &dyn Store, partition: u32, epoch: u64) -> Result<(), VaultError> {
    // Seals are created in the order of epochs, so those before one that is there are there.
    let mut unsealed = epoch;
    while unsealed > 1 && sealed(store, partition, unsealed - 1)?.is_none() {
        unsealed -= 1;
    }
    (unsealed..epoch).try_for_each(|older| {
        reached(store, partition, older)?.create(&partition_store(store, partition), older)
    })
}

/// The seal of an epoch; none if there is none.
///
/// # Errors
/// When it is damaged, or the store does not answer.
pub(crate) fn sealed(store: &dyn Store, partition: u32, epoch: u64) -> Result<Option<Seal>, VaultError> {
    Seal::read(&partition_store(store, partition), epoch)
}

/// How far the owner of an epoch came. By lists: first numbers may be swept away by now, and the newest ones never are.
fn reached(store: &dyn Store, partition: u32, epoch: u64) -> Result<Seal, VaultError> {
    let newest = |folder: String| Ok::<_, VaultError>(numbers(store, &folder)?.pop());
    let last_manifest = || newest(key::manifests(partition, epoch));
    let mut manifest = last_manifest()?;
    for _ in 0..MAX_READS {
        let run = newest(key::runs(partition, epoch))?;
        let log = newest(key::logs(partition, epoch))?;
        let again = last_manifest()?;
        if again == manifest {
            let round = match run {
                Some(run) => ReceivedRun::round_of(store, partition, epoch, run)?,
                None => None,
            };
            let behind = |number: Option<u64>| number.map_or(0, |number| number + 1);
            return Ok(Seal { manifest, steps: behind(log.max(manifest)), runs: behind(run), round });
        }
        // A manifest that came behind the runs may commit some that were not read.
        manifest = again;
    }
    let what = "its owner goes on, although its lease is over; try again when it has ended";
    Err(VaultError::Away(format!("{}: {what}", store.locate(&key::epoch(partition, epoch)))))
}

/// Is there an object of that key?
pub(crate) fn is_there(store: &dyn Store, key: &str) -> Result<bool, VaultError> {
    match store.read_range(key, 0, 1) {
        Ok(_) => Ok(true),
        Err(StoreError::Absent(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
