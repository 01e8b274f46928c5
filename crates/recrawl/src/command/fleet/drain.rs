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
    // One that starts again under its name is another.
    let is_it = |now: &NodeStatus| (&now.name, &now.run) == (name, &node.run);
    while let Some(node) = all_nodes(&*store)?.into_iter().find(is_it) {
        if node.is_silent(recrawl_fetcher::system_clock()(), lease) {
            return Err(Failure::Work(format!(
                "{name} is silent: it does not hear this, and its partition is free by now"
            )));
        }
        // Who forgot an earlier order at the same time may have removed this one.
        if NodeOrder::read(&*store, name)? != Some(NodeOrder::Drain) {
            NodeOrder::Drain.give(&*store, name)?;
        }
        thread::sleep(LOOK_EVERY);
    }
    NodeOrder::Drain.withdraw(&*store, name)?;
    print(format!("{name} has ended"))
}

/// The process that an option names.
pub(super) fn named(store: &dyn Store, option: &str, name: &str) -> Result<NodeStatus, Failure> {
    let nodes = all_nodes(store)?;
    let known: Vec<&str> = nodes.iter().map(|node| &*node.name).collect();
    let unknown = format!("{option} {name}: no such process; there are: {}", known.join(", "));
    nodes.into_iter().find(|node| node.name == name).ok_or(Failure::Usage(unknown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::NODES;
    use recrawl_fleet::{FleetMap, PartitionRange, write_map};

    #[test]
    fn the_order_is_given_again_until_the_process_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("file://{}", folder.path().display());
        let store = store::open(&address).unwrap();
        let range = PartitionRange { id: 1, begin: None, parent: None };
        write_map(&*store, &FleetMap::new(1, vec![range]).unwrap().with_lease(90_000)).unwrap();
        let tell = |run: &str| {
            // A clock that is an hour ahead: it is not silent while this test runs.
            let at = recrawl_fetcher::system_clock()() + 3_600_000;
            NodeStatus { name: "a".into(), run: run.into(), at, ..NodeStatus::default() }
                .write(&*store)
                .unwrap();
        };
        let drains = || {
            thread::spawn({
                let args = FleetDrainArgs { fleet: address.clone(), name: "a".into() };
                move || run(&args).map_err(|failure| failure.to_string())
            })
        };
        let order = || NodeOrder::read(&*store, "a").unwrap();
        let until_given = |drain: &thread::JoinHandle<_>| {
            while order() != Some(NodeOrder::Drain) && !drain.is_finished() {
                thread::yield_now();
            }
        };
        tell("first");
        let drain = drains();
        until_given(&drain);
        NodeOrder::forget(&*store, "a").unwrap();
        until_given(&drain);
        assert_eq!(order(), Some(NodeOrder::Drain));
        tell("second");
        drain.join().unwrap().unwrap();
        assert_eq!(order(), None, "it was not for the next process of that name");
        let drain = drains();
        until_given(&drain);
        store.remove(&format!("{NODES}a")).unwrap();
        drain.join().unwrap().unwrap();
        assert_eq!(order(), None);
    }
}
