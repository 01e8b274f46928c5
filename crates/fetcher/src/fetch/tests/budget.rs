//! Budgets of bytes and requests over whole runs.

use super::{Setup, url};
use crate::testing::{Script, reply};
use crate::{Request, StoppedBy};
use recrawl_types::{Origin, Outcome, Skip};
use std::time::Duration;
use tokio::time::Instant;

/// Pages of 100 bytes, and no robots.txt.
fn web(request: &Request) -> Script {
    match request.url.path_and_query() {
        "/robots.txt" => reply(404, "").into(),
        _ => reply(200, &"x".repeat(100)).into(),
    }
}

fn setup() -> Setup {
    let pages: Vec<String> = (0..30).map(|i| format!("http://{}.test/{i}", ["a", "b", "c"][i % 3])).collect();
    Setup::new(&pages.iter().map(String::as_str).collect::<Vec<_>>(), web)
}

/// Pages fetched per host, and pages skipped because of the budget.
fn fetched(setup: &Setup, output: &super::RunOutput) -> ([usize; 3], usize) {
    let of = |host: &str| {
        let asked = setup.network.log();
        asked
            .iter()
            .filter(|a| a.request.url.host() == host && a.request.url.path_and_query() != "/robots.txt")
            .count()
    };
    let skipped = output
        .pages
        .iter()
        .filter(|p| matches!(p.result, crate::FetchResult::Nothing(Outcome::Skipped(Skip::ByteBudget))));
    (["a.test", "b.test", "c.test"].map(of), skipped.count())
}

#[tokio::test(start_paused = true)]
async fn the_rate_is_kept_over_all_hosts_and_connections() {
    let mut setup = setup();
    setup.config.bytes_per_second = 100;
    let start = Instant::now();
    let output = setup.run().await;
    assert_eq!((fetched(&setup, &output), output.report.received), (([10; 3], 0), 3000));
    let took = start.elapsed();
    // The run does not wait for the debt of its last bodies: at most three in flight, and the
    // credit.
    assert!(took >= Duration::from_secs(26) && took <= Duration::from_secs(30), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn all_requests_of_all_hosts_keep_their_rate() {
    let mut setup = setup();
    setup.config.requests_per_second = 5;
    let output = setup.run().await;
    assert_eq!(fetched(&setup, &output), ([10; 3], 0));
    let times: Vec<Instant> = setup.network.log().iter().map(|asked| asked.start).collect();
    assert_eq!(times.len(), 33, "robots.txt counts");
    assert!(times.windows(2).all(|two| two[1] - two[0] >= Duration::from_millis(200)), "{times:?}");
}

/// The next run of a fetcher goes on with the rate, and begins before its first turn.
#[tokio::test(start_paused = true)]
async fn the_rate_goes_on_from_run_to_run() {
    let mut setup = setup();
    setup.config.requests_per_second = 5;
    let fetcher = setup.fetcher();
    for _ in 0..2 {
        let (out, mut pages) = tokio::sync::mpsc::channel(100);
        let take = async { while pages.recv().await.is_some() {} };
        tokio::join!(fetcher.run(setup.job(out)), take).0.unwrap();
    }
    let times: Vec<Instant> = setup.network.log().iter().map(|asked| asked.start).collect();
    assert!(times.len() >= 60 && times.windows(2).all(|two| two[1] - two[0] >= Duration::from_millis(200)));
}

/// A limit that is never reached, like none, leaves each request at its time.
#[tokio::test(start_paused = true)]
async fn a_limit_of_requests_changes_nothing_below_it() {
    let run = async |requests_per_second| {
        let mut setup = setup();
        setup.config.requests_per_second = requests_per_second;
        let begun = Instant::now();
        let output = setup.run().await;
        let log = setup.network.log();
        let log: Vec<_> =
            log.iter().map(|asked| (asked.request.url.to_string(), asked.start - begun)).collect();
        (log, output.report)
    };
    let (without, below) = (run(0).await, run(1_000_000).await);
    assert_eq!(without, below);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_has_cost_its_bytes_is_left_for_the_cycle_and_the_others_go_on() {
    let mut setup = setup();
    setup.config.bytes_per_host = 350;
    setup.spent =
        [(Origin::from_url(&url("http://b.test/")), 200), (Origin::from_url(&url("https://c.test/")), 350)]
            .into();
    let output = setup.run().await;
    assert_eq!(fetched(&setup, &output), ([4, 2, 0], 24));
    assert_eq!(output.report.stopped_by, StoppedBy::End);
    assert!(!setup.network.urls().contains(&"http://c.test/robots.txt".into()), "not even that");
}

#[tokio::test(start_paused = true)]
async fn a_cycle_that_has_cost_its_bytes_ends_and_every_page_comes_out() {
    let mut setup = setup();
    setup.config.bytes_per_cycle = 1000;
    setup.config.connections = 1;
    setup.spent = [(Origin::from_url(&url("http://other.test/")), 300)].into();
    let output = setup.run().await;
    let (by_host, skipped) = fetched(&setup, &output);
    assert_eq!((by_host.iter().sum::<usize>(), skipped), (7, 23));
    assert_eq!(output.report.stopped_by, StoppedBy::ByteBudget);
}
