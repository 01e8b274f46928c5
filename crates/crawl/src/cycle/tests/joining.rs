//! Partitions that are put together between two cycles, as one partition or as one crawl: all goes on as one crawl does, whatever
//! stops it.

use super::division::{KilledStore, all_urls, divide_at, fleet, run_cycles, run_fleet, settings_of};
use super::lockstep::*;
use super::*;
use crate::fleet::{PartitionJoining, leave, merge};
use proptest::prelude::*;
use recrawl_fleet::{
    FleetMap, PartitionEnd, begin, joined, left, newest, newest_map, sweep_former, sweep_void, void_joinings,
};
use recrawl_repository::StoredVisit;
use recrawl_types::PageRecord;
use recrawl_vault::Store;
use recrawl_vault::store::MemoryStore;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Takes partitions as a command does, with the map in force.
fn take(store: &dyn Store, ids: &[u32], tag: &str) -> Result<(FleetMap, Vec<PartitionEnd>), Failure> {
    let map = newest_map(store)?.unwrap();
    let mut ends = Vec::new();
    for id in ids {
        let epoch = begin(store, *id, newest(store, *id)?, tag, 1)?;
        void_joinings(store, &map, *id)?;
        ends.push(PartitionEnd { id: *id, epoch });
    }
    Ok((map, ends))
}

fn joining<'j>(
    store: &Arc<dyn Store>,
    (before, map): (&'j FleetMap, &'j FleetMap),
    scratch: &'j Path,
    settings: &'j crate::fleet::SettingsOfPart<'j>,
    tag: &'j str,
) -> PartitionJoining<'j> {
    let (fleet, now) = (store.clone(), 1_700_000_000_000);
    PartitionJoining { fleet, before, map, scratch, settings, tag, now, is_owner: &|| Ok(()) }
}

pub(super) fn merge_at(
    store: &Arc<dyn Store>,
    web: &LinkedWeb,
    ids: [u32; 2],
    tag: &str,
) -> Result<u64, Failure> {
    let (before, ends) = take(&**store, &ids, tag)?;
    let map = joined(&**store, &before, [ends[0], ends[1]], tag).map_err(Failure::work)?;
    let scratch = tempfile::tempdir().unwrap();
    let settings = |id: u32, folder: &Path| Ok(settings_of(folder, web, id));
    merge(&joining(store, (&before, &map), scratch.path(), &settings, tag))
}

pub(super) fn leave_at(
    store: &Arc<dyn Store>,
    web: &LinkedWeb,
    scratch: &Path,
    tag: &str,
) -> Result<(PathBuf, u64), Failure> {
    let ids: Vec<u32> = newest_map(&**store)?.unwrap().ranges().iter().map(|range| range.id).collect();
    let (before, ends) = take(&**store, &ids, tag)?;
    let map = left(&**store, &before, ends, tag).map_err(Failure::work)?;
    let settings = |id: u32, folder: &Path| Ok(settings_of(folder, web, id));
    leave(&joining(store, (&before, &map), scratch, &settings, tag))
}

/// Runs some cycles of the crawl in a folder, which is alone; gives what each left, and all visits that are kept.
fn run_alone(folder: &Path, web: &LinkedWeb, cycles: Range<u64>) -> (Vec<MemberState>, Vec<StoredVisit>) {
    let seeds = LinkedWeb::seeds();
    let mut crawl = Crawl::open(settings(folder, web), &seeds, 1, ProgramServices::quiet().unwrap()).unwrap();
    assert_eq!(crawl.repository.verify(), vec![]);
    let told = run_cycles(&mut crawl, web, cycles);
    let (kept, mut visits) = (crawl.repository.kept(), Vec::new());
    let rounds = kept.list().unwrap();
    assert!(rounds.is_sorted_by_key(|round| round.cycle), "{rounds:?}");
    for round in rounds {
        let mut of_round = kept.visits(round).unwrap().unwrap();
        visits.extend(std::iter::from_fn(|| of_round.next_entry().unwrap()));
    }
    assert_eq!(crawl.repository.verify(), vec![]);
    (told, visits)
}

fn assert_alike(one: &[MemberState], fleet: &[MemberState], what: &str) {
    assert_eq!(one.len(), fleet.len(), "{what}");
    for (cycle, (one, fleet)) in one.iter().zip(fleet).enumerate() {
        let (mut one, mut fleet) = (one.clone(), fleet.clone());
        one.visits.sort();
        fleet.visits.sort();
        one.assert_alike(&fleet, &format!("{what}: cycle {cycle}"));
    }
}

#[test]
fn merged_partitions_go_on_as_one_crawl() {
    const CYCLES: u64 = 8;
    let web = LinkedWeb { pages: 800, is_still: false };
    let one = run_all(&web, CYCLES, None);
    let store = fleet(&["h2.test"]);
    let mut states = run_fleet(&store, &web, 0..3, true);
    let shared: Arc<dyn Store> = store.clone();
    assert_eq!(merge_at(&shared, &web, [1, 2], "m").unwrap(), states[2].known.len() as u64);
    states.extend(run_fleet(&store, &web, 3..5, true));
    // And back: what was put together is cut once more.
    divide_at(&shared, &web, (3, "h14.test"), "d").unwrap();
    states.extend(run_fleet(&store, &web, 5..CYCLES, true));
    assert_alike(&one, &states, "merged");
    let map = newest_map(&*store).unwrap().unwrap();
    assert_eq!(map.ranges().iter().map(|range| range.id).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(sweep_former(&*store, &map).unwrap(), 0, "nothing is left of what was merged");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    /// Wherever it is cut, a fleet that goes back to one machine is the one crawl.
    #[test]
    fn a_fleet_that_went_back_to_one_machine_is_one_crawl(
        cuts in prop::collection::btree_set(0..HOSTS, 1..5), left in 2u64..4,
    ) {
        const CYCLES: u64 = 6;
        let web = LinkedWeb { pages: 300, is_still: false };
        let mut sites: Vec<String> = cuts.iter().map(|host| format!("h{host}.test")).collect();
        sites.sort();
        let store = fleet(&sites.iter().map(String::as_str).collect::<Vec<_>>());
        let mut states = run_fleet(&store, &web, 0..left, true);
        let scratch = tempfile::tempdir().unwrap();
        let shared: Arc<dyn Store> = store.clone();
        let (folder, pages) = leave_at(&shared, &web, scratch.path(), "l").unwrap();
        prop_assert!(newest_map(&*store).unwrap().unwrap().is_end());
        prop_assert_eq!(pages, states.last().unwrap().known.len() as u64);
        let (after, visits) = run_alone(&folder, &web, left..CYCLES);
        states.extend(after);
        let alone = tempfile::tempdir().unwrap();
        let (one, of_one) = run_alone(alone.path(), &web, 0..CYCLES);
        assert_alike(&one, &states, "left");
        let plain = |visits: Vec<StoredVisit>| -> Vec<String> {
            let mut all: Vec<String> = visits.into_iter().map(|visit| format!("{visit:?}")).collect();
            all.sort();
            all
        };
        prop_assert_eq!(plain(visits), plain(of_one), "kept visits");
    }
}

/// Links are on their way when partitions are divided and merged, and nobody waits for anybody.
#[test]
fn out_of_lockstep_a_merged_fleet_agrees_at_rest() {
    const AT_REST: u64 = 26;
    let web = LinkedWeb { pages: 400, is_still: true };
    let seen = |known: BTreeMap<String, PageRecord>| -> BTreeMap<String, (bool, u32)> {
        let seen = |record: PageRecord| (record.visited.is_some(), record.known.in_links);
        known.into_iter().map(|(url, record)| (url, seen(record))).collect()
    };
    let one = seen(run_all(&web, AT_REST, None).pop().unwrap().known);
    for leaves in [false, true] {
        let store = fleet(&["h14.test", "h2.test", "h4.test"]);
        let shared: Arc<dyn Store> = store.clone();
        run_fleet(&store, &web, 0..2, false);
        merge_at(&shared, &web, [2, 3], "m").unwrap();
        run_fleet(&store, &web, 2..3, false);
        divide_at(&shared, &web, (5, "h17.test"), "d").unwrap();
        run_fleet(&store, &web, 3..4, false);
        merge_at(&shared, &web, [1, 5], "n").unwrap();
        let map = newest_map(&*store).unwrap().unwrap();
        assert_eq!(map.ranges().iter().map(|range| range.id).collect::<Vec<_>>(), [7, 6, 4]);
        let known = if leaves {
            run_fleet(&store, &web, 4..5, false);
            let scratch = tempfile::tempdir().unwrap();
            let (folder, _) = leave_at(&shared, &web, scratch.path(), "l").unwrap();
            run_alone(&folder, &web, 5..AT_REST).0.pop().unwrap().known
        } else {
            run_fleet(&store, &web, 4..AT_REST, false).pop().unwrap().known
        };
        let known = seen(known);
        assert!(one.len() > 250, "{} pages", one.len());
        let differing = one.iter().zip(&known).find(|(one, fleet)| one != fleet);
        assert_eq!((differing, one.len()), (None, known.len()), "leaves: {leaves}");
    }
}

/// A change of the fleet, by a process with this nonce.
type FleetChange = dyn Fn(&Arc<dyn Store>, &LinkedWeb, &str) -> Result<(), Failure> + Sync;

/// Stops a change of the fleet before each of its writes, which is to make objects below `made`.
fn killed_at_each_write(
    change: &'static FleetChange,
    made: &str,
    is_whole: &dyn Fn(&Arc<MemoryStore>, &LinkedWeb) -> bool,
) {
    const PAGES: u64 = 120;
    let web = LinkedWeb { pages: PAGES, is_still: false };
    let store = fleet(&["h2.test"]);
    run_fleet(&store, &web, 0..2, true);
    let urls = all_urls(&store, &web);
    let begun = store.image();
    let (mut kills, mut in_force) = (0, 0);
    for writes in 0.. {
        let store = Arc::new(MemoryStore::new());
        begun.iter().for_each(|(key, bytes)| store.create(key, bytes).unwrap());
        let (killed, events) = channel();
        let done = killed.clone();
        let dying: Arc<dyn Store> =
            Arc::new(KilledStore { objects: store.clone(), left: AtomicU64::new(writes), killed });
        let has_ended = Arc::new(AtomicBool::new(false));
        let ends = has_ended.clone();
        thread::spawn(move || {
            change(&dying, &LinkedWeb { pages: PAGES, is_still: false }, "d").unwrap();
            ends.store(true, Ordering::SeqCst);
            let _ = done.send(());
        });
        events.recv_timeout(Duration::from_secs(120)).unwrap();
        let map = newest_map(&*store).unwrap().unwrap();
        if has_ended.load(Ordering::SeqCst) {
            assert!(map.number() == 2 && kills > 3, "{kills} kills");
            assert!(is_whole(&store, &web));
            break;
        }
        kills += 1;
        if map.number() == 2 {
            in_force += 1;
            assert!(is_whole(&store, &web), "killed before write {writes}");
            continue;
        }
        assert_eq!(all_urls(&store, &web), urls, "killed before write {writes}");
        // Somebody takes one of both: what was half made is void, and goes. Then it is made again.
        let part = 1 + (writes % 2) as u32;
        begin(&*store, part, newest(&*store, part).unwrap(), "next", 1).unwrap();
        void_joinings(&*store, &map, part).unwrap();
        sweep_void(&*store, &map).unwrap();
        let left: Vec<String> = store.image().into_keys().filter(|key| key.starts_with(made)).collect();
        assert!(left.is_empty(), "killed before write {writes}: {left:?}");
        if writes % 8 == 0 {
            let shared: Arc<dyn Store> = store.clone();
            change(&shared, &web, "again").unwrap();
            assert!(is_whole(&store, &web));
        }
    }
    println!("{kills} kills, {in_force} of them when it was in force");
}

#[test]
fn a_merge_that_is_killed_before_any_of_its_writes_loses_nothing_and_can_be_made_again() {
    let merges =
        &|store: &Arc<dyn Store>, web: &LinkedWeb, tag: &str| merge_at(store, web, [1, 2], tag).map(drop);
    let pages = std::cell::OnceCell::new();
    killed_at_each_write(merges, "p/0000000003/", &|store, web| {
        let urls = all_urls(store, web);
        let first = pages.get_or_init(|| urls.clone());
        newest_map(&**store).unwrap().unwrap().ranges().len() == 1 && urls == *first && urls.len() > 60
    });
}

#[test]
fn a_fleet_goes_on_unless_the_last_write_of_its_end_was_made() {
    let leaves = &|store: &Arc<dyn Store>, web: &LinkedWeb, tag: &str| {
        let scratch = tempfile::tempdir().unwrap();
        leave_at(store, web, scratch.path(), tag).map(drop)
    };
    killed_at_each_write(leaves, "p/0000000003/", &|store, _| {
        newest_map(&**store).unwrap().unwrap().is_end()
    });
}
