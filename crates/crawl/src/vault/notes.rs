//! The work of the shipper's thread beside shipping: it removes objects that must go, and notes for the next start what
//! the vault has.

use super::folder::is_of_warc;
use super::lineage::Lineage;
use recrawl_vault::{MillisClock, Upkeep, Vault, VaultError};
use std::path::PathBuf;

/// Time between two sweeps of a process. Objects must be a day old.
const SWEEP_EVERY: u64 = 24 * 60 * 60 * 1000;

/// Keeps `vault.json`.
pub(super) struct Notes {
    lineage: Lineage,
    data_dir: PathBuf,
    clock: MillisClock,
    swept_at: Option<u64>,
    /// As it is on disk.
    noted: Option<Lineage>,
}

impl Notes {
    pub fn new(lineage: Lineage, data_dir: PathBuf, clock: MillisClock) -> Notes {
        Notes { noted: Some(lineage.clone()), lineage, data_dir, clock, swept_at: None }
    }

    fn sweep(&mut self, vault: &Vault) {
        let now = (self.clock)();
        if self.swept_at.is_some_and(|at| now.saturating_sub(at) < SWEEP_EVERY) {
            return;
        }
        // What is left over is removed another day; it must not keep the crawl from shipping.
        match vault.sweep(now) {
            Ok(swept) => tracing::debug!(objects = swept.objects, bytes = swept.bytes, "swept the vault"),
            Err(error) => tracing::warn!("objects that nobody needs stay in the vault: {error}"),
        }
        self.swept_at = Some(now);
    }
}

impl Upkeep for Notes {
    fn has_manifest(&mut self, vault: &mut Vault) -> Result<(), VaultError> {
        if self.lineage.purge {
            let swept = vault.purge()?;
            tracing::info!(objects = swept.objects, "the vault holds nothing more of what was removed here");
            self.lineage.purge = false;
        }
        (self.lineage.has_shipped, self.lineage.restored) = (true, None);
        // Others may be cut by the next start, and written on: those are compared byte by byte.
        self.lineage.files = vault.identities();
        self.lineage.files.retain(|name, _| is_of_warc(name));
        self.sweep(vault);
        Ok(())
    }

    fn note(&mut self, vault: &Vault) -> Result<(), VaultError> {
        self.lineage.uploads = vault.uploads().clone();
        self.lineage.uploads.keep_identities(is_of_warc);
        if self.noted.as_ref() != Some(&self.lineage) {
            // If this fails, nobody knows what the disk has.
            self.noted = None;
            self.lineage.write(&self.data_dir).map_err(|e| VaultError::Away(e.to_string()))?;
            self.noted = Some(self.lineage.clone());
        }
        Ok(())
    }
}
