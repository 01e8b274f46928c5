//! No gap is shorter than the delay per host name, including robots.txt and redirects.

use super::*;
use crate::Outcomes;
use crate::host::delay::HostDelay;
use crate::testing::with_header;
use proptest::prelude::*;
use recrawl_types::{Content, Known, Share, Skip};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn the_delay_lies_between_robots_and_pages_and_origins_of_a_host() {
    // http, https and all ports of a name are one host; b is another.
    let pages =
        ["http://a.test/1", "http://a.test/2", "https://a.test/1", "http://a.test:8080/1", "http://b.test/1"];
    let setup = Setup::new(&pages, |r| friendly(r).after(Duration::from_millis(300))).delay(SECOND);
    let start = Instant::now();
    let output = setup.run().await;
    assert_eq!(output.report.outcomes.page, 5);
    let log = setup.network.log();
    assert_eq!(log.len(), 5 + 4, "one robots.txt an origin");
    assert_eq!(shortest_gap(&log), SECOND);
    // Seven requests to a, the first one delay after the start. No wait for b, nor at the end.
    assert_eq!(start.elapsed(), Duration::from_millis(7 * 300 + 7 * 1000));
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_does_not_eat_the_delay() {
    // spider-rs #225: a delay counted from the start has no effect on a slow server.
    let pages = ["http://a.test/1", "http://a.test/2"];
    let setup = Setup::new(&pages, |r| friendly(r).after(SECOND * 5)).delay(SECOND);
    setup.run().await;
    assert_eq!(shortest_gap(&setup.network.log()), SECOND);
}

#[tokio::test(start_paused = true)]
async fn slots_are_kept_and_their_starts_stay_apart() {
    let pages: Vec<String> = (0..20).map(|i| format!("http://a.test/{i}")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let mut setup = Setup::new(&pages, |r| friendly(r).after(SECOND * 10)).delay(SECOND);
    setup.config.connections_per_host = 3;
    let output = setup.run().await;
    assert_eq!(output.report.outcomes.page, 20);
    let log = setup.network.log();
    let overlaps = |a: &LoggedRequest, b: &LoggedRequest| b.start <= a.start && b.end.unwrap() > a.start;
    let beside = |a: &LoggedRequest| log.iter().filter(|b| overlaps(a, b)).count();
    assert_eq!(log.iter().map(beside).max(), Some(3));
    assert!(log.windows(2).all(|w| w[1].start - w[0].start >= SECOND));
}

#[tokio::test(start_paused = true)]
async fn the_number_of_connections_is_bounded() {
    let pages: Vec<String> = (0..50).map(|i| format!("http://h{i}.test/")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let mut setup = Setup::new(&pages, |r| friendly(r).after(SECOND));
    setup.config.connections = 7;
    let start = Instant::now();
    setup.run().await;
    assert_eq!(start.elapsed(), SECOND * 100u32.div_ceil(7), "all seven are busy all the time");
}

#[tokio::test(start_paused = true)]
async fn the_delay_outlives_a_host_that_leaves_and_comes_back() {
    // NUTCH-2947: politeness state was dropped when a host's queue was empty. Here a has one page,
    // and b's pages redirect to a one by one.
    let pages = ["http://a.test/0", "http://b.test/1", "http://b.test/2", "http://b.test/3"];
    let setup = Setup::new(&pages, |r| match (&*r.url.host(), r.url.path_and_query()) {
        (_, "/robots.txt") => reply(404, "").into(),
        ("b.test", path) => {
            let target = format!("http://a.test{path}");
            Script::from(with_header(reply(302, ""), "location", &target)).after(Duration::from_millis(10))
        }
        _ => friendly(r).after(Duration::from_millis(700)),
    })
    .delay(SECOND);
    let output = setup.run().await;
    assert_eq!(output.report.followed, 3);
    assert_eq!(shortest_gap(&setup.network.log()), SECOND);
}

#[tokio::test(start_paused = true)]
async fn the_delay_outlives_a_run() {
    let pages = ["http://a.test/1"];
    let mut setup = Setup::new(&pages, |r| friendly(r).after(SECOND / 2)).delay(SECOND * 10);
    let start = Instant::now();
    setup.run().await;
    let end = Instant::now();
    // Each run's wall clock begins at `now`; the second run begins when the first has ended.
    setup.now = NOW + (end - start).as_millis() as u64;
    setup.run().await;
    let log = setup.network.log();
    assert_eq!(log.len(), 3, "robots.txt is cached");
    assert_eq!(log[2].start - end, SECOND * 10);
}

#[tokio::test(start_paused = true)]
async fn the_pace_of_a_cycle_is_counted_and_never_above_the_expected_one() {
    let pages = ["http://a.test/1", "http://a.test/2", "http://a.test/3"];
    let setup = Setup::new(&pages, friendly).delay(SECOND * 2);
    setup.run().await;
    let pace = setup.state(pages[0]).pace;
    assert_eq!((pace.cycle, pace.requests), (setup.cycle, 4), "robots.txt among them");
    let rate = pace.per_minute().expect("there were several");
    assert!(rate > 20.0 && rate <= 30.0, "{rate}: answers take time, too");
    assert_eq!(pace.per_minute_promised(), Some(30.0));
}

/// Regression: the whole cycle was compared with the delay at its end, which latency had raised. So
/// a host that became slow seemed to have been requested too fast.
#[tokio::test(start_paused = true)]
async fn the_promise_of_a_cycle_is_that_of_its_requests() {
    let pages: Vec<String> = (10..20).map(|i| format!("http://a.test/{i}")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let slow_at_last = |r: &Request| {
        // The last four: most of the last seven.
        let slow = r.url.path_and_query().ends_with(['6', '7', '8', '9']);
        friendly(r).after(Duration::from_millis(if slow { 5_000 } else { 1 }))
    };
    let mut setup = Setup::new(&pages, slow_at_last).delay(SECOND);
    setup.config.delay_per_latency = 2.0;
    setup.run().await;
    let state = setup.state(pages[0]);
    let [rate, promised] = [state.pace.per_minute(), state.pace.per_minute_promised()].map(Option::unwrap);
    assert!(rate <= promised && promised == 60.0, "{rate} of {promised}");
    let next = HostDelay::from_state(&state, &setup.config, setup.now).delay;
    assert!(next > SECOND * 4 && rate > 60.0 / next.as_secs_f64(), "{next:?} from now on");
    assert!(shortest_gap(&setup.network.log()) >= SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_was_set_back_does_not_block_a_host() {
    let setup = Setup::new(&["http://a.test/1"], friendly).delay(SECOND);
    let state = HostState { last_request: NOW * 2, ..HostState::default() };
    setup.hosts.store(&Origin::from_url(&url("http://a.test/")), &state).unwrap();
    let start = Instant::now();
    setup.run().await;
    assert_eq!(start.elapsed(), SECOND * 2);
}

#[tokio::test(start_paused = true)]
async fn crawl_delay_is_kept_up_to_its_cap() {
    let pages = ["http://a.test/1", "http://a.test/2"];
    let setup = Setup::new(&pages, with_robots("User-agent: *\nCrawl-delay: 2.5\n")).delay(SECOND);
    setup.run().await;
    assert_eq!(shortest_gap(&setup.network.log()), Duration::from_millis(2500));

    for rules in ["User-agent: *\nCrawl-delay: 31\n", "User-agent: *\nCrawl-delay: 1e300\n"] {
        let setup = Setup::new(&pages, with_robots(rules)).delay(SECOND);
        let output = setup.run().await;
        assert_eq!(output.outcome(pages[0]), Outcome::Skipped(Skip::CrawlDelay), "{rules}");
        assert_eq!(setup.network.urls(), ["http://a.test/robots.txt"]);
    }
    for rules in ["User-agent: *\nCrawl-delay: inf\n", "User-agent: *\nCrawl-delay: -3\n", "Crawl-delay: 9\n"]
    {
        let setup = Setup::new(&pages, with_robots(rules)).delay(SECOND);
        assert_eq!(setup.run().await.report.outcomes.page, 2, "{rules}");
        assert_eq!(shortest_gap(&setup.network.log()), SECOND, "{rules}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cached_crawl_delay_holds_from_the_beginning_of_a_run() {
    let pages = ["http://a.test/1", "http://a.test/2"];
    let mut setup = Setup::new(&pages, with_robots("User-agent: *\nCrawl-delay: 20\n"));
    setup.run().await;
    let before = setup.network.log().len();
    setup.now = NOW + 3_600_000;
    let start = Instant::now();
    setup.run().await;
    let log = setup.network.log();
    assert_eq!((log.len() - before, log[before].start - start), (2, SECOND * 20));
    assert_eq!(log[before + 1].start - start, SECOND * 40);
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_waited_for_in_both_forms() {
    let date = httpdate::fmt_http_date(std::time::UNIX_EPOCH + Duration::from_millis(NOW) + SECOND * 7);
    for (status, value) in [(429, "7".to_owned()), (503, "7".to_owned()), (503, date)] {
        let pages = ["http://a.test/1", "http://a.test/2"];
        let setup = Setup::new(&pages, move |r| match r.url.path_and_query() {
            "/1" => with_header(reply(status, ""), "retry-after", &value).into(),
            _ => friendly(r),
        });
        let output = setup.run().await;
        assert_eq!(output.result(pages[0]), format!("Failed(Status({status}))"));
        assert_eq!(output.result(pages[1]), "page 200");
        assert_eq!(shortest_gap(&setup.network.log()[1..]), SECOND * 7);
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_retry_after_leaves_the_host_alone_across_cycles() {
    let pages = ["http://a.test/1", "http://a.test/2"];
    let mut setup = Setup::new(&pages, |r| match r.url.path_and_query() {
        "/1" => with_header(reply(503, ""), "retry-after", "99999999999999999999999").into(),
        _ => friendly(r),
    });
    let output = setup.run().await;
    assert_eq!(output.outcome(pages[1]), Outcome::Skipped(Skip::HostBackOff));
    assert_eq!(setup.state(pages[0]).back_off_until, NOW + 24 * 3_600_000, "capped at a day");
    // url-frontier: a restart forgot blocks.
    assert_eq!(setup.run().await.report.requests, 0);
    setup.now = NOW + 24 * 3_600_000;
    assert!(setup.run().await.report.requests > 0);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_fails_again_and_again_is_left_alone() {
    let pages: Vec<String> = (0..100).map(|i| format!("http://a.test/{i:03}")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let mut setup = Setup::new(&pages, |r| match r.url.path_and_query() {
        "/robots.txt" => reply(404, "").into(),
        // A success in between resets the count.
        "/003" => reply(200, "").into(),
        _ => reply(500, "").into(),
    });
    let outcomes = setup.run().await.report.outcomes;
    assert_eq!((outcomes.failed_status, outcomes.skipped_host_back_off), (8, 91));
    let state = setup.state(pages[0]);
    assert_eq!((state.failures, state.back_off_until), (5, NOW + 60_000));
    // After the back-off one page is requested. It fails, and the back-off doubles.
    setup.now += 60_000;
    let report = setup.run().await.report;
    assert_eq!((report.requests, report.outcomes.skipped_host_back_off), (1, 99));
    assert_eq!(setup.state(pages[0]).back_off_until, setup.now + 120_000);
}

#[tokio::test(start_paused = true)]
async fn pages_that_somebody_asked_for_are_tried_a_minute_after_the_last_failure_until_they_are_told() {
    let pages: Vec<String> = (0..7).map(|i| format!("http://a.test/{i}")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let always = |status: u16, fields: &'static str| {
        ScriptedNetwork::new(move |r| match r.url.path_and_query() {
            "/robots.txt" => reply(404, "").into(),
            _ if fields.is_empty() => reply(status, "").into(),
            _ => with_header(reply(status, ""), "retry-after", fields).into(),
        })
    };
    let mut setup = Setup::new(&pages, friendly);
    setup.network = always(500, "");
    for (entry, page) in setup.entries.iter_mut().zip(&pages).skip(2) {
        *entry = ScheduleEntry { share: Share::Asked, ..visited(page, Content::default()) };
    }
    let figures = |report: FetchReport| {
        let Outcomes { page, failed_status, skipped_host_back_off, .. } = report.outcomes;
        (page, failed_status, skipped_host_back_off)
    };
    assert_eq!(figures(setup.run().await.report), (0, 5, 2), "the others are not asked in this run");
    setup.now += 59_000;
    assert_eq!(figures(setup.run().await.report), (0, 0, 7));
    setup.now += 2_000;
    assert_eq!(
        figures(setup.run().await.report),
        (0, 6, 1),
        "one of the others ends the back-off; all of these"
    );
    let until = setup.state(pages[0]).back_off_until;
    setup.now += 61_000;
    assert_eq!(figures(setup.run().await.report), (0, 5, 2));
    assert_eq!(setup.state(pages[0]).back_off_until, until, "they do not make it longer");
    setup.now += 50_000;
    assert_eq!(figures(setup.run().await.report), (0, 0, 7), "not within a minute");

    // Those that are told need one try a minute, to see whether the host is there again.
    setup.entries[3..].iter_mut().for_each(|entry| entry.record.known.failures = Known::MISSING_AFTER);
    setup.now = until + 2_000;
    // And those whose turn it is, one in eight.
    let (_, failed, skipped) = figures(setup.run().await.report);
    assert!(
        (2..=4).contains(&failed) && failed + skipped == 7,
        "{failed}: a page of the plan, and one that is not told"
    );
    setup.entries[2].record.known.failures = Known::MISSING_AFTER;
    setup.now += 61_000;
    let (_, failed, skipped) = figures(setup.run().await.report);
    assert!((1..=3).contains(&failed) && failed + skipped == 7, "{failed}: one of those that are told");

    // A Retry-After holds for all, also in the run that receives it.
    setup.network = always(503, "7200");
    setup.now += 61_000;
    assert_eq!(figures(setup.run().await.report), (0, 1, 6));
    setup.now += 7_190_000;
    assert_eq!(figures(setup.run().await.report), (0, 0, 7));

    // Not within a back-off, failures with one count.
    assert_eq!(setup.state(pages[0]).hold_until, setup.now + 10_000);

    // A good answer ends the back-off.
    setup.network = ScriptedNetwork::new(friendly);
    setup.now += 20_000;
    assert_eq!(figures(setup.run().await.report), (7, 0, 0));
    assert_eq!(setup.state(pages[0]).failures, 0);
    setup.network = always(500, "");
    setup.run().await;
    setup.now += 61_000;
    setup.run().await;
    setup.network = ScriptedNetwork::new(friendly);
    setup.now += 61_000;
    assert!(setup.state(pages[0]).back_off_until > setup.now);
    assert_eq!(figures(setup.run().await.report).1, 0);
    assert!(setup.state(pages[0]).back_off_until <= setup.now, "by a page that was asked for within it");

    // Also where another page fails for good; and what begins another one holds for all.
    setup.network = always(500, "");
    for _ in 0..8 {
        setup.run().await;
        setup.now = setup.state(pages[0]).back_off_until.max(setup.now);
    }
    setup.network = ScriptedNetwork::new(|r| match r.url.path_and_query() {
        "/2" => reply(500, "").into(),
        _ => friendly(r),
    });
    let mut tries = 0;
    while setup.state(pages[0]).failures > 0 {
        setup.now += 61_000;
        setup.run().await;
        tries += 1;
    }
    assert!(tries < 10 && setup.state(pages[0]).back_off_until <= setup.now, "{tries} tries");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_always_sends_a_long_retry_after_is_left_alone_for_longer_and_longer() {
    let mut setup = Setup::new(&["http://a.test/"], |r| match r.url.path_and_query() {
        "/robots.txt" => reply(404, "").into(),
        _ => with_header(reply(503, ""), "retry-after", "120").into(),
    });
    for failures in 1..9 {
        setup.run().await;
        assert_eq!(setup.state("http://a.test/").failures, failures);
        setup.now = setup.state("http://a.test/").back_off_until;
    }
    setup.run().await;
    assert!(setup.state("http://a.test/").back_off_until > setup.now + 120_000);
}

/// A small random web.
#[derive(Clone, Debug)]
struct Web {
    hosts: usize,
    pages: usize,
    latency: u64,
    delay: u64,
    connections: usize,
    open_hosts: usize,
    redirect_every: u64,
    redirect_robots: bool,
}

fn webs() -> impl Strategy<Value = Web> {
    let sizes = (1usize..6, 1usize..12, 1usize..8, 1usize..4);
    (sizes, 0u64..3000, 1u64..2000, 2u64..6, any::<bool>()).prop_map(
        |((hosts, pages, connections, open_hosts), latency, delay, redirect_every, redirect_robots)| Web {
            hosts,
            pages,
            latency,
            delay,
            connections,
            open_hosts,
            redirect_every,
            redirect_robots,
        },
    )
}

/// FNV-1a: a stable hash of the bytes.
pub fn mix(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
        >> 7
}

impl Web {
    fn answer(&self, r: &Request) -> Script {
        let seed = mix(&r.url.to_string());
        let elsewhere = format!("http://h{}.test", (seed >> 20) as usize % self.hosts);
        let redirect = |to: String| with_header(reply(302, ""), "location", &to);
        let answer = match r.url.path_and_query() {
            "/robots.txt" if self.redirect_robots => redirect(format!("{elsewhere}/robots2.txt")),
            "/robots.txt" | "/robots2.txt" => reply(200, "User-agent: *\nDisallow: /never"),
            _ if seed.is_multiple_of(self.redirect_every) => redirect(format!("{elsewhere}/r{seed}")),
            _ => reply(200, "x"),
        };
        Script::from(answer).after(Duration::from_millis(seed % (self.latency + 1)))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_web_makes_a_gap_shorter_than_the_delay(web in webs()) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let scheme = |i: usize| if i.is_multiple_of(3) { "https" } else { "http" };
            let pages: Vec<String> = (0..web.hosts * web.pages)
                .map(|i| format!("{}://h{}.test/{i}", scheme(i), i % web.hosts))
                .collect();
            let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
            let delay = Duration::from_millis(web.delay);
            let of = web.clone();
            let mut setup = Setup::new(&pages, move |r| of.answer(r)).delay(delay);
            setup.config.connections = web.connections;
            setup.config.open_hosts = web.open_hosts;
            let output = setup.run().await;
            // NUTCH-2951: entries that were handed out and never came back stayed in flight
            // forever.
            let mut indexes: Vec<u64> = output.pages.iter().filter_map(|p| p.index).collect();
            indexes.sort_unstable();
            prop_assert_eq!(indexes, (0..pages.len() as u64).collect::<Vec<_>>());
            let gap = shortest_gap(&setup.network.log());
            prop_assert!(gap >= delay, "{:?}", gap);
            Ok(())
        })?;
    }
}
