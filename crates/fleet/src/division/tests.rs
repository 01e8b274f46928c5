use super::*;
use crate::map::write_map;
use crate::testing::{Nobody, first_map, key_of};
use crate::{FleetWaits, Partition, RunMark, RunMarks, begin, newest, release};
use crate::{has_first_range, is_outdated, key, newest_map, propose, sweep_void};
use proptest::prelude::*;
use recrawl_vault::store::MemoryStore;
use std::collections::BTreeMap;
use std::sync::Arc;

fn owner(store: &Arc<MemoryStore>, id: u32, nonce: &str) -> Partition {
    let after = newest(&**store, id).unwrap();
    let epoch = begin(&**store, id, after, nonce, 1).unwrap();
    let waits = FleetWaits { plans: Box::new(Nobody), runs: Box::new(Nobody) };
    let map = newest_map(&**store).unwrap().unwrap();
    Partition::owned(store.clone(), map, id, epoch, waits).unwrap().unwrap()
}

fn divide(store: &MemoryStore, parent: u32, site: &str, nonce: &str) -> Result<FleetMap, DivisionError> {
    let map = newest_map(store)?.unwrap();
    let next = newest(store, parent)? + 1;
    let map = divided(store, &map, (parent, site), (next, nonce))?;
    propose(store, &map)?;
    Ok(map)
}

proptest! {
    /// However partitions are divided, and whichever divisions are left half made: each URL has one owner, the ranges are in
    /// order, and no number is given twice.
    #[test]
    fn each_url_has_one_partition_after_any_divisions(
        steps in prop::collection::vec((0usize..9, 0u32..60, any::<bool>()), 1..12),
        pages in prop::collection::vec(0u32..60, 1..20),
    ) {
        let store = MemoryStore::new();
        write_map(&store, &first_map(&["h30.test"])).unwrap();
        let mut given: Vec<u32> = vec![1, 2];
        for (at, host, is_killed) in steps {
            let map = newest_map(&store).unwrap().unwrap();
            let parent = map.ranges()[at % map.ranges().len()].id;
            let divided = match divide(&store, parent, &format!("h{host}.test"), "splitter") {
                Ok(divided) => divided,
                Err(DivisionError::Outside { .. }) => continue,
                Err(error) => panic!("{error}"),
            };
            let division = divided.division().unwrap().clone();
            prop_assert!(!given.contains(&division.child), "{} is given again", division.child);
            given.push(division.child);
            prop_assert_eq!(newest_map(&store).unwrap().unwrap(), map.clone(), "not in force yet");
            prop_assert!(!is_outdated(&store, &map).unwrap());
            if is_killed {
                begin(&store, parent, division.epoch - 1, "another", 1).unwrap();
                let is_lost = matches!(put_in_force(&store, &divided, 1), Err(VaultError::Lost { .. }));
                prop_assert!(is_lost);
                prop_assert_eq!(newest_map(&store).unwrap().unwrap(), map);
            } else {
                put_in_force(&store, &divided, 1).unwrap();
                // An answer that never came is asked for again.
                put_in_force(&store, &divided, 1).unwrap();
                prop_assert!(is_outdated(&store, &map).unwrap());
                prop_assert_eq!(newest_map(&store).unwrap().unwrap(), divided);
            }
        }
        let map = newest_map(&store).unwrap().unwrap();
        for page in pages {
            let key = key_of(&format!("http://www.h{page}.test/p"));
            let owners = (0..map.ranges().len()).filter(|place| {
                let (begin, end) = map.bounds(*place);
                begin <= &key[..] && end.is_none_or(|end| &key[..] < end)
            });
            prop_assert_eq!(owners.collect::<Vec<_>>(), vec![map.place_of_key(&key)]);
        }
        // Divisions that were killed took nothing away.
        let first = first_map(&["h30.test"]);
        for range in map.ranges() {
            let is_first = first.place_of(range.id).is_some() && first.has_alike(&map, range.id);
            prop_assert_eq!(has_first_range(&store, &map, range.id).unwrap(), is_first, "{:?}", range);
        }
    }
}

#[test]
fn a_division_that_was_stopped_is_void_once_the_partition_has_an_owner_and_what_it_made_is_swept() {
    let store = Arc::new(MemoryStore::new());
    let map = first_map(&["h.test"]);
    write_map(&*store, &map).unwrap();
    drop(owner(&store, 2, "a"));
    for (parent, site, says) in [
        (3, "p.test", "no partition 3"),
        (2, "c.test", "does not lie in partition 2"),
        (2, "h.test", "does not lie in partition 2"),
        (2, "www.p.test", "such as at p.test"),
    ] {
        let error = divide(&store, parent, site, "s").unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let half = divide(&store, 2, "p.test", "s").unwrap();
    store.create(&format!("{}vault", key::partition(3)), b"half made").unwrap();
    let error = divide(&store, 1, "c.test", "t").unwrap_err().to_string();
    assert!(error.contains("partition 2 is being divided by another process"), "{error}");
    assert_eq!(sweep_void(&*store, &map).unwrap(), 0, "it may be done yet");
    drop(owner(&store, 2, "b"));
    assert!(matches!(put_in_force(&*store, &half, 1), Err(VaultError::Lost { .. })));
    assert_eq!(sweep_void(&*store, &map).unwrap(), 1);
    let again = divide(&store, 2, "p.test", "s").unwrap();
    assert_eq!((again.number(), again.division().unwrap().child), (3, 4), "no number is used again");
    put_in_force(&*store, &again, 1).unwrap();
    assert_eq!((again.parent_of(4), again.parent_of(2)), (Some(2), None));
    assert_eq!(sweep_void(&*store, &again).unwrap(), 0);
}

/// Links that were sent before a division, and applied by nobody yet, reach each of both once, and nobody removes them
/// before; the parts send each other links from then on.
#[test]
fn links_on_their_way_reach_both_parts_once() {
    let store = Arc::new(MemoryStore::new());
    write_map(&*store, &first_map(&["h.test"])).unwrap();
    let (sender, parent) = (owner(&store, 1, "a"), owner(&store, 2, "b"));
    let send = |from: &Partition, round: u32, urls: &[&str]| {
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
    };
    let take = |to: &Partition, marks: &mut RunMarks| {
        let mut taken = BTreeMap::<Vec<u8>, u32>::new();
        let mut each = |key: &[u8], _: &[u8]| {
            *taken.entry(key.to_vec()).or_default() += 1;
            Ok::<_, VaultError>(true)
        };
        let received = to.receive(marks, 0, &mut each).unwrap();
        assert!(received.refused.is_empty(), "{received:?}");
        *marks = received.marks;
        taken.into_iter().collect::<Vec<_>>()
    };
    send(&sender, 1, &["http://i.test/", "http://q.test/"]);
    let mut marks = RunMarks::new();
    assert_eq!(take(&parent, &mut marks).len(), 2);
    parent.sweep(&marks).unwrap();
    send(&sender, 2, &["http://i.test/2", "http://q.test/2"]);
    send(&parent, 2, &["http://a.test/"]);
    release(&*store, 2, 1).unwrap();

    let map = divide(&store, 2, "p.test", "s").unwrap();
    put_in_force(&*store, &map, 1).unwrap();
    let (left, right) = (owner(&store, 2, "c"), owner(&store, 3, "d"));
    assert!(left.owns(&key_of("http://i.test/2")) && !left.owns(&key_of("http://q.test/2")));
    assert!(right.owns(&key_of("http://q.test/2")) && !right.owns(&key_of("http://i.test/2")));
    // The new one begins with the marks of the other, and behind all that this one sent before.
    let mut of_right = marks.clone();
    of_right.insert(2, RunMark { epoch: map.division().unwrap().epoch, number: 0 });
    assert_eq!(take(&left, &mut marks), [(key_of("http://i.test/2"), 1)]);
    left.sweep(&marks).unwrap();
    // The sender does not know the new map, and one of the new partitions has told nothing.
    assert_eq!(sender.sweep(&RunMarks::new()).unwrap(), 0);
    send(&left, 3, &["http://q.test/3"]);
    assert_eq!(take(&right, &mut of_right), [(key_of("http://q.test/2"), 1), (key_of("http://q.test/3"), 1)]);
    assert_eq!(take(&right, &mut of_right), []);
    send(&right, 3, &["http://a.test/3", "http://i.test/3"]);
    assert_eq!(take(&left, &mut marks), [(key_of("http://i.test/3"), 1)]);
    let mut of_sender = RunMarks::new();
    assert_eq!(take(&sender, &mut of_sender).len(), 1, "it knows two of three");
    let sender = owner(&store, 1, "e");
    assert_eq!(take(&sender, &mut of_sender), [(key_of("http://a.test/3"), 1)]);
    right.sweep(&of_right).unwrap();
    left.sweep(&marks).unwrap();
    assert_eq!(sender.sweep(&of_sender).unwrap(), 1, "the first run; the last one of an epoch stays");
}
