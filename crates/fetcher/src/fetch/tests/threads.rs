//! Requests run on any number of threads. The schedule alone decides what is visited, and in which order.
//!
//! These tests wait for real time, some milliseconds a request: no clock can be paused on several threads.

use super::*;
use crate::testing::with_header;
use proptest::prelude::*;
use std::collections::BTreeSet;
use tokio::runtime::Builder;

/// Threads that make requests; 0: they run on the thread of the loop.
const THREADS: [usize; 4] = [0, 1, 2, 5];

/// Time between a response and the next request to a host.
const DELAY: Duration = Duration::from_millis(2);

/// The hosts' pages: each is answered by its kind.
#[derive(Clone, Debug)]
struct Web(Vec<Vec<u8>>);

fn web() -> impl Strategy<Value = Web> {
    prop::collection::vec(prop::collection::vec(0u8..6, 1..6), 1..12).prop_map(Web)
}

impl Web {
    fn pages(&self) -> Vec<String> {
        let pages = |(host, pages): (usize, &Vec<u8>)| {
            pages
                .iter()
                .enumerate()
                .map(|(page, kind)| format!("http://h{host}.test/{page}/{kind}"))
                .collect::<Vec<_>>()
        };
        self.0.iter().enumerate().flat_map(pages).collect()
    }
}

/// A server that takes up to three milliseconds.
fn answer(request: &Request) -> Script {
    let path = request.url.path_and_query().to_owned();
    let answer = match path.as_bytes().last() {
        Some(b'1') => reply(404, ""),
        Some(b'2') => reply(500, ""),
        Some(b'3') => with_header(reply(301, ""), "location", &format!("http://target.test{path}/x")),
        Some(b'4') => return Script::from(crate::NetworkError::Protocol).after(Duration::from_millis(1)),
        _ if path == "/robots.txt" => reply(404, ""),
        _ => reply(200, "words"),
    };
    Script::from(answer).after(Duration::from_millis(path.len() as u64 % 4))
}

/// Visits with their outcomes, and the requests to each host in order.
type Visits = (BTreeSet<String>, BTreeMap<String, Vec<String>>);

fn visits(web: &Web, threads: usize) -> Visits {
    let runtime = match threads {
        0 => Builder::new_current_thread().enable_all().build(),
        threads => Builder::new_multi_thread().worker_threads(threads).enable_all().build(),
    };
    runtime.expect("a runtime").block_on(async {
        let pages = web.pages();
        let mut setup = Setup::new(&pages.iter().map(String::as_str).collect::<Vec<_>>(), answer);
        setup.config.delay_per_host = DELAY;
        let RunOutput { pages, report } = setup.run().await;
        assert_eq!(report.panics, 0);
        let visited = |page: &FetchedPage| {
            format!("{} {:?} {} {}", page.entry.url, page.index, page.hops, short(&page.result))
        };
        let mut hosts: BTreeMap<String, Vec<LoggedRequest>> = BTreeMap::new();
        for request in setup.network.log() {
            hosts.entry(request.request.url.host().into_owned()).or_default().push(request);
        }
        for requests in hosts.values() {
            for two in requests.windows(2) {
                assert!(two[1].start >= two[0].end.expect("no request is given up") + DELAY, "{two:?}");
            }
        }
        // Redirects reach their target in any order.
        hosts.remove("target.test");
        let urls =
            |requests: Vec<LoggedRequest>| requests.iter().map(|r| r.request.url.to_string()).collect();
        (
            pages.iter().map(visited).collect(),
            hosts.into_iter().map(|(host, log)| (host, urls(log))).collect(),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_number_of_threads_makes_the_same_visits(web in web()) {
        let [alone, others @ ..] = THREADS.map(|threads| visits(&web, threads));
        for (other, threads) in others.iter().zip(&THREADS[1..]) {
            prop_assert_eq!(&alone, other, "{} threads", threads);
        }
    }
}
