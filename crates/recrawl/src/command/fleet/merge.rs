//! `recrawl fleet merge`: puts two neighbours together.

use super::own::{FleetChange, OwnedPartitions, ScratchCopy};
use super::{counted, print, settings_of};
use crate::cli::FleetMergeArgs;
use crate::fleet;
use crate::process;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::fleet::{PartitionJoining, merge};
use recrawl_fleet::{PartitionEnd, joined, sweep_void};
use recrawl_vault::{Store, store};
use std::sync::Arc;

pub fn run(args: &FleetMergeArgs) -> Result<(), Failure> {
    let FleetMergeArgs { fleet: address, left, right, .. } = args;
    let store = store::open(address)?;
    let map = fleet::map_of(&*store, address)?;
    let tag = process::random_tag()?;
    // What cannot be is told before anybody gives anything up.
    let both = [*left, *right].map(|id| PartitionEnd { id, epoch: 0 });
    joined(&*store, &map, both, &tag).map_err(Failure::usage)?;
    let scratch = ScratchCopy::create(args.scratch.as_deref(), "merge", &tag)?;
    let change = FleetChange { name: "merge", address, tag: &tag };
    let merge = |owned: &OwnedPartitions| merge_owned(args, &store, &scratch, owned, &tag);
    let (new, pages) = OwnedPartitions::with(&change, &store, &map, &[*left, *right], merge)?;
    print(format!(
        "partitions {left} and {right} are partition {new} now, with {}; a process that stands by takes it",
        counted(pages, "page")
    ))
}

/// Puts the partitions together, which this process owns. Gives the new one and its pages.
fn merge_owned(
    args: &FleetMergeArgs,
    store: &Arc<dyn Store>,
    scratch: &ScratchCopy,
    owned: &OwnedPartitions,
    tag: &str,
) -> Result<(u32, u64), Failure> {
    let address = &args.fleet;
    let before = fleet::map_of(&**store, address)?;
    sweep_void(&**store, &before)?;
    let [left, right] = owned.ends()[..] else { return Err(Failure::work("two partitions are owned")) };
    let map = joined(&**store, &before, [left, right], tag).map_err(Failure::usage)?;
    let new = map.joining().and_then(|joining| joining.into).unwrap_or_default();
    let pages = merge(&PartitionJoining {
        fleet: store.clone(),
        before: &before,
        map: &map,
        scratch: &scratch.0,
        settings: &settings_of(&args.config, address, map.ranges().len()),
        tag,
        now: recrawl_fetcher::system_clock()(),
        is_owner: &|| owned.rest(),
    })?;
    Ok((new, pages))
}
