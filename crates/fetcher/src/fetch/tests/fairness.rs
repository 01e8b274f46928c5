//! Fairness: slow or large hosts, or their names, do not keep other hosts from being visited.

use super::*;
use crate::StoppedBy;
use proptest::prelude::*;
use recrawl_types::{Round, Skip};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

const SECOND: Duration = Duration::from_secs(1);

/// Names that begin with `slow` share one address; every other name has its own.
fn address_of(host: &str) -> IpAddr {
    let own = host.bytes().fold(7u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    IpAddr::V4(if host.starts_with("slow") {
        Ipv4Addr::new(9, 9, 9, 9)
    } else {
        Ipv4Addr::from(own | 1 << 24)
    })
}

/// Requested pages, without robots.txt.
fn pages_asked(setup: &Setup) -> BTreeSet<String> {
    setup.network.urls().into_iter().filter(|url| !url.ends_with("/robots.txt")).collect()
}

#[tokio::test(start_paused = true)]
async fn names_that_wait_for_one_slow_address_take_no_slot() {
    let slow = (0..12).flat_map(|h| (0..60).map(move |p| format!("http://slow{h:02}.test/{p}")));
    let quick = (0..50).flat_map(|h| (0..3).map(move |p| format!("http://quick{h:02}.test/{p}")));
    let pages: Vec<String> = slow.chain(quick).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let mut setup = Setup::new(&pages, friendly);
    setup.network = ScriptedNetwork::with_addresses(
        |r| friendly(r).after(if r.url.host().starts_with("slow") { SECOND * 5 } else { SECOND / 50 }),
        |host| Ok(address_of(host)),
    );
    setup.config.open_hosts = 8;
    setup.config.delay_per_host = SECOND / 10;
    setup.config.delay_per_ip = SECOND / 10;
    setup.deadline = Some(Instant::now() + SECOND * 20);
    let output = setup.run().await;
    assert_eq!(output.report.stopped_by, StoppedBy::Deadline);
    let quick = pages_asked(&setup).iter().filter(|url| url.contains("quick")).count();
    assert_eq!(quick, 150, "of 150 pages elsewhere");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_only_keeps_its_delay_has_no_place_at_its_address() {
    let mut setup = Setup::new(&["http://slow1.test/", "http://slow2.test/"], friendly);
    setup.network = ScriptedNetwork::with_addresses(friendly, |host| Ok(address_of(host)));
    setup.config.hosts_per_address = 1;
    setup.config.delay_per_host = SECOND * 100;
    setup.config.delay_per_ip = SECOND;
    setup.run().await;
    let log = setup.network.log();
    let [.., before, robots, page] = &log[..] else { panic!("four requests: {log:?}") };
    assert_eq!(before.request.url.path_and_query(), "/", "{log:?}");
    let wait = robots.start - before.start;
    assert!(wait <= SECOND * 2, "it had its place for {wait:?} after its last page: {page:?}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_visit_costs_its_page_and_nothing_else() {
    let setup =
        Setup::new(&["http://a.test/1", "http://a.test/2", "http://a.test/3", "http://b.test/1"], |r| {
            assert!(r.url.path_and_query() != "/2", "a bug");
            friendly(r)
        });
    let output = setup.delay(SECOND).run().await;
    let of = |page| output.result(page);
    assert_eq!([of("http://a.test/1"), of("http://a.test/3"), of("http://b.test/1")], ["page 200"; 3]);
    assert_eq!(of("http://a.test/2"), "Failed(Protocol)");
}

#[tokio::test(start_paused = true)]
async fn a_suspended_process_says_nothing_of_hosts() {
    let setup = Setup::new(&["http://a.test/1", "http://a.test/2", "http://a.test/3"], |r| {
        friendly(r).after(SECOND / 10)
    });
    let setup =
        Setup { config: FetchConfig { delay_per_latency: 2.0, ..setup.config }, ..setup }.delay(SECOND);
    tokio::spawn(async {
        // In the middle of a response.
        tokio::time::sleep(SECOND + SECOND / 20).await;
        tokio::time::advance(SECOND * 40).await;
    });
    let output = setup.run().await;
    assert_eq!(output.report.outcomes.page, 3);
    let state = setup.state("http://a.test/");
    assert!(state.latency <= 100 && state.failures == 0, "{state:?}");
}

/// A web, and a crawl that never has time for all of it.
#[derive(Clone, Debug)]
struct Pressed {
    /// Number of pages and address of each host.
    hosts: Vec<(usize, u8)>,
    /// Number of hosts that belong to one site.
    of_one_site: usize,
    /// Number of hosts where every request fails.
    broken: usize,
    latency: u64,
    delay: u64,
    per_ip: u64,
    open_hosts: usize,
    per_site: usize,
    per_address: usize,
    /// Milliseconds per cycle, sometimes less than a host needs for a page.
    time: u64,
    bytes_per_host: u64,
    seed: u64,
}

fn pressed() -> impl Strategy<Value = Pressed> {
    let hosts = proptest::collection::vec((prop_oneof![3 => 1usize..4, 1 => 5usize..40], 0u8..6), 2..30);
    let crawl = (1usize..6, 1usize..4, 1usize..4, 0u64..2, any::<u64>());
    (
        hosts,
        0usize..10,
        0usize..3,
        0u64..400,
        50u64..500,
        prop_oneof![Just(0u64), 20u64..100],
        4u64..12,
        crawl,
    )
        .prop_map(|(hosts, of_one_site, broken, latency, delay, per_ip, times, crawl)| {
            let (open_hosts, per_site, per_address, limited, seed) = crawl;
            // For robots.txt and a page, and for other hosts at the address.
            let one = delay + latency + (per_ip + latency) * 6;
            Pressed {
                hosts,
                of_one_site,
                broken,
                latency,
                delay,
                per_ip,
                open_hosts,
                per_site,
                per_address,
                time: one * times,
                bytes_per_host: limited * 20,
                seed,
            }
        })
}

impl Pressed {
    fn name(&self, host: usize) -> String {
        if host < self.of_one_site { format!("h{host}.one.test") } else { format!("h{host}.of{host}.test") }
    }

    fn setup(&self) -> Setup {
        let mut setup = Setup::new(&[], friendly);
        let web = self.clone();
        let broken: BTreeSet<String> =
            (0..self.broken.min(self.hosts.len() - 1)).map(|h| self.name(h)).collect();
        let latency = Duration::from_millis(self.latency);
        setup.network = ScriptedNetwork::with_addresses(
            move |r| match r.url.path_and_query() {
                "/robots.txt" => Script::from(reply(404, "")).after(latency),
                _ if broken.contains(&*r.url.host()) => Script::from(reply(500, "")).after(latency),
                _ => Script::from(reply(200, "hello")).after(latency),
            },
            move |host| {
                let number: usize = host[1..].split('.').next().unwrap().parse().unwrap();
                Ok(IpAddr::V4(Ipv4Addr::new(9, 9, 9, web.hosts[number].1)))
            },
        );
        setup.schedule = MemorySchedule::in_order;
        setup.precedence.seed = self.seed;
        let config = &mut setup.config;
        config.delay_per_host = Duration::from_millis(self.delay);
        config.delay_per_ip = Duration::from_millis(self.per_ip);
        (config.open_hosts, config.hosts_per_site, config.hosts_per_address) =
            (self.open_hosts, self.per_site, self.per_address);
        config.bytes_per_host = self.bytes_per_host;
        setup
    }
}

/// Visits the pages of a host by longest wait. (The scheduler's order is different and has its own
/// bound.)
fn by_waiting(pages: &[(String, u32)]) -> Vec<ScheduleEntry> {
    let mut pages: Vec<_> = pages.iter().collect();
    pages.sort_by_key(|(_, last)| *last);
    pages.into_iter().map(|(page, _)| entry(page)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Each cycle ends by its deadline, and the next one plans the rest. Let H hosts be due, and
    /// let each cycle visit m of the hosts that come before an unvisited one (see `host_order`).
    /// Then no host waits longer than ⌈H / m⌉ cycles. No page waits longer than that for each page
    /// of its host. No site or address exceeds its limit of open hosts.
    #[test]
    fn no_page_waits_longer_than_the_proven_bound(web in pressed()) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut setup = web.setup();
            let count = web.hosts.len();
            let page = |host: usize, page: usize| (format!("http://{}/{page}", web.name(host)), 0);
            let mut pages: Vec<Vec<(String, u32)>> =
                (0..count).map(|host| (0..web.hosts[host].0).map(|p| page(host, p)).collect()).collect();
            let (mut waits, mut turns) = (vec![0u32; count], vec![0u32; count]);
            for cycle in 1..=3 * count as u32 {
                setup.cycle = Cycle(cycle);
                setup.entries = pages.iter().flat_map(|pages| by_waiting(pages)).collect();
                setup.deadline = Some(Instant::now() + Duration::from_millis(web.time));
                // This test is not about back-off.
                setup.hosts = Arc::default();
                let before = setup.precedence.unvisited.clone();
                let output = setup.run().await;
                setup.precedence.unvisited = output.report.unvisited_hosts.clone();
                let visited: BTreeSet<String> = output.pages.iter()
                    .filter(|page| !matches!(page.result, FetchResult::Nothing(Outcome::Skipped(Skip::Deadline))))
                    .map(|page| page.entry.url.to_string()).collect();
                let had_turn: Vec<bool> =
                    pages.iter().map(|pages| pages.iter().any(|(page, _)| visited.contains(page))).collect();
                for host in 0..count {
                    let key = crate::host::order::host_key(&url(&pages[host][0].0)).to_vec();
                    prop_assert_eq!(output.report.unvisited_hosts.since(&key).is_none(), had_turn[host]);
                    if had_turn[host] {
                        (waits[host], turns[host]) = (0, turns[host] + 1);
                        // The page with the longest wait was among them.
                        let oldest = pages[host].iter().map(|(_, last)| *last).min().unwrap();
                        prop_assert!(pages[host].iter().any(|(page, last)| *last == oldest && visited.contains(page)));
                    } else {
                        waits[host] += 1;
                        let since = before.since(&key).unwrap_or(Round(cycle));
                        let in_front = |other: usize| {
                            let key = crate::host::order::host_key(&url(&pages[other][0].0)).to_vec();
                            had_turn[other] && (before.since(&key).is_some_and(|s| s <= since) || before.since(&key).is_none())
                        };
                        prop_assert!((0..count).any(in_front), "cycle {}: no other host came before host {}", cycle, host);
                    }
                    prop_assert!((waits[host] as usize) < count, "host {} waits for {} cycles", host, waits[host]);
                    for (page, last) in &mut pages[host] {
                        if visited.contains(page) {
                            *last = cycle;
                        }
                    }
                }
            }
            // 3 H cycles visit each host at least three times, each time the page with the longest
            // wait.
            prop_assert!(turns.iter().all(|turns| *turns >= 3), "{:?}", turns);
            for (host, pages) in pages.iter().enumerate() {
                let seen = pages.iter().filter(|(_, last)| *last > 0).count();
                prop_assert!(seen >= pages.len().min(turns[host] as usize), "{} of {}", seen, pages.len());
            }
            Ok(())
        })?;
    }
}
