//! Crawls a procedural web with every fault of the mock web: some discovery cycles, three judged
//! cycles, and a verdict by the web's log.
//!
//! Hazards other than responses (a thousand hosts on one address, names of private addresses, `kill
//! -9`) have their own tests.

mod cycle;
mod faults;
mod hostile;
mod refused;
mod verdict;

use crate::crawl::error::CrawlError;
use crate::crawl::mockweb::{self, MockWeb};
use crate::crawl::{sibling, write};
use clap::{Args, ValueEnum};
use refused::RefusedListeners;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use verdict::{JudgedCycle, Verdict};

/// Pages of the web, without index pages.
const PAGES: u32 = 10_000;
/// Delay of hosts and addresses, in milliseconds.
const DELAY_MS: u64 = 200;
/// Cycles of first visits: the index pages; the pages that these and the sitemaps list; and two
/// more levels of links on hosts without a valid sitemap.
const DISCOVERY: u32 = 4;
/// Judged cycles, which visit every page.
const JUDGED: u32 = 3;

/// `xtask hazards`
#[derive(Args)]
pub struct HazardOptions {
    /// Folder for the crawl and the web's log, in a subfolder named after the port
    #[arg(long, default_value = "data/hazards")]
    data_dir: PathBuf,
    /// Web to crawl
    #[arg(long, value_enum, default_value_t = World::Faulty)]
    web: World,
    /// Pages of each large host of the hostile web; its deadline is proportional
    #[arg(long, default_value_t = 4_000)]
    pages: u32,
    /// Seed of the web: its pages, and which of their responses are faults
    #[arg(long, default_value_t = 7)]
    seed: u64,
}

/// A web to crawl.
#[derive(Clone, Copy, ValueEnum)]
enum World {
    /// Every kind of fault, and no deadline.
    Faulty,
    /// Floods, costly pages, hollow bodies, crowds, under a deadline.
    Hostile,
}

/// Runs the crawl and prints the verdict. True if every requirement is met.
pub fn run(options: &HazardOptions) -> Result<bool, CrawlError> {
    match options.web {
        World::Faulty => faulty(options),
        World::Hostile => hostile::run(&options.data_dir, options.pages, options.seed),
    }
}

fn faulty(options: &HazardOptions) -> Result<bool, CrawlError> {
    let port = mockweb::free_port()?;
    // Two concurrent runs on one web would break its delays.
    let dir = options.data_dir.join(port.to_string());
    let file = |name: &str| dir.join(name);
    let (crawl, log, said) = (file("crawl"), file("log.jsonl"), file("recrawl.log"));
    let (configuration, seeds) = (file("recrawl.toml"), file("seeds.txt"));
    fs::create_dir_all(&dir).map_err(|e| CrawlError::file(&dir, e))?;
    forget(&crawl, fs::remove_dir_all(&crawl))?;
    for old in [&log, &said] {
        forget(old, fs::remove_file(old))?;
    }

    let traps = |e| CrawlError::MockWeb(format!("cannot listen on the rejected addresses: {e}"));
    let refused = RefusedListeners::open().map_err(traps)?;
    let words = format!(
        "procedural --pages {PAGES} --hosts {} --skew 0 --seed {} --sitemaps",
        faults::HOSTS,
        options.seed
    );
    let mut words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let rules = faults::rules(refused.port(), false);
    words.extend(rules.iter().flat_map(|rule| ["--fault".to_owned(), rule.clone()]));
    let web = MockWeb::start(&sibling("recrawl-mockweb")?, &words, port, &log)?;
    write(&seeds, &[web.seeds.clone(), faults::entries(port)].concat().join("\n"))?;
    println!(
        "{PAGES} pages on {} hosts, seed {}, port {port}; {} faults of {} kinds; delay {DELAY_MS} ms; rejected addresses: {}",
        faults::HOSTS,
        options.seed,
        rules.len(),
        faults::kinds().len(),
        refused.addresses().map_err(traps)?.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    );
    println!("{}", verdict::header());
    let mut judged = Vec::new();
    for turn in 1..=DISCOVERY + JUDGED {
        let is_judged = turn > DISCOVERY;
        // Discovery cycles only find the pages: nothing has changed then, so nothing can be judged.
        if is_judged {
            web.set_clock(turn - DISCOVERY)?;
            web.set_faults(&faults::rules(refused.port(), turn == DISCOVERY + 1))?;
        }
        write(&configuration, &settings(is_judged))?;
        let cycle = cycle::run(&sibling("recrawl")?, &crawl, &configuration, &seeds, &said)?;
        let phase = if is_judged { "judged" } else { "discovery" };
        println!("{}", verdict::row(phase, &cycle, verdict::held(&web)?));
        if is_judged {
            judged.push(JudgedCycle { peak_kib: cycle.peak_kib, wall: cycle.wall });
        }
    }
    let connections = refused.connections().map_err(traps)?;
    let verdict = Verdict::read(&web, DELAY_MS, judged, connections)?;
    println!("{verdict}");
    Ok(verdict.is_clean())
}

/// Ignores the error if the file did not exist.
fn forget(path: &Path, removed: std::io::Result<()>) -> Result<(), CrawlError> {
    match removed {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(CrawlError::file(path, e)),
        _ => Ok(()),
    }
}

/// The crawler's configuration: the delays, timeouts of seconds, and the limit for hosts that are
/// traps from their root on.
fn settings(is_judged: bool) -> String {
    let budget = if is_judged { "pages = \"100%\"" } else { "pages = 0\npages_min = 0" };
    format!(
        "# Written by `make hazards`; changes are overwritten.\n\
         [cycle]\n{budget}\nrounds = 1\nwarmup = 0\ndiscovery_min = 1000000\nfill = false\n\
         [politeness]\ndelay_per_host = \"{DELAY_MS} ms\"\ndelay_per_ip = \"{DELAY_MS} ms\"\n\
         robots_cache = \"1 s\"\n\
         [fetch]\nallow_addresses = [\"127.1.0.0/16\"]\ntimeout = \"3 s\"\nconnect_timeout = \"2 s\"\n\
         [scope]\nhosts = [\"*\"]\nmax_pages_per_host = 500\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_are_toml_and_promise_the_delay() {
        for is_judged in [false, true] {
            let table: toml::Table = settings(is_judged).parse().expect("TOML");
            assert_eq!(table["politeness"]["delay_per_ip"].as_str(), Some("200 ms"));
            assert_eq!(table["cycle"]["pages"].as_str(), is_judged.then_some("100%"));
        }
    }
}
