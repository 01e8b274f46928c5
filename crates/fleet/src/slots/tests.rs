use super::list::AddressList;
use super::*;
use crate::key;
use crate::map::{FleetMap, PartitionRange};
use proptest::prelude::*;
use recrawl_vault::store::faulty::{Faults, FaultyStore, draw};
use recrawl_vault::store::{Listed, MemoryStore};
use recrawl_vault::{Store, StoreError};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const BEGAN: u64 = 1_790_000_000_000;
const LEASE: u64 = 30_000;
/// Milliseconds between two looks of the nodes.
const TICK: u64 = 100;

fn address(number: u64) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, number as u8).into()
}

fn map(partitions: u32) -> FleetMap {
    let begin = |id: u32| (id > 1).then(|| format!("{}.test", char::from(b'a' + id as u8)));
    let range = |id| PartitionRange { id, begin: begin(id), parent: None };
    FleetMap::new(1, (1..=partitions).map(range).collect()).unwrap().with_lease(LEASE)
}

/// The true time, which passes while a store answers.
#[derive(Clone, Debug)]
struct TrueTime(Arc<AtomicU64>);

impl TrueTime {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn pass(&self, time: u64) {
        self.0.fetch_add(time, Ordering::Relaxed);
    }
}

/// A store that takes time, fails, and tells whole seconds.
#[derive(Debug)]
struct SlowStore {
    objects: Arc<MemoryStore>,
    faulty: FaultyStore,
    time: TrueTime,
    slowest: u64,
    /// A create takes so much longer.
    create_takes: AtomicU64,
    /// And a list.
    list_takes: AtomicU64,
    seed: AtomicU64,
}

impl SlowStore {
    fn new(objects: &Arc<MemoryStore>, time: &TrueTime, slowest: u64, seed: u64) -> SlowStore {
        let faulty = FaultyStore::new(objects.clone(), seed, Faults::default());
        let (create_takes, list_takes) = Default::default();
        let (objects, time, seed) = (objects.clone(), time.clone(), AtomicU64::new(seed));
        SlowStore { objects, faulty, time, slowest, create_takes, list_takes, seed }
    }

    fn asked<T>(&self, ask: impl FnOnce() -> T) -> T {
        let wait = || {
            let mut seed = self.seed.fetch_add(1, Ordering::Relaxed);
            self.time.pass(draw(&mut seed) % (self.slowest + 1));
        };
        wait();
        self.objects.set_time(self.time.get() / 1_000 * 1_000);
        let answer = ask();
        wait();
        answer
    }
}

impl Store for SlowStore {
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.time.pass(self.create_takes.load(Ordering::Relaxed));
        self.asked(|| self.faulty.create(key, bytes))
    }
    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        self.asked(|| self.faulty.read(key, most))
    }
    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.asked(|| self.faulty.replace(key, bytes))
    }
    fn list(&self, folder: &str) -> Result<Vec<Listed>, StoreError> {
        self.time.pass(self.list_takes.load(Ordering::Relaxed));
        self.asked(|| self.faulty.list(folder))
    }
    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.asked(|| self.faulty.remove(key))
    }
    fn locate(&self, key: &str) -> String {
        key.to_owned()
    }
}

/// A request that was made, by true time.
#[derive(Clone, Copy, Debug)]
struct SeenRequest {
    address: u64,
    partition: u32,
    /// The epoch of the process.
    epoch: u64,
    start: u64,
    end: u64,
}

/// A partition's process.
struct Node {
    id: u32,
    epoch: u64,
    keeper: SlotKeeper,
    slots: Arc<AddressSlots>,
    /// The own clock minus the true time.
    ahead: i64,
    next_step: u64,
    /// Its addresses, and when it may ask each next by its own pace: first when it meets it.
    paces: BTreeMap<u64, u64>,
    /// It is dead until then.
    dead_until: u64,
}

#[derive(Clone, Debug)]
struct Fleet {
    partitions: u32,
    /// By partition, bits of the addresses that it asks.
    asks: Vec<u64>,
    delay: u64,
    took: u64,
    slowest: u64,
    faults: u32,
    seed: u64,
    seconds: u64,
    dies: bool,
    meets_late: bool,
}

impl Fleet {
    fn node(&self, id: u32, epoch: u64, objects: &Arc<MemoryStore>, time: &TrueTime, seed: &mut u64) -> Node {
        // Its clock began when its machine did.
        let ahead = -(BEGAN as i64) + (draw(seed) % 10_000_000) as i64;
        let own = (time.get() as i64 + ahead) as u64;
        let slots = Arc::new(AddressSlots::new(id, LEASE, self.delay, own));
        self.node_with(id, epoch, objects, (time, ahead), seed, slots)
    }

    fn node_with(
        &self,
        id: u32,
        epoch: u64,
        objects: &Arc<MemoryStore>,
        (time, ahead): (&TrueTime, i64),
        seed: &mut u64,
        slots: Arc<AddressSlots>,
    ) -> Node {
        let faults = Faults { before: self.faults, after: self.faults, late: self.faults };
        let faulty = FaultyStore::new(objects.clone(), draw(seed), faults);
        let store = SlowStore { faulty, ..SlowStore::new(objects, time, self.slowest, draw(seed)) };
        let keeper = SlotKeeper::new(Arc::new(store), map(self.partitions), (id, epoch), slots.clone());
        let bits = self.asks[id as usize - 1];
        let asked = (0..8).filter(|bit| bits >> bit & 1 == 1);
        let mut met = || if self.meets_late { time.get() + draw(seed) % 150_000 } else { 0 };
        let paces = asked.map(|number| (number, met())).collect();
        Node { id, epoch, keeper, slots, ahead, next_step: 0, paces, dead_until: 0 }
    }

    fn run(&self) -> Vec<SeenRequest> {
        let mut seed = self.seed;
        let (objects, time) = (Arc::new(MemoryStore::new()), TrueTime(Arc::new(AtomicU64::new(BEGAN))));
        let mut nodes: Vec<Node> =
            (1..=self.partitions).map(|id| self.node(id, 1, &objects, &time, &mut seed)).collect();
        let mut seen = Vec::new();
        while time.get() < BEGAN + self.seconds * 1_000 {
            time.pass(TICK);
            for node in &mut nodes {
                if node.dead_until > time.get() {
                    continue;
                }
                if self.dies && draw(&mut seed).is_multiple_of(6_000) {
                    // Another process takes it, or the same one once more; each once the last request of the old one is done.
                    time.pass(self.took);
                    let (id, epoch) = (node.id, node.epoch + 1);
                    if draw(&mut seed).is_multiple_of(2) {
                        let now = (time.get() as i64 + node.ahead) as u64;
                        let slots = node.slots.clone().kept(id, LEASE, self.delay, now).unwrap();
                        *node = self.node_with(id, epoch, &objects, (&time, node.ahead), &mut seed, slots);
                    } else {
                        *node = self.node(id, epoch, &objects, &time, &mut seed);
                        node.dead_until = time.get() + draw(&mut seed) % 20_000;
                    }
                    continue;
                }
                let own = |time: &TrueTime| (time.get() as i64 + node.ahead) as u64;
                if time.get() >= node.next_step {
                    let wait = node.keeper.step(&|| own(&time)).unwrap_or(700);
                    node.next_step = time.get() + wait;
                }
                for (number, free) in &mut node.paces {
                    let (start, at) = (time.get(), address(*number));
                    if start < *free {
                        continue;
                    }
                    node.slots.met(at, 1, 100, own(&time));
                    if node.slots.wait(at, own(&time)).is_none() {
                        let end = start + self.took;
                        let (address, partition, epoch) = (*number, node.id, node.epoch);
                        seen.push(SeenRequest { address, partition, epoch, start, end });
                        node.slots.began(at, 1);
                        node.slots.answered(at, self.took);
                        *free = end + self.delay;
                    }
                }
            }
        }
        seen
    }
}

fn fleets() -> impl Strategy<Value = Fleet> {
    let asks = proptest::collection::vec(1u64..16, 1..5);
    let times = (50u64..4_000, 1u64..2_000, 0u64..400);
    (asks, times, 0u32..60, any::<u64>(), any::<[bool; 2]>()).prop_map(
        |(asks, (delay, took, slowest), faults, seed, [dies, meets_late])| Fleet {
            partitions: asks.len() as u32,
            asks,
            delay,
            took,
            slowest,
            faults,
            seed,
            seconds: 240,
            dies,
            meets_late,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Whatever clocks show and a store does, two processes never ask an address within its delay, of one partition or of two.
    #[test]
    fn requests_of_two_processes_to_an_address_are_its_delay_apart(fleet in fleets()) {
        let seen = fleet.run();
        for number in 0..8 {
            let mut there: Vec<_> = seen.iter().filter(|seen| seen.address == number).collect();
            there.sort_by_key(|seen| seen.start);
            let process = |seen: &SeenRequest| (seen.partition, seen.epoch);
            for pair in there.windows(2).filter(|pair| process(pair[0]) != process(pair[1])) {
                prop_assert!(pair[1].start >= pair[0].end + fleet.delay, "{pair:?}");
            }
        }
    }

    /// The same of the rule alone, with clocks at their bound.
    #[test]
    fn slots_of_two_partitions_are_a_delay_apart_by_any_clocks_within_the_bound(
        delay in 0u64..30_000,
        weights in proptest::collection::vec(1u32..1_000, 2..6),
        errors in proptest::collection::vec(0u64..=2 * CLOCK_BOUND, 6),
        usual in 0u64..20_000,
        from in 0u64..1_000_000_000,
    ) {
        let grid = SlotGrid::new(delay);
        let sharers: Vec<Sharer> = (1..).zip(weights).collect();
        let mut last: Option<(u32, u64)> = None;
        let (step, end) = (grid.length() / 97 + 1, from + 40 * grid.length());
        for time in (from..end).step_by(step as usize) {
            for (id, _) in &sharers {
                let own_time = time + errors[*id as usize - 1];
                let is_own = |slot| Some(taker(address(1), slot, sharers.iter().copied()) == Some(*id));
                if grid.wait(own_time, usual, is_own).is_none() {
                    if let Some((other, at)) = last.filter(|(other, _)| other != id) {
                        prop_assert!(time >= at + delay, "{other} at {at}, {id} at {time}");
                    }
                    last = Some((*id, time));
                }
            }
        }
    }

    /// The winner among many wins among fewer.
    #[test]
    fn a_slot_is_dealt_alike_by_all_who_know_each_other(
        weights in proptest::collection::vec(1u32..u32::MAX, 1..20),
        slot: u64,
    ) {
        let all: Vec<Sharer> = (1..).zip(weights).collect();
        let winner = taker(address(3), slot, all.iter().copied()).unwrap();
        for other in &all {
            let pair = all.iter().copied().filter(|(id, _)| [winner, other.0].contains(id));
            prop_assert_eq!(taker(address(3), slot, pair), Some(winner));
        }
    }
}

fn fleet(asks: &[u64]) -> Fleet {
    Fleet {
        partitions: asks.len() as u32,
        asks: asks.into(),
        delay: 250,
        took: 100,
        slowest: 50,
        faults: 0,
        seed: 3,
        seconds: 1_200,
        dies: false,
        meets_late: false,
    }
}

#[test]
fn turns_are_dealt_by_weights() {
    let sharers = [(1, 1), (2, 2), (7, 5)];
    let mut turns = BTreeMap::<u32, u32>::new();
    (0..8_000).for_each(|slot| {
        *turns.entry(taker(address(1), slot, sharers.into_iter()).unwrap()).or_default() += 1
    });
    let expected = [(1, 1_000), (2, 2_000), (7, 5_000)];
    assert!(expected.iter().all(|(id, times)| turns[id].abs_diff(*times) < 150), "{turns:?}");
    assert_eq!(taker(address(1), 5, std::iter::empty()), None);
}

#[test]
fn the_logarithm_is_that_of_the_mathematicians() {
    for n in [1, 2, 3, 1 << 32, u64::MAX / 3, u64::MAX - 1, u64::MAX] {
        let expected = 64.0 - (n as f64).log2();
        let found = minus_log2(n) as f64 / f64::from(2u32).powi(32);
        assert!((found - expected).abs() < 1e-9, "{n}: {found} {expected}");
    }
}

#[test]
fn an_address_of_one_partition_has_no_gaps_and_a_shared_one_is_asked_by_all() {
    // Address 0 is the first one's alone; all share address 1.
    let seen = fleet(&[3, 2, 2]).run();
    let own: Vec<_> = seen.iter().filter(|seen| seen.address == 0).collect();
    // Once the first list is in force; before it was met.
    let later: Vec<_> = own.iter().filter(|seen| seen.start > BEGAN + 60_000).collect();
    let longest = later.windows(2).map(|pair| pair[1].start - pair[0].end).max().unwrap();
    assert!(longest < 2_000, "{longest} ms between two requests, which is more than a list takes");
    let times = |id: u32| seen.iter().filter(|seen| seen.address == 1 && seen.partition == id).count();
    let all: Vec<usize> = (1..=3).map(times).collect();
    // Of 1,140 s some 2,600 requests, each third, less the gaps between slots.
    assert!(all.iter().all(|times| (300..1_400).contains(times)), "{all:?}");
    assert!(all.iter().sum::<usize>() > 1_800, "{all:?}");
}

#[test]
fn an_address_that_is_met_is_asked_before_the_next_list_unless_another_lists_it() {
    // So long that one list is in force.
    let slots = AddressSlots::new(2, 600_000, 250, 0);
    slots.measured((0, 10), BEGAN);
    let time = slots.time(10).unwrap();
    let list = |addresses: &[u64]| AddressList {
        delay: 250,
        addresses: addresses.iter().map(|number| (address(*number), 1)).collect(),
    };
    let put = |own: &[u64], other: &[u64], delay| {
        // A slot may have begun in the period before.
        for period in slots.periods.at(time) - 1..slots.periods.at(time) + 2 {
            let mut lists = list::PeriodLists::new(list(own), vec![1, 2]);
            lists.add(1, AddressList { delay, ..list(other) });
            slots.put_in_force(period, lists);
        }
    };
    let turns =
        |number| (10..100_000).step_by(500).filter(|now| slots.wait(address(number), *now).is_none()).count();
    assert_eq!(turns(1), 0, "nothing is known");
    assert_eq!(slots.figures(5_000).unknown_for, 5_000);
    put(&[1, 3], &[2, 3], 250);
    assert_eq!(slots.figures(5_000).unknown_for, 0);
    let found = [1, 2, 3, 4].map(turns);
    assert!(found[0] > 195 && found[1] == 0, "the first is its own, and the second another's: {found:?}");
    assert!(found[2..].iter().all(|turns| (20..180).contains(turns)), "{found:?}");
    put(&[1, 3], &[2, 3], 900);
    let found = [1, 2, 3, 4].map(turns);
    assert!(found[0] > 195 && found[1..] == [0; 3], "slots of another delay lie elsewhere: {found:?}");
    slots.set_delay(900);
    assert_eq!(turns(1), 0, "its own list had another delay");
}

/// A list that the store has too late is as none: others may have read before.
#[test]
fn an_owner_whose_list_misses_the_close_asks_nothing_in_that_period() {
    let (objects, time) = (Arc::new(MemoryStore::new()), TrueTime(Arc::new(AtomicU64::new(BEGAN))));
    let store = Arc::new(SlowStore::new(&objects, &time, 0, 1));
    let own = || time.get() - BEGAN;
    let slots = Arc::new(AddressSlots::new(1, LEASE, 250, 0));
    let mut keeper = SlotKeeper::new(store.clone(), map(2), (1, 1), slots.clone());
    let written = || -> Vec<u64> {
        let lists = objects.list("p/0000000001/addresses/").unwrap();
        lists.iter().map(|list| list.key["p/0000000001/addresses/".len()..].parse().unwrap()).collect()
    };
    while written().len() < 4 || slots.time(own()) < Some(slots.periods.close(written()[3])) {
        time.pass(TICK);
        // The second list takes as long as from when it is due to its close.
        let slow = if written().len() == 1 { slots.periods.length() / 4 + 2 * CLOCK_BOUND } else { 0 };
        store.create_takes.store(slow, Ordering::Relaxed);
        keeper.step(&own).unwrap();
    }
    keeper.step(&own).unwrap();
    let written = written();
    assert_eq!(written[3] - written[0], 3, "one for each period: {written:?}");
    let known: Vec<bool> = written.iter().map(|period| slots.has_lists(*period)).collect();
    assert_eq!(known, [true, false, true, true]);
}

/// The numbers of a partition's lists.
fn lists_of(objects: &MemoryStore, id: u32) -> Vec<u64> {
    recrawl_vault::numbers(objects, &key::address_lists(id)).unwrap()
}

/// It finds the list that the process before has written: that is its own as well, also if it would list other addresses, and no
/// time of its request.
#[test]
fn a_process_that_starts_again_has_turns_in_the_next_period() {
    let (objects, time) = (Arc::new(MemoryStore::new()), TrueTime(Arc::new(AtomicU64::new(BEGAN))));
    let store = Arc::new(SlowStore::new(&objects, &time, 0, 1));
    let own = || time.get() - BEGAN;
    let begin = |epoch| {
        let slots = Arc::new(AddressSlots::new(1, LEASE, 250, own()));
        (SlotKeeper::new(store.clone(), map(2), (1, epoch), slots.clone()), slots)
    };
    let (mut first, slots) = begin(1);
    slots.met(address(5), 1, 1, own());
    while lists_of(&objects, 1).len() < 2 {
        time.pass(TICK);
        first.step(&own).unwrap();
    }
    let period = lists_of(&objects, 1)[1];
    time.pass(2_500);
    let (mut second, slots) = begin(2);
    slots.met(address(6), 1, 1, own());
    while time.get() < slots.periods.close(period) + CLOCK_BOUND {
        time.pass(TICK);
        second.step(&own).unwrap();
    }
    assert_eq!(lists_of(&objects, 1).last(), Some(&period));
    assert!(slots.has_lists(period) && slots.time(own()).is_some());
    // Long after: what the one before has asked is in the first list.
    time.pass(20 * slots.periods.length());
    let (mut third, _) = begin(3);
    while lists_of(&objects, 1).last() == Some(&period) {
        time.pass(TICK);
        third.step(&own).unwrap();
    }
    let last = *lists_of(&objects, 1).last().unwrap();
    let list = AddressList::read(&*objects, 1, last).unwrap().unwrap();
    assert_eq!(list.addresses.into_keys().collect::<Vec<_>>(), [address(5)]);
}

/// Lists of earlier owners are of use, but to wait for them would cost the turns of a period.
#[test]
fn a_first_list_that_is_close_to_its_deadline_waits_for_no_earlier_ones() {
    let (objects, time) = (Arc::new(MemoryStore::new()), TrueTime(Arc::new(AtomicU64::new(BEGAN))));
    let own = || time.get() - BEGAN;
    let slots = Arc::new(AddressSlots::new(1, LEASE, 250, 0));
    let periods = slots.periods;
    let period = periods.at(BEGAN) + 2;
    AddressList::default().create(&*objects, 1, period - 5).unwrap();
    let store = SlowStore::new(&objects, &time, 0, 1);
    store.list_takes.store(periods.length() / 8, Ordering::Relaxed);
    let mut keeper = SlotKeeper::new(Arc::new(store), map(2), (1, 1), slots.clone());
    time.pass(periods.late(period) - BEGAN);
    slots.measured((own(), own()), time.get());
    while time.get() < periods.close(period) + CLOCK_BOUND {
        keeper.step(&own).unwrap();
        time.pass(TICK);
    }
    assert!(slots.has_lists(period), "its list came in time");
}

/// Until turns are known, no host is asked: how long that is, is told beforehand. Who owned the partition before goes on in the turns
/// that it has.
#[test]
fn when_turns_begin_is_known_before_and_who_takes_its_partition_again_has_them() {
    let (objects, time) = (Arc::new(MemoryStore::new()), TrueTime(Arc::new(AtomicU64::new(BEGAN))));
    let store = Arc::new(SlowStore::new(&objects, &time, 0, 1));
    let own = || time.get() - BEGAN;
    let slots = Arc::new(AddressSlots::new(1, LEASE, 250, own()));
    let mut keeper = SlotKeeper::new(store, map(2), (1, 1), slots.clone());
    slots.met(address(1), 7, 3, own());
    slots.met(address(1), 8, 3, own());
    slots.met(address(1), 9, 0, own());
    assert_eq!((slots.figures(own()).begins_in, slots.figures(own()).hosts), (None, 2), "no clock");
    let mut told: Vec<u64> = Vec::new();
    while told.is_empty() || slots.figures(own()).begins_in.is_some() {
        time.pass(TICK);
        keeper.step(&own).unwrap();
        told.extend(slots.figures(own()).begins_in.map(|wait| time.get() + wait));
        assert!(time.get() < BEGAN + 4 * slots.periods.length(), "{told:?}");
    }
    assert!(told.iter().all(|told| told.abs_diff(time.get()) <= CLOCK_BOUND), "{told:?}, {}", time.get());
    assert_eq!((slots.figures(own()).unknown_for, slots.wait(address(1), own())), (0, None));
    let kept = |id, lease| slots.clone().kept(id, lease, 250, own());
    assert!(kept(2, LEASE).is_none() && kept(1, 2 * LEASE).is_none());
    let again = kept(1, LEASE).unwrap();
    assert_eq!(again.wait(address(1), own()), Some(250), "the last answer may have come just now");
    time.pass(250);
    assert_eq!((again.wait(address(1), own()), again.figures(own()).hosts), (None, 0));
}

#[test]
fn lists_of_earlier_owners_and_what_tells_the_time_leave_nothing() {
    let (objects, time) = (Arc::new(MemoryStore::new()), TrueTime(Arc::new(AtomicU64::new(BEGAN))));
    let faults = Faults { after: 1_000, ..Faults::default() };
    let unheard = FaultyStore::new(objects.clone(), 1, faults);
    let own = || time.get() - BEGAN;
    let slots = Arc::new(AddressSlots::new(1, LEASE, 250, 0));
    let at = slots.periods.at(BEGAN);
    SlotKeeper::new(Arc::new(unheard), map(2), (1, 1), slots.clone()).step(&own).unwrap_err();
    assert!(objects.image().is_empty(), "the answer was lost, and the object is gone");
    // The first list of this process is another's, who may have begun at the same moment.
    for period in [at - 20, at, at + 1] {
        AddressList { delay: 1, ..AddressList::default() }.create(&*objects, 1, period).unwrap();
    }
    let store = Arc::new(SlowStore::new(&objects, &time, 0, 1));
    let mut keeper = SlotKeeper::new(store, map(2), (1, 2), slots.clone());
    while lists_of(&objects, 1).last() < Some(&(at + 3)) {
        time.pass(TICK);
        keeper.step(&own).unwrap();
    }
    assert_eq!(lists_of(&objects, 1).first(), Some(&at));
}
