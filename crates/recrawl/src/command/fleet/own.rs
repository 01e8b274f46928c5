//! A command that owns partitions meanwhile, as any process of the fleet would: it asks their owners for them, and beats until it is
//! done.

use super::drain::LOOK_EVERY;
use super::{all_nodes, print};
use crate::fleet::{
    Beats, BeatsEnd, FleetWatch, NODES, NodeIdentity, NodeOrder, NodeStatus, OwnEpoch, OwnNode,
};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::partition::boot_clock;
use recrawl_fleet::{
    FORMAT, FleetMap, HANDED_OVER, LeaseWatch, PartitionEnd, RELEASED, begin, counter, newest, void_joinings,
};
use recrawl_vault::{Store, VaultError};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use tokio_util::sync::CancellationToken;

/// Partitions that this command owns.
pub struct OwnedPartitions {
    store: Arc<dyn Store>,
    owned: Vec<OwnedPartition>,
}

struct OwnedPartition {
    end: PartitionEnd,
    beats: Beats,
    /// The name by which it tells of itself.
    name: String,
}

/// A command that changes a fleet.
pub struct FleetChange<'c> {
    /// Its name.
    pub name: &'static str,
    /// The address of the fleet.
    pub address: &'c str,
    /// Random letters.
    pub tag: &'c str,
}

impl OwnedPartitions {
    /// Takes the partitions, once their owners have given them up, and does `work` with them. If that fails, they are free.
    ///
    /// # Errors
    /// When one has no pages yet, or the store does not answer; and those of `work`.
    pub fn with<T>(
        change: &FleetChange<'_>,
        store: &Arc<dyn Store>,
        map: &FleetMap,
        ids: &[u32],
        work: impl FnOnce(&OwnedPartitions) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut all = OwnedPartitions { store: store.clone(), owned: Vec::new() };
        let done = all.take_all(change, map, ids).and_then(|()| work(&all));
        all.end(done.is_ok());
        done
    }

    fn take_all(&mut self, change: &FleetChange<'_>, map: &FleetMap, ids: &[u32]) -> Result<(), Failure> {
        let store = self.store.clone();
        // Before anybody is asked to give one up.
        for id in ids {
            if newest(&*store, *id)? == 0 {
                return Err(Failure::Usage(format!(
                    "partition {id} has no pages yet: {} later",
                    change.name
                )));
            }
        }
        let mut watches: BTreeMap<u32, LeaseWatch> =
            ids.iter().map(|id| (*id, LeaseWatch::new(map.lease()))).collect();
        let mut asked = BTreeMap::new();
        while !watches.is_empty() {
            for id in ids {
                let Some(watch) = watches.get_mut(id) else { continue };
                if let Some(own) = take_one(&*store, map, *id, change, watch, &mut asked)? {
                    watches.remove(id);
                    self.begin(change, map, own)?;
                }
            }
            if !watches.is_empty() {
                thread::sleep(LOOK_EVERY);
            }
        }
        self.owned.sort_by_key(|owned| ids.iter().position(|id| *id == owned.end.id));
        Ok(())
    }

    fn begin(&mut self, change: &FleetChange<'_>, map: &FleetMap, own: OwnEpoch) -> Result<(), Failure> {
        let OwnEpoch { partition: id, epoch, began, lease } = own;
        let (now, tag) = (recrawl_fetcher::system_clock()(), change.tag);
        let name = format!("{}-{tag}-{id}", change.name);
        let version = env!("CARGO_PKG_VERSION").into();
        let node = OwnNode {
            status: NodeStatus { name: name.clone(), version, format: FORMAT, ..NodeStatus::default() },
            identity: Arc::new(NodeIdentity::new(format!("{tag}{id}"), now, lease)),
            watch: Arc::new(FleetWatch::new(change.address, map.clone(), id, began)),
        };
        let beats = Beats::begin(self.store.clone(), own, CancellationToken::new(), node)?;
        self.owned.push(OwnedPartition { end: PartitionEnd { id, epoch }, beats, name });
        Ok(())
    }

    /// The partitions, each with the epoch by which it is owned.
    pub fn ends(&self) -> Vec<PartitionEnd> {
        self.owned.iter().map(|owned| owned.end).collect()
    }

    /// Beats no more, while the leases hold as they are.
    ///
    /// # Errors
    /// When one is over, with why: then nothing may be changed.
    pub fn rest(&self) -> Result<(), Failure> {
        let lost = self.owned.iter().find_map(|owned| owned.beats.rest());
        lost.map_or(Ok(()), |why| Err(Failure::Work(format!("nothing was changed: {why}"))))
    }

    /// Ends. If nothing was changed, the partitions are free, and have had an owner more.
    fn end(self, is_changed: bool) {
        for OwnedPartition { beats, name, .. } in self.owned {
            beats.end(if is_changed { BeatsEnd::Silent } else { BeatsEnd::Free });
            let _ = self.store.remove(&format!("{NODES}{name}"));
        }
    }
}

/// Looks once for a partition: takes it, or asks its owner for it.
fn take_one(
    store: &dyn Store,
    map: &FleetMap,
    partition: u32,
    change: &FleetChange<'_>,
    watch: &mut LeaseWatch,
    asked: &mut BTreeMap<u32, u64>,
) -> Result<Option<OwnEpoch>, Failure> {
    let epoch = newest(store, partition)?;
    let asked_at = boot_clock();
    let counter = counter(store, partition, epoch)?;
    let is_over = watch.is_over(epoch, counter, (asked_at, boot_clock()));
    if is_over || [RELEASED, HANDED_OVER].contains(&counter) {
        let began = boot_clock();
        return match begin(store, partition, epoch, change.tag, recrawl_fetcher::system_clock()()) {
            Ok(epoch) => {
                void_joinings(store, map, partition)?;
                Ok(Some(OwnEpoch { partition, epoch, began, lease: map.lease() }))
            }
            // Another process was faster, and is asked as well.
            Err(VaultError::Lost { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        };
    }
    let nodes = all_nodes(store)?;
    if let Some(owner) = nodes
        .iter()
        .find(|node| node.owns(partition, epoch))
        .filter(|_| asked.get(&partition) != Some(&epoch))
    {
        // One that is to end gives it up as well.
        NodeOrder::HandOver { partition, epoch }.give(store, &owner.name)?;
        print(format!("{} gives partition {partition} up after its round", owner.name))?;
        asked.insert(partition, epoch);
    }
    Ok(None)
}

/// A folder that goes with the command.
pub struct ScratchCopy(pub PathBuf);

impl ScratchCopy {
    /// Makes it in the folder `at`, or in that of temporary files.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it cannot be made.
    pub fn create(at: Option<&Path>, change: &str, tag: &str) -> Result<ScratchCopy, Failure> {
        let above = at.map_or_else(env::temp_dir, Path::to_owned);
        let folder = above.join(format!("recrawl-{change}-{tag}"));
        fs::create_dir_all(&folder)
            .map_err(|e| Failure::Usage(format!("--scratch: cannot create {}: {e}", folder.display())))?;
        Ok(ScratchCopy(folder))
    }
}

impl Drop for ScratchCopy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_fleet::{PartitionRange, beat};
    use recrawl_vault::store::MemoryStore;

    #[test]
    fn nobody_is_asked_for_a_partition_while_another_has_no_pages() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let range = |(id, begin): (u32, Option<&str>)| PartitionRange {
            id,
            begin: begin.map(str::to_owned),
            parent: None,
        };
        let map = FleetMap::new(1, [(1, None), (2, Some("h.test"))].map(range).into()).unwrap();
        begin(&*store, 1, 0, "a", 1).unwrap();
        beat(&*store, 1, 1, 1).unwrap();
        let at = recrawl_fetcher::system_clock()();
        let owner =
            NodeStatus { name: "a".into(), at, partition: Some(1), epoch: 1, ..NodeStatus::default() };
        owner.write(&*store).unwrap();
        let change = FleetChange { name: "leave", address: "memory:", tag: "t" };
        let done = OwnedPartitions::with(&change, &store, &map, &[1, 2], |_| Ok(()));
        assert!(done.unwrap_err().to_string().contains("partition 2 has no pages yet"));
        assert_eq!(NodeOrder::read(&*store, "a").unwrap(), None);
    }
}
