//! `recrawl fleet drain`: a process finishes its round, frees its partition and ends.

use super::{all_nodes, print};
use crate::cli::FleetDrainArgs;
use crate::fleet::{self, NodeOrder, NodeStatus};
use recrawl_crawl::failure::Failure;
use recrawl_vault::{Store, store};
use std::thread;
use std::time::Duration;

/// How often the process is looked for.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(500);

pub fn run(args: &FleetDrainArgs) -> Result<(), Failure> {
    let FleetDrainArgs { fleet: address, name } = args;
    let store = store::open(address)?;
    let lease = fleet::map_of(&*store, address)?.lease();
    let node = named(&*store, "--name", name)?;
    NodeOrder::Drain.give(&*store, name)?;
    let partition = node.partition.map_or("it stands by".into(), |id| format!("it owns partition {id}"));
    print(format!("{name} ends after its round: {partition}"))?;
    while let Some(node) = all_nodes(&*store)?.into_iter().find(|node| node.name == *name) {
        if node.is_silent(recrawl_fetcher::system_clock()(), lease) {
            return Err(Failure::Work(format!(
                "{name} is silent: it does not hear this, and its partition is free by now"
            )));
        }
        thread::sleep(LOOK_EVERY);
    }
    print(format!("{name} has ended"))
}

/// The process that an option names.
pub(super) fn named(store: &dyn Store, option: &str, name: &str) -> Result<NodeStatus, Failure> {
    let nodes = all_nodes(store)?;
    let known: Vec<&str> = nodes.iter().map(|node| &*node.name).collect();
    let unknown = format!("{option} {name}: no such process; there are: {}", known.join(", "));
    nodes.into_iter().find(|node| node.name == name).ok_or(Failure::Usage(unknown))
}
