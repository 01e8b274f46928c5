//! A partition of a fleet before it is opened: how a process takes it, and what its configuration is.

use crate::config::units::{Rounds, Size};
use crate::failure::Failure;
use crate::settings::Settings;
use recrawl_fleet::{AddressSlots, FleetMap, FleetWaits};
use recrawl_scheduler::Parts;
use recrawl_vault::{Store, VaultError};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;

/// The error of a fleet's store, with exit code 2 where the address or the store is wrong.
impl From<VaultError> for Failure {
    fn from(error: VaultError) -> Failure {
        match error {
            VaultError::Refused(_) | VaultError::Unfit { .. } => Failure::Usage(format!("fleet: {error}")),
            _ => Failure::Work(format!("fleet: {error}")),
        }
    }
}

/// Milliseconds of a clock that runs on while the machine is suspended.
pub fn boot_clock() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// A partition that a process is about to take.
pub struct PartitionToTake {
    /// The store of the fleet.
    pub store: Arc<dyn Store>,
    /// Its map.
    pub map: FleetMap,
    /// The partition.
    pub id: u32,
    /// The epoch that is over, or 0: another one would be that of an owner whom nobody has watched.
    pub after: u64,
    /// How long it waits for the others.
    pub waits: FleetWaits,
    /// Called as soon as its epoch is taken, with that and a time before it by [`boot_clock`]: the lease runs from then on.
    pub on_taken: OnTaken,
    /// The turns at addresses that this process took last, of any partition.
    pub turns: Option<Arc<AddressSlots>>,
}

/// See [`PartitionToTake::on_taken`].
pub type OnTaken = Arc<dyn Fn(u64, u64) + Send + Sync>;

impl Settings {
    /// The settings of a partition whose vault has this address: of what limits all of a crawl it has an equal part, as all
    /// partitions together must keep to it.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it is configured to do what a fleet cannot do yet.
    pub fn of_partition(&self, vault: String, partitions: u64) -> Result<Settings, Failure> {
        let mut config = self.config.clone();
        if !config.storage.vault.is_empty() {
            let text =
                "storage.vault: the vault of a partition lies in the store of its fleet; remove the key";
            return Err(Failure::Usage(text.into()));
        }
        let fleet = vault.rsplitn(3, '/').last().unwrap_or_default();
        if let Some(target) = self.deliver.iter().find(|target| target.lies_at(fleet)) {
            let text =
                format!("[[deliver]] {:?}: to: the fleet lies there; name another folder", target.name);
            return Err(Failure::Usage(text));
        }
        config.storage.vault = vault;
        config.cycle.rounds.get_or_insert(Rounds(Parts::Equal(1)));
        let part = |limit: u64| if limit == 0 { 0 } else { (limit / partitions).max(1) };
        let budget = &mut config.budget;
        budget.bytes_per_second = Size(part(budget.bytes_per_second.0));
        budget.bytes_per_cycle = Size(part(budget.bytes_per_cycle.0));
        budget.requests_per_second = part(budget.requests_per_second.into()) as u32;
        config.cycle.fill_pages = part(config.cycle.fill_pages);
        let mut settings = Settings::check(config).map_err(Failure::Usage)?;
        (settings.files, settings.data_dir) = (self.files.clone(), self.data_dir.clone());
        check(&settings)?;
        Ok(settings)
    }
}

/// Refuses a configuration by which a partition would do other than its part of one crawl.
///
/// # Errors
/// [`Failure::Usage`] with the key.
pub fn check(settings: &Settings) -> Result<(), Failure> {
    let config = &settings.config;
    let key = match config {
        _ if settings.focus.is_some() => "focus.enabled",
        _ if settings.is_measured => "improve.mode",
        _ if !settings.promises.is_empty() => "promises",
        _ if settings.rounds.most() > 1 => "cycle.rounds",
        // What pages load may lie on hosts of other partitions, which their owners ask.
        _ if settings.pages.need_requisites() => "pages.requisites",
        _ if settings.pages.need_browser() => "pages.render",
        _ => return Ok(()),
    };
    Err(Failure::Usage(format!(
        "{key}: a crawl of a fleet cannot do this yet; remove it from the configuration"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn documents_never_lie_where_the_fleet_does() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |to: &str| {
            let text = format!("[[deliver]]\nname = \"docs\"\nto = \"jsonl+{to}\"\n");
            let mut config: Config = toml::from_str(&text).unwrap();
            config.storage.data_dir = folder.path().into();
            let settings = Settings::check(config).unwrap();
            settings.of_partition("s3://b/f/p/0000000001".into(), 1).err().map(|refused| refused.to_string())
        };
        assert_eq!(
            ["s3://b/docs", "s3://c/f", "gs://b/f", "s3://b/fleet"].map(refused),
            [None, None, None, None]
        );
        for to in ["s3://b/f", "s3://b/f/docs"] {
            assert!(refused(to).unwrap().contains("the fleet lies there"), "{to}");
        }
    }
}
