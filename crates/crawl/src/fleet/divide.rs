//! Dividing a partition that nobody crawls.

use super::links::{NEXT_MESSAGE, inherit_marks};
use super::range::{CutPages, keep_range, refuse_in_progress};
use crate::failure::Failure;
use crate::operator::stopped::StoppedCrawl;
use crate::settings::Settings;
use crate::stored::{keep, kept};
use crate::vault::{lineage, restore, ship_stopped_in};
use recrawl_fleet::{
    FleetMap, MapDivision, RunMark, begin_partitions, partition_folder, propose, put_in_force, release,
};
use recrawl_repository::SledTables;
use recrawl_vault::Store;
use recrawl_vault::store::StoreWithin;
use serde::{Deserialize, Serialize};
use std::fs;
use std::sync::Arc;

/// Of a new partition, the inbox of the one that it was a part of, until its first owner has read that.
pub const PARENT_INBOX: &str = "fleet_inbox_of_parent";

/// Of a partition that was put together, the inboxes of its parts, until its first owner has read them.
pub const JOINED_INBOXES: &str = "fleet_inboxes_of_parts";

/// Messages that were sent before the partition was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentInbox {
    /// The partition that they were sent to.
    pub partition: u32,
    /// The number of the first that it had not read.
    pub next: u64,
}

/// A division to make. The caller owns the partition, and holds its lease.
pub struct PartitionDivision<'d> {
    /// The store of the fleet.
    pub fleet: Arc<dyn Store>,
    /// The map with the division.
    pub map: &'d FleetMap,
    /// The settings of the new partition. Its data directory is an empty one, of use only meanwhile.
    pub settings: &'d Settings,
    /// Random letters.
    pub tag: &'d str,
    /// The time, in milliseconds since 1970.
    pub now: u64,
    /// Asked before the last create: does the caller own the partition still?
    pub is_owner: &'d dyn Fn() -> Result<(), Failure>,
}

/// Divides a partition. The map says in which order, and why ([`recrawl_fleet::MapDivision`]): before the last create the old map is in
/// force, and after it the new one. Gives how many pages went where.
///
/// The new partition is a whole copy that was cut to its range, so its vault has all of its pages before anybody can own it.
/// The divided one is left as it is: its next owner cuts it.
///
/// # Errors
/// When a round is in progress, another process has taken the partition, or something cannot be read or written. If the last
/// create was not answered, nobody knows which map is in force until it is read.
pub fn divide(division: &PartitionDivision<'_>) -> Result<CutPages, Failure> {
    let PartitionDivision { fleet, map, settings, tag, now, is_owner } = division;
    let Some(MapDivision { parent, child, epoch, .. }) = map.division() else {
        return Err(Failure::Work("fleet: this map divides nothing".into()));
    };
    let within = |id| Arc::new(StoreWithin::new(fleet.clone(), partition_folder(id)));
    let source = restore::open_in(within(*parent), &format!("partition {parent}"))?;
    restore::restore(&source, &settings.data_dir)?;
    begin_with(settings, *parent, RunMark { epoch: *epoch, number: 0 })?;
    propose(&**fleet, map)?;
    // For stores that are folders.
    begin_partitions(&**fleet, map)?;
    let cut = keep_range(settings, map, *child, *now)?;
    let cut = cut.ok_or_else(|| Failure::Work(format!("fleet: partition {parent} was cut already")))?;
    ship_stopped_in(within(*child), settings, tag)?;
    release(&**fleet, *child, 1)?;
    is_owner()?;
    put_in_force(&**fleet, map, *now)?;
    // From here on it is done. A process takes the parent at once, or after a lease.
    if let Err(error) = release(&**fleet, *parent, *epoch) {
        tracing::warn!("partition {parent} is free only when a lease is over: {error}");
    }
    Ok(cut)
}

/// Makes a copy of the divided partition the beginning of the new one.
fn begin_with(settings: &Settings, parent: u32, runs: RunMark) -> Result<(), Failure> {
    if !settings.data_dir.join("MANIFEST").exists() {
        return Err(Failure::Usage(format!("fleet: partition {parent} has no pages yet; divide it later")));
    }
    // It gets a vault of its own.
    fs::remove_file(settings.data_dir.join(lineage::FILE)).map_err(Failure::work)?;
    let stopped = StoppedCrawl::open(settings)?;
    refuse_in_progress(&stopped)?;
    let StoppedCrawl { repository, tables, .. } = stopped;
    let next = next_message(&tables, parent)?;
    inherit_marks(&tables, repository.current().number().next(), parent, runs)?;
    keep(&tables, PARENT_INBOX, &Some(ParentInbox { partition: parent, next }))?;
    keep(&tables, NEXT_MESSAGE, &0u64)?;
    Ok(tables.flush()?)
}

/// The number of the first message that a partition has not read.
pub(super) fn next_message(tables: &SledTables, id: u32) -> Result<u64, Failure> {
    let of_parent = kept::<Option<ParentInbox>>(tables, PARENT_INBOX)?.flatten();
    let of_parts: Vec<ParentInbox> = kept(tables, JOINED_INBOXES)?.unwrap_or_default();
    // An owner would have read them.
    if of_parent.is_some() || !of_parts.is_empty() {
        return Err(Failure::Work(format!(
            "fleet: partition {id} has had no owner since it was made; start a process, and try again then"
        )));
    }
    Ok(kept(tables, NEXT_MESSAGE)?.unwrap_or_default())
}
