//! Verifying: every byte of a vault that a restore would read.

use crate::contents::{VaultContents, contents};
use crate::error::VaultError;
use crate::restore::each_piece;
use crate::store::{Store, VAULT};
use crate::vault::found;
use serde::Serialize;

/// A part of an object that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ObjectDamage {
    /// The object.
    pub object: String,
    /// The first byte of the part.
    pub offset: u64,
    /// The kind of damage.
    pub what: String,
    /// The file that it is a part of, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// The result of reading all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifiedVault {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The damage; empty if a restore is possible.
    pub damage: Vec<ObjectDamage>,
}

/// Reads all that a restore would read. None if nothing was ever shipped.
///
/// # Errors
/// When the store does not answer. Damage is not an error.
pub fn verify(store: &dyn Store) -> Result<Option<VerifiedVault>, VaultError> {
    let mut verified = VerifiedVault::default();
    // A restore begins with the name of the vault and its newest epoch.
    let is_named = match found(store) {
        Ok(found) => found.is_some(),
        Err(error) => {
            verified.damage.push(as_damage(error, None)?);
            true
        }
    };
    let contents = match contents(store) {
        Ok(None) if verified.damage.is_empty() => return Ok(None),
        Ok(None) => return Ok(Some(verified)),
        Ok(Some(contents)) => contents,
        Err(error) => {
            verified.damage.push(as_damage(error, None)?);
            return Ok(Some(verified));
        }
    };
    if !is_named {
        let what = "the object is missing, and without it nothing is restored".into();
        verified.damage.push(ObjectDamage { object: store.locate(VAULT), offset: 0, what, file: None });
    }
    for name in contents.files.keys() {
        verified.files += 1;
        match read_file(store, &contents, name) {
            Ok(bytes) => verified.bytes += bytes,
            Err(error) => verified.damage.push(as_damage(error, Some(name.clone()))?),
        }
    }
    Ok(Some(verified))
}

fn read_file(store: &dyn Store, contents: &VaultContents, name: &str) -> Result<u64, VaultError> {
    let mut read = 0;
    each_piece(store, &contents.files[name].resolved(store)?, |bytes| {
        read += bytes.len() as u64;
        Ok(())
    })?;
    Ok(read)
}

fn as_damage(error: VaultError, file: Option<String>) -> Result<ObjectDamage, VaultError> {
    match error {
        VaultError::Damaged { object, offset, what } => Ok(ObjectDamage { object, offset, what, file }),
        other => Err(other),
    }
}
