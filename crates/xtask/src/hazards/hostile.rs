//! The hostile web: 64 large hosts, a third of them hostile, and 64 hosts of one page. It is
//! crawled in six cycles under a deadline; the result is the coverage of each kind of host, by the
//! web's log.
//!
//! docs/internals/mockweb.md, "The hostile web", shows that a fair crawler can cover everything.

mod account;
mod kinds;

use super::cycle;
use super::forget;
use crate::crawl::error::CrawlError;
use crate::crawl::mockweb::{self, MockWeb};
use crate::crawl::{sibling, write};
use account::HostileAccount;
use kinds::{CROWD, FIRST_SINGLE, HostileHost, LARGE, SINGLE};
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

/// Cycles of the crawl.
const CYCLES: u32 = 6;
/// From this cycle on, hosts have as many pages as a cycle can fetch, and the small hosts appear.
const BUSY: u32 = 3;
/// The cycle of the temporary faults.
const PASSING: u32 = 4;
/// Delay of hosts and addresses, in milliseconds.
const DELAY_MS: u64 = 60;
/// Concurrently open hosts: equal to the number of large hosts, so that a crawler that opens these
/// first has no slot left.
const OPEN_HOSTS: u32 = LARGE;
/// Required coverage of the pages that robots.txt allows.
const COVERAGE: f64 = 0.99;

/// Crawls the hostile web and prints the verdict. True if every requirement is met.
pub fn run(data_dir: &Path, pages_per_host: u32, seed: u64) -> Result<bool, CrawlError> {
    let port = mockweb::free_port()?;
    let dir = data_dir.join(format!("hostile-{port}"));
    let file = |name: &str| dir.join(name);
    let (crawl, log, said) = (file("crawl"), file("log.jsonl"), file("recrawl.log"));
    let (configuration, seeds) = (file("recrawl.toml"), file("seeds.txt"));
    fs::create_dir_all(&dir).map_err(|e| CrawlError::file(&dir, e))?;
    forget(&crawl, fs::remove_dir_all(&crawl))?;
    for old in [&log, &said] {
        forget(old, fs::remove_file(old))?;
    }

    let hosts = kinds::hosts();
    let web = MockWeb::start(&sibling("recrawl-mockweb")?, &words(&hosts, pages_per_host, seed), port, &log)?;
    let deadline = deadline(pages_per_host);
    write(&configuration, &settings(&hosts, deadline))?;
    println!(
        "{LARGE} hosts of {pages_per_host} pages and {SINGLE} of one, {CROWD} of these on one address, seed {seed}, port {port}; \
         deadline {} s, delay {DELAY_MS} ms",
        deadline.as_secs_f64()
    );
    let mut account = HostileAccount::new(&hosts, &web.text("/truth?from=0&to=0")?)?;
    println!("{}", account.header());
    for turn in 1..=CYCLES {
        web.set_clock(turn)?;
        let entries =
            hosts.iter().zip(&web.seeds).filter(|(host, _)| turn >= BUSY || host.number < FIRST_SINGLE);
        let entries: Vec<String> = entries.flat_map(|(host, home)| host.entries(home)).collect();
        write(&seeds, &entries.join("\n"))?;
        web.set_faults(&kinds::rules(&hosts, turn == PASSING))?;
        let cycle = cycle::run(&sibling("recrawl")?, &crawl, &configuration, &seeds, &said)?;
        println!("{}", account.cycle(&log, &cycle)?);
    }
    let manners = web.get(&format!("/violations?delay_ms={DELAY_MS}"))?;
    println!("\n{}", account.verdict(&manners, COVERAGE));
    Ok(account.is_met(&manners, COVERAGE))
}

/// The time for half of a large host's pages, with one delay each.
fn deadline(pages_per_host: u32) -> Duration {
    Duration::from_millis(DELAY_MS * u64::from(pages_per_host) / 2)
}

/// The arguments of the mock web.
fn words(hosts: &[HostileHost], pages_per_host: u32, seed: u64) -> Vec<String> {
    let pages = LARGE * pages_per_host + SINGLE;
    let words = format!(
        "procedural --pages {pages} --hosts {} --single-page-hosts {SINGLE} --skew 0 --seed {seed} --page-bytes 4000 \
         --sitemaps --names mock.test --crowd {CROWD}",
        hosts.len()
    );
    words.split(' ').map(str::to_owned).collect()
}

/// The crawler's configuration. Revisits take a quarter of the known pages, so that new pages
/// compete with them. The latency is that of this machine and must not raise delays.
fn settings(hosts: &[HostileHost], deadline: Duration) -> String {
    let first = u32::from(mockweb::FIRST_HOST);
    let address = |host: &HostileHost| Ipv4Addr::from(first + host.number.min(LARGE + SINGLE - CROWD));
    let names =
        hosts.iter().map(|host| format!("\"h{}.mock.test\" = \"{}\"\n", host.number + 1, address(host)));
    format!(
        "# Written by `make hazards WEB=hostile`; changes are overwritten.\n\
         [cycle]\ndeadline = \"{} ms\"\npages = \"25%\"\nrounds = 1\nwarmup = 0\ndiscovery_min = 1000000\nfill = false\n\
         [politeness]\ndelay_per_host = \"{DELAY_MS} ms\"\ndelay_per_ip = \"{DELAY_MS} ms\"\ndelay_per_latency = 0.0\n\
         robots_cache = \"1 s\"\n\
         [fetch]\nallow_addresses = [\"127.1.0.0/16\"]\ntimeout = \"3 s\"\nconnect_timeout = \"2 s\"\n\
         open_hosts = {OPEN_HOSTS}\n\
         [scope]\nhosts = [\"*\"]\n\
         [storage]\narchive = false\n\
         [dns.overrides]\n{}",
        deadline.as_millis(),
        names.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_are_toml_and_name_every_host() {
        let hosts = kinds::hosts();
        let table: toml::Table = settings(&hosts, deadline(4_000)).parse().expect("TOML");
        assert_eq!(table["cycle"]["deadline"].as_str(), Some("120000 ms"));
        let names = table["dns"]["overrides"].as_table().expect("a table");
        assert_eq!(names.len(), hosts.len());
        assert_eq!(names["h1.mock.test"].as_str(), Some("127.1.0.1"));
        // The crowd: the last hosts, behind the last address.
        assert_eq!(names["h117.mock.test"], names["h128.mock.test"]);
        assert_ne!(names["h116.mock.test"], names["h117.mock.test"]);
    }
}
