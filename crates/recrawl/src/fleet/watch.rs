//! The fleet as one of its processes sees it: who owns what, and who is silent. Ages are by the own clock, from when something
//! was seen to change: clocks of others may be set otherwise.

use super::NodeStatus;
use recrawl_console::view::{FleetFigures, NodeFigures, PartitionFigures};
use recrawl_fleet::{AddressSlots, FleetMap};
use recrawl_vault::{Store, VaultError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The view of a process.
#[derive(Debug)]
pub struct FleetWatch {
    address: String,
    map: FleetMap,
    /// The partition of the process.
    own: u32,
    seen: Mutex<SeenFleet>,
    /// Its turns at addresses; none before they begin, and if it shares none.
    slots: OnceLock<Arc<AddressSlots>>,
}

/// Times are of a clock that is never set, in milliseconds.
#[derive(Debug, Default)]
struct SeenFleet {
    /// When the store last answered.
    heard: u64,
    error: Option<String>,
    /// Why a change of others waits; none if none does.
    waiting: Option<String>,
    /// By name, with the time of the last sign of life.
    nodes: BTreeMap<String, (NodeStatus, u64)>,
    /// By partition, who owned it last, and when that was seen.
    owners: BTreeMap<u32, (Option<NodeStatus>, u64)>,
}

impl FleetWatch {
    /// Nothing seen yet; the store answers at `now`.
    pub fn new(address: &str, map: FleetMap, own: u32, now: u64) -> FleetWatch {
        let owners = map.ranges().iter().map(|range| (range.id, (None, now))).collect();
        let seen = Mutex::new(SeenFleet { heard: now, owners, ..SeenFleet::default() });
        FleetWatch { address: address.to_owned(), map, own, seen, slots: OnceLock::new() }
    }

    /// Tells of these turns at addresses from now on.
    pub fn follow_slots(&self, slots: Option<Arc<AddressSlots>>) {
        slots.into_iter().for_each(|slots| drop(self.slots.set(slots)));
    }

    fn seen(&self) -> MutexGuard<'_, SeenFleet> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store has answered the process, or not.
    pub fn answered<T>(&self, answer: &Result<T, VaultError>, now: u64) {
        let mut seen = self.seen();
        match answer {
            Ok(_) => (seen.heard, seen.error) = (now, None),
            Err(error) => seen.error = Some(error.to_string()),
        }
    }

    /// Tells why a change of others waits, or that none does. False if that was told.
    pub fn waits(&self, why: Option<String>) -> bool {
        let before = std::mem::replace(&mut self.seen().waiting, why.clone());
        before != why
    }

    /// Looks at what the processes tell. `wall` is the time in milliseconds since 1970.
    pub fn look(&self, store: &dyn Store, now: u64, wall: u64) {
        let told = NodeStatus::all(store, wall);
        self.saw(told, now, wall);
    }

    fn saw(&self, told: Result<Vec<NodeStatus>, VaultError>, now: u64, wall: u64) {
        self.answered(&told, now);
        let Ok(told) = told else { return };
        let mut seen = self.seen();
        let known = std::mem::take(&mut seen.nodes);
        for node in told {
            let alive = match known.get(&node.name) {
                Some((before, alive)) if before.at == node.at => *alive,
                Some(_) => now,
                // Of one that is dead since before this process began, only its own clock tells.
                None => now.saturating_sub(wall.saturating_sub(node.at)),
            };
            if let Some(id) = node.partition {
                let owner = seen.owners.entry(id).or_insert((None, now));
                let is_later = owner.0.as_ref().is_none_or(|before| before.epoch <= node.epoch);
                if is_later {
                    *owner = (Some(node.clone()), alive);
                }
            }
            seen.nodes.insert(node.name.clone(), (node, alive));
        }
    }

    /// The name and console of the process that was last seen to own a partition.
    pub fn owner_of(&self, partition: u32) -> Option<(String, String)> {
        let seen = self.seen();
        let (owner, _) = seen.owners.get(&partition)?;
        owner.as_ref().map(|owner| (owner.name.clone(), owner.console.clone()))
    }

    /// The fleet as it was seen, as of `now`.
    pub fn figures(&self, now: u64) -> FleetFigures {
        let (seen, lease) = (self.seen(), self.map.lease());
        let age = |since: u64| now.saturating_sub(since);
        let partition = |range: &recrawl_fleet::PartitionRange| {
            let (last, alive) = seen.owners.get(&range.id).cloned().unwrap_or_default();
            // One that says so no more has given it up, or told of another partition since.
            let says_so = last.as_ref().is_some_and(|last| {
                seen.nodes
                    .get(&last.name)
                    .is_some_and(|(node, _)| (node.partition, node.epoch) == (last.partition, last.epoch))
            });
            let is_owned = says_so && age(alive) < lease;
            let last = last.unwrap_or_default();
            PartitionFigures {
                partition: range.id,
                begins: range.begin.clone(),
                owner: is_owned.then_some(last.name),
                unowned_ms: if is_owned { 0 } else { age(alive) },
                epoch: last.epoch,
                cycle: last.cycle,
                unshipped: last.unshipped,
                untaken_runs: last.untaken,
            }
        };
        let node = |(node, alive): &(NodeStatus, u64)| NodeFigures {
            name: node.name.clone(),
            version: node.version.clone(),
            partition: node.partition,
            console: node.console.clone(),
            age_ms: age(*alive),
            is_silent: age(*alive) >= lease,
        };
        let slots = self.slots.get().map(|slots| slots.figures(now)).unwrap_or_default();
        FleetFigures {
            address: self.address.clone(),
            map: self.map.number(),
            lease_ms: lease,
            partition: self.own,
            store_age_ms: age(seen.heard),
            error: seen.error.clone(),
            waiting: seen.waiting.clone(),
            turns_unknown_ms: slots.unknown_for,
            turns_begin_ms: slots.begins_in,
            hosts_waiting: slots.hosts,
            clock_bound_ms: slots.clock_bound,
            partitions: self.map.ranges().iter().map(partition).collect(),
            nodes: seen.nodes.values().map(node).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_fleet::PartitionRange;

    const LEASE: u64 = 90_000;

    fn node(name: &str, at: u64, partition: Option<u32>, epoch: u64) -> NodeStatus {
        NodeStatus { name: name.into(), at, partition, epoch, ..NodeStatus::default() }
    }

    #[test]
    fn owners_and_silent_processes_are_told_by_the_own_clock() {
        let begin = |begin: &str| Some(begin.to_owned());
        let ranges = [(1, None), (2, begin("h.test")), (3, begin("p.test"))]
            .map(|(id, begin)| PartitionRange { id, begin, parent: None });
        let map = FleetMap::new(1, ranges.into()).unwrap().with_lease(LEASE);
        let watch = FleetWatch::new("s3://bucket/fleet", map, 1, 1_000_000);
        let shown = |now: u64| {
            let figures = watch.figures(now);
            let one = |one: &PartitionFigures| (one.owner.clone(), one.unowned_ms);
            figures.partitions.iter().map(one).collect::<Vec<_>>()
        };
        let owned = |name: &str| (Some(name.to_owned()), 0);
        assert_eq!(shown(1_000_000), [(None, 0), (None, 0), (None, 0)]);
        // The clock of b is an hour ahead. c was dead before.
        let wall = 1_700_000_000_000;
        let (a, b) = (node("a", wall, Some(1), 4), node("b", wall + 3_600_000, Some(2), 2));
        let c = node("c", wall - 200_000, Some(3), 9);
        watch.saw(Ok(vec![a, b.clone(), c.clone()]), 1_010_000, wall);
        assert_eq!(shown(1_010_000), [owned("a"), owned("b"), (None, 200_000)]);
        // b is silent from now on; a owns partition 3 as well, by a later epoch, or so it says.
        let a = |at: u64| vec![node("a", at, Some(1), 4), b.clone(), c.clone(), node("d", at, Some(3), 10)];
        watch.saw(Ok(a(wall + 80_000)), 1_090_000, wall + 80_000);
        assert_eq!(shown(1_090_000), [owned("a"), owned("b"), owned("d")]);
        watch.saw(Ok(a(wall + 95_000)), 1_105_000, wall + 95_000);
        assert_eq!(shown(1_105_000), [owned("a"), (None, 95_000), owned("d")]);
        let figures = watch.figures(1_105_000);
        let silent = figures.nodes.iter().filter(|node| node.is_silent).map(|node| &*node.name);
        assert_eq!(silent.collect::<Vec<_>>(), ["b", "c"]);
        assert_eq!(figures.unowned().count(), 0);
        // d has left, and the store with it.
        watch.saw(Ok(vec![node("a", wall + 100_000, Some(1), 4)]), 1_110_000, wall + 100_000);
        watch.saw(Err(VaultError::Away("no answer".into())), 1_290_000, wall + 280_000);
        let figures = watch.figures(1_290_000);
        assert_eq!((figures.store_age_ms, figures.error.as_deref()), (180_000, Some("no answer")));
        assert_eq!(figures.partitions[2].owner, None);
        assert_eq!(figures.unowned().map(|one| one.partition).collect::<Vec<_>>(), [2, 3]);
    }
}
