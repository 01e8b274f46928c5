//! `recrawl fleet move`: a process that stands by takes a partition from its owner.

use super::drain::{LOOK_EVERY, named};
use super::{all_nodes, print};
use crate::cli::FleetMoveArgs;
use crate::fleet::{self, NodeOrder, NodeStatus};
use recrawl_crawl::failure::Failure;
use recrawl_fleet::{HANDED_OVER, RELEASED, counter, newest};
use recrawl_vault::{Store, store};
use std::thread;

pub fn run(args: &FleetMoveArgs) -> Result<(), Failure> {
    let FleetMoveArgs { fleet: address, partition, to } = args;
    let partition = *partition;
    let store = store::open(address)?;
    let map = fleet::map_of(&*store, address)?;
    if map.place_of(partition).is_none() {
        return Err(Failure::Usage(format!("{address}: the fleet has no partition {partition}")));
    }
    let (taker, now) = (named(&*store, "--to", to)?, recrawl_fetcher::system_clock()());
    let refused =
        |why: String| Err(Failure::Usage(format!("--to {to}: {why}; name a process that stands by")));
    if let Some(owned) = taker.partition {
        return refused(format!("owns partition {owned}"));
    }
    if taker.is_silent(now, map.lease()) {
        return refused("is silent".into());
    }
    let epoch = newest(&*store, partition)?;
    let nodes = all_nodes(&*store)?;
    let is_heard = |owner: &&NodeStatus| !owner.is_silent(now, map.lease());
    let Some(owner) = nodes.iter().find(|node| node.owns(partition, epoch)).filter(is_heard) else {
        return Err(Failure::Usage(format!(
            "partition {partition} has no owner to take it from: the first process that stands by takes it"
        )));
    };
    // Heard first by whom it waits for: a free partition is anybody's after a lease.
    let orders = [
        (NodeOrder::Take { partition, epoch }, &**to),
        (NodeOrder::HandOver { partition, epoch }, &*owner.name),
    ];
    let moved = ordered(&*store, orders)
        .and_then(|()| {
            print(format!("{} gives partition {partition} up after its round, for {to}", owner.name))
        })
        .and_then(|()| until_taken(&*store, map.lease(), (partition, epoch), [to, &owner.name]));
    if moved.is_err() {
        // Nobody waits for it any more. A store that does not answer has told so.
        let _ = orders.into_iter().try_for_each(|(order, name)| order.withdraw(&*store, name));
    }
    moved
}

fn ordered(store: &dyn Store, orders: [(NodeOrder, &str); 2]) -> Result<(), Failure> {
    for (order, name) in orders {
        if !order.give(store, name)? {
            return Err(Failure::Usage(format!("{name} is drained: it ends after its round; wait for that")));
        }
    }
    Ok(())
}

/// Waits until a process has taken the partition after this epoch.
fn until_taken(
    store: &dyn Store,
    lease: u64,
    (partition, epoch): (u32, u64),
    [to, owner]: [&str; 2],
) -> Result<(), Failure> {
    loop {
        thread::sleep(LOOK_EVERY);
        let (nodes, taken) = (all_nodes(store)?, newest(store, partition)?);
        if let Some(now) = nodes.iter().find(|node| node.owns(partition, taken)).filter(|_| taken > epoch) {
            return match now.name == to {
                true => print(format!("{to} owns partition {partition}")),
                false => {
                    Err(Failure::Work(format!("{} was faster, and owns partition {partition}", now.name)))
                }
            };
        }
        let now = recrawl_fetcher::system_clock()();
        let is_silent = |name: &str| {
            nodes.iter().find(|node| node.name == name).is_none_or(|node| node.is_silent(now, lease))
        };
        if is_silent(to)
            || is_silent(owner) && ![RELEASED, HANDED_OVER].contains(&counter(store, partition, epoch)?)
        {
            return Err(Failure::Work(format!(
                "{to} or {owner} is silent: partition {partition} is taken by the first process that stands by"
            )));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::NODES;
    use recrawl_fleet::{FleetMap, PartitionRange, beat, begin, write_map};
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    #[test]
    fn who_is_silent_or_drained_takes_and_gives_nothing_and_no_order_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("file://{}", folder.path().display());
        let store = store::open(&address).unwrap();
        let range = PartitionRange { id: 1, begin: None, parent: None };
        write_map(&*store, &FleetMap::new(1, vec![range]).unwrap().with_lease(90_000)).unwrap();
        begin(&*store, 1, 0, "a", 1).unwrap();
        beat(&*store, 1, 1, 1).unwrap();
        let now = recrawl_fetcher::system_clock()();
        let tell = |name: &str, partition: Option<u32>, at| {
            let epoch = partition.map_or(0, u64::from);
            let (name, rest) = (name.to_owned(), NodeStatus::default());
            NodeStatus { name, at, partition, epoch, ..rest }.write(&*store).unwrap();
        };
        let orders = || ["a", "b"].map(|name| NodeOrder::read(&*store, name).unwrap());
        let told = || {
            let args = FleetMoveArgs { fleet: address.clone(), partition: 1, to: "b".into() };
            run(&args).unwrap_err().to_string()
        };
        // A clock that is an hour ahead: whoever tells by it is not silent while this test runs.
        let (ahead, long_ago) = (now + 3_600_000, now - 3_600_000);
        tell("a", Some(1), ahead);
        tell("b", None, long_ago);
        assert!(told().contains("--to b: is silent; name a process that stands by"), "{}", told());
        tell("a", Some(1), long_ago);
        tell("b", None, ahead);
        assert!(told().contains("partition 1 has no owner to take it from"), "{}", told());
        assert_eq!(orders(), [None, None]);
        tell("a", Some(1), ahead);
        for (name, left) in [("a", [Some(NodeOrder::Drain), None]), ("b", [None, Some(NodeOrder::Drain)])] {
            NodeOrder::Drain.give(&*store, name).unwrap();
            assert!(told().contains(&format!("{name} is drained")), "{}", told());
            assert_eq!(orders(), left);
            NodeOrder::forget(&*store, name).unwrap();
        }
        // b ends once all is ordered.
        let has_ended = AtomicBool::new(false);
        let ends = thread::scope(|scope| {
            scope.spawn(|| {
                while orders().contains(&None) && !has_ended.load(Relaxed) {
                    thread::yield_now();
                }
                store.remove(&format!("{NODES}b")).unwrap();
            });
            let ends = told();
            has_ended.store(true, Relaxed);
            ends
        });
        assert!(ends.contains("b or a is silent"), "{ends}");
        assert_eq!(orders(), [None, None]);
    }
}
