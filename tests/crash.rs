//! kill -9 at any moment, and a clean stop: nothing lost, nothing twice.

use crate::harness::{World, count, replayed_changes, succeeds, warc_files, web};
use crate::visits::rebuild_the_pages;
use flate2::read::{GzDecoder, MultiGzDecoder};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::process::Child;
use std::time::Duration;

const HOSTS: u32 = 4;
/// Pages between two stages of the program, in each of its two queues.
const QUEUE: u64 = 32;
/// Pages in the hands of a worker, or of the recorder.
const BATCH: u64 = 8;

/// The most pages that can be asked for and not yet be logged: one request under way to each host, two full
/// queues, and a batch in the hands of each worker and of the recorder.
pub fn most_in_flight() -> u64 {
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get().saturating_sub(1)).max(1);
    u64::from(HOSTS) + 2 * QUEUE + BATCH * (workers as u64 + 1)
}

/// What a kill waits for.
#[derive(Debug)]
pub enum Moment {
    /// So many more requests.
    Requests(u64),
    /// So long after the start: before the first request, or anywhere.
    Time(Duration),
    /// A file of the next generation: the merge or the commit is under way.
    Commit,
}

impl Moment {
    pub fn draw(lot: &mut StdRng, most_requests: u64) -> Moment {
        match lot.random_range(0..10) {
            0..=6 => Moment::Requests(lot.random_range(1..=most_requests)),
            7..=8 => Moment::Time(Duration::from_millis(lot.random_range(0..150))),
            _ => Moment::Commit,
        }
    }

    /// Waits for it, or for the end of the crawl.
    pub fn wait(&self, world: &World, child: &mut Child) {
        self.wait_for(world, child, &|| world.server.log(0).expect("the log is in memory").len() as u64);
    }

    /// The same where another site counts its requests.
    pub fn wait_for(&self, world: &World, child: &mut Child, log_length: &dyn Fn() -> u64) {
        let (asked, generation) = (log_length(), newest_file(world));
        loop {
            if child.try_wait().expect("our child").is_some() {
                return;
            }
            let is_here = match self {
                Moment::Requests(more) => log_length() >= asked + more,
                Moment::Time(time) => {
                    std::thread::sleep(*time);
                    true
                }
                Moment::Commit => newest_file(world) > generation,
            };
            if is_here {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The last of the data directory's files of generations.
fn newest_file(world: &World) -> Option<String> {
    let files = std::fs::read_dir(&world.data_dir).ok()?;
    let names = files.filter_map(|f| f.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with("generation-")).max()
}

/// Every record of every WARC file, and each page's own by its position.
fn the_archive_is_whole(world: &World) {
    let files = warc_files(&world.data_dir);
    let mut records = 0;
    for (number, path) in &files {
        let mut text = Vec::new();
        // The last record of a file may be torn: the crawl went on in another file.
        if let Err(error) = MultiGzDecoder::new(File::open(path).unwrap()).read_to_end(&mut text) {
            assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof, "file {number}: {error}");
        }
        records += text.windows(10).filter(|w| w == b"WARC/1.1\r\n").count();
    }
    let pages = world.pages();
    assert!(records > pages.len() / 2, "{records} records");
    for (url, page) in pages {
        let (Some(number), Some(offset)) = (count(&page, "warc_file"), count(&page, "warc_offset")) else {
            assert!(page["n"].is_null(), "{url} was visited and its body is nowhere");
            continue;
        };
        let mut file = File::open(&files[&number]).unwrap();
        file.seek(SeekFrom::Start(offset)).unwrap();
        let mut text = String::new();
        GzDecoder::new(file).read_to_string(&mut text).unwrap_or_else(|e| panic!("{url}: {e}"));
        assert!(text.starts_with("WARC/1.1\r\nWARC-Type: response\r\n"), "{url}: {text}");
        assert!(text.contains(&format!("\r\nWARC-Target-URI: {url}\r\n")), "{url}: {text}");
        assert!(text.ends_with("\r\n\r\n"), "{url}: {text}");
    }
}

/// RECRAWL_KILLS sets how often the crawl is killed, RECRAWL_KILL_SEED when.
#[expect(
    clippy::disallowed_methods,
    reason = "a longer or a repeated run of a test is asked for by its documented variables"
)]
pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|e| panic!("{name}={text}: {e}")))
}

#[test]
fn kill_9_at_any_moment_loses_and_repeats_only_what_was_in_flight() {
    let (kills, seed) = (setting("RECRAWL_KILLS", 6), setting("RECRAWL_KILL_SEED", 1));
    let mut lot = StdRng::seed_from_u64(seed);
    let world = World::new(
        web(300, HOSTS),
        "[cycle]\npages = \"30%\"\n[politeness]\ndelay_per_host = \"2 ms\"\n[storage]\narchive_requests = true",
    );
    let cycles = 10;
    // Some 1,600 requests in ten cycles: spread the kills over them.
    let most_requests = (2_000 / (kills + 1)).max(2);
    let (mut generation, mut killed, mut starts) = (0, 0, 0);
    // To the end of a cycle: what a kill leaves in an unfinished one is in no generation yet.
    let mut is_whole = false;
    while !is_whole || generation < cycles || killed < kills {
        starts += 1;
        assert!(starts <= 10 * (kills + cycles), "no progress");
        let mut child = world.spawn_crawl(cycles.saturating_sub(generation).max(1) as u32);
        if killed < kills {
            let moment = Moment::draw(&mut lot, most_requests);
            moment.wait(&world, &mut child);
            child.kill().unwrap();
            let ended = child.wait_with_output().unwrap();
            is_whole = ended.status.success();
            killed += u64::from(!is_whole);
            println!("seed {seed}, kill {killed}: {moment:?}, {:?}", ended.status);
        } else {
            succeeds(child.wait_with_output().unwrap());
            is_whole = true;
        }
        if world.data_dir.join("MANIFEST").exists() {
            let now = count(&world.status(), "generation").unwrap();
            assert!(now >= generation, "a committed generation is lost");
            generation = now;
        }
        world.server.set_clock(generation as u32).unwrap();
    }
    let (pages, given) = (world.pages(), world.given_out());
    let mut over = BTreeMap::new();
    for (url, page) in &pages {
        let visits = given.get(url).map_or(&[][..], Vec::as_slice);
        let (asked, recorded) = (visits.len() as u64, count(page, "n").map_or(0, |n| n + 1));
        assert!(recorded <= asked, "{url}: {recorded} visits recorded, {asked} given out");
        if recorded < asked {
            over.insert(url, asked - recorded);
        } else if recorded > 0 {
            assert_eq!(count(page, "X"), Some(replayed_changes(visits)), "X of {url}");
        }
    }
    for url in given.keys() {
        assert!(pages.contains_key(url), "{url} is lost");
    }
    let (total, most) = (over.values().sum::<u64>(), over.values().max().copied().unwrap_or(0));
    println!(
        "{kills} kills in {starts} starts of {generation} cycles: {} pages, {} responses given out, {total} of \
         them not recorded (bound {}), at most {most} of one page",
        pages.len(),
        given.values().map(Vec::len).sum::<usize>(),
        kills * most_in_flight()
    );
    assert!(total <= kills * most_in_flight() && most <= kills, "{over:?}");
    assert_eq!(world.server.counts().len() as u32, 300 + HOSTS, "every page was found");
    world.is_sound();
    the_archive_is_whole(&world);
    rebuild_the_pages(&world);
}

#[test]
fn sigterm_finishes_what_is_in_flight_and_the_next_start_goes_on() {
    let world = World::new(web(120, 3), "[politeness]\ndelay_per_host = \"5 ms\"");
    let mut stops = 0;
    for requests in [3, 40, 70, 50] {
        let mut child = world.spawn_crawl(50);
        Moment::Requests(requests).wait(&world, &mut child);
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        succeeds(child.wait_with_output().unwrap());
        stops += 1;
        world.is_sound();
    }
    let generation = count(&world.status(), "generation").unwrap();
    let report = world.crawl(1).remove(0);
    assert_eq!(count(&report, "cycle"), Some(generation + 1), "after {stops} stops");
    // What was in flight at a stop was recorded: the accounts agree to the last page.
    let (pages, given) = (world.pages(), world.given_out());
    for (url, visits) in &given {
        assert_eq!(count(&pages[url], "n").map(|n| n + 1), Some(visits.len() as u64), "{url}");
    }
    the_archive_is_whole(&world);
}

/// Whoever cannot wait for a page that takes long says so again.
#[test]
fn a_second_signal_ends_it_at_once_and_loses_only_what_was_in_flight() {
    let world = World::new(web(60, 2), "[fetch]\ntimeout = \"10 min\"");
    world.seeds(&(0..60).map(|page| world.server.url(page)).collect::<Vec<_>>());
    // The second host takes the request for its robots.txt and says nothing.
    world.server.set_faults(vec!["2/=timeout".parse().unwrap()]);
    let mut child = world.spawn_crawl(1);
    Moment::Requests(5).wait(&world, &mut child);
    let id = child.id().to_string();
    let send = |signal: &str| {
        let sent = std::process::Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(sent.success(), "{signal}");
    };
    send("-INT");
    let mut said = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let notice = said.next().expect("it says that it heard").unwrap();
    assert!(notice.contains("a second signal stops at once"), "{notice}");
    assert!(child.try_wait().unwrap().is_none(), "it waits for the page in flight");
    send("-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(130));

    world.server.set_faults(Vec::new());
    let before = world.given_out().len();
    let report = world.crawl(1).remove(0);
    assert_eq!(count(&report, "cycle"), Some(1), "the cycle that was begun goes on: {report}");
    assert!(before > 0 && count(&report, "fetched") == Some(60), "{report}");
    world.is_sound();
    the_archive_is_whole(&world);
}
