//! The rules together: nodes that stop, wake and die, over a store that fails, in one thread. A failing seed replays.
//!
//! Two partitions visit pages in rounds and send each other a link for each visit. Before each request to the store other
//! nodes may do something. At the end each partition must have the link of each visit that counts, once, and no other.

use crate::epoch::sealed;
use crate::testing::Nobody;
use crate::{
    FleetMap, FleetWaits, Lease, LeaseWatch, Partition, PartitionRange, RunMarks, beat, begin, counter, key,
    write_map,
};
use recrawl_types::UrlRules;
use recrawl_vault::store::faulty::{Faults, FaultyStore, draw};
use recrawl_vault::store::{Listed, MemoryStore, StoreError};
use recrawl_vault::{Seal, Store, VaultError, create_or_find, framed, read_framed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// Milliseconds of a lease.
const LEASE: u64 = 60_000;
/// Pages of a partition, and of one of its rounds.
const PAGES: usize = 24;
const ROUND: usize = 4;
const NODES: usize = 3;

/// The knowledge of a partition: each step of its vault has all of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct PartitionState {
    /// By page, which visit counts.
    visits: Vec<u64>,
    /// Rounds that are committed.
    rounds: usize,
    /// Links that came in, and how often.
    links: BTreeMap<String, u32>,
    marks: RunMarks,
}

struct FleetWorld {
    nodes: Vec<Mutex<TestNode>>,
    seed: Mutex<u64>,
    now: AtomicU64,
    /// Nodes within a request of another.
    depth: AtomicUsize,
    /// By partition, the highest epoch that asked a host.
    asked: Mutex<BTreeMap<u32, u64>>,
    /// Do clocks only drift?
    has_sane_clocks: AtomicBool,
    /// Are partitions taken from living owners?
    is_impatient: AtomicBool,
    visits: AtomicU64,
}

impl FleetWorld {
    fn draw(&self, below: u64) -> u64 {
        draw(&mut self.seed.lock().unwrap()) % below
    }

    /// Another node does something.
    fn step(&self) {
        self.now.fetch_add(self.draw(2_000), Ordering::Relaxed);
        let node = self.draw(self.nodes.len() as u64) as usize;
        if let Ok(mut node) = self.nodes[node].try_lock() {
            node.step(self);
        }
    }
}

/// A store before whose requests other nodes do something.
#[derive(Debug)]
struct BusyStore {
    store: FaultyStore,
    world: Weak<FleetWorld>,
}

impl std::fmt::Debug for FleetWorld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("World")
    }
}

impl BusyStore {
    fn between(&self) {
        let Some(world) = self.world.upgrade() else { return };
        // Not in turn within what others do: else a request would take for ever.
        if world.depth.fetch_add(1, Ordering::Relaxed) < 2 && world.draw(4) == 0 {
            (0..1 + world.draw(2)).for_each(|_| world.step());
        }
        world.depth.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Store for BusyStore {
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.between();
        self.store.create(key, bytes)
    }
    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        self.between();
        self.store.read(key, most)
    }
    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.between();
        self.store.replace(key, bytes)
    }
    fn list(&self, folder: &str) -> Result<Vec<Listed>, StoreError> {
        self.store.list(folder)
    }
    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.store.remove(key)
    }
    fn locate(&self, key: &str) -> String {
        self.store.locate(key)
    }
}

/// A step of the vault whose create was not answered.
struct Unsettled {
    key: String,
    object: Vec<u8>,
    state: PartitionState,
}

/// A partition that a node owns, or believes that it owns.
struct Owned {
    id: u32,
    partition: Partition,
    lease: Lease,
    beats: u64,
    /// As in the vault, and then with what is not there yet.
    shipped: PartitionState,
    state: PartitionState,
    next_step: u64,
    unsettled: Option<Unsettled>,
}

struct TestNode {
    store: Arc<dyn Store>,
    number: u64,
    lives: u64,
    /// Its clock runs so many thousandths of true time, from this on.
    rate: u64,
    offset: u64,
    asleep_until: u64,
    owned: Vec<Owned>,
    watches: BTreeMap<u32, LeaseWatch>,
    /// By partition, an epoch that is there.
    epochs: BTreeMap<u32, u64>,
}

fn map() -> FleetMap {
    let range =
        |id, begin: Option<&str>| PartitionRange { id, begin: begin.map(str::to_owned), parent: None };
    FleetMap::new(1, vec![range(1, None), range(2, Some("m.test"))]).unwrap()
}

/// The key of the link of a visit, which leads to the other partition.
fn link(sender: u32, page: usize, visit: u64) -> Vec<u8> {
    let host = if sender == 1 { "z.test" } else { "a.test" };
    UrlRules::default().canonicalize(&format!("http://{host}/{page}-{visit}")).unwrap().key().to_vec()
}

fn step_key(folder: fn(u32, u64) -> String, id: u32, epoch: u64, number: u64) -> String {
    format!("{}{number:010}", folder(id, epoch))
}

/// The state of the epochs before one that counts, as their seals say.
fn recovered(store: &dyn Store, id: u32, epoch: u64) -> Result<PartitionState, VaultError> {
    for older in (1..epoch).rev() {
        let seal = sealed(store, id, older)?.unwrap_or_else(|| panic!("epoch {older} of {id} has no seal"));
        let Seal { manifest: Some(_), steps, .. } = seal else { continue };
        let last = steps - 1;
        let step = match read_framed(store, &step_key(key::logs, id, older, last))? {
            Some(state) => Some(state),
            None => read_framed(store, &step_key(key::manifests, id, older, last))?,
        };
        return Ok(step.unwrap_or_else(|| panic!("step {last} of epoch {older} was sealed, and is missing")));
    }
    Ok(PartitionState::default())
}

impl TestNode {
    fn new(store: Arc<dyn Store>, number: u64) -> TestNode {
        TestNode {
            store,
            number,
            lives: 0,
            rate: 1000,
            offset: 0,
            asleep_until: 0,
            owned: Vec::new(),
            watches: BTreeMap::new(),
            epochs: BTreeMap::new(),
        }
    }

    fn clock(&self, world: &FleetWorld) -> u64 {
        self.offset + world.now.load(Ordering::Relaxed) * self.rate / 1000
    }

    fn step(&mut self, world: &FleetWorld) {
        let now = world.now.load(Ordering::Relaxed);
        if now < self.asleep_until {
            return;
        }
        match world.draw(60) {
            0 => self.asleep_until = now + world.draw(4 * LEASE),
            1 => (self.owned, self.watches) = (Vec::new(), BTreeMap::new()),
            2 if !world.has_sane_clocks.load(Ordering::Relaxed) => self.offset = world.draw(10 * LEASE),
            _ => {}
        }
        let id = 1 + world.draw(2) as u32;
        match self.owned.iter().position(|owned| owned.id == id) {
            None => self.watch(world, id),
            Some(at) => {
                let mut owned = self.owned.swap_remove(at);
                match owned.work(&*self.store.clone(), world, self) {
                    Err(VaultError::Lost { .. }) => {}
                    Ok(()) | Err(VaultError::Away(_)) => self.owned.push(owned),
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    /// Looks at a partition of another, and takes it over after its lease.
    fn watch(&mut self, world: &FleetWorld, id: u32) {
        let store = self.store.clone();
        let known = self.epochs.get(&id).copied().unwrap_or(0);
        let look = || {
            let epoch = crate::epoch::highest(&*store, id, known)?;
            let asked = self.clock(world);
            let counter = counter(&*store, id, epoch)?;
            Ok::<_, VaultError>((epoch, asked, counter, self.clock(world)))
        };
        let Ok((epoch, asked, counter, answered)) = look() else { return };
        self.epochs.insert(id, epoch);
        let watch = self.watches.entry(id).or_insert_with(|| LeaseWatch::new(LEASE));
        let is_impatient = world.is_impatient.load(Ordering::Relaxed) && world.draw(8) == 0;
        if epoch == 0 || watch.is_over(epoch, counter, (asked, answered)) || is_impatient {
            let _ = self.take_over(world, id, epoch);
        }
    }

    fn take_over(&mut self, world: &FleetWorld, id: u32, after: u64) -> Result<(), VaultError> {
        self.lives += 1;
        let nonce = format!("{}-{}", self.number, self.lives);
        let began = self.clock(world);
        let waits = FleetWaits { plans: Box::new(Nobody), runs: Box::new(Nobody) };
        let epoch = begin(&*self.store, id, after, &nonce, began)?;
        let partition =
            Partition::owned(self.store.clone(), map(), id, epoch, waits)?.expect("it is in the map");
        let state = recovered(&*self.store, id, partition.epoch())?;
        let lease = Lease::new(LEASE, began);
        let (shipped, next_step, unsettled) = (PartitionState::default(), 0, None);
        self.owned.push(Owned { id, partition, lease, beats: 0, shipped, state, next_step, unsettled });
        Ok(())
    }
}

impl Owned {
    fn work(&mut self, store: &dyn Store, world: &FleetWorld, node: &TestNode) -> Result<(), VaultError> {
        let sent = node.clock(world);
        if self.beats == 0 || world.draw(3) == 0 {
            self.beats += 1;
            beat(store, self.id, self.partition.epoch(), self.beats)?;
            self.lease.beaten(sent, node.clock(world));
        }
        // Without sane clocks nobody keeps to a lease: epochs and seals alone must do.
        let is_sane = world.has_sane_clocks.load(Ordering::Relaxed);
        if is_sane && !self.lease.holds(node.clock(world)) {
            return Err(VaultError::Lost { object: "its lease".into() });
        }
        if self.unsettled.is_some() {
            return self.settle(store);
        }
        if self.next_step == 0 {
            // Before anything that others may use.
            return self.ship(store, self.state.clone(), true);
        }
        let end = (self.state.rounds + 1) * ROUND;
        if self.state.visits.len() < end.min(PAGES) && self.state.rounds * ROUND < PAGES {
            self.visit(world);
            return if world.draw(2) == 0 { self.ship(store, self.state.clone(), false) } else { Ok(()) };
        }
        if self.shipped != self.state {
            return self.ship(store, self.state.clone(), false);
        }
        let mut next = self.state.clone();
        if self.state.rounds * ROUND < PAGES {
            self.send()?;
            next.rounds += 1;
        }
        self.receive(&mut next)?;
        if next == self.state { Ok(()) } else { self.ship(store, next, true) }
    }

    /// Asks a host.
    fn visit(&mut self, world: &FleetWorld) {
        let epoch = self.partition.epoch();
        let mut asked = world.asked.lock().unwrap();
        let highest = asked.entry(self.id).or_default();
        assert!(
            !world.has_sane_clocks.load(Ordering::Relaxed) || epoch >= *highest,
            "epoch {epoch} asks after {highest} has begun"
        );
        *highest = epoch.max(*highest);
        self.state.visits.push(world.visits.fetch_add(1, Ordering::Relaxed));
    }

    fn send(&self) -> Result<(), VaultError> {
        let first = self.state.rounds * ROUND;
        let visits = &self.state.visits[first..];
        let mut links: Vec<Vec<u8>> =
            (first..).zip(visits).map(|(page, visit)| link(self.id, page, *visit)).collect();
        links.sort();
        let mut links = links.into_iter();
        let mut next = |key: &mut Vec<u8>, value: &mut Vec<u8>| -> Result<bool, VaultError> {
            let Some(next) = links.next() else { return Ok(false) };
            (*key, *value) = (next, b"link".to_vec());
            Ok(true)
        };
        self.partition.send(self.state.rounds as u32 + 1, &mut next).map(drop)
    }

    fn receive(&self, next: &mut PartitionState) -> Result<(), VaultError> {
        let mut links = Vec::new();
        let mut each = |key: &[u8], _: &[u8]| -> Result<bool, VaultError> {
            links.push(String::from_utf8_lossy(key).into_owned());
            Ok(true)
        };
        let received = self.partition.receive(&self.state.marks, 0, &mut each)?;
        assert!(received.refused.is_empty(), "{received:?}");
        next.marks = received.marks;
        links.into_iter().for_each(|link| *next.links.entry(link).or_default() += 1);
        Ok(())
    }

    fn ship(
        &mut self,
        store: &dyn Store,
        state: PartitionState,
        is_manifest: bool,
    ) -> Result<(), VaultError> {
        let folder = if is_manifest { key::manifests } else { key::logs };
        let key = step_key(folder, self.id, self.partition.epoch(), self.next_step);
        let object = framed(&key, &state, b"");
        self.unsettled = Some(Unsettled { key, object, state });
        self.settle(store)
    }

    fn settle(&mut self, store: &dyn Store) -> Result<(), VaultError> {
        let Some(Unsettled { key, object, .. }) = &self.unsettled else { return Ok(()) };
        match create_or_find(store, key, object) {
            Err(StoreError::Exists(object)) => return Err(VaultError::Lost { object }),
            done => done?,
        }
        if let Some(Unsettled { state, .. }) = self.unsettled.take() {
            // Nothing is visited while a step is open.
            (self.shipped, self.state) = (state.clone(), state);
            self.next_step += 1;
        }
        Ok(())
    }
}

fn world_of(seed: u64) -> (Arc<FleetWorld>, Arc<MemoryStore>) {
    let objects = Arc::new(MemoryStore::new());
    write_map(&*objects, &map()).unwrap();
    let mut draws = seed;
    let has_sane_clocks = AtomicBool::new(seed.is_multiple_of(2));
    let trouble = [0, 20, 80, 200][(seed / 2 % 4) as usize];
    let world = Arc::new_cyclic(|world: &Weak<FleetWorld>| {
        let node = |number| {
            let faults = Faults { before: trouble, after: trouble, late: trouble / 2 };
            let store = FaultyStore::new(objects.clone(), draw(&mut draws), faults);
            let store = Arc::new(BusyStore { store, world: world.clone() });
            // A tenth faster or slower.
            let rate = 900 + draw(&mut draws) % 200;
            let offset = draw(&mut draws) % (10 * LEASE);
            Mutex::new(TestNode { rate, offset, ..TestNode::new(store, number) })
        };
        FleetWorld {
            nodes: (0..NODES as u64).map(node).collect(),
            seed: Mutex::new(seed),
            now: AtomicU64::new(0),
            depth: AtomicUsize::new(0),
            asked: Mutex::default(),
            is_impatient: AtomicBool::new(!seed.is_multiple_of(2)),
            has_sane_clocks,
            visits: AtomicU64::new(0),
        }
    });
    (world, objects)
}

/// Runs a fleet in trouble, then lets the last owners finish. Gives the number of epochs.
fn fleet_of(seed: u64) -> u64 {
    let (world, objects) = world_of(seed);
    for _ in 0..600 + world.draw(600) {
        world.step();
    }
    // What is on its way arrives.
    for node in &world.nodes {
        let node = node.lock().unwrap();
        (0..100).for_each(|_| drop(node.store.read("nothing", 0)));
    }
    // From here on partitions are taken without a wait.
    world.has_sane_clocks.store(false, Ordering::Relaxed);
    world.is_impatient.store(false, Ordering::Relaxed);
    // Each partition's last owner has a store without faults. The others still believe what they believe.
    let mut last = TestNode::new(objects.clone(), 99);
    let newest = |id| crate::newest(&*objects, id).unwrap();
    [1, 2].into_iter().for_each(|id| last.take_over(&world, id, newest(id)).unwrap());
    for _ in 0..2000 {
        if world.draw(2) == 0 {
            world.step();
        }
        let mut owned = last.owned.remove(0);
        // Old owners of sane clocks have stopped by now.
        owned.lease = Lease::new(LEASE, last.clock(&world));
        let worked = owned.work(&*objects, &world, &last);
        match worked {
            Ok(()) => last.owned.push(owned),
            // Another node has taken the partition from it; it takes it back.
            Err(VaultError::Lost { .. }) => last.take_over(&world, owned.id, newest(owned.id)).unwrap(),
            Err(error) => panic!("{error}"),
        }
        let is_done = |owned: &Owned| {
            let is_owner = newest(owned.id) == owned.partition.epoch();
            is_owner && owned.shipped == owned.state && owned.state.links.len() == PAGES
        };
        if last.owned.iter().all(|owned| is_done(owned) && owned.state.rounds * ROUND == PAGES) {
            break;
        }
    }
    let of = |id| &last.owned.iter().find(|owned| owned.id == id).unwrap().state;
    for (sender, receiver) in [(1, 2), (2, 1)] {
        let visits = (0..).zip(&of(sender).visits);
        let key =
            |(page, visit): (usize, &u64)| String::from_utf8_lossy(&link(sender, page, *visit)).into_owned();
        let expected: BTreeMap<String, u32> = visits.map(|visit| (key(visit), 1)).collect();
        assert_eq!(expected.len(), PAGES, "all is visited");
        assert_eq!(of(receiver).links, expected, "links from {sender} to {receiver}");
    }
    last.owned.iter().map(|owned| owned.partition.epoch()).sum()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "more seeds are asked for by a documented variable")]
fn whatever_happens_to_nodes_and_store_no_link_is_lost_or_doubled() {
    let ask = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let (first, seeds) = (ask("RECRAWL_FLEET_SEED").unwrap_or(0), ask("RECRAWL_FLEET_SEEDS").unwrap_or(2000));
    let mut epochs = 0;
    for seed in first..first + seeds {
        let run = std::panic::catch_unwind(|| fleet_of(seed));
        let replay = "RECRAWL_FLEET_SEEDS=1";
        epochs += run.unwrap_or_else(|_| panic!("seed {seed} failed: RECRAWL_FLEET_SEED={seed} {replay}"));
    }
    assert!(epochs > 6 * seeds, "{epochs} epochs of {seeds} fleets: owners change");
}
