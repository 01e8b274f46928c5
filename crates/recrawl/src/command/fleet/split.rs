//! `recrawl fleet split`: divides a partition.
//!
//! The command owns the partition meanwhile, as any process of the fleet would: it asks the present owner for it, and beats
//! until the division is in force.

use super::drain::LOOK_EVERY;
use super::{all_nodes, counted, host, owner_of, print};
use crate::cli::{FleetSplitArgs, Where};
use crate::fleet::{
    self, Beats, BeatsEnd, FleetWatch, NODES, NodeIdentity, NodeOrder, NodeStatus, OwnEpoch, OwnNode,
    vault_of,
};
use crate::process;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::fleet::{CutPages, PartitionDivision, divide};
use recrawl_crawl::partition::boot_clock;
use recrawl_fleet::{
    FleetMap, HANDED_OVER, LeaseWatch, RELEASED, begin, counter, divided, newest, sweep_void,
};
use recrawl_vault::{Store, VaultError, store};
use std::cell::Cell;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use tokio_util::sync::CancellationToken;

pub fn run(args: &FleetSplitArgs) -> Result<(), Failure> {
    let FleetSplitArgs { fleet: address, partition, at, .. } = args;
    host("--at", at)?;
    let store = store::open(address)?;
    let map = fleet::map_of(&*store, address)?;
    let tag = process::random_tag()?;
    // What cannot be is told before anybody gives anything up.
    divided(&*store, &map, (*partition, at), (0, &tag)).map_err(Failure::usage)?;
    let scratch = ScratchCopy::create(args.scratch.as_deref(), &tag)?;
    let own = take(&*store, &map, *partition, &tag)?;
    let name = format!("split-{tag}");
    let version = env!("CARGO_PKG_VERSION").into();
    let node = OwnNode {
        status: NodeStatus { name: name.clone(), version, ..NodeStatus::default() },
        identity: Arc::new(NodeIdentity::new(tag.clone(), recrawl_fetcher::system_clock()(), map.lease())),
        watch: Arc::new(FleetWatch::new(address, map, *partition, own.began)),
    };
    let beats = Beats::begin(store.clone(), own, CancellationToken::new(), node)?;
    let done = divide_owned(args, &store, &scratch, &beats, &tag);
    // Nothing has changed but that the partition has had an owner more.
    beats.end(if done.is_err() { BeatsEnd::Free } else { BeatsEnd::Silent });
    let _ = store.remove(&format!("{NODES}{name}"));
    let (child, CutPages { kept, dropped }) = done?;
    print(format!(
        "partition {partition} is divided at {at}: partition {child} has {}, and {partition} the other {}; a process that \
         stands by takes each",
        counted(kept, "page"),
        counted(dropped, "page")
    ))
}

/// Divides the partition, which this process owns. Gives the new one.
fn divide_owned(
    args: &FleetSplitArgs,
    store: &Arc<dyn Store>,
    scratch: &ScratchCopy,
    beats: &Beats,
    tag: &str,
) -> Result<(u32, CutPages), Failure> {
    let FleetSplitArgs { fleet: address, partition, at, .. } = args;
    let map = fleet::map_of(&**store, address)?;
    sweep_void(&**store, &map)?;
    let next = newest(&**store, *partition)? + 1;
    let map = divided(&**store, &map, (*partition, at), (next, tag)).map_err(Failure::usage)?;
    let child = map.division().map_or(0, |division| division.child);
    let config = args.config.clone();
    let place = Where {
        config,
        data_dir: Some(scratch.0.clone()),
        partition: Some((vault_of(address, child), map.ranges().len() as u64)),
        fleet: None,
    };
    let settings = place.settings()?;
    let is_owner = || {
        // From here on the lease holds for a while without a beat, and nobody takes the later epoch for a thief's.
        match beats.rest() {
            Some(why) => Err(Failure::Work(format!("nothing was divided: {why}"))),
            None => Ok(()),
        }
    };
    let now = recrawl_fetcher::system_clock()();
    let cut = divide(&PartitionDivision {
        fleet: store.clone(),
        map: &map,
        settings: &settings,
        tag,
        now,
        is_owner: &is_owner,
    })?;
    Ok((child, cut))
}

/// Takes the partition, once its owner has given it up.
fn take(store: &dyn Store, map: &FleetMap, partition: u32, tag: &str) -> Result<OwnEpoch, Failure> {
    let mut watch = LeaseWatch::new(map.lease());
    let asked: Cell<Option<u64>> = Cell::new(None);
    loop {
        let epoch = newest(store, partition)?;
        let asked_at = boot_clock();
        let counter = counter(store, partition, epoch)?;
        let is_over = watch.is_over(epoch, counter, (asked_at, boot_clock()));
        if epoch == 0 {
            return Err(Failure::Usage(format!("partition {partition} has no pages yet: divide it later")));
        }
        if is_over || [RELEASED, HANDED_OVER].contains(&counter) {
            let began = boot_clock();
            match begin(store, partition, epoch, tag, recrawl_fetcher::system_clock()()) {
                Ok(epoch) => return Ok(OwnEpoch { partition, epoch, began, lease: map.lease() }),
                // Another process was faster, and is asked as well.
                Err(VaultError::Lost { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
        }
        let nodes = all_nodes(store)?;
        if let Some(owner) = owner_of(&nodes, partition, epoch).filter(|_| asked.get() != Some(epoch)) {
            NodeOrder::HandOver { partition, epoch }.give(store, &owner.name)?;
            print(format!("{} gives partition {partition} up after its round", owner.name))?;
            asked.set(Some(epoch));
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// A folder that goes with the command.
struct ScratchCopy(PathBuf);

impl ScratchCopy {
    fn create(at: Option<&Path>, tag: &str) -> Result<ScratchCopy, Failure> {
        let above = at.map_or_else(env::temp_dir, Path::to_owned);
        let folder = above.join(format!("recrawl-split-{tag}"));
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
