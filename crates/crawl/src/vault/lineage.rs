//! Whether a vault and a data directory belong together: `vault.json` names the epoch that this directory took last.

use crate::failure::Failure;
use crate::settings::Settings;
use crate::whole_file;
use recrawl_vault::{Founded, ObjectKey, Uploads};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The file, in the data directory.
pub const FILE: &str = "vault.json";

/// The file's content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lineage {
    /// The address of the vault.
    pub vault: String,
    /// The crawl, as the vault names it.
    pub id: String,
    /// Made up by the last process that took, or was about to take, an epoch.
    pub nonce: String,
    /// That of the process before.
    #[serde(default)]
    pub previous: String,
    /// Has the vault a manifest of this directory?
    #[serde(default)]
    pub has_shipped: bool,
    /// Must the vault lose all that its next manifest does not name? A takedown says so, before it removes anything.
    #[serde(default)]
    pub purge: bool,
    /// Identities of the files that the vault has.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Bytes of files that the store has, and that no step of the vault names.
    #[serde(default, skip_serializing_if = "Uploads::is_empty")]
    pub uploads: Uploads,
    /// The last step of the vault when this directory was restored from it. None once it has shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<ObjectKey>,
    /// Addresses of vaults that this directory shipped to before.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub former: BTreeSet<String>,
}

impl Lineage {
    /// Reads the file; none if this directory never shipped anything.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged.
    pub fn read(data_dir: &Path) -> Result<Option<Lineage>, Failure> {
        let path = data_dir.join(FILE);
        let text = match fs::read(&path) {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            read => read.map_err(|e| Failure::Work(format!("cannot read {}: {e}", path.display())))?,
        };
        serde_json::from_slice(&text).map(Some).map_err(|e| {
            let todo = "restore the vault into a new directory, or restore this file from a backup";
            Failure::Work(format!("{} is damaged: {e}; {todo}", path.display()))
        })
    }

    /// The addresses of all vaults that may have objects of this directory, but for that one.
    pub fn other_than(&self, address: &str) -> BTreeSet<String> {
        let all = self.former.iter().chain([&self.vault]);
        all.filter(|vault| !vault.is_empty() && *vault != address).cloned().collect()
    }

    /// The last epoch of the vault, if a process of this directory took it. A restored directory begins with the nonce of
    /// the copy that it was made from, and without a process before.
    pub fn own_epoch(&self, there: &Founded) -> Option<u64> {
        (!self.previous.is_empty() && self.nonce == there.nonce).then_some(there.epoch)
    }

    /// Refuses a restored directory to whose vault something was shipped since.
    ///
    /// # Errors
    /// [`Failure::Usage`], saying so. `newest`: the last step of the vault.
    pub fn check_restored(&self, newest: Option<ObjectKey>, data_dir: &Path) -> Result<(), Failure> {
        let Some(restored) = self.restored.filter(|restored| newest != Some(*restored)) else {
            return Ok(());
        };
        let (address, folder) = (&self.vault, data_dir.display());
        let newest = newest.map_or_else(|| "nothing".into(), |key| key.to_string());
        Err(Failure::Usage(format!(
            "storage.vault: {address}: {folder} was restored from {restored}, and a process of another copy has shipped \
             since (up to {newest}); stop that process, and restore again: `recrawl restore --vault {address} --data-dir \
             NEW`"
        )))
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, data_dir: &Path) -> Result<(), Failure> {
        whole_file::replace(&data_dir.join(FILE), &serde_json::to_vec(self).map_err(Failure::work)?)
    }
}

/// The lineage and the vault with which a directory begins its next epoch; `nonce` is that of this process.
///
/// # Errors
/// [`Failure::Usage`] if the vault is another's, or was taken by a copy of this directory since, or is gone.
pub fn join(
    settings: &Settings,
    here: Option<Lineage>,
    there: Option<Founded>,
    nonce: String,
) -> Result<(Lineage, Founded), Failure> {
    let (address, folder) = (&settings.config.storage.vault, settings.data_dir.display());
    let refused = |why: String| Err(Failure::Usage(format!("storage.vault: {address}: {why}")));
    let restore = format!("`recrawl restore --vault {address} --data-dir NEW`");
    let new = |id: &str| Founded { id: id.to_owned(), epoch: 0, nonce: String::new() };
    let found = match (&here, there) {
        (None, None) => new(&nonce),
        (Some(here), None) if here.vault == *address && here.has_shipped => {
            return refused(format!(
                "is empty, although {folder} has shipped there; put its objects back, or remove {folder}/{FILE} to ship \
                 everything again"
            ));
        }
        // Another address: all is shipped to it.
        (Some(here), None) => new(&here.id),
        (None, Some(there)) => {
            return refused(format!(
                "holds another crawl ({}), which {folder} is not; go on with that one by {restore}, or name an empty \
                 prefix",
                there.id
            ));
        }
        (Some(here), Some(there)) if here.id != there.id => {
            return refused(format!(
                "holds another crawl ({}) than {folder} ({}); name the prefix of this one, or an empty one",
                there.id, here.id
            ));
        }
        (Some(here), Some(there))
            if there.epoch > 0 && here.nonce != there.nonce && here.previous != there.nonce =>
        {
            return refused(format!(
                "another copy of this crawl has shipped since (epoch {}), so {folder} is older than its vault; go on with \
                 that copy, or by {restore}",
                there.epoch
            ));
        }
        (Some(_), Some(there)) => there,
    };
    let former = here.as_ref().map(|here| here.other_than(address)).unwrap_or_default();
    let is_same = here.as_ref().is_some_and(|here| here.vault == *address);
    let before = here.filter(|_| is_same).unwrap_or_default();
    let lineage = Lineage {
        vault: address.clone(),
        id: found.id.clone(),
        nonce,
        previous: found.nonce.clone(),
        former,
        ..before
    };
    Ok((lineage, found))
}
