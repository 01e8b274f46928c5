//! `recrawl fleet move`: a process that stands by takes a partition from its owner.

use super::drain::{LOOK_EVERY, named};
use super::{all_nodes, owner_of, print};
use crate::cli::FleetMoveArgs;
use crate::fleet::{self, NodeOrder};
use recrawl_crawl::failure::Failure;
use recrawl_fleet::{HANDED_OVER, RELEASED, counter, newest};
use recrawl_vault::store;
use std::thread;

pub fn run(args: &FleetMoveArgs) -> Result<(), Failure> {
    let FleetMoveArgs { fleet: address, partition, to } = args;
    let partition = *partition;
    let store = store::open(address)?;
    let map = fleet::map_of(&*store, address)?;
    if map.place_of(partition).is_none() {
        return Err(Failure::Usage(format!("{address}: the fleet has no partition {partition}")));
    }
    if let Some(owned) = named(&*store, "--to", to)?.partition {
        return Err(Failure::Usage(format!(
            "--to {to}: owns partition {owned}; name a process that stands by"
        )));
    }
    let epoch = newest(&*store, partition)?;
    let nodes = all_nodes(&*store)?;
    let Some(owner) = owner_of(&nodes, partition, epoch) else {
        return Err(Failure::Usage(format!(
            "partition {partition} has no owner to take it from: the first process that stands by takes it"
        )));
    };
    // Heard first by whom it waits for: a free partition is anybody's after a lease.
    NodeOrder::Take { partition, epoch }.give(&*store, to)?;
    NodeOrder::HandOver { partition, epoch }.give(&*store, &owner.name)?;
    print(format!("{} gives partition {partition} up after its round, for {to}", owner.name))?;
    loop {
        thread::sleep(LOOK_EVERY);
        let (nodes, taken) = (all_nodes(&*store)?, newest(&*store, partition)?);
        if let Some(now) = owner_of(&nodes, partition, taken).filter(|_| taken > epoch) {
            return match now.name == *to {
                true => print(format!("{to} owns partition {partition}")),
                false => {
                    Err(Failure::Work(format!("{} was faster, and owns partition {partition}", now.name)))
                }
            };
        }
        let silent = |name: &str| {
            let at = nodes.iter().find(|node| node.name == name).map_or(0, |node| node.at);
            recrawl_fetcher::system_clock()().saturating_sub(at) > 2 * map.lease()
        };
        if silent(to)
            || silent(&owner.name) && ![RELEASED, HANDED_OVER].contains(&counter(&*store, partition, epoch)?)
        {
            return Err(Failure::Work(format!(
                "{to} or {} is silent: partition {partition} is taken by the first process that stands by",
                owner.name
            )));
        }
    }
}
