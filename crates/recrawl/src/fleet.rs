//! A process of a fleet: it takes a partition that nobody owns, shows that it is alive, and stops before another may take it.

mod beats;
mod node;
mod order;
mod partition_folder;

pub use beats::{Beats, BeatsEnd, OwnEpoch};
pub use node::{FleetNode, NODES, NodeStatus, TakenPartition};
pub use order::NodeOrder;
pub use partition_folder::partition_in;

use recrawl_crawl::failure::Failure;
use recrawl_fleet::{FleetMap, newest_map};
use recrawl_vault::Store;
use std::path::Path;

/// The map in force.
///
/// # Errors
/// [`Failure::Usage`] if no fleet was begun here.
pub fn map_of(store: &dyn Store, address: &str) -> Result<FleetMap, Failure> {
    newest_map(store)?.ok_or_else(|| {
        Failure::Usage(format!(
            "{address}: no fleet was begun here; mount its disk, or run `recrawl fleet begin {address}`"
        ))
    })
}

/// Refuses to crawl in the data directory of a partition as if it were alone: others have its owner, and its hosts.
///
/// # Errors
/// [`Failure::Usage`], saying how.
pub fn refuse_partition(data_dir: &Path) -> Result<(), Failure> {
    match partition_in(data_dir) {
        None => Ok(()),
        Some((address, _)) => Err(Failure::Usage(format!(
            "{}: is a partition of a fleet; run `recrawl serve --fleet {address} --name NAME`",
            data_dir.display()
        ))),
    }
}

/// The address of a partition's vault.
pub fn vault_of(address: &str, partition: u32) -> String {
    format!(
        "{}/{}",
        address.trim_end_matches('/'),
        recrawl_fleet::partition_folder(partition).trim_end_matches('/')
    )
}
