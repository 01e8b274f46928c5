//! The delay adapts to the host's load, and the next run continues with it.

use super::*;
use crate::testing::with_header;
use recrawl_types::Skip;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const SECOND: Duration = Duration::from_secs(1);

fn pages(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("http://a.test/{i:03}")).collect()
}

fn setup(count: usize, answer: impl Fn(&Request) -> Script + Send + Sync + 'static) -> Setup {
    let pages = pages(count);
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let mut setup = Setup::new(&pages, answer).delay(SECOND);
    setup.config.delay_per_latency = 2.0;
    setup
}

/// Times from each response to the next request.
fn gaps(setup: &Setup) -> Vec<Duration> {
    setup.network.log().windows(2).map(|w| w[1].start - w[0].end.unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_is_asked_less_often() {
    let setup = setup(40, |r| friendly(r).after(SECOND * 3));
    setup.run().await;
    let gaps = gaps(&setup);
    assert!(gaps.windows(2).all(|w| w[0] <= w[1]), "{gaps:?}");
    assert_eq!(*gaps.last().unwrap(), SECOND * 6, "twice an answer's time, smoothed: {gaps:?}");
    assert_eq!(setup.state("http://a.test/").latency, 2999);
}

/// Regression: one page of ten that takes its time slowed down all pages of its host, and the next run's.
#[tokio::test(start_paused = true)]
async fn slow_pages_of_a_fast_server_do_not_slow_down_the_others() {
    let is_slow = |r: &Request| r.url.path_and_query().ends_with('3');
    let setup = setup(40, move |r| friendly(r).after(if is_slow(r) { SECOND * 9 } else { SECOND / 10 }));
    setup.run().await;
    let gaps = gaps(&setup);
    assert!(gaps.iter().all(|gap| *gap == SECOND), "{gaps:?}");
    let latency = setup.state("http://a.test/").latency;
    assert!(latency <= 100, "{latency}");
}

#[tokio::test(start_paused = true)]
async fn overload_doubles_the_delay_and_it_comes_back_slowly_across_runs() {
    for status in [429, 503] {
        let asked = AtomicUsize::new(0);
        let mut setup = setup(12, move |r| match asked.fetch_add(1, Relaxed) {
            3 | 4 => reply(status, "").into(),
            _ => friendly(r),
        });
        setup.run().await;
        let of: Vec<u128> = gaps(&setup).iter().map(Duration::as_millis).collect();
        assert_eq!(of[..6], [1000, 1000, 1000, 2000, 4000, 3750], "{status}");
        assert!(
            of[5..]
                .windows(2)
                .all(|w| w[1] == w[0] * 15 / 16 || w[1] + 1 == w[0] * 15 / 16 + 1 || w[1] < w[0])
        );
        let kept = setup.state("http://a.test/").slow_down;
        assert!((2000..4000).contains(&kept), "{kept}");
        // NUTCH-2947, url-frontier: a restart forgot the delay. The next run continues with it.
        let before = setup.network.log().len();
        let start = Instant::now();
        setup.now += 60_000;
        setup.run().await;
        let first = setup.network.log()[before].start - start;
        assert_eq!(first.as_millis(), u128::from(kept), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_block_is_kept_at_once_and_not_only_when_the_run_ends() {
    // A killed process stores nothing at its end.
    let mut setup = setup(3, |r| match r.url.path_and_query() {
        "/000" => with_header(reply(429, ""), "retry-after", "30").into(),
        "/robots.txt" => friendly(r),
        _ => friendly(r).after(SECOND * 20),
    });
    let run = setup.try_run();
    assert!(tokio::time::timeout(SECOND * 40, run).await.is_err(), "killed within a request");
    let killed = Instant::now();
    let state = setup.state("http://a.test/");
    assert_eq!((state.slow_down, state.failures), (2000, 1));
    assert_eq!(state.hold_until, setup.now + 2_000 + 30_000);
    // Ten seconds after the Retry-After of thirty, another process starts.
    setup.network = ScriptedNetwork::new(friendly);
    setup.now += 12_000;
    setup.run().await;
    assert_eq!(setup.network.log()[0].start - killed, SECOND * 20);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_was_set_back_lengthens_no_block() {
    let day = 24 * 3_600_000;
    let mut setup = setup(1, friendly);
    let origin = Origin::from_url(&url("http://a.test/"));
    let ahead = NOW + 400 * day;
    let state = HostState { back_off_until: ahead, hold_until: ahead, ..HostState::default() };
    setup.hosts.store(&origin, &state).unwrap();
    assert_eq!(setup.run().await.outcome("http://a.test/000"), Outcome::Skipped(Skip::HostBackOff));
    assert_eq!(setup.state("http://a.test/").back_off_until, NOW + day, "no longer than any block");
    setup.now += day;
    let start = Instant::now();
    assert_eq!(setup.run().await.report.outcomes.page, 1);
    let first = setup.network.log()[0].start - start;
    assert_eq!(first, setup.config.max_retry_after, "nor any wait");
}

#[tokio::test(start_paused = true)]
async fn rfc_9309_section_2_4_a_clock_that_is_set_back_makes_no_file_eternal() {
    let start = Instant::now();
    let setup = setup(20, friendly);
    // An hour into the run, the clock is set back by a year.
    let clock: crate::run::clock::WallClock = Arc::new(move || {
        let passed = start.elapsed().as_millis() as u64;
        if passed < 8_000 { NOW + passed } else { NOW + passed - 365 * 24 * 3_600_000 }
    });
    let fetcher = Fetcher::new(setup.config.clone(), setup.network.clone(), setup.hosts.clone(), clock);
    let (out, taken) = channel(4);
    let job = setup.job(out);
    let (report, pages) = tokio::join!(fetcher.run(job), collect(taken));
    assert_eq!((report.unwrap().robots_requests, pages.len()), (2, 20), "requested again, once");
}

#[tokio::test(start_paused = true)]
async fn a_configured_delay_of_zero_stays_zero() {
    let mut setup = setup(20, |r| match r.url.path_and_query() {
        "/003" => reply(503, "").into(),
        _ => friendly(r).after(SECOND),
    });
    setup.config.delay_per_host = Duration::ZERO;
    let start = Instant::now();
    setup.run().await;
    assert_eq!(start.elapsed(), SECOND * 20, "twenty answers that take a second, one that takes none");
}
