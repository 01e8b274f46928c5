//! A partition that is divided between two cycles: the fleet goes on as one crawl does, whatever stops the division.

use super::lockstep::*;
use super::*;
use crate::fleet::{JOINED_INBOXES, PARENT_INBOX, ParentInbox, PartitionDivision, divide, keep_range};
use crate::operator::stopped::StoppedCrawl;
use crate::partition::PartitionToTake;
use crate::progress::figures::RoundProgress;
use crate::stored::keep;
use crate::vault::{prepare_in, restore};
use recrawl_archive::opener;
use recrawl_fleet::{
    FleetMap, FleetWaits, PartitionRange, begin_partitions, divided, newest, newest_map, partition_folder,
    release, sweep_void, write_map,
};
use recrawl_repository::storage::FileStorage;
use recrawl_types::PageRecord;
use recrawl_vault::store::{Listed, MemoryStore, StoreError, StoreWithin};
use recrawl_vault::{Store, contents};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

pub(super) fn fleet(sites: &[&str]) -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    let begins = std::iter::once(None).chain(sites.iter().map(|site| Some((*site).to_owned())));
    let range = |(id, begin)| PartitionRange { id, begin, parent: None };
    let map = FleetMap::new(1, (1..).zip(begins).map(range).collect()).unwrap();
    begin_partitions(&*store, &map).unwrap();
    write_map(&*store, &map).unwrap();
    store
}

pub(super) fn within(store: Arc<dyn Store>, id: u32) -> Arc<dyn Store> {
    Arc::new(StoreWithin::new(store, partition_folder(id)))
}

pub(super) fn settings_of(folder: &Path, web: &LinkedWeb, id: u32) -> Settings {
    settings(folder, web).of_partition(format!("file:///fleet/{id}"), 1).unwrap()
}

/// Runs cycles of a crawl, and gives what each left.
pub(super) fn run_cycles(crawl: &mut Crawl, web: &LinkedWeb, cycles: Range<u64>) -> Vec<MemberState> {
    let seeds = LinkedWeb::seeds();
    let mut told = Vec::new();
    for cycle in cycles {
        let mut of_cycle = MemberState::default();
        crawl.clock = Arc::new(move || 1_700_000_000_000 + cycle * CYCLE);
        let mut fetch = |crawl: &Crawl, plan: RoundPlan, traps: &Arc<Traps>| {
            visit_all(web, crawl, plan, traps, cycle, false, &mut of_cycle)
        };
        match round_fetched_by(crawl, RoundToRun::OF_NEXT_CYCLE, &seeds, &mut fetch) {
            Ok(RoundEnd::Committed(_)) => {}
            Ok(_) => panic!("a cycle had nothing to do"),
            Err(error) => panic!("{error}"),
        }
        of_cycle.known = known_without_digests(crawl);
        told.push(of_cycle);
    }
    told
}

/// A process that takes a partition, restores it, runs some cycles after what `begins` does, ships all and frees it. Gives what each
/// cycle left.
pub(super) fn run_partition(
    store: &Arc<MemoryStore>,
    web: &LinkedWeb,
    id: u32,
    cycles: Range<u64>,
    waits: FleetWaits,
    begins: &dyn Fn(&Crawl),
) -> Vec<MemberState> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("data");
    let (vault, seeds) = (within(store.clone(), id), LinkedWeb::seeds());
    let settings = settings_of(&folder, web, id);
    let map = newest_map(&**store).unwrap().unwrap();
    if contents(&*vault).unwrap().is_some() {
        restore::restore(&restore::open_in(vault.clone(), &settings.config.storage.vault).unwrap(), &folder)
            .unwrap();
        keep_range(&settings, &map, id, 1_700_000_000_000).unwrap();
    }
    let after = newest(&**store, id).unwrap();
    let to_take = PartitionToTake {
        store: store.clone(),
        map,
        id,
        after,
        waits,
        on_taken: Arc::new(|_, _| ()),
        turns: None,
    };
    let tag = format!("{id}-{after}");
    let prepared = prepare_in(vault, &settings, &tag, 1).unwrap().of_partition(&to_take);
    let files = Arc::new(FileStorage::create(&folder).unwrap());
    let disk =
        CrawlDisk { files, warc: opener::create(&folder).unwrap(), sync: recrawl_repository::sync_files() };
    let live = Arc::new(RoundProgress::new(Arc::new(|| 0)));
    let process = ProgramServices::quiet().unwrap();
    let mut crawl = Crawl::over(disk, live, settings, &seeds, 1, process).unwrap();
    crawl.follow(prepared).unwrap();
    crawl.own(to_take).unwrap();
    // As a process that has read it.
    keep(&crawl.tables, PARENT_INBOX, &None::<ParentInbox>).unwrap();
    keep(&crawl.tables, JOINED_INBOXES, &Vec::<ParentInbox>::new()).unwrap();
    begins(&crawl);
    let told = run_cycles(&mut crawl, web, cycles);
    drop(crawl);
    let epoch = newest(&**store, id).unwrap();
    release(&**store, id, epoch).unwrap();
    told
}

/// Runs all partitions of the map in force, and puts together what each cycle left.
pub(super) fn run_fleet(
    store: &Arc<MemoryStore>,
    web: &LinkedWeb,
    cycles: Range<u64>,
    is_lockstep: bool,
) -> Vec<MemberState> {
    let map = newest_map(&**store).unwrap().unwrap();
    let has_failed = Arc::new(AtomicBool::new(false));
    let all: Vec<Vec<MemberState>> = thread::scope(|scope| {
        let run = |range: &PartitionRange| {
            let (id, cycles, has_failed) = (range.id, cycles.clone(), has_failed.clone());
            scope.spawn(move || {
                let _failing = FailFast(&has_failed);
                let plans = Box::new(Lockstep(has_failed.clone()));
                let runs: Box<dyn recrawl_fleet::ExchangePatience> =
                    if is_lockstep { Box::new(Lockstep(has_failed.clone())) } else { Box::new(NoPatience) };
                run_partition(store, web, id, cycles, FleetWaits { plans, runs }, &|_| ())
            })
        };
        let running: Vec<_> = map.ranges().iter().map(run).collect();
        running.into_iter().map(|member| member.join().unwrap()).collect()
    });
    let mut together = vec![MemberState::default(); cycles.count()];
    for told in all {
        for (together, told) in together.iter_mut().zip(told) {
            together.schedule.extend(told.schedule);
            together.visits.extend(told.visits);
            for (url, record) in told.known {
                assert!(together.known.insert(url.clone(), record).is_none(), "{url} is in two partitions");
            }
        }
    }
    together
}

/// Divides a partition as a process that takes it does; the store of that process is given.
pub(super) fn divide_at(
    store: &Arc<dyn Store>,
    web: &LinkedWeb,
    (parent, site): (u32, &str),
    tag: &str,
) -> Result<crate::fleet::CutPages, Failure> {
    let after = newest(&**store, parent)?;
    let epoch = recrawl_fleet::begin(&**store, parent, after, tag, 1)?;
    let map = newest_map(&**store)?.unwrap();
    let map = divided(&**store, &map, (parent, site), (epoch + 1, tag)).map_err(Failure::work)?;
    let folder = tempfile::tempdir().unwrap();
    let child = map.division().unwrap().child;
    let settings = settings_of(&folder.path().join("data"), web, child);
    let (fleet, now) = (store.clone(), 1_700_000_000_000);
    divide(&PartitionDivision { fleet, map: &map, settings: &settings, tag, now, is_owner: &|| Ok(()) })
}

#[test]
fn a_divided_partition_goes_on_as_one_crawl() {
    const CYCLES: u64 = 8;
    let web = LinkedWeb { pages: 800, is_still: false };
    let one = run_all(&web, CYCLES, None);
    let store = fleet(&[]);
    let mut fleet = run_fleet(&store, &web, 0..3, true);
    let shared: Arc<dyn Store> = store.clone();
    let cut = divide_at(&shared, &web, (1, "h2.test"), "d").unwrap();
    assert!(cut.kept > 50 && cut.dropped > 50, "{cut:?}");
    assert_eq!(cut.kept + cut.dropped, fleet[2].known.len() as u64);
    fleet.extend(run_fleet(&store, &web, 3..CYCLES, true));
    for (cycle, (mut one, mut fleet)) in one.into_iter().zip(fleet).enumerate() {
        one.visits.sort();
        fleet.visits.sort();
        one.assert_alike(&fleet, &format!("cycle {cycle}"));
    }
}

/// Its parent removes messages once it tells how far it is.
#[test]
fn a_part_tells_no_marks_until_it_has_read_the_messages_to_its_parent() {
    let web = LinkedWeb { pages: 400, is_still: true };
    let store = fleet(&[]);
    run_fleet(&store, &web, 0..2, false);
    let shared: Arc<dyn Store> = store.clone();
    divide_at(&shared, &web, (1, "h2.test"), "d").unwrap();
    let part = newest_map(&*store).unwrap().unwrap().division().unwrap().child;
    let tells = |unread: Option<ParentInbox>, cycles| {
        let waits = FleetWaits { plans: Box::new(NoPatience), runs: Box::new(NoPatience) };
        run_partition(&store, &web, part, cycles, waits, &|crawl| {
            keep(&crawl.tables, PARENT_INBOX, &unread).unwrap();
        });
        let own = shared.list(&partition_folder(part)).unwrap();
        own.iter().any(|object| object.key.ends_with("/marks"))
    };
    assert!(!tells(Some(ParentInbox { partition: 1, next: 0 }), 2..4));
    assert!(tells(None, 4..6));
}

/// Links are on their way when it is divided, and nobody waits for anybody.
#[test]
fn out_of_lockstep_a_divided_fleet_agrees_at_rest() {
    const AT_REST: u64 = 26;
    let web = LinkedWeb { pages: 400, is_still: true };
    let seen = |known: BTreeMap<String, PageRecord>| -> BTreeMap<String, (bool, u32)> {
        let seen = |record: PageRecord| (record.visited.is_some(), record.known.in_links);
        known.into_iter().map(|(url, record)| (url, seen(record))).collect()
    };
    let one = seen(run_all(&web, AT_REST, None).pop().unwrap().known);
    let store = fleet(&["h2.test"]);
    let shared: Arc<dyn Store> = store.clone();
    run_fleet(&store, &web, 0..2, false);
    divide_at(&shared, &web, (1, "h14.test"), "d").unwrap();
    run_fleet(&store, &web, 2..4, false);
    divide_at(&shared, &web, (3, "h17.test"), "e").unwrap();
    divide_at(&shared, &web, (2, "h4.test"), "f").unwrap();
    let map = newest_map(&*store).unwrap().unwrap();
    assert_eq!(map.ranges().iter().map(|range| range.id).collect::<Vec<_>>(), [1, 3, 4, 2, 5]);
    let fleet = seen(run_fleet(&store, &web, 4..AT_REST, false).pop().unwrap().known);
    assert!(one.len() > 250, "{} pages", one.len());
    let differing = one.iter().zip(&fleet).find(|(one, fleet)| one != fleet);
    assert_eq!(differing, None);
    assert_eq!(one.len(), fleet.len());
}

/// The store of a process that is killed before one of its writes: it does nothing more, and nobody hears of it.
#[derive(Debug)]
pub(super) struct KilledStore {
    pub(super) objects: Arc<MemoryStore>,
    pub(super) left: AtomicU64,
    pub(super) killed: Sender<()>,
}

impl KilledStore {
    fn write(&self) {
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err() {
            let _ = self.killed.send(());
            loop {
                thread::park();
            }
        }
    }
}

impl Store for KilledStore {
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.write();
        self.objects.create(key, bytes)
    }
    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        self.objects.read(key, most)
    }
    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.write();
        self.objects.replace(key, bytes)
    }
    fn list(&self, folder: &str) -> Result<Vec<Listed>, StoreError> {
        self.objects.list(folder)
    }
    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.write();
        self.objects.remove(key)
    }
    fn locate(&self, key: &str) -> String {
        self.objects.locate(key)
    }
}

/// The URLs of all partitions of the map in force, as their next owners begin with them.
pub(super) fn all_urls(store: &Arc<MemoryStore>, web: &LinkedWeb) -> Vec<String> {
    let map = newest_map(&**store).unwrap().unwrap();
    let mut urls = Vec::new();
    for range in map.ranges() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings_of(&folder.path().join("data"), web, range.id);
        let vault = restore::open_in(within(store.clone(), range.id), "x").unwrap();
        restore::restore(&vault, &settings.data_dir).unwrap();
        keep_range(&settings, &map, range.id, 1).unwrap();
        let stopped = StoppedCrawl::open(&settings).unwrap();
        let generation = stopped.repository.current();
        let mut records = generation.records();
        while let Some((_, key, _)) = records.next_record().unwrap() {
            urls.push(CanonicalUrl::from_key(key).unwrap().to_string());
        }
    }
    urls
}

#[test]
fn a_division_that_is_killed_before_any_of_its_writes_loses_nothing_and_can_be_made_again() {
    let web = LinkedWeb { pages: 120, is_still: false };
    let store = fleet(&[]);
    run_fleet(&store, &web, 0..2, true);
    let urls = all_urls(&store, &web);
    assert!(urls.len() > 60, "{}", urls.len());
    let begun = store.image();
    let (mut kills, mut in_force) = (0, 0);
    for writes in 0.. {
        let store = Arc::new(MemoryStore::new());
        begun.iter().for_each(|(key, bytes)| store.create(key, bytes).unwrap());
        let (killed, events) = channel();
        let done = killed.clone();
        let dying: Arc<dyn Store> =
            Arc::new(KilledStore { objects: store.clone(), left: AtomicU64::new(writes), killed });
        let (has_ended, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let ends = has_ended.clone();
        thread::spawn(move || {
            divide_at(&dying, &LinkedWeb { pages: 120, is_still: false }, (1, "h2.test"), "d").unwrap();
            ends.store(true, Ordering::SeqCst);
            let _ = done.send(());
        });
        events.recv_timeout(Duration::from_secs(120)).unwrap();
        ended.store(has_ended.load(Ordering::SeqCst), Ordering::SeqCst);
        let map = newest_map(&*store).unwrap().unwrap();
        if ended.load(Ordering::SeqCst) {
            assert!(map.number() == 2 && kills > 20, "{kills} kills");
            break;
        }
        kills += 1;
        in_force += u64::from(map.number() == 2);
        assert_eq!(all_urls(&store, &web), urls, "killed before write {writes}, map {}", map.number());
        if map.number() == 2 {
            continue;
        }
        // Somebody takes the partition: what was half made is void, and goes. Then it is made again.
        let after = newest(&*store, 1).unwrap();
        recrawl_fleet::begin(&*store, 1, after, "next", 1).unwrap();
        sweep_void(&*store, &map).unwrap();
        let left: Vec<String> =
            store.image().into_keys().filter(|key| key.starts_with("p/0000000002/")).collect();
        assert!(left.is_empty(), "killed before write {writes}: {left:?}");
        if writes % 8 == 0 {
            let shared: Arc<dyn Store> = store.clone();
            divide_at(&shared, &web, (1, "h2.test"), "again").unwrap();
            assert_eq!(all_urls(&store, &web), urls);
        }
    }
    println!("{kills} kills, {in_force} of them when it was in force");
    assert!(in_force > 0, "the last write only frees the partition");
}
