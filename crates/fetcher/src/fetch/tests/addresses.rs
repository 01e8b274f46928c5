//! No gap is shorter than the delay per address, whatever names resolve to it.

use super::*;
use crate::NetworkError;
use crate::host::address_turns::AddressTurns;
use crate::net::limits::MAX_ADDRESSES;
use crate::testing::with_header;
use proptest::prelude::*;
use recrawl_types::Failure;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Mutex;

const SECOND: Duration = Duration::from_secs(1);

fn ip(last: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, last).into()
}

/// Names like `h17.test`, spread over `addresses` addresses.
fn dealt(addresses: u64) -> impl Fn(&str) -> Result<IpAddr, NetworkError> + Send + Sync {
    move |host| {
        let number = host.trim_start_matches('h').trim_end_matches(".test").parse::<u64>();
        Ok(ip((number.unwrap_or(0) % addresses) as u8))
    }
}

impl Setup {
    /// The same with these addresses and a delay per address.
    fn at(
        mut self,
        delay_per_ip: Duration,
        answer: impl Fn(&Request) -> Script + Send + Sync + 'static,
        address: impl Fn(&str) -> Result<IpAddr, NetworkError> + Send + Sync + 'static,
    ) -> Setup {
        self.config.delay_per_ip = delay_per_ip;
        self.network = ScriptedNetwork::with_addresses(answer, address);
        self
    }
}

/// Requests by address.
fn by_address(
    log: &[LoggedRequest],
    address: impl Fn(&str) -> Result<IpAddr, NetworkError>,
) -> Vec<Vec<LoggedRequest>> {
    let mut all: BTreeMap<IpAddr, Vec<LoggedRequest>> = BTreeMap::new();
    for asked in log {
        let at = address(&asked.request.url.host()).unwrap();
        all.entry(at).or_default().push(asked.clone());
    }
    all.into_values().collect()
}

/// The shortest time from the end of a response to the next request, in order.
fn shortest(log: &[LoggedRequest]) -> Duration {
    let gap = |w: &[LoggedRequest]| {
        let end = w[0].end.expect("one request at a time");
        w[1].start.checked_duration_since(end).expect("one request at a time")
    };
    log.windows(2).map(gap).min().unwrap_or(Duration::MAX)
}

#[tokio::test(start_paused = true)]
async fn a_thousand_hosts_on_one_address_are_one_server() {
    let pages: Vec<String> = (0..1000).map(|i| format!("http://h{i}.test/")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let slow = |r: &Request| friendly(r).after(Duration::from_millis(100));
    let setup = Setup::new(&pages, slow).delay(SECOND).at(SECOND / 4, slow, dealt(1));
    let start = Instant::now();
    let output = setup.run().await;
    assert_eq!(output.report.outcomes.page, 1000);
    let log = setup.network.log();
    assert_eq!((log.len(), shortest(&log)), (2000, SECOND / 4));
    // No time is lost between them, although the names wait for each other.
    assert_eq!(start.elapsed(), SECOND / 4 + (SECOND / 10) * 2000 + (SECOND / 4) * 1999 + SECOND * 3 / 4);
    assert!(shortest_gap(&log) >= SECOND, "and each name keeps its own delay");
}

#[tokio::test(start_paused = true)]
async fn turns_at_an_address_are_taken_in_order() {
    // A host with many pages must not block other hosts at its address.
    let many = (0..50).map(|i| format!("http://h0.test/{i}"));
    let pages: Vec<String> = many.chain((1..10).map(|i| format!("http://h{i}.test/"))).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let setup = Setup::new(&pages, friendly).at(SECOND, friendly, dealt(1));
    setup.run().await;
    let hosts: Vec<String> = setup.network.log()[..20].iter().map(|a| a.request.url.host().into()).collect();
    for host in 1..10 {
        let mine = hosts.iter().filter(|h| **h == format!("h{host}.test")).count();
        assert_eq!(mine, 2, "robots.txt and page of h{host}: {hosts:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_delay_no_address_is_looked_up() {
    let lookup = |_: &str| -> Result<IpAddr, NetworkError> { panic!("no lookup is needed") };
    let setup = Setup::new(&["http://a.test/1"], friendly).at(Duration::ZERO, friendly, lookup);
    assert_eq!(setup.run().await.result("http://a.test/1"), "page 200");
}

#[tokio::test(start_paused = true)]
async fn a_name_without_an_address_ends_as_the_request_does() {
    for error in [NetworkError::Dns, NetworkError::Refused] {
        let pages = ["http://a.test/1", "http://a.test/2"];
        let setup = Setup::new(&pages, friendly).at(SECOND, move |_| error.into(), move |_| Err(error));
        let expected = match error {
            NetworkError::Refused => error.outcome(),
            _ => Outcome::RobotsUnreachable(Some(Failure::Dns)),
        };
        assert_eq!(setup.run().await.outcome(pages[1]), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn where_no_connection_can_be_had_the_next_address_is_asked_at_its_own_pace() {
    // a has two addresses, and nothing listens at the first. b has the second.
    let at_second = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (tried, now) = (at_second.clone(), at_second);
    let answer = move |r: &Request| match &*r.url.host() {
        "a.test" if !tried.swap(true, std::sync::atomic::Ordering::Relaxed) => {
            NetworkError::TryNextAddress.into()
        }
        _ => friendly(r),
    };
    let address = move |host: &str| match host {
        "a.test" if !now.load(std::sync::atomic::Ordering::Relaxed) => Ok(ip(1)),
        _ => Ok(ip(2)),
    };
    let pages = ["http://a.test/1", "http://a.test/2", "http://b.test/1", "http://b.test/2"];
    let setup = Setup::new(&pages, friendly).at(SECOND, answer, address);
    let output = setup.run().await;
    assert_eq!((output.report.outcomes.page, output.report.requests), (4, 6));
    let log: Vec<LoggedRequest> = setup.network.log();
    assert_eq!(log.len(), 7);
    let failed = log.iter().position(|a| a.request.url.host() == "a.test").unwrap();
    let rest: Vec<LoggedRequest> =
        log.iter().enumerate().filter(|(i, _)| *i != failed).map(|(_, a)| a.clone()).collect();
    assert_eq!(shortest(&rest), SECOND);
}

/// A name with many addresses where nothing listens, and DNS returns all of them again each time.
/// Its pages fail, and the run ends.
#[tokio::test(start_paused = true)]
async fn a_name_whose_addresses_come_back_again_and_again_fails() {
    let answer = |r: &Request| match &*r.url.host() {
        "h1.test" => Script::from(NetworkError::TryNextAddress).after(SECOND * 10),
        _ => friendly(r),
    };
    let pages = ["http://h1.test/1", "http://h1.test/2", "http://h2.test/1"];
    let output = Setup::new(&pages, friendly).at(SECOND, answer, dealt(8)).run().await;
    let outcomes = &output.report.outcomes;
    assert_eq!((outcomes.page, outcomes.robots_unreachable), (1, 2), "{outcomes:?}");
    assert!(output.report.elapsed < SECOND * 11 * (MAX_ADDRESSES as u32 + 2), "{:?}", output.report.elapsed);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_stayed_behind_is_charged_to_the_address_that_answered() {
    // DNS moved the name from 1 to 2, but the connection is still to 1.
    let answer = |r: &Request| {
        let mut reply = friendly(r).answer.unwrap();
        reply.peer = Some((ip(if r.url.host() == "a.test" { 1 } else { 3 }), 80).into());
        Script::from(reply).after(SECOND / 10)
    };
    let address = |host: &str| Ok(ip(if host == "a.test" { 2 } else { 1 }));
    let pages = ["http://a.test/1", "http://a.test/2", "http://a.test/3"];
    let setup = Setup::new(&pages, friendly).at(SECOND, answer, address);
    setup.run().await;
    assert_eq!(shortest(&setup.network.log()), SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_run_begins_with_the_delays_so_that_a_restart_forgets_none() {
    let pages = ["http://h0.test/1", "http://h1.test/1"];
    let mut setup = Setup::new(&pages, friendly).delay(SECOND * 2).at(SECOND * 3, friendly, dealt(1));
    setup.run().await;
    let (end, before) = (Instant::now(), setup.network.log().len());
    // Another origin of a recently requested host, and another name at its address.
    setup.entries = vec![entry("https://h0.test/1"), entry("http://h7.test/1")];
    setup.run().await;
    let log = setup.network.log();
    assert_eq!(log[before].start, end + SECOND * 3);
    assert!(shortest(&log) >= SECOND * 3);
}

/// Turns of ten seconds, of which each third is this crawl's, and what it tells of itself.
#[derive(Default)]
struct EachThird {
    began: Option<Instant>,
    due: Mutex<BTreeMap<String, u64>>,
    answered: Mutex<Vec<(IpAddr, Duration)>>,
}

impl AddressTurns for EachThird {
    fn wait(&self, address: IpAddr) -> Option<Duration> {
        assert_ne!(address, ip(9), "the lookup failed");
        let slot = (self.began.unwrap().elapsed().as_nanos() / (SECOND * 10).as_nanos()) as u32;
        let own = slot.next_multiple_of(3);
        (own > slot).then(|| self.began.unwrap() + SECOND * 10 * own - Instant::now())
    }

    fn met(&self, address: IpAddr, host: &str, pages: u64) {
        // It is told again when the name is looked up again.
        self.due.lock().unwrap().entry(format!("{host} {address}")).or_insert(pages);
    }

    fn began(&self, address: IpAddr, host: &str) {
        let known = self.due.lock().unwrap().contains_key(&format!("{host} {address}"));
        assert!(known, "{host} was looked up");
    }

    fn answered(&self, address: IpAddr, took: Duration) {
        self.answered.lock().unwrap().push((address, took));
    }
}

#[tokio::test(start_paused = true)]
async fn requests_begin_only_in_the_turns_of_a_crawl_that_shares_addresses() {
    let pages: Vec<String> = (0..60).map(|i| format!("http://h{}.test/{}", i % 6, i / 6)).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let slow = |r: &Request| friendly(r).after(SECOND / 10);
    let turns = Arc::new(EachThird { began: Some(Instant::now()), ..EachThird::default() });
    let mut setup = Setup::new(&pages, slow).at(SECOND, slow, dealt(2));
    setup.turns = Some(turns.clone());
    let output = setup.run().await;
    assert_eq!(output.report.outcomes.page, 60);
    let log = setup.network.log();
    let slots: Vec<u64> =
        log.iter().map(|asked| (asked.start - turns.began.unwrap()).as_secs() / 10).collect();
    assert!(slots.iter().all(|slot| slot % 3 == 0) && *slots.iter().max().unwrap() > 3, "{slots:?}");
    // Two addresses with ten requests a turn each, as long as pages are due at both.
    assert!((18..=20).contains(&slots.iter().filter(|slot| **slot == 3).count()), "{slots:?}");
    assert_eq!(turns.due.lock().unwrap().get("h3.test 192.0.2.1"), Some(&10));
    let answered = turns.answered.lock().unwrap();
    assert_eq!((answered.len(), answered[0].1), (log.len(), SECOND / 10));
}

#[derive(Clone, Debug)]
struct Web {
    hosts: u64,
    addresses: u64,
    pages: u64,
    latency: u64,
    per_host: u64,
    per_ip: u64,
    connections: usize,
    open_hosts: usize,
    redirect_every: u64,
    stop_after: u64,
}

fn webs() -> impl Strategy<Value = Web> {
    let sizes = (1u64..9, 1u64..4, 1u64..8, 1usize..8, 1usize..5);
    (sizes, 0u64..3000, 0u64..2000, 1u64..2000, 2u64..6, 0u64..60_000).prop_map(
        |(
            (hosts, addresses, pages, connections, open_hosts),
            latency,
            per_host,
            per_ip,
            redirect_every,
            stop_after,
        )| Web {
            hosts,
            addresses,
            pages,
            latency,
            per_host,
            per_ip,
            connections,
            open_hosts,
            redirect_every,
            stop_after,
        },
    )
}

impl Web {
    fn answer(&self, r: &Request) -> Script {
        let seed = politeness::mix(&r.url.to_string());
        let to = format!("http://h{}.test/r{seed}", (seed >> 20) % self.hosts);
        let busy = || with_header(reply(429 + 74 * (seed % 2) as u16, ""), "retry-after", "2");
        let answer = match r.url.path_and_query() {
            "/robots.txt" => reply(200, "User-agent: *\nDisallow: /never"),
            _ if seed.is_multiple_of(11) => busy(),
            _ if seed.is_multiple_of(self.redirect_every) => with_header(reply(302, ""), "location", &to),
            _ => reply(200, "x"),
        };
        let slow = if seed.is_multiple_of(7) { 3 } else { 1 };
        Script::from(answer).after(Duration::from_millis(seed % (self.latency + 1) * slow))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    /// Also across a stop and a restart, with a wall clock that is set back by a year in between.
    #[test]
    fn no_two_requests_to_a_host_or_an_address_come_closer_than_promised(web in webs()) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let page = |i: u64| format!("http{}://h{}.test/{i}", ["", "s"][(i % 5 / 4) as usize], i % web.hosts);
            let pages: Vec<String> = (0..web.hosts * web.pages).map(page).collect();
            let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
            let of = web.clone();
            let [per_host, per_ip] = [web.per_host, web.per_ip].map(Duration::from_millis);
            let mut setup = Setup::new(&pages, friendly)
                .delay(per_host)
                .at(per_ip, move |r| of.answer(r), dealt(web.addresses));
            setup.config.connections = web.connections;
            setup.config.open_hosts = web.open_hosts;
            setup.config.delay_per_latency = 2.0;
            let stop = setup.stop.clone();
            let after = Duration::from_millis(web.stop_after);
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                stop.cancel();
            });
            let first = setup.run().await;
            let mut done: Vec<u64> = first.pages.iter().filter_map(|p| p.index).collect();
            let known: std::collections::HashSet<u64> = done.iter().copied().collect();
            setup.done = Arc::new(move |i| known.contains(&i));
            setup.stop = CancellationToken::new();
            setup.now -= 365 * 24 * 3_600_000;
            let second = setup.run().await;
            done.extend(second.pages.iter().filter_map(|p| p.index));
            done.sort_unstable();
            prop_assert_eq!(done, (0..pages.len() as u64).collect::<Vec<_>>(), "each page comes out once");
            let log = setup.network.log();
            prop_assert!(shortest_gap(&log) >= per_host);
            for at in by_address(&log, dealt(web.addresses)) {
                prop_assert!(shortest(&at) >= per_ip, "{:?}", shortest(&at));
            }
            Ok(())
        })?;
    }
}
