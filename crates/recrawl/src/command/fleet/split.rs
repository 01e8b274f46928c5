//! `recrawl fleet split`: divides a partition.

use super::own::{FleetChange, OwnedPartitions, ScratchCopy};
use super::{counted, host, print, settings_of};
use crate::cli::FleetSplitArgs;
use crate::fleet;
use crate::process;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::fleet::{CutPages, PartitionDivision, divide};
use recrawl_fleet::{divided, newest, sweep_void};
use recrawl_vault::{Store, store};
use std::sync::Arc;

pub fn run(args: &FleetSplitArgs) -> Result<(), Failure> {
    let FleetSplitArgs { fleet: address, partition, at, .. } = args;
    host("--at", at)?;
    let store = store::open(address)?;
    let map = fleet::map_of(&*store, address)?;
    let tag = process::random_tag()?;
    // What cannot be is told before anybody gives anything up.
    divided(&*store, &map, (*partition, at), (0, &tag)).map_err(Failure::usage)?;
    let scratch = ScratchCopy::create(args.scratch.as_deref(), "split", &tag)?;
    let change = FleetChange { name: "split", address, tag: &tag };
    let divide = |owned: &OwnedPartitions| divide_owned(args, &store, &scratch, owned, &tag);
    let (child, CutPages { kept, dropped }) =
        OwnedPartitions::with(&change, &store, &map, &[*partition], divide)?;
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
    owned: &OwnedPartitions,
    tag: &str,
) -> Result<(u32, CutPages), Failure> {
    let FleetSplitArgs { fleet: address, partition, at, .. } = args;
    let map = fleet::map_of(&**store, address)?;
    sweep_void(&**store, &map)?;
    let next = newest(&**store, *partition)? + 1;
    let map = divided(&**store, &map, (*partition, at), (next, tag)).map_err(Failure::usage)?;
    let child = map.division().map_or(0, |division| division.child);
    let settings = settings_of(&args.config, address, map.ranges().len())(child, &scratch.0)?;
    // From here on the lease holds for a while without a beat, and nobody takes the later epoch for a thief's.
    let is_owner = || owned.rest();
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
