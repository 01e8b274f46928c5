//! A power cut at every point of a whole cycle, over all durable data: repository, archive, tables
//! of hosts and decisions.

mod division;
mod joined_decisions;
mod joining;
mod lockstep;
mod making_room;
mod repeated_links;

use super::*;
use crate::admission::decisions::Decisions;
use crate::admission::pattern::Pattern;
use crate::config::Config;
use crate::crawl::CrawlDisk;
use crate::data_dir::TABLES;
use crate::operator::control::Mark;
use crate::parts::focus::state::FocusState;
use crate::parts::improve::steps::LoopState;
use crate::parts::noise::site::floor_of;
use crate::parts::{PARTS, next_change, seed_hosts};
use crate::process::ProgramServices;
use crate::progress::figures::RoundProgress;
use crate::settings::Settings;
use recrawl_archive::WarcFiles;
use recrawl_archive::answer::holds;
use recrawl_archive::verify::{MayBeGone, verify};
use recrawl_mockweb::procedural::ProceduralConfig;
use recrawl_mockweb::{Server, WebConfig};
use recrawl_repository::storage::{FaultyStorage, Storage, StorageFault, Survivors};
use recrawl_repository::{Generation, SledTables, SyncFolder};
use recrawl_types::{HostTable, LogRecord, Origin, Outcome, Ping, Site, Skip, Skipped, UrlRules};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type FileImages = BTreeMap<String, Vec<u8>>;

/// A machine: a disk with a planned power cut, and the folder of the tables with their durable
/// copy.
struct CrashMachine {
    storage: Arc<FaultyStorage>,
    folder: tempfile::TempDir,
}

impl CrashMachine {
    /// A machine with these files.
    fn with(files: &FileImages, tables: Option<&Path>) -> CrashMachine {
        let machine = CrashMachine {
            storage: Arc::new(FaultyStorage::with_files(files.clone())),
            folder: tempfile::tempdir().unwrap(),
        };
        if let Some(tables) = tables {
            copy(tables, &machine.tables());
            copy(tables, &machine.durable());
        }
        machine
    }

    fn tables(&self) -> PathBuf {
        self.folder.path().join(TABLES)
    }

    fn durable(&self) -> PathBuf {
        self.folder.path().join("durable")
    }

    /// A sync makes the present contents durable. Without power nothing is synced.
    fn sync(&self) -> SyncFolder {
        let (storage, durable) = (self.storage.clone(), self.durable());
        Arc::new(move |dir| {
            // An extra point of failure, which changes nothing.
            match storage.remove("nothing") {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
            let _ = std::fs::remove_dir_all(&durable);
            copy(dir, &durable);
            Ok(())
        })
    }

    fn crawl(&self, seeds: &[CanonicalUrl]) -> Result<Crawl, Failure> {
        let mut config: Config = toml::from_str(
            "[cycle]\npages = \"100%\"\npages_min = 1\ndiscovery_min = 1000\ndiscovery_share = 0\naudit_share = 0.1\nfill = false\n\
             [focus]\nenabled = true\n[improve]\nmode = \"watch\"\n\
             [schedule]\nformula = \"p_next\"\n\
             [politeness]\ndelay_per_host = \"0 ms\"\ndelay_per_ip = \"0 ms\"\n\
             [fetch]\nallow_addresses = [\"127.0.0.0/8\"]\nvalidator_checks = 0\n\
             [storage]\nreserve = \"0 B\"\nsync_every = \"0 s\"\narchive_file = \"1 MiB\"\narchive_requests = true\n",
        )
        .unwrap();
        config.storage.data_dir = self.folder.path().into();
        config.focus.terms = self.folder.path().join("terms.toml");
        std::fs::write(&config.focus.terms, "genre = [\"page\"]\ncontent = [\"host\"]\n").unwrap();
        let mut settings = Settings::check(config).unwrap();
        // So that a cycle needs more than one file.
        settings.config.storage.archive_file.0 = 6_000;
        let live = Arc::new(RoundProgress::new(recrawl_fetcher::system_clock()));
        let disk = CrawlDisk { files: self.storage.clone(), warc: self.storage.clone(), sync: self.sync() };
        Crawl::over(disk, live, settings, seeds, 1, ProgramServices::quiet().unwrap())
    }

    /// The state after a restart; of the tables either what is durable, or all that was written.
    fn after(&self, survivors: Survivors) -> CrashMachine {
        let files = self.storage.after_power_cut(survivors).image();
        let tables = if survivors == Survivors::All { self.tables() } else { self.durable() };
        CrashMachine::with(&files, tables.exists().then_some(&*tables))
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        // sled removes a file now and then.
        if path.is_dir() { copy(&path, &to) } else { drop(std::fs::copy(&path, &to)) }
    }
}

fn mark() -> Mark {
    Mark { who: "anna".into(), at: 7 }
}

/// The data that the cycle reported as stored.
#[derive(Default)]
struct ReportedStored {
    blocked: bool,
    committed: bool,
}

/// An operator blocks a pattern, and a cycle runs.
fn run(
    machine: &CrashMachine,
    seeds: &[CanonicalUrl],
    block: &str,
    told: &mut ReportedStored,
) -> Result<(), Failure> {
    let mut crawl = machine.crawl(seeds)?;
    crawl.control.block(&Pattern::host(block).unwrap(), Some(mark()))?;
    told.blocked = true;
    match round(&mut crawl, RoundToRun::OF_NEXT_CYCLE, seeds)? {
        RoundEnd::Committed(_) => told.committed = true,
        RoundEnd::Interrupted | RoundEnd::NothingDue => panic!("no signal came"),
    }
    Ok(())
}

/// The data of pages that can be compared between runs: visits, changes, digest.
fn pages(generation: &Generation) -> BTreeMap<String, (u32, u32, u64)> {
    let mut pages = BTreeMap::new();
    let mut records = generation.records();
    while let Some((_, key, record)) = records.next_record().unwrap() {
        let visited = record.visited.map(|v| (v.history.visits, v.history.changes, v.content.payload));
        pages.insert(CanonicalUrl::from_key(key).unwrap().to_string(), visited.unwrap_or_default());
    }
    pages
}

/// Lessons of a part about the hosts of these pages and about all pages; none of a part that learns nothing from rounds.
fn learned(part: &str, crawl: &Crawl, pages: &[CanonicalUrl]) -> Option<Vec<String>> {
    let tables = &*crawl.tables;
    let all = |learned: &dyn fmt::Debug| vec![format!("{learned:?}")];
    let hosts =
        |of: &dyn Fn(&Origin) -> String| pages.iter().map(|page| of(&Origin::from_url(page))).collect();
    Some(match part {
        "dates" => hosts(&|origin| format!("{:?}", tables.lastmods(origin).unwrap())),
        "focus" => all(&FocusState::read(tables).unwrap()),
        "improve" => all(&LoopState::read(tables).unwrap()),
        "next_change" => all(&next_change::weights(tables).unwrap()),
        "noise" => pages
            .iter()
            .map(|page| format!("{:?}", floor_of(tables, &Site::from_url(page)).unwrap()))
            .collect(),
        "pings" => hosts(&|origin| format!("{:?}", tables.ping_counts(origin).unwrap())),
        "traps" => hosts(&|origin| format!("{:?}", tables.traps(origin).unwrap())),
        "trust" => hosts(&|origin| format!("{:?}", tables.load(origin).unwrap().map(|host| host.trust))),
        "seed_hosts" => all(&seed_hosts::failing(tables).unwrap()),
        "repeated_links" => hosts(&|origin| format!("{:?}", tables.dropped_links(origin).unwrap())),
        "convert" | "deliver" | "notify" | "promises" | "render" | "requisites" => return None,
        unknown => panic!("say how `{unknown}` shows what it learned, or that it learns nothing"),
    })
}

/// Each visited page has a body at its position.
fn each_body_is_there(storage: &dyn Storage, generation: &Generation, what: &str) -> u64 {
    let mut records = generation.records();
    let files = WarcFiles::in_storage(storage).unwrap();
    let mut bodies = 0;
    while let Some((_, key, record)) = records.next_record().unwrap() {
        let Some(visited) = record.visited else { continue };
        let url = CanonicalUrl::from_key(key).unwrap();
        let position = visited.content.archive.unwrap_or_else(|| panic!("{what}: {url} has no body"));
        let name = files.name(position.file).unwrap_or_else(|e| panic!("{what}: {url}: {e}"));
        let is_there = holds(storage, name, position.offset, &url.as_text());
        assert!(is_there, "{what}: {position:?} is no body of {url}");
        bodies += 1;
    }
    bodies
}

#[test]
fn after_a_power_cut_at_any_point_of_a_cycle_nothing_is_lost_and_no_position_means_another_page() {
    let procedural = ProceduralConfig {
        pages: 24,
        hosts: 2,
        seed: 7,
        page_bytes: 900,
        sitemaps: true,
        ..ProceduralConfig::default()
    };
    let server = Server::start(recrawl_mockweb::Config::new(WebConfig::Procedural(procedural))).unwrap();
    let canonical = |url: &String| UrlRules::default().canonicalize(url).unwrap();
    let seeds: Vec<CanonicalUrl> = server.seeds().iter().map(canonical).collect();
    // Two undisturbed cycles, and the expected result of the third.
    let start = CrashMachine::with(&FileImages::new(), None);
    (0..2).for_each(|_| run(&start, &seeds, "earlier.test", &mut ReportedStored::default()).unwrap());
    server.advance().unwrap();
    let begun = start.after(Survivors::All);
    let tables = SledTables::open(&begun.tables()).unwrap();
    tables.keep_ping(&seeds[0], Some(Ping::at(recrawl_fetcher::system_clock()()))).unwrap();
    tables.flush().unwrap();
    drop(tables);
    let files = begun.storage.image();
    let undisturbed = CrashMachine::with(&files, Some(&begun.tables()));
    run(&undisturbed, &seeds, "blocked.test", &mut ReportedStored::default()).unwrap();
    let expected = pages(&undisturbed.crawl(&[]).unwrap().repository.current());
    let of_parts =
        |crawl: &Crawl| PARTS.iter().map(|part| learned(part.name, crawl, &seeds)).collect::<Vec<_>>();
    let (once, before) = (of_parts(&undisturbed.crawl(&[]).unwrap()), of_parts(&start.crawl(&[]).unwrap()));
    let taught = PARTS.iter().zip(once.iter().zip(&before)).filter(|(_, (once, before))| once != before);
    let taught: Vec<&str> = taught.map(|(part, _)| part.name).collect();
    assert_eq!(taught, ["dates", "focus", "next_change", "noise", "pings", "traps", "trust"]);
    assert!(expected.len() > 10 && expected.values().any(|(_, changes, _)| *changes > 0), "{expected:?}");

    let (mut points, mut tried, mut bodies) = (0, 0, 0);
    for point in 1.. {
        let machine = CrashMachine::with(&files, Some(&begun.tables()));
        machine.storage.set_fault(StorageFault::Stop(point));
        let mut told = ReportedStored::default();
        let ended = run(&machine, &seeds, "blocked.test", &mut told);
        // Behind the commit, a disk that fails is only warned of. So the power tells whether there are more points.
        if machine.storage.list().is_ok() {
            ended.unwrap();
            break;
        }
        points += 1;
        for survivors in [Survivors::Synced, Survivors::Some(point * 1_031), Survivors::All] {
            let what = format!("cut at point {point}, {survivors:?}");
            let left = machine.after(survivors);
            let decided = Decisions::read(&*left.storage).unwrap().unwrap();
            assert!(
                decided.blocks.contains_key(&Pattern::host("earlier.test").unwrap()),
                "{what}: an earlier block is lost"
            );
            assert!(
                !told.blocked || decided.blocks.contains_key(&Pattern::host("blocked.test").unwrap()),
                "{what}: the block is lost"
            );
            let mut crawl = left.crawl(&seeds).unwrap_or_else(|e| panic!("{what}: {e}"));
            let number = crawl.repository.current().number().0;
            assert!(number == 3 || number == 2 && !told.committed, "{what}: generation {number}");
            if number == 2 {
                round(&mut crawl, RoundToRun::OF_NEXT_CYCLE, &seeds)
                    .unwrap_or_else(|e| panic!("{what}: {e}"));
            }
            let generation = crawl.repository.current();
            assert_eq!(pages(&generation), expected, "{what}");
            for ((part, now), once) in PARTS.iter().zip(of_parts(&crawl)).zip(&once) {
                assert_eq!(now, *once, "{what}: {} did not learn once", part.name);
            }
            bodies += each_body_is_there(&*left.storage, &generation, &what);
            assert_eq!(crawl.repository.verify(), [], "{what}");
            assert_eq!(
                verify(&*left.storage, &generation, MayBeGone::default()).unwrap().damage,
                [],
                "{what}"
            );
            let host = crawl.tables.load(&Origin::from_url(&seeds[0])).unwrap();
            assert!(host.is_some_and(|host| host.requests > 0), "{what}: what was learned of hosts is lost");
            tried += 1;
        }
    }
    println!("{points} points of a cycle, {tried} power cuts, {bodies} positions of bodies followed");
    assert!(points > 60 && tried == 3 * points, "{points} points, {tried} cuts");
}

/// The crawl stops after the rest of its round is a range of the log, and before the commit.
#[test]
fn live_figures_after_a_restart_have_the_pages_that_an_earlier_run_skipped() {
    let machine = CrashMachine::with(&FileImages::new(), None);
    let canonical = |page: u32| UrlRules::default().canonicalize(&format!("http://a.test/{page}")).unwrap();
    let seeds: Vec<CanonicalUrl> = (0..5).map(canonical).collect();
    let why = Skip::ByteBudget;
    let mut found = Vec::new();
    for pages in [1..4, 4..5, 0..1] {
        let mut crawl = machine.crawl(&seeds).unwrap();
        let mut fetch = |crawl: &Crawl, mut plan: RoundPlan, _: &Arc<Traps>| {
            let now = crawl.live.now().unwrap();
            found.push((now.scheduled, now.done, now.tally.all_skipped(), crawl.live.errors().kinds()));
            plan.log.append(&LogRecord::Skipped(Skipped { pages: pages.clone(), why, at: 7 })).unwrap();
            Ok(Fetched {
                stopped_by: StoppedBy::Stop,
                skipped: 0,
                asked_again: 0,
                requisites: Default::default(),
                conversions: Default::default(),
                archive: None,
            })
        };
        round_fetched_by(&mut crawl, RoundToRun::OF_NEXT_CYCLE, &seeds, &mut fetch).unwrap();
    }
    let kinds = |pages| vec![(Outcome::Skipped(why), pages)];
    assert_eq!(found, [(5, 0, 0, Vec::new()), (5, 3, 3, kinds(3)), (5, 4, 4, kinds(4))]);
}

/// All pages that a crawl knows, without the digests of their links.
fn known_without_digests(crawl: &Crawl) -> BTreeMap<String, recrawl_types::PageRecord> {
    let generation = crawl.repository.current();
    let (mut known, mut records) = (BTreeMap::new(), generation.records());
    while let Some((_, key, mut record)) = records.next_record().unwrap() {
        if let Some(visited) = &mut record.visited {
            visited.content.merged_links = Box::default();
        }
        known.insert(CanonicalUrl::from_key(key).unwrap().to_string(), record);
    }
    known
}
