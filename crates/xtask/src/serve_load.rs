//! Measures a daemon that crawls a procedural web while its console is under load. Stretches
//! without load before, between and after show the cost of the load.

mod client;
mod daemon;
mod load;
mod mix;
mod stretch;

use crate::crawl::error::CrawlError;
use crate::crawl::mockweb::{self, MockWeb};
use crate::crawl::program::CrawlerProgram;
use crate::crawl::{sibling, write};
use clap::Args;
use daemon::LoadedDaemon;
use load::{LoadResults, RequestResults};
use mix::Subjects;
use serde_json::Value;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;
use stretch::Stretch;

/// Maximum cycles until all reachable pages are visited and warmed up.
const MAX_DISCOVERY: u32 = 30;
/// Pages in the requests of the load.
const ASKED_ABOUT: usize = 1000;

/// `xtask serve-load`
#[derive(Args)]
pub struct LoadOptions {
    /// Folder for the crawl and all logs; deleted at the start
    #[arg(long, default_value = "data/serve-load")]
    data_dir: PathBuf,
    /// Pages of the web, on 64 hosts
    #[arg(long, default_value_t = 100_000)]
    pages: u32,
    /// Minutes of each stretch with load
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// Minutes of each stretch without load: one before each stretch with load, and one at the end
    #[arg(long, default_value_t = 5.0)]
    quiet: f64,
    /// Number of stretches with load
    #[arg(long, default_value_t = 1)]
    rounds: u32,
    /// Requests per second
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// Delay between a response and the next request to a host
    #[arg(long, default_value = "20 ms")]
    delay: String,
}

/// Runs the measurement and prints the tables.
pub fn run(options: &LoadOptions) -> Result<(), CrawlError> {
    // Each measurement begins with the same empty folder.
    let dir = &options.data_dir;
    if dir.exists() {
        fs::remove_dir_all(dir).map_err(|e| CrawlError::file(dir, e))?;
    }
    fs::create_dir_all(dir).map_err(|e| CrawlError::file(dir, e))?;
    let words = format!("procedural --hosts 64 --seed 7 --pages {}", options.pages);
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let web =
        MockWeb::start(&sibling("recrawl-mockweb")?, &words, mockweb::free_port()?, &dir.join("web.jsonl"))?;
    let (configuration, crawl) = (dir.join("recrawl.toml"), dir.join("crawl"));
    let server = free_address(dir)?;
    // Without a daemon first: all pages must be known before the first stretch is measured.
    discover(options, &web, &configuration, &crawl, server)?;

    write(&configuration, &settings(server, &options.delay, options.rate))?;
    let log = dir.join("serve.log");
    let mut daemon = LoadedDaemon::start(&sibling("recrawl")?, &configuration, &crawl, &log, server)?;
    let subjects = subjects(&mut daemon)?;
    println!("{}", stretch::header());
    let (mut stretches, mut asked) = (Vec::new(), LoadResults::default());
    let minutes = |minutes: f64| Duration::from_secs_f64(minutes * 60.0);
    for _ in 0..options.rounds {
        stretches.push(stretch::watched(&web, &mut daemon, false, minutes(options.quiet), || ())?.0);
        println!("{}", stretches[stretches.len() - 1]);
        let load = || load::run(server, &subjects, options.rate, minutes(options.minutes));
        let (stretch, load) = stretch::watched(&web, &mut daemon, true, minutes(options.minutes), load)?;
        println!("{stretch}");
        stretches.push(stretch);
        asked.add(load.map_err(|e| CrawlError::Report(format!("event stream: {e}")))?);
    }
    // A stretch without load at the end shows whether the crawl itself has become slower.
    stretches.push(stretch::watched(&web, &mut daemon, false, minutes(options.quiet), || ())?.0);
    println!("{}", stretches[stretches.len() - 1]);
    println!("\n{}\n", Stretch::compared(&stretches));
    println!("{}", answers(asked));
    let ended = daemon.stop(&log)?;
    let manners = web.violations()?;
    println!(
        "SIGTERM: ended after {} ms. Requests against robots.txt: {}; hosts with concurrent requests: {}.",
        ended.as_millis(),
        manners.robots,
        manners.politeness
    );
    Ok(())
}

/// Runs cycles without delays until nothing is left to discover and only the score selects pages.
fn discover(
    options: &LoadOptions,
    web: &MockWeb,
    configuration: &Path,
    crawl: &Path,
    server: SocketAddr,
) -> Result<(), CrawlError> {
    write(configuration, &settings(server, "0 s", options.rate))?;
    let log = options.data_dir.join("discovery.log");
    let program = CrawlerProgram { executable: sibling("recrawl")?, data_dir: crawl.into(), log };
    for cycle in 1..=MAX_DISCOVERY {
        web.set_clock(cycle)?;
        let report = program.crawl(configuration, if cycle == 1 { &web.seeds } else { &[] })?;
        if cycle > 1 && report.never_tried == 0 && report.warmup_visits == 0 {
            return Ok(());
        }
    }
    Err(CrawlError::Report(format!(
        "after {MAX_DISCOVERY} cycles some pages have never been visited, or are still in warm-up"
    )))
}

/// Pages and hosts for the requests, from the whole crawl.
fn subjects(daemon: &mut LoadedDaemon) -> Result<Subjects, CrawlError> {
    let origins = strings(&daemon.get("/api/v1/hosts?sort=pages&limit=64")?, "hosts", "host")?;
    let limit = ASKED_ABOUT / origins.len() + 1;
    let mut pages = Vec::new();
    for origin in &origins {
        let prefix = mix::encoded(&format!("{origin}/"));
        let list = daemon.get(&format!("/api/v1/pages?prefix={prefix}&limit={limit}"))?;
        pages.extend(strings(&list, "pages", "url")?);
    }
    Ok(Subjects { pages, origins })
}

/// The text of one field of each row of a list.
fn strings(text: &str, list: &str, field: &str) -> Result<Vec<String>, CrawlError> {
    let document: Value =
        serde_json::from_str(text).map_err(|e| CrawlError::Report(format!("{list}: {e}")))?;
    let rows = document[list].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<String> = rows.iter().filter_map(|row| Some(row[field].as_str()?.to_owned())).collect();
    if texts.is_empty() { Err(CrawlError::Report(format!("no {list} in {text}"))) } else { Ok(texts) }
}

/// The table of responses by kind of request.
fn answers(load: LoadResults) -> String {
    let mut table = format!(
        "{:<10} {:>8} {:>9} {:>9} {:>9} {:>9}  rejected\n",
        "request", "200", "p50 ms", "p99 ms", "p99.9 ms", "max ms"
    );
    let mut all = RequestResults::default();
    let mut row = |kind: &str, outcomes: &mut RequestResults| {
        outcomes.latencies.sort_unstable();
        let of = |per_mille| RequestResults::per_mille(&outcomes.latencies, per_mille);
        let refused = match (outcomes.refused.is_empty(), outcomes.broken) {
            (true, 0) => "none".to_owned(),
            (_, broken) => format!("{:?}, {broken} without a response", outcomes.refused),
        };
        table += &format!(
            "{kind:<10} {:>8} {:>9.1} {:>9.1} {:>9.1} {:>9.1}  {refused}\n",
            outcomes.latencies.len(),
            of(500),
            of(990),
            of(999),
            of(1000)
        );
    };
    for (kind, mut outcomes) in load.kinds {
        row(kind, &mut outcomes);
        all.add(outcomes);
    }
    row("all", &mut all);
    table + &format!("{} bytes of events to {} clients.", load.event_bytes, load::LISTENING)
}

/// A free port.
fn free_address(dir: &Path) -> Result<SocketAddr, CrawlError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    listener.map_err(|e| CrawlError::file(dir, format!("no port for the console: {e}")))
}

/// A crawl without pauses, and a console that admits the load.
fn settings(server: SocketAddr, delay: &str, rate: u32) -> String {
    format!(
        "# Written by `make bench-serve`; changes are overwritten.\n\
         [cycle]\nperiod = \"1 s\"\npages = \"5%\"\nrounds = 1\ndiscovery_min = 1000000\nfill = false\n\
         [politeness]\ndelay_per_host = \"{delay}\"\ndelay_per_ip = \"{delay}\"\n\
         [fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n\
         [scope]\nhosts = [\"*\"]\n\
         [serve]\nlisten = \"{server}\"\nrequests = {}\n",
        2 * rate + 50
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_are_toml_and_let_the_load_in() {
        let table: toml::Table = settings(([127, 0, 0, 1], 80).into(), "20 ms", 200).parse().expect("TOML");
        assert_eq!(table["serve"]["requests"].as_integer(), Some(450));
        assert_eq!(table["politeness"]["delay_per_ip"].as_str(), Some("20 ms"));
    }

    #[test]
    fn what_was_refused_is_told() {
        let mut load = LoadResults::default();
        let outcomes = RequestResults { latencies: vec![3000, 1000], refused: [(503, 2)].into(), broken: 1 };
        load.kinds.insert("page", outcomes);
        let table = answers(load);
        assert!(table.contains("page              2       1.0       3.0"), "{table}");
        assert!(table.contains("{503: 2}, 1 without a response"), "{table}");
    }
}
