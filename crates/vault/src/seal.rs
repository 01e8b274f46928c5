//! Epochs that are over: how far each counts.
//!
//! A process that is only cut off may still create objects, and its creates may arrive late. A successor that must know
//! whether such a step counts creates a seal of the epoch first: what lands behind it never happened.

use crate::error::VaultError;
use crate::object::{EPOCHS, SEALS, create_or_find, framed, read_framed};
use crate::store::{Store, StoreError};
use serde::{Deserialize, Serialize};

/// The part of an epoch that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// The number of the last manifest; none if there is none.
    pub manifest: Option<u64>,
    /// Steps, manifests and logs, with lower numbers count.
    pub steps: u64,
    /// Of a fleet: runs with lower numbers count.
    #[serde(default)]
    pub runs: u64,
    /// The round of the last of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
}

impl Seal {
    /// The seal of an epoch; none if it has none.
    ///
    /// # Errors
    /// When it is damaged, or the store does not answer.
    pub fn read(store: &dyn Store, epoch: u64) -> Result<Option<Seal>, VaultError> {
        read_framed(store, &key(epoch))
    }

    /// Seals an epoch, unless another successor was faster: then its seal counts for all.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn create(&self, store: &dyn Store, epoch: u64) -> Result<(), VaultError> {
        match create_or_find(store, &key(epoch), &framed(&key(epoch), self, b"")) {
            Err(StoreError::Exists(_)) => Ok(()),
            done => Ok(done?),
        }
    }
}

fn key(epoch: u64) -> String {
    format!("{SEALS}{epoch:010}")
}

/// A process that took an epoch.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct EpochHead {
    pub nonce: String,
    pub at: u64,
}

pub(crate) fn epoch_key(epoch: u64) -> String {
    format!("{EPOCHS}{epoch:010}")
}

/// Takes an epoch: `nonce` is one that no other process has, `at` the time in milliseconds since 1970.
///
/// # Errors
/// [`VaultError::Lost`] if another process has it.
pub fn take_epoch(store: &dyn Store, epoch: u64, nonce: &str, at: u64) -> Result<(), VaultError> {
    let key = epoch_key(epoch);
    match create_or_find(store, &key, &framed(&key, &EpochHead { nonce: nonce.to_owned(), at }, b"")) {
        Err(StoreError::Exists(object)) => Err(VaultError::Lost { object }),
        done => Ok(done?),
    }
}

/// The nonce of the process that took an epoch; none if nobody has.
///
/// # Errors
/// When it is damaged, or the store does not answer.
pub fn epoch_taker(store: &dyn Store, epoch: u64) -> Result<Option<String>, VaultError> {
    Ok(read_framed::<EpochHead>(store, &epoch_key(epoch))?.map(|head| head.nonce))
}
