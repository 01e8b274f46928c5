//! A power cut, or an I/O error, at every write of a merge and its commit, over blocks that are carried, replaced,
//! cut and copied out of files that are emptied.

use recrawl_repository::storage::{Fault, FaultyStorage, MemoryStorage, Storage, Survivors};
use recrawl_repository::{CommitError, Repository};
use recrawl_types::{
    CanonicalUrl, Change, Content, Fingerprint, LeftOut, Link, LogRecord, Outcome, PageRecord, Share,
    UrlRules, Visit,
};
use recrawl_verifier::{Batch, BatchLimits, MergeRules, Waiting, merge};
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

const HOSTS: u32 = 6;

fn url(host: u32, page: u32) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(&format!("https://host{host}.example/{page:03}")).unwrap()
}

fn link(url: CanonicalUrl) -> Link {
    Link { url, depth: 1, hops: 0, counted: true, lastmod: 0 }
}

/// What cycle `cycle` finds: seeds first; then visits to two of the hosts, with links to their own pages, new and
/// old, and to one page of another host.
fn log(cycle: u32) -> Vec<LogRecord> {
    if cycle == 1 {
        let seeds = (0..HOSTS).flat_map(|host| (0..6).map(move |page| link(url(host, page))));
        return vec![LogRecord::Seeds(seeds.collect())];
    }
    let visit = |host: u32, page: u32| {
        let links = (0..3)
            .map(|i| link(url(host, cycle * 5 + i)))
            .chain([link(url((host + 2) % HOSTS, 100 + cycle))]);
        LogRecord::Visit(Box::new(Visit {
            url: url(host, page),
            index: None,
            share: Share::Score,
            at: u64::from(cycle) * 86_400_000,
            outcome: Outcome::Fetched(Change::Undecided),
            content: Some(Content {
                fingerprint: Fingerprint { simhash: 0, digest: u128::from(cycle / 2) },
                ..Content::default()
            }),
            difference: None,
            sign: None,
            left_out: LeftOut::default(),
            links: links.collect(),
            bytes: 10,
        }))
    };
    let host = cycle % HOSTS;
    vec![visit(host, cycle % 6), visit(host, (cycle + 1) % 6), visit((host + 3) % HOSTS, 0)]
}

/// Runs the next cycle. Blocks are tiny, and links may wait, so that every kind of write happens.
fn run(storage: &Arc<dyn Storage>) -> Result<(), Box<dyn Error>> {
    let mut repository = Repository::open(storage.clone())?;
    let generation = repository.current();
    let cycle = generation.number().next();
    let mut batch = Batch::new(storage.clone(), cycle, BatchLimits { memory_bytes: 0 });
    log(cycle.0).into_iter().try_for_each(|record| batch.add(record))?;
    let mut writer = repository.begin(&generation)?;
    let rules = MergeRules {
        cycle,
        max_hops: 3,
        max_pages_per_host: 1000,
        waiting: Waiting { max_cycles: 3, enough: 3 },
        block_pages: 4,
        threads: 1,
        judge: &|_, before, after| before.fingerprint != after.fingerprint,
        watch: &|_, _, _| {},
        meet: &|_, _| {},
    };
    merge(&generation, batch.finish()?, &mut writer, &rules)?;
    repository.commit(writer, format!("cycle {cycle}").as_bytes()).map_err(|e: CommitError| e.into())
}

type Pages = BTreeMap<CanonicalUrl, PageRecord>;

/// All pages, and the number of links that wait.
fn state(repository: &Repository) -> (Pages, u64) {
    let generation = repository.current();
    let mut records = generation.records();
    let mut pages = Pages::new();
    while let Some((_, key, record)) = records.next_record().unwrap() {
        pages.insert(CanonicalUrl::from_key(key).unwrap(), record);
    }
    (pages, generation.summary().waiting)
}

type Files = BTreeMap<String, Vec<u8>>;

/// The files and the state after each of `cycles` undisturbed cycles.
fn history(cycles: u32) -> Vec<(Files, (Pages, u64))> {
    let storage = Arc::new(MemoryStorage::new());
    let shared: Arc<dyn Storage> = storage.clone();
    let mut all = Vec::new();
    drop(Repository::open(shared.clone()).unwrap());
    for _ in 0..=cycles {
        let repository = Repository::open(shared.clone()).unwrap();
        all.push((storage.image(), state(&repository)));
        drop(repository);
        run(&shared).unwrap();
    }
    all
}

fn check(left: Arc<dyn Storage>, before: u32, committed: bool, states: &[&(Pages, u64)], what: &str) {
    let repository = Repository::open(left.clone()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let number = repository.current().number().0;
    assert!(number == before + 1 || number == before && !committed, "{what}: generation {number}");
    assert_eq!(&state(&repository), states[(number - before) as usize], "{what}");
    assert_eq!(repository.verify(), [], "{what}");
    drop(repository);
    if number == before {
        run(&left).unwrap_or_else(|e| panic!("{what}: {e}"));
        let repository = Repository::open(left.clone()).unwrap();
        assert_eq!(&state(&repository), states[1], "{what}");
    }
    let repository = Repository::open(left.clone()).unwrap();
    let mut expected: Vec<String> = repository.current().files().into_iter().map(|(name, _)| name).collect();
    expected.extend(["MANIFEST".into(), "reports".into()]);
    expected.sort_unstable();
    let mut names = left.list().unwrap();
    names.sort_unstable();
    assert_eq!(names, expected, "{what}: files that nothing refers to");
}

const CYCLES: u32 = 40;

#[test]
fn after_a_power_cut_at_any_write_it_is_one_generation_or_the_next() {
    let history = history(CYCLES + 1);
    let (mut tried, mut carried, mut waited) = (0, 0, 0);
    // The first, some in a row, and one when old files are being emptied.
    for before in (0..8).chain([CYCLES - 1, CYCLES]) {
        let (files, _) = &history[before as usize];
        let states = [&history[before as usize].1, &history[before as usize + 1].1];
        let ages = files.keys().filter(|name| name.ends_with(".keys")).count();
        carried += usize::from(ages > 1);
        waited += usize::from(states[0].1 > 0);
        let mut point = 0;
        loop {
            point += 1;
            let storage = Arc::new(FaultyStorage::with_files(files.clone()));
            storage.set_fault(Fault::Stop(point));
            let committed = run(&(storage.clone() as Arc<dyn Storage>)).is_ok();
            let points = storage.points();
            let chances = (0..6).map(|i| Survivors::Some(point * 1031 + i));
            for survivors in [Survivors::Synced, Survivors::All].into_iter().chain(chances) {
                let what = format!("generation {before}, power cut at point {point}, {survivors:?}");
                check(Arc::new(storage.after_power_cut(survivors)), before, committed, &states, &what);
                tried += 1;
            }
            if points < point {
                break;
            }
        }
    }
    println!("{tried} power cuts tried");
    assert!(tried > 1000 && carried > 5 && waited > 3, "{tried} tried, {carried} carried, {waited} waited");
}

#[test]
fn an_error_of_any_read_or_write_harms_nothing() {
    let history = history(5);
    let (files, _) = &history[4];
    let states = [&history[4].1, &history[5].1];
    for fault in [Fault::Fail as fn(u64) -> Fault, Fault::FailRead] {
        for point in 1.. {
            let storage = Arc::new(FaultyStorage::with_files(files.clone()));
            storage.set_fault(fault(point));
            let committed = run(&(storage.clone() as Arc<dyn Storage>)).is_ok();
            storage.set_fault(Fault::None);
            check(storage, 4, committed, &states, &format!("{:?}", fault(point)));
            if committed {
                break;
            }
        }
    }
}

#[test]
fn garbage_and_files_stay_bounded() {
    for (files, (pages, _)) in history(CYCLES) {
        let keys = files.iter().filter(|(name, _)| name.ends_with(".keys"));
        assert!(keys.clone().count() <= 24, "{} files", keys.count());
        let bytes: usize = keys.map(|(_, bytes)| bytes.len()).sum();
        // Twice the keys, headers of files and of frames among them, and what one cycle writes.
        let text: usize = pages.keys().map(|url| url.key().len() + 24).sum();
        assert!(bytes <= 2 * text + 2000, "{bytes} bytes for {} pages", pages.len());
    }
}
