use super::*;
use crate::testing::{Nobody, first_map, key_of};
use crate::{
    FleetWaits, Partition, RunMarks, begin, divided, is_outdated, newest, newest_map, propose, put_in_force,
    receive_behind, sweep_void, write_map,
};
use proptest::prelude::*;
use recrawl_vault::store::MemoryStore;
use std::collections::BTreeMap;
use std::sync::Arc;

fn in_force(store: &MemoryStore) -> FleetMap {
    newest_map(store).unwrap().unwrap()
}

/// Takes a partition, as a process or a command does.
fn take(store: &MemoryStore, id: u32) -> PartitionEnd {
    let after = newest(store, id).unwrap();
    let epoch = begin(store, id, after, &format!("{id}-{after}"), 1).unwrap();
    void_joinings(store, &in_force(store), id).unwrap();
    PartitionEnd { id, epoch }
}

fn owner(store: &Arc<MemoryStore>, id: u32) -> Partition {
    let PartitionEnd { epoch, .. } = take(store, id);
    let waits = FleetWaits { plans: Box::new(Nobody), runs: Box::new(Nobody) };
    Partition::owned(store.clone(), in_force(store), id, epoch, waits).unwrap().unwrap()
}

/// Takes two neighbours, and proposes the map that puts them together.
fn join(store: &MemoryStore, left: u32, right: u32) -> Result<FleetMap, DivisionError> {
    let map = joined(store, &in_force(store), [take(store, left), take(store, right)], "joiner")?;
    propose(store, &map)?;
    Ok(map)
}

proptest! {
    /// However partitions are divided and put together, and whichever changes are left half made: each URL has one owner, and no
    /// number is given twice.
    #[test]
    fn each_url_has_one_partition_after_any_changes(
        steps in prop::collection::vec((0usize..9, 0u32..60, any::<bool>(), any::<bool>()), 1..14),
        pages in prop::collection::vec(0u32..60, 1..20),
    ) {
        let store = MemoryStore::new();
        write_map(&store, &first_map(&["h20.test", "h40.test"])).unwrap();
        let mut given: Vec<u32> = vec![1, 2, 3];
        for (at, host, is_killed, joins) in steps {
            let map = in_force(&store);
            let ids: Vec<u32> = map.ranges().iter().map(|range| range.id).collect();
            let at = at % ids.len();
            let (next, new) = if joins {
                if at + 1 == ids.len() {
                    continue;
                }
                let next = join(&store, ids[at], ids[at + 1]).unwrap();
                let new = next.joining().unwrap().into.unwrap();
                (next, new)
            } else {
                let epoch = newest(&store, ids[at]).unwrap() + 1;
                match divided(&store, &map, (ids[at], &format!("h{host}.test")), (epoch, "splitter")) {
                    Err(DivisionError::Outside { .. }) => continue,
                    divided => {
                        let divided = divided.unwrap();
                        propose(&store, &divided).unwrap();
                        let new = divided.division().unwrap().child;
                        (divided, new)
                    }
                }
            };
            prop_assert!(!given.contains(&new), "{} is given again", new);
            given.push(new);
            prop_assert_eq!(in_force(&store), map.clone(), "not in force yet");
            let put = || if joins { put_joining_in_force(&store, &next) } else { put_in_force(&store, &next, 1) };
            if is_killed {
                let part = if joins && host % 2 == 0 { ids[at + 1] } else { ids[at] };
                take(&store, part);
                let is_lost = matches!(put(), Err(VaultError::Lost { .. }));
                prop_assert!(is_lost);
                prop_assert_eq!(in_force(&store), map);
            } else {
                put().unwrap();
                // An answer that never came is asked for again.
                put().unwrap();
                prop_assert!(is_outdated(&store, &map).unwrap());
                prop_assert_eq!(in_force(&store), next);
            }
        }
        let map = in_force(&store);
        for page in pages {
            let key = key_of(&format!("http://www.h{page}.test/p"));
            let owners = (0..map.ranges().len()).filter(|place| {
                let (begin, end) = map.bounds(*place);
                begin <= &key[..] && end.is_none_or(|end| &key[..] < end)
            });
            prop_assert_eq!(owners.collect::<Vec<_>>(), vec![map.place_of_key(&key)]);
        }
        for former in map.former() {
            prop_assert!(map.place_of(former.id).is_none() && map.place_of(map.heir_of(former.id)).is_some());
        }
    }
}

/// Whoever takes a part voids the map, or its maker sees the epoch: in each order of their steps.
#[test]
fn a_part_that_another_takes_is_never_put_together() {
    for steps in [
        "take void propose force",
        "take propose void force",
        "take propose force void",
        "propose take void force",
        "propose take force void",
    ] {
        let store = MemoryStore::new();
        write_map(&store, &first_map(&["h.test"])).unwrap();
        let old = in_force(&store);
        let ends = [take(&store, 1), take(&store, 2)];
        let map = joined(&store, &old, ends, "joiner").unwrap();
        for step in steps.split(' ') {
            match step {
                "take" => assert_eq!(begin(&store, 2, ends[1].epoch, "thief", 1).unwrap(), ends[1].epoch + 1),
                "void" => void_joinings(&store, &old, 2).unwrap(),
                "propose" => propose(&store, &map).unwrap(),
                _ => assert!(put_joining_in_force(&store, &map).is_err(), "{steps}"),
            }
        }
        assert_eq!(in_force(&store), old, "{steps}");
    }
    // Too late: the thief finds that its map is outdated.
    let store = MemoryStore::new();
    write_map(&store, &first_map(&["h.test"])).unwrap();
    let old = in_force(&store);
    let map = join(&store, 1, 2).unwrap();
    put_joining_in_force(&store, &map).unwrap();
    begin(&store, 2, 1, "thief", 1).unwrap();
    void_joinings(&store, &old, 2).unwrap();
    assert!(is_outdated(&store, &old).unwrap());
    assert_eq!(in_force(&store), map);
}

#[test]
fn what_cannot_be_is_refused_and_what_was_stopped_is_swept() {
    let store = Arc::new(MemoryStore::new());
    write_map(&*store, &first_map(&["h.test", "p.test"])).unwrap();
    for (left, right, says) in [(1, 3, "no neighbours"), (2, 1, "no neighbours"), (3, 9, "no partition 9")] {
        let error = join(&store, left, right).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let half = join(&store, 2, 3).unwrap();
    store.create(&format!("{}vault", key::partition(4)), b"half made").unwrap();
    let map = in_force(&store);
    let error = divided(&*store, &map, (1, "c.test"), (9, "t")).unwrap_err().to_string();
    assert!(error.contains("partition 2 is being merged by another process"), "{error}");
    assert_eq!(sweep_void(&*store, &map).unwrap(), 0, "it may be done yet");
    drop(owner(&store, 3));
    assert!(matches!(put_joining_in_force(&*store, &half), Err(VaultError::Lost { .. })));
    assert_eq!(sweep_void(&*store, &map).unwrap(), 1);
    let again = join(&store, 2, 3).unwrap();
    assert_eq!((again.number(), again.joining().unwrap().into), (3, Some(5)), "no number is used again");
    put_joining_in_force(&*store, &again).unwrap();
    store.create(&format!("{}vault", key::partition(2)), b"pages").unwrap();
    assert_eq!(sweep_former(&*store, &again).unwrap(), 1);
    assert!(newest(&*store, 2).unwrap() > 1, "its epochs stay");
}

#[test]
fn a_fleet_that_ended_has_one_last_map() {
    let store = MemoryStore::new();
    write_map(&store, &first_map(&["h.test"])).unwrap();
    let ends = || [1, 2].map(|id| take(&store, id)).to_vec();
    let last = left(&store, &in_force(&store), ends(), "leaver").unwrap();
    propose(&store, &last).unwrap();
    assert!(!in_force(&store).is_end());
    let error = joined(&store, &in_force(&store), [ends()[0], ends()[1]], "x").map(drop);
    assert!(error.is_ok(), "both were taken: the end is void");
    let last = left(&store, &in_force(&store), ends(), "leaver").unwrap();
    propose(&store, &last).unwrap();
    put_joining_in_force(&store, &last).unwrap();
    assert!(in_force(&store).is_end());
    assert_eq!(in_force(&store).joining().unwrap().nonce, "leaver");
}

fn send(from: &Partition, round: u32, urls: &[&str]) {
    let mut keys: Vec<Vec<u8>> = urls.iter().map(|url| key_of(url)).collect();
    keys.sort();
    let mut keys = keys.into_iter();
    let mut next = |into: &mut Vec<u8>, value: &mut Vec<u8>| {
        value.clear();
        value.push(round as u8);
        let next = keys.next();
        next.iter().for_each(|key| into.clone_from(key));
        Ok::<_, VaultError>(next.is_some())
    };
    from.send(round, &mut next).unwrap();
}

type Taken = BTreeMap<Vec<u8>, u32>;

fn receive(to: &Partition, marks: &mut RunMarks, taken: &mut Taken) {
    let mut each = |key: &[u8], _: &[u8]| {
        *taken.entry(key.to_vec()).or_default() += 1;
        Ok::<_, VaultError>(true)
    };
    *marks = to.receive(marks, 0, &mut each).unwrap().marks;
}

/// Each of three partitions sends links to the two others, and they apply them at different times. Two are put together, and then
/// that one with the third.
#[test]
fn links_on_their_way_arrive_once() {
    let store = Arc::new(MemoryStore::new());
    write_map(&*store, &first_map(&["h.test", "p.test"])).unwrap();
    let (mut marks, mut taken) = ([(); 3].map(|()| RunMarks::new()), Taken::new());
    let members = [1, 2, 3].map(|id| owner(&store, id));
    let mut sent = 0;
    for round in 1..5 {
        for (at, member) in members.iter().enumerate() {
            let urls = ["a", "i", "q"].map(|host| format!("http://{host}.test/{at}-{round}"));
            let urls: Vec<&str> =
                urls.iter().map(String::as_str).filter(|url| !member.owns(&key_of(url))).collect();
            sent += urls.len();
            send(member, round, &urls);
            // The third one applies nothing from the second round on.
            if at as u32 + round < 4 {
                receive(member, &mut marks[at], &mut taken);
            }
        }
    }
    assert!(taken.len() + 6 < sent);
    let join_now = |left: u32, right: u32, of: [&RunMarks; 2], taken: &mut Taken| {
        let (old, map) = (in_force(&store), join(&store, left, right).unwrap());
        let mut ends: RunMarks = map
            .joining()
            .unwrap()
            .parts
            .iter()
            .map(|end| (end.id, crate::RunMark { epoch: end.epoch, number: 0 }))
            .collect();
        for (id, marks) in [left, right].into_iter().zip(of) {
            let mut each = |key: &[u8], _: &[u8]| {
                *taken.entry(key.to_vec()).or_default() += 1;
                Ok::<_, VaultError>(true)
            };
            receive_behind(&*store, &old, (id, marks.clone()), &mut ends, &mut each).unwrap();
        }
        put_joining_in_force(&*store, &map).unwrap();
        (map.joining().unwrap().into.unwrap(), ends)
    };
    // The sender goes on between two looks: its next run is for the new partition.
    send(&members[0], 5, &["http://i.test/late", "http://q.test/late"]);
    let (new, mut of_new) = join_now(2, 3, [&marks[1], &marks[2]], &mut taken);
    send(&members[0], 6, &["http://i.test/later", "http://q.test/later"]);
    assert_eq!([1, 2, 3].map(|id| members[0].heir_of(id).unwrap()), [1, new, new], "it has the old map");
    let (first, second) = (owner(&store, 1), owner(&store, new));
    receive(&second, &mut of_new, &mut taken);
    receive(&first, &mut marks[0], &mut taken);
    send(&second, 6, &["http://a.test/later"]);
    assert_eq!(taken.len(), sent + 4, "all that was sent before has arrived");
    // Runs of partitions that ended go as soon as all have them.
    first.sweep(&marks[0]).unwrap();
    assert!(second.sweep(&of_new).unwrap() > 0);
    let (_, ends) = join_now(1, new, [&marks[0], &of_new], &mut taken);
    assert_eq!(taken.len(), sent + 5);
    assert!(taken.values().all(|times| *times == 1), "{taken:?}");
    assert_eq!(ends.keys().copied().collect::<Vec<_>>(), [1, 2, 3, new]);
}

/// A command that waits for owners keeps the partitions of the map that it began with.
#[test]
fn a_fleet_that_was_divided_meanwhile_does_not_end() {
    let store = MemoryStore::new();
    write_map(&store, &first_map(&["h.test"])).unwrap();
    let ends = [1, 2].map(|id| take(&store, id)).to_vec();
    let next = divided(&store, &in_force(&store), (2, "p.test"), (2, "splitter")).unwrap();
    propose(&store, &next).unwrap();
    put_in_force(&store, &next, 1).unwrap();
    assert!(matches!(left(&store, &in_force(&store), ends, "joiner"), Err(DivisionError::Changed)));
}
