//! Commands to a run: held pages are not lost, and requested pages are delivered once.

use super::*;
use crate::net::client::{AddressFuture, Meter, ReplyFuture};
use crate::run::control::{HostActivity, MAX_ASKED, MAX_HELD_HOSTS, OriginFigures};
use crate::{HostDelay, StoppedBy};
use recrawl_types::{Scheme, Skip};
use std::sync::Mutex;

const SECOND: Duration = Duration::from_secs(1);

/// Sends a command after this many seconds.
fn at(setup: &Setup, seconds: u32, decide: impl FnOnce(&RunControl) + Send + 'static) {
    let control = setup.control.clone();
    tokio::spawn(async move {
        tokio::time::sleep(SECOND * seconds + SECOND / 2).await;
        decide(&control);
    });
}

/// Two hosts with ten pages each and a delay of one second.
fn two_hosts() -> Setup {
    let pages: Vec<String> =
        ["a", "b"].iter().flat_map(|h| (10..20).map(move |i| format!("http://{h}.test/{i}"))).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    Setup::new(&pages, friendly).delay(SECOND)
}

/// Requested pages of a host in order, with the seconds since the first request.
fn asked_of(setup: &Setup, host: &str) -> Vec<(String, u64)> {
    let log = setup.network.log();
    let first = log[0].start;
    let of = log
        .iter()
        .filter(|a| a.request.url.host() == host && a.request.url.path_and_query() != "/robots.txt");
    of.map(|a| (a.request.url.path_and_query()[1..].to_owned(), (a.start - first).as_secs())).collect()
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_held_asks_nothing_until_it_is_let_go() {
    let setup = two_hosts();
    at(&setup, 3, |control| control.hold(true));
    at(&setup, 1000, |control| control.hold(false));
    let output = setup.run().await;
    assert_eq!((output.report.stopped_by, output.pages.len()), (StoppedBy::End, 20));
    let times: Vec<u64> = asked_of(&setup, "a.test").iter().map(|(_, at)| *at).collect();
    assert_eq!(times, [1, 2, 999, 1000, 1001, 1002, 1003, 1004, 1005, 1006]);
    assert!(shortest_gap(&setup.network.log()) >= SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_held_waits_alone() {
    let setup = two_hosts();
    at(&setup, 2, |control| assert!(control.hold_host("a.test", true) && !control.hold_host("a.test", true)));
    at(&setup, 500, |control| assert!(control.hold_host("a.test", false)));
    let output = setup.run().await;
    assert_eq!((output.report.stopped_by, output.pages.len()), (StoppedBy::End, 20));
    assert_eq!(asked_of(&setup, "a.test").iter().filter(|(_, at)| *at < 500).count(), 2);
    assert_eq!(asked_of(&setup, "b.test").last().unwrap().1, 10, "the other was not kept waiting");
}

#[tokio::test(start_paused = true)]
async fn hosts_that_are_held_take_no_other_hosts_place() {
    let pages: Vec<String> = (0..50).map(|i| format!("http://h{i}.test/")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let mut setup = Setup::new(&pages, friendly);
    setup.config.open_hosts = 2;
    setup.config.connections = 2;
    (0..40).for_each(|i| assert!(setup.control.hold_host(&format!("h{i}.test"), true)));
    setup.held_deadline = Some(Instant::now() + SECOND * 60);
    let output = setup.run().await;
    assert_eq!((output.report.outcomes.page, output.report.outcomes.skipped_deadline), (10, 40));
    assert_eq!(
        setup.network.log().len(),
        20,
        "nothing was sent to those that are held, not even for robots.txt"
    );
}

/// A network that takes two seconds to find an address.
struct SlowNames(Arc<ScriptedNetwork>);

impl crate::Network for SlowNames {
    fn get<'a>(&'a self, request: &'a Request, received: &'a Meter) -> ReplyFuture<'a> {
        self.0.get(request, received)
    }

    fn address<'a>(&'a self, host: &'a str) -> AddressFuture<'a> {
        Box::pin(async move {
            tokio::time::sleep(SECOND * 2).await;
            self.0.address(host).await
        })
    }
}

/// Else the address would be counted a second time when the host goes on, and stay full for ever.
#[tokio::test(start_paused = true)]
async fn a_host_held_while_its_address_is_looked_up_is_counted_once() {
    let mut setup = Setup::new(&["http://a.test/", "http://b.test/"], friendly);
    setup.network = ScriptedNetwork::with_addresses(friendly, |_| Ok([10, 0, 0, 1].into()));
    (setup.config.hosts_per_address, setup.config.open_hosts) = (1, 2);
    at(&setup, 0, |control| assert!(control.hold_host("a.test", true)));
    at(&setup, 5, |control| assert!(control.hold_host("a.test", false)));
    let network = Arc::new(SlowNames(setup.network.clone()));
    let fetcher = Fetcher::new(setup.config.clone(), network, setup.hosts.clone(), tokio_clock(0));
    let (out, taken) = channel(4);
    let (report, pages) = tokio::join!(fetcher.run(setup.job(out)), collect(taken));
    assert_eq!((report.unwrap().stopped_by, pages.len()), (StoppedBy::End, 2));
}

#[tokio::test(start_paused = true)]
async fn what_is_held_stays_undone_at_a_stop_and_is_skipped_at_the_deadline() {
    let setup = two_hosts();
    setup.control.hold(true);
    let stop = setup.stop.clone();
    at(&setup, 7, move |_| stop.cancel());
    let output = setup.run().await;
    assert_eq!((output.report.stopped_by, output.pages.len()), (StoppedBy::Stop, 0));

    let mut setup = two_hosts();
    setup.control.hold(true);
    setup.deadline = Some(Instant::now() + SECOND * 30);
    let output = setup.run().await;
    assert_eq!((output.report.stopped_by, output.pages.len()), (StoppedBy::Deadline, 20));
    assert_eq!(output.outcome("http://a.test/10"), Outcome::Skipped(Skip::Deadline));
    assert_eq!(setup.network.log().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_run_does_not_wait_for_ever_for_hosts_that_are_held() {
    let mut setup = two_hosts();
    setup.control.hold_host("a.test", true);
    setup.held_deadline = Some(Instant::now() + SECOND * 5);
    let output = setup.run().await;
    assert_eq!(output.report.stopped_by, StoppedBy::Deadline);
    assert_eq!(output.outcome("http://a.test/19"), Outcome::Skipped(Skip::Deadline));
    assert_eq!(output.result("http://b.test/19"), "page 200", "while there is something to do, it goes on");
    assert!(output.report.elapsed.as_secs() < 15);
}

#[tokio::test(start_paused = true)]
async fn a_page_of_the_schedule_that_is_asked_for_moves_to_the_front() {
    let mut setup = two_hosts();
    let (ahead, near) = ("http://b.test/19", "http://a.test/15");
    let far: Vec<String> = (100..200).map(|i| format!("http://a.test/{i}")).collect();
    setup.entries.extend(far.iter().map(|p| entry(p)));
    for page in [near, "http://a.test/199", ahead] {
        let entry = ScheduleEntry { share: Share::Asked, ..entry(page) };
        at(&setup, 2, move |control| assert!(control.ask(entry)));
    }
    let output = setup.run().await;
    assert_eq!(output.pages.len(), 120);
    for page in [near, "http://a.test/199", ahead] {
        assert_eq!(output.result(page), "page 200");
        let came = output.pages.iter().find(|p| p.entry.url == url(page)).unwrap();
        assert!(
            came.index.is_some() && came.entry.share == Share::Discovery,
            "it keeps its place and its share"
        );
    }
    let order = |host| asked_of(&setup, host).into_iter().map(|(page, _)| page).collect::<Vec<_>>();
    assert_eq!(order("a.test")[..5], ["10", "15", "199", "100", "101"]);
    assert_eq!(order("b.test")[..4], ["10", "19", "11", "12"]);
}

#[tokio::test(start_paused = true)]
async fn a_page_beside_the_schedule_comes_out_once_and_by_the_rules() {
    let setup =
        Setup::new(&["http://a.test/1", "http://a.test/2", "http://a.test/3"], |request| {
            match request.url.path_and_query() {
                "/robots.txt" => reply(200, "User-agent: *\nDisallow: /no").into(),
                _ => reply(200, "hello").into(),
            }
        })
        .delay(SECOND);
    for page in
        ["http://a.test/new", "http://a.test/new", "http://a.test/1", "http://a.test/no", "http://c.test/x"]
    {
        let entry = ScheduleEntry { share: Share::Asked, ..entry(page) };
        at(&setup, 2, move |control| assert!(control.ask(entry)));
    }
    let output = setup.run().await;
    assert_eq!(output.result("http://a.test/new"), "page 200");
    assert_eq!(output.result("http://a.test/1"), "page 200", "it was visited already");
    assert_eq!(output.outcome("http://a.test/no"), Outcome::RobotsDenied);
    assert_eq!(output.result("http://c.test/x"), "page 200");
    let new = output.pages.iter().find(|p| p.entry.url == url("http://a.test/new")).unwrap();
    assert_eq!((new.index, new.entry.share), (None, Share::Asked));
    assert_eq!(output.pages.len(), 6);
    assert!(shortest_gap(&setup.network.log()) >= SECOND);
    assert_eq!(setup.network.urls().iter().filter(|u| *u == "http://c.test/robots.txt").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_for_and_held_waits_and_is_told_at_the_deadline() {
    let mut setup = Setup::new(&[], friendly);
    setup.control.hold_host("a.test", true);
    assert!(setup.control.ask(entry("http://a.test/x")));
    setup.deadline = Some(Instant::now() + SECOND * 30);
    let output = setup.run().await;
    assert_eq!(output.outcome("http://a.test/x"), Outcome::Skipped(Skip::Deadline));

    let setup = Setup::new(&[], friendly);
    setup.control.hold(true);
    assert!(setup.control.ask(entry("http://a.test/x")));
    at(&setup, 40, |control| control.hold(false));
    assert_eq!(setup.run().await.result("http://a.test/x"), "page 200");
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_an_earlier_run_visited_is_not_asked_for_again() {
    let mut setup = two_hosts();
    setup.done = Arc::new(|index| index < 10);
    assert!(setup.control.ask(entry("http://a.test/15")));
    let output = setup.run().await;
    assert_eq!((output.pages.len(), asked_of(&setup, "b.test").len()), (10, 10));
}

#[tokio::test(start_paused = true)]
async fn a_run_publishes_its_progress() {
    let setup = two_hosts();
    setup.control.hold_host("b.test", true);
    at(&setup, 4, |control| {
        let figures = control.figures();
        assert_eq!((figures.open_hosts, figures.slowest.len()), (2, 2));
        let of = |host: &str| figures.slowest.iter().find(|h| h.host == host).unwrap().clone();
        let (a, b) = (of("a.test"), of("b.test"));
        assert_eq!((a.done, a.queue, b.done, b.queue), (2, 7, 0, 10), "and one is in flight");
        assert_eq!(a.delay, SECOND);
        assert_eq!(b.state, HostActivity::Held);
        assert_eq!(figures.slowest[0].host, "b.test", "what takes longest comes first");
        assert_eq!((figures.backed_off, figures.fetching.len()), (0, 0), "this network answers at once");
        control.hold_host("b.test", false);
    });
    let output = setup.run().await;
    assert_eq!(output.pages.len(), 20);
    assert_eq!(setup.control.figures(), Default::default(), "nothing is in flight");
}

/// Regression: each origin of a name was told the pages and failures of all of them.
#[tokio::test(start_paused = true)]
async fn each_origin_of_a_name_has_its_own_figures() {
    let pages: Vec<String> =
        ["http", "https"].iter().flat_map(|s| (1..4).map(move |i| format!("{s}://a.test/{i}"))).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let setup = Setup::new(&pages, |r| match (r.url.scheme(), r.url.path_and_query()) {
        (Scheme::Https, "/1" | "/2" | "/3") => reply(500, "").into(),
        _ => friendly(r),
    })
    .delay(SECOND);
    let told = Arc::new(Mutex::new(Vec::new()));
    for seconds in [3, 7] {
        let told = told.clone();
        at(&setup, seconds, move |control| {
            let host = control.figures().slowest[0].clone();
            assert_eq!(host.queue, host.origins.iter().map(|of| of.queue).sum::<u64>());
            let of = |of: OriginFigures| (of.origin.scheme, of.done, of.queue, of.failures);
            told.lock().unwrap().push((host.done, host.origins.into_iter().map(of).collect::<Vec<_>>()));
        });
    }
    setup.run().await;
    let expected = [
        (1, vec![(Scheme::Http, 1, 1, 0), (Scheme::Https, 0, 3, 0)]),
        (4, vec![(Scheme::Http, 3, 0, 0), (Scheme::Https, 1, 1, 1)]),
    ];
    assert_eq!(*told.lock().unwrap(), expected);
}

/// Regression: a list of the running hosts told their own delay, and the list of all hosts the delay per address.
#[tokio::test(start_paused = true)]
async fn the_delay_of_a_running_host_is_the_one_in_force_as_its_stored_state_tells_it() {
    let setup = two_hosts();
    let config = FetchConfig { delay_per_ip: SECOND * 2, ..setup.config.clone() };
    let setup = Setup { config: config.clone(), ..setup };
    at(&setup, 4, move |control| {
        let stored = HostDelay::from_state(&HostState::default(), &config, 0).delay;
        let told: Vec<_> = control.figures().slowest.iter().map(|host| host.delay).collect();
        assert_eq!((stored, told), (SECOND * 2, vec![stored; 2]));
    });
    let pace = {
        setup.run().await;
        setup.state("http://a.test/10").pace
    };
    assert_eq!(pace.per_minute_promised(), Some(30.0), "as the delay allows");
}

#[tokio::test(start_paused = true)]
async fn a_run_held_early_publishes_its_progress_and_no_host_is_asking() {
    let setup = two_hosts();
    at(&setup, 0, |control| control.hold(true));
    at(&setup, 5, |control| {
        let figures = control.figures();
        assert_eq!((figures.in_flight, figures.slowest.len()), (0, 2), "{figures:?}");
        for host in figures.slowest.iter() {
            assert_eq!((host.state, host.queue), (HostActivity::Waiting, 10 - host.done), "{host:?}");
        }
        control.hold(false);
    });
    assert_eq!(setup.run().await.pages.len(), 20);
}

#[tokio::test(start_paused = true)]
async fn requests_in_flight_when_a_run_is_held_are_published_once_they_end() {
    let setup = two_hosts();
    at(&setup, 3, |control| control.hold(true));
    for seconds in 3..8 {
        at(&setup, seconds, move |control| {
            let figures = control.figures();
            let asking =
                figures.slowest.iter().filter(|h| figures.activity(h.state) == HostActivity::Asking).count();
            assert_eq!((asking, figures.in_flight), (0, 0), "{seconds}: {figures:?}");
        });
    }
    at(&setup, 9, |control| control.hold(false));
    assert_eq!(setup.run().await.pages.len(), 20);
}

#[test]
fn what_is_held_and_what_is_asked_for_has_a_limit() {
    let control = RunControl::default();
    assert!((0..MAX_HELD_HOSTS).all(|i| control.hold_host(&format!("h{i}.test"), true)));
    assert!(!control.hold_host("one.more.test", true));
    assert!((0..MAX_ASKED).all(|_| control.ask(entry("http://a.test/"))));
    assert!(!control.ask(entry("http://a.test/")));
    control.forget_asked();
    assert!(control.ask(entry("http://a.test/")));
}
