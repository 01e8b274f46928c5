//! Requests in flight that a run leaves to the next one.

use super::*;

const SECOND: Duration = Duration::from_secs(1);
/// It never answers.
const SILENT: &str = "h00.test";
/// It answers after 20 seconds.
const SLOW: &str = "h01.test";
/// Only its pages take as long.
const SLOW_PAGE: &str = "h02.test";

/// A web of 50 hosts, each with a start page, and three pages behind it.
fn web(request: &Request) -> Script {
    let is_robots = request.url.path_and_query() == "/robots.txt";
    let latency = match &*request.url.host() {
        SILENT => SECOND * 3600,
        SLOW => SECOND * 20,
        SLOW_PAGE if !is_robots => SECOND * 20,
        _ => Duration::from_millis(50),
    };
    friendly(request).after(latency)
}

fn page(host: usize, page: usize) -> String {
    format!("http://h{host:02}.test/{page}")
}

fn is_of(page: &FetchedPage, hosts: &[&str]) -> bool {
    hosts.contains(&&*page.entry.url.host())
}

/// Two rounds of a young crawl with the usual delays.
struct Rounds {
    setup: Setup,
    began: Instant,
    first: Vec<FetchedPage>,
    second: Vec<FetchedPage>,
    /// The second round's start.
    border: Duration,
}

/// The second round visits the pages that the first did not reach, and the pages behind its others.
async fn rounds(notes_found: bool, plans_again: bool) -> Rounds {
    rounds_refusing(notes_found, plans_again, None).await
}

/// The same; pages of a host are refused from the second round on.
async fn rounds_refusing(notes_found: bool, plans_again: bool, refused: Option<&'static str>) -> Rounds {
    let starts: Vec<String> = (0..50).map(|host| page(host, 0)).collect();
    let mut setup = Setup::new(&starts.iter().map(String::as_str).collect::<Vec<_>>(), web);
    let FetchConfig { delay_per_host, delay_per_ip, delay_per_latency, .. } = FetchConfig::default();
    setup.config = FetchConfig { delay_per_host, delay_per_ip, delay_per_latency, ..plain() };
    let (fetcher, began) = (setup.fetcher(), Instant::now());
    let mut of_round = Vec::new();
    let mut border = Duration::ZERO;
    for round in 0..2 {
        border = began.elapsed();
        if round == 1 {
            setup.refuses = Arc::new(move |page| {
                refused.filter(|host| *page.url.host() == **host).map(|_| Skip::OutOfScope)
            });
        }
        let end = Instant::now() + SECOND * 600;
        setup.patience = Some(RunPatience { linger: SECOND * 60, least: Some(SECOND * 5), end });
        let (out, mut pages) = channel::<FetchedPage>(4);
        let control = setup.control.clone();
        let collected = async {
            let mut all = Vec::new();
            while let Some(page) = pages.recv().await {
                if notes_found && round == 0 && matches!(page.result, FetchResult::Page(_)) {
                    control.found_pages();
                }
                all.push(FetchedPage { hold: Default::default(), ..page });
            }
            all
        };
        let (report, pages) = tokio::join!(fetcher.run(setup.job(out)), collected);
        let stopped_by = report.unwrap().stopped_by;
        let is_left = notes_found && round == 0;
        assert_eq!(stopped_by, if is_left { StoppedBy::SlowHosts } else { StoppedBy::End });
        let is_visited = |entry: &ScheduleEntry| pages.iter().any(|page| page.entry.url == entry.url);
        setup.entries.retain(|entry| !is_visited(entry) && plans_again);
        for start in pages.iter().filter(|page| !is_of(page, &[SILENT, SLOW, SLOW_PAGE])) {
            let behind = |page| entry(&format!("http://{}/{page}", start.entry.url.host()));
            setup.entries.extend((1..4).map(behind).filter(|_| round == 0));
        }
        of_round.push(pages);
    }
    let second = of_round.pop().unwrap();
    Rounds { setup, began, first: of_round.pop().unwrap(), second, border }
}

impl Rounds {
    /// When the last page behind a start page was requested.
    fn last_found(&self) -> Duration {
        let log = self.setup.network.log();
        let found = log.iter().filter(|asked| {
            let path = asked.request.url.path_and_query();
            path != "/0" && path != "/robots.txt"
        });
        assert_eq!(found.clone().count(), 47 * 3);
        found.map(|asked| asked.start - self.began).max().unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn found_pages_do_not_wait_for_two_slow_hosts_of_fifty() {
    let (before, after) = (rounds(false, true).await, rounds(true, true).await);
    assert!(before.border > SECOND * 40, "the first round waited for the slow host: {:?}", before.border);
    assert!(after.border < SECOND * 9, "{:?}", after.border);
    let (waited, waits_not) = (before.last_found(), after.last_found());
    assert!(waited > SECOND * 44 && waits_not < SECOND * 13, "{waited:?}, now {waits_not:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_in_flight_between_two_rounds_is_asked_once_and_comes_out_once() {
    for plans_again in [true, false] {
        let rounds = rounds(true, plans_again).await;
        assert_eq!(rounds.setup.control.early_requests(), 0);
        let mut log = rounds.setup.network.log();
        let mut urls = rounds.setup.network.urls();
        urls.sort();
        let asked = urls.len();
        urls.dedup();
        assert_eq!(urls.len(), asked, "no URL is requested twice");
        // The request that timed out has no end: its host was asked for nothing else.
        let of_silent = log.iter().filter(|asked| &*asked.request.url.host() == SILENT).count();
        assert_eq!(of_silent, 1, "its robots.txt");
        log.retain(|asked| &*asked.request.url.host() != SILENT);
        assert!(shortest_gap(&log) >= SECOND, "{:?}", shortest_gap(&log));

        assert!(!rounds.first.iter().any(|page| is_of(page, &[SILENT, SLOW, SLOW_PAGE])), "no failure of it");
        assert_eq!(rounds.first.len(), 47);
        let slow: Vec<&FetchedPage> =
            rounds.second.iter().filter(|page| is_of(page, &[SILENT, SLOW, SLOW_PAGE])).collect();
        let of = |host: &str| slow.iter().find(|page| &*page.entry.url.host() == host);
        let page = of(SLOW_PAGE).expect("it was in flight");
        assert!(matches!(page.result, FetchResult::Page(_)));
        assert_eq!(page.elapsed, SECOND * 20, "its time is that of the server");
        assert_eq!(slow.len(), if plans_again { 3 } else { 1 });
        assert_eq!(page.index.is_some(), plans_again, "it has its place in the new schedule");
        if plans_again {
            assert!(matches!(of(SLOW).unwrap().result, FetchResult::Page(_)));
            let unreachable =
                FetchResult::Nothing(Outcome::RobotsUnreachable(Some(recrawl_types::Failure::Timeout)));
            assert_eq!(short(&of(SILENT).unwrap().result), short(&unreachable));
        }
        let state = rounds.setup.state(&page.entry.url.to_string());
        assert_eq!((state.failures, state.requests), (0, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_by_the_next_round_is_given_up() {
    let rounds = rounds_refusing(true, false, Some(SLOW_PAGE)).await;
    assert!(!rounds.first.iter().chain(&rounds.second).any(|page| is_of(page, &[SLOW_PAGE])));
}
