use super::*;
use recrawl_fleet::{PartitionRange, begin, hand_over, write_map};
use recrawl_vault::store::MemoryStore;
use std::fs;

fn node(store: &Arc<dyn Store>, folder: &Path) -> FleetNode {
    FleetNode {
        address: "memory:".into(),
        store: store.clone(),
        name: "a".into(),
        identity: Arc::new(NodeIdentity::new("run".into(), 1, 0)),
        folder: folder.to_owned(),
        _lock: File::open(folder).unwrap(),
        watches: BTreeMap::new(),
        epochs: BTreeMap::new(),
        takers: OtherTakers::default(),
        taken_by: BTreeMap::new(),
        turns: None,
    }
}

/// Others wait for the partition that it is named for, whichever it would begin else.
#[test]
fn who_is_named_for_a_partition_takes_it_first_and_no_other_while_it_is_named() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let range = |id, begin| PartitionRange { id, begin, parent: None };
    let ranges = vec![range(1, None), range(2, Some("m".into()))];
    write_map(&*store, &FleetMap::new(1, ranges).unwrap().with_lease(90_000)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut node = node(&store, folder.path());
    let order = || NodeOrder::read(&*store, "a").unwrap();
    let stop = CancellationToken::new();
    // Neither was ever owned.
    let [one, two] = [1, 2].map(|partition| NodeOrder::Take { partition, epoch: 0 });
    let [first, second, last] = [one, two, two].map(|named| {
        named.give(&*store, "a").unwrap();
        node.look().unwrap().unwrap()
    });
    assert_eq!([&first, &second, &last].map(FreePartition::order), [one, two, two]);
    let turns = Arc::new(AddressSlots::new(2, 90_000, 1, 0));
    node.keep_turns(Some(turns.clone()));
    let taken = node.prepare(second, &stop).unwrap();
    assert_eq!(order(), Some(two), "it takes that one");
    assert!(taken.to_take.turns.is_some_and(|kept| Arc::ptr_eq(&kept, &turns)), "and has its turns");
    node.prepare(first, &stop).unwrap();
    assert_eq!(order(), None, "it takes another");
    two.give(&*store, "a").unwrap();
    fs::write(partition_folder::path(folder.path(), last.id), "no folder").unwrap();
    assert!(node.prepare(last, &stop).is_err());
    assert_eq!(order(), None, "it cannot take it");
}

/// A restore may take longer than a lease: whoever is named for a partition has it as long as it is heard of.
#[test]
fn a_partition_that_was_handed_over_is_left_to_whom_it_is_for() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let range = PartitionRange { id: 1, begin: None, parent: None };
    // Each lease is over at the second look.
    let map = FleetMap::new(1, vec![range]).unwrap().with_lease(1);
    begin(&*store, 1, 0, "a", 1).unwrap();
    hand_over(&*store, 1, 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut old = node(&store, folder.path());
    let now = recrawl_fetcher::system_clock()();
    let tell = |at, partition| {
        NodeStatus { name: "b".into(), at, partition, ..NodeStatus::default() }.write(&*store).unwrap();
    };
    let take = NodeOrder::Take { partition: 1, epoch: 1 };
    let mut looks = |order| {
        thread::sleep(Duration::from_millis(2));
        old.is_free(&map, 1, order).unwrap().map(|(after, _)| after)
    };
    assert_eq!((looks(None), looks(None)), (None, Some(1)), "it is for nobody who is known");
    assert_eq!(looks(Some(take)), Some(1));
    assert!(take.give(&*store, "b").unwrap());
    // Its clock is an hour ahead, so that it is never silent.
    tell(now + 3_600_000, None);
    assert_eq!(looks(None), None, "b restores it");
    tell(now + 3_600_000, Some(2));
    assert_eq!(looks(None), Some(1), "b owns another");
    tell(now - 1_000, None);
    assert_eq!(looks(None), Some(1), "b is silent");
    tell(now + 3_600_000, None);
    assert!(NodeOrder::Take { partition: 1, epoch: 2 }.give(&*store, "b").unwrap());
    assert_eq!(looks(None), Some(1), "b waits for a later one");
    assert!(take.give(&*store, "b").unwrap());
    assert_eq!(looks(None), None);
    FleetNode { name: "b".into(), ..old }.decline(None);
    assert_eq!(NodeOrder::read(&*store, "b").unwrap(), None, "b cannot take it");
}

/// Each would copy all of it. Two that look at once may: whoever announces it first has seen nobody.
#[test]
fn who_stands_by_leaves_a_partition_to_another_that_makes_it_ready() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let range = PartitionRange { id: 1, begin: None, parent: None };
    // So long that nobody is silent while this test runs.
    write_map(&*store, &FleetMap::new(1, vec![range]).unwrap().with_lease(3_600_000)).unwrap();
    begin(&*store, 1, 0, "dead", 1).unwrap();
    recrawl_fleet::release(&*store, 1, 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = ["a", "b"].map(|name| {
        let identity = Arc::new(NodeIdentity::new(name.into(), 1, 90_000));
        FleetNode { name: name.into(), identity, ..node(&store, folder.path()) }
    });
    let at = recrawl_fetcher::system_clock()();
    let status = |name: &str, takes| NodeStatus {
        name: name.into(),
        format: FORMAT,
        at,
        takes,
        ..NodeStatus::default()
    };
    let a_gives_up = || {
        let (run, started) = ("a".into(), 1);
        NodeStatus { run, started, ..status("a", None) }.write(&*store).unwrap();
    };
    // Both have seen that it is free.
    let [a, b] = nodes.each_mut().map(|node| node.look().unwrap().unwrap());
    let mut announces = |node: usize| match node {
        0 => nodes[0].announce(&a, status("a", Some(a.order()))).unwrap(),
        _ => nodes[1].announce(&b, status("b", Some(b.order()))).unwrap(),
    };
    assert_eq!((announces(0), announces(1)), (true, false), "a goes on");
    a_gives_up();
    assert_eq!((announces(1), announces(0)), (true, true), "b goes on, and a does not wait for it");
    assert!(nodes[1].look().unwrap().is_err(), "and is waited for");
    a_gives_up();
    assert!(nodes[1].look().unwrap().is_ok(), "a cannot take it");
}

#[test]
fn who_stands_by_names_the_owners_and_who_takes_a_partition_over() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let folder = tempfile::tempdir().unwrap();
    let owns = |name: &str, partition, epoch| {
        let (console, at) = ("[::1]:80".into(), recrawl_fetcher::system_clock()());
        let (name, partition) = (name.into(), Some(partition));
        NodeStatus { name, partition, epoch, console, at, ..NodeStatus::default() }.write(&*store).unwrap();
    };
    let mut node = node(&store, folder.path());
    // Its own account is from before it gave up.
    owns("a", 1, 3);
    owns("b", 2, 1);
    owns("c", 3, 1);
    node.epochs = BTreeMap::from([(2, 1), (3, 1)]);
    let mut told = OwnersTold::default();
    let [b, c] = ["b owns partition 2 (console [::1]:80)", "c owns partition 3 (console [::1]:80)"];
    let said = node.stands_by(&mut told).unwrap();
    assert_eq!(said, format!("stands by: each partition has an owner: {b}, {c}"));
    assert_eq!(node.stands_by(&mut told), None, "as before");
    // b is dead.
    node.taken_by.insert(2, "d".into());
    let said = node.stands_by(&mut told).unwrap();
    assert_eq!(said, format!("stands by: d makes partition 2 ready, {c}"));
    (node.epochs, node.taken_by) = (BTreeMap::from([(2, 2), (3, 1)]), BTreeMap::new());
    for _ in 0..2 {
        let said = node.stands_by(&mut told).unwrap();
        assert_eq!(said, format!("stands by: partition 2 changes hands, {c}"));
    }
    owns("d", 2, 2);
    assert!(node.stands_by(&mut told).unwrap().contains("each partition has an owner: d owns partition 2 "));
    // Partition 2 was merged into 3.
    let map = FleetMap::new(1, vec![PartitionRange { id: 3, begin: None, parent: None }]).unwrap();
    write_map(&*store, &map.with_lease(90_000)).unwrap();
    begin(&*store, 3, 0, "c", 1).unwrap();
    assert!(node.look().unwrap().is_err());
    assert_eq!(node.stands_by(&mut told).unwrap(), format!("stands by: each partition has an owner: {c}"));
}

#[test]
fn of_several_that_take_a_partition_one_goes_on() {
    const LEASE: u64 = 90_000;
    let take = NodeOrder::Take { partition: 2, epoch: 7 };
    let node =
        |name: &str, takes| NodeStatus { name: name.into(), at: 1_000_000, takes, ..NodeStatus::default() };
    let begun = |node: &NodeStatus| {
        [false, true].map(|has_announced| node.has_begun(take, "m", has_announced, (1_000_000, LEASE)))
    };
    let found = ["a", "m", "z"].map(|name| begun(&node(name, Some(take))));
    assert_eq!(found, [[true, true], [false, false], [true, false]]);
    let others = [
        node("a", None),
        node("a", Some(NodeOrder::Take { partition: 2, epoch: 6 })),
        NodeStatus { partition: Some(2), ..node("a", Some(take)) },
        NodeStatus { at: 1_000_000 - 2 * LEASE, ..node("a", Some(take)) },
        NodeStatus { at: 1_000_000 + 2 * LEASE, ..node("a", Some(take)) },
    ];
    // It takes another, owns one, is silent, or tells a wrong time.
    others.iter().for_each(|other| assert_eq!(begun(other), [false; 2], "{other:?}"));
}

#[test]
fn of_two_processes_of_a_name_the_first_keeps_it_unless_it_was_silent() {
    const LEASE: u64 = 90_000;
    let store = MemoryStore::new();
    let status = || NodeStatus { name: "a".into(), ..NodeStatus::default() };
    let (first, second) =
        (NodeIdentity::new("one".into(), 1_000, LEASE), NodeIdentity::new("two".into(), 2_000, LEASE));
    let tell = |node: &NodeIdentity, now| node.tell(&store, status(), now).unwrap();
    assert!(tell(&first, 10) && tell(&first, 15_010));
    assert!(tell(&second, 20_000), "it may be the same machine's next process");
    assert!(tell(&first, 30_010) && !tell(&second, 35_000));
    // The first one is stopped, and its machine replaced; then it wakes.
    let third = NodeIdentity::new("three".into(), 3_000, LEASE);
    assert!(tell(&third, 40_000) && tell(&third, 55_000));
    assert!(!tell(&first, 130_010) && tell(&third, 131_000));
    // Who ends since the name is another's leaves that one's account.
    first.leave(&store, "a").unwrap();
    assert_eq!(NodeStatus::all(&store, 0).unwrap().len(), 1);
    third.leave(&store, "a").unwrap();
    assert_eq!(NodeStatus::all(&store, 0).unwrap(), []);
}

#[test]
fn nothing_is_owned_beside_a_program_that_knows_no_turns() {
    let node = |name: &str, at, format| NodeStatus { name: name.into(), at, format, ..NodeStatus::default() };
    let nodes = [node("a", 1_000, 0), node("b", 1_000, FORMAT)];
    let told = refuse_beside_old(&nodes, 180_999, 90_000).unwrap_err().to_string();
    assert!(told.starts_with("a: end these processes first"), "{told}");
    // It has ended without saying so.
    refuse_beside_old(&nodes, 181_000, 90_000).unwrap();
}
