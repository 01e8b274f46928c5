//! Detours for a cookie: a page redirects to another one of its origin, which leads back.

use super::redirects::{sent, to, to_with_cookie};
use super::*;
use crate::NetworkError;
use crate::net::limits::{MAX_DETOURS, MAX_VAIN_DETOURS, MAX_WAITING_HEADERS};
use crate::testing::with_header;
use recrawl_types::{Content, ContentKind, Failure, Fingerprint, Validators};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// `/check` sets a cookie and leads back to the page that the query names.
fn checked(r: &Request) -> Script {
    let request = sent(r);
    match request.split_once(" [") {
        _ if request == "/robots.txt" => friendly(r),
        _ if request.starts_with("/check?") => {
            to_with_cookie(r.url.path_and_query().split_once('?').unwrap().1, "seen=1; path=/")
        }
        Some((_, "seen=1]")) => friendly(r),
        _ => to(&format!("/check?{}", r.url.path_and_query())),
    }
}

/// The host leads its visitors to `/check` and back while this is set, and then only there.
fn until_it_ends(leads_back: Arc<AtomicBool>) -> impl Fn(&Request) -> Script + Send + Sync {
    move |r| match (r.url.path_and_query(), leads_back.load(Relaxed)) {
        ("/robots.txt", _) => friendly(r),
        ("/check", true) => to_with_cookie("/b", "seen=1; path=/"),
        (_, true) if sent(r).contains("seen=1") => friendly(r),
        ("/check", false) => friendly(r),
        _ => to("/check"),
    }
}

/// Every page sets a cookie and redirects to one `/check`, which leads back if it is sent the cookie.
fn sessions(r: &Request) -> Script {
    let request = sent(r);
    match request.split_once(" [") {
        _ if request == "/robots.txt" => friendly(r),
        Some(("/check", cookies)) => {
            let page = cookies.strip_prefix("from=").unwrap().trim_end_matches(']');
            to_with_cookie(page, "seen=1; path=/")
        }
        _ if request == "/check" => reply(200, "Please allow cookies").into(),
        Some((_, cookies)) if cookies.contains("seen=1") => friendly(r),
        _ => to_with_cookie("/check", &format!("from={request}; path=/")),
    }
}

fn asked(setup: &Setup) -> Vec<String> {
    let log = setup.network.log();
    log.iter().map(|asked| sent(&asked.request)).filter(|request| request != "/robots.txt").collect()
}

fn redirect_to(page: &str) -> Content {
    let fingerprint = Fingerprint::of_redirect(&url(page));
    Content { kind: ContentKind::Redirect, fingerprint, ..Content::default() }
}

#[tokio::test(start_paused = true)]
async fn a_page_behind_a_page_that_sets_a_cookie_and_leads_back_is_read() {
    let setup = Setup::new(&["http://a.test/a", "http://a.test/b"], checked);
    let output = setup.run().await;
    assert_eq!(
        asked(&setup),
        ["/a", "/check?/a", "/a [seen=1]", "/b", "/check?/b", "/b [seen=1]"],
        "the cookie is forgotten with its chain"
    );
    assert_eq!(output.result("http://a.test/a"), "page 200");
    assert_eq!(output.result("http://a.test/check?/a"), "→ http://a.test/a");
    assert_eq!(output.result("http://a.test/b"), "page 200");
    assert_eq!((output.pages.len(), output.report.followed, output.report.not_followed), (4, 2, 0));
    let page = output.pages.iter().find(|page| page.entry.url == url("http://a.test/a")).unwrap();
    assert_eq!((page.index, page.hops), (Some(0), 0));
    assert_eq!(setup.state("http://a.test/").detour_path.as_deref(), Some("/check"));
}

#[tokio::test(start_paused = true)]
async fn one_check_serves_all_pages_and_is_recorded_once() {
    let setup = Setup::new(&["http://a.test/a", "http://a.test/b", "http://a.test/c"], sessions);
    let output = setup.run().await;
    for page in ["http://a.test/a", "http://a.test/b", "http://a.test/c"] {
        assert_eq!(output.result(page), "page 200");
    }
    assert_eq!(output.result("http://a.test/check"), "→ http://a.test/a");
    assert_eq!(asked(&setup).len(), 9);
    assert_eq!(output.pages.len(), 4);
    let robots = output.report.robots_requests;
    assert_eq!((robots, output.report.asked_again), (1, 5), "each request is a visit's, or counted here");
}

#[tokio::test(start_paused = true)]
async fn a_check_in_the_schedule_keeps_its_own_visit() {
    // As the cycle before left it.
    let mut setup = Setup::new(&[], sessions);
    setup.entries = vec![
        visited("http://a.test/a", Content::default()),
        visited("http://a.test/b", redirect_to("http://a.test/check")),
        visited("http://a.test/check", redirect_to("http://a.test/a")),
    ];
    let state = HostState { detour_path: Some("/check".into()), ..HostState::default() };
    setup.hosts.store(&Origin::from_url(&url("http://a.test/a")), &state).unwrap();
    let output = setup.run().await;
    assert_eq!(output.result("http://a.test/a"), "page 200");
    assert_eq!(output.result("http://a.test/b"), "page 200", "known as a redirect from an older release");
    assert_eq!(output.result("http://a.test/check"), "page 200");
    assert_eq!(output.pages.len(), 3);

    // Nothing is known of the origin, but the records lead to each other, and there is a cookie.
    setup.hosts = Arc::default();
    setup.entries[0] = visited("http://a.test/a", redirect_to("http://a.test/check"));
    let output = setup.run().await;
    assert_eq!(output.result("http://a.test/a"), "page 200");
    assert_eq!(output.result("http://a.test/check"), "page 200");
}

#[tokio::test(start_paused = true)]
async fn a_detour_may_have_several_pages() {
    let setup = Setup::new(&["http://a.test/"], |r| match &*sent(r) {
        "/" => to("/home"),
        "/home" => to("/1"),
        "/1" => to_with_cookie("/2", "a=1; path=/"),
        "/2 [a=1]" => to("/home"),
        _ => friendly(r),
    });
    let output = setup.run().await;
    assert_eq!(asked(&setup), ["/", "/home", "/1", "/2 [a=1]", "/home [a=1]"]);
    let results: Vec<String> =
        output.pages.iter().map(|page| format!("{} {}", page.entry.url, short(&page.result))).collect();
    assert_eq!(
        results,
        [
            "http://a.test/1 → http://a.test/2",
            "http://a.test/2 → http://a.test/home",
            "http://a.test/ → http://a.test/home",
            "http://a.test/home page 200",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_way_back_or_a_cookie_nothing_changes() {
    type Case = (fn(&Request) -> Script, &'static [&'static str], &'static [&'static str]);
    let cases: [Case; 5] = [
        // A circle without a cookie.
        (
            |r| to(if sent(r) == "/a" { "/check" } else { "/a" }),
            &["/a", "/check"],
            &["/a → /check", "/check → /a"],
        ),
        // The cookie is not for the page.
        (
            |r| if sent(r) == "/a" { to("/check") } else { to_with_cookie("/a", "seen=1; path=/check") },
            &["/a", "/check"],
            &["/a → /check", "/check → /a"],
        ),
        // It leads on.
        (
            |r| match &*sent(r) {
                "/a" => to_with_cookie("/check", "seen=1; path=/"),
                "/check [seen=1]" => to("/b"),
                _ => friendly(r),
            },
            &["/a", "/check [seen=1]", "/b [seen=1]"],
            &["/a → /check", "/check → /b", "/b page 200"],
        ),
        // It is a page.
        (
            |r| if sent(r) == "/a" { to_with_cookie("/check", "seen=1") } else { friendly(r) },
            &["/a", "/check [seen=1]"],
            &["/a → /check", "/check page 200"],
        ),
        // It leads back through another origin.
        (
            |r| match (&*r.url.host(), &*sent(r)) {
                ("a.test", "/a") => to("http://b.test/check"),
                ("b.test", _) => to_with_cookie("http://a.test/a", "seen=1"),
                _ => friendly(r),
            },
            &["/a", "/check"],
            &["/a → http://b.test/check", "http://b.test/check → /a"],
        ),
    ];
    for (answer, requests, results) in cases {
        let setup = Setup::new(&["http://a.test/a"], move |r| match r.url.path_and_query() {
            "/robots.txt" => friendly(r),
            _ => answer(r),
        });
        let output = setup.run().await;
        assert_eq!(asked(&setup), requests);
        let of = |page: &FetchedPage| format!("{} {}", page.entry.url, short(&page.result));
        let found: Vec<String> =
            output.pages.iter().map(|page| of(page).replace("http://a.test", "")).collect();
        assert_eq!(found, results);
        assert_eq!(setup.state("http://a.test/").detour_path, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_site_that_is_never_content_with_its_cookie_is_given_up() {
    let setup = Setup::new(&["http://a.test/a"], |r| match r.url.path_and_query() {
        "/a" => to("/check"),
        "/check" => to_with_cookie("/a", "seen=1; path=/"),
        _ => friendly(r),
    });
    let output = setup.run().await;
    assert_eq!(asked(&setup), ["/a", "/check", "/a [seen=1]"]);
    assert_eq!(output.result("http://a.test/a"), "→ http://a.test/check");
    assert_eq!(setup.state("http://a.test/").detour_path, None);

    // The same with a new cookie each time, where earlier detours led back.
    let count = std::sync::atomic::AtomicU32::new(0);
    let mut setup = Setup::new(&["http://a.test/a"], move |r| match r.url.path_and_query() {
        "/a" => to("/check"),
        "/check" => {
            let n = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            to_with_cookie("/a", &format!("n={n}; path=/"))
        }
        _ => friendly(r),
    });
    let state = HostState { detour_path: Some("/check".into()), ..HostState::default() };
    setup.hosts.store(&Origin::from_url(&url("http://a.test/a")), &state).unwrap();
    setup.entries.push(visited("http://a.test/b", Content::default()));
    let output = setup.run().await;
    assert_eq!(output.result("http://a.test/a"), "→ http://a.test/check");
    assert_eq!(output.result("http://a.test/b"), "page 200");
    assert_eq!(
        asked(&setup)[..],
        ["/a", "/check", "/a [n=0]", "/check [n=0]", "/a [n=1]", "/check [n=1]", "/b"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_detour_keeps_the_delay_and_the_rules_of_robots_txt() {
    let mut setup = Setup::new(&["http://a.test/a"], checked);
    setup.config.delay_per_host = Duration::from_secs(5);
    let output = setup.run().await;
    assert_eq!(output.result("http://a.test/a"), "page 200");
    let log = setup.network.log();
    assert_eq!(log.len(), 4);
    assert!(shortest_gap(&log) >= Duration::from_secs(5));

    let setup = Setup::new(&["http://a.test/a"], |r| match r.url.path_and_query() {
        "/robots.txt" => reply(200, "User-agent: *\nDisallow: /check").into(),
        _ => checked(r),
    });
    let output = setup.run().await;
    assert_eq!(asked(&setup), ["/a"]);
    assert_eq!(output.result("http://a.test/a"), "→ http://a.test/check?/a");
    assert_eq!(output.outcome("http://a.test/check?/a"), Outcome::RobotsDenied);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_page_is_delivered_when_the_run_ends_before_its_target_answers() {
    let mut setup = Setup::new(&["http://a.test/a", "http://a.test/b"], checked);
    setup.config.delay_per_host = Duration::from_secs(60);
    // After robots.txt and the first page.
    setup.deadline = Some(Instant::now() + Duration::from_secs(150));
    let output = setup.run().await;
    assert_eq!(asked(&setup), ["/a"]);
    assert_eq!(output.result("http://a.test/a"), "→ http://a.test/check?/a");
    assert_eq!(output.outcome("http://a.test/b"), Outcome::Skipped(Skip::Deadline));
    assert_eq!(output.pages.len(), 2);

    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let answer = move |r: &Request| {
        if sent(r) == "/a" {
            stopped.cancel();
        }
        checked(r)
    };
    let setup = Setup { stop, ..Setup::new(&["http://a.test/a", "http://a.test/b"], answer) };
    let output = setup.run().await;
    assert_eq!(asked(&setup), ["/a"]);
    assert_eq!(output.result("http://a.test/a"), "→ http://a.test/check?/a");
    assert_eq!(output.pages.len(), 1, "the other page stays to be done");

    // A check that fails ends the detour too.
    let setup = Setup::new(&["http://a.test/a"], |r| match r.url.path_and_query() {
        "/check?/a" => NetworkError::Timeout.into(),
        _ => checked(r),
    });
    let output = setup.run().await;
    assert_eq!(output.result("http://a.test/a"), "→ http://a.test/check?/a");
    assert_eq!(output.outcome("http://a.test/check?/a"), Outcome::Failed(Failure::Timeout));
}

/// A page that waits to be requested again was answered with a redirect. Whatever comes between, that is delivered.
#[tokio::test(start_paused = true)]
async fn a_redirect_is_delivered_if_the_page_is_not_requested_again() {
    let redirect = "→ http://a.test/check?/a";
    let mut setup = Setup::new(&["http://a.test/a", "http://a.test/b"], checked);
    setup.config.delay_per_host = Duration::from_secs(60);
    // After robots.txt, the page and its target.
    setup.deadline = Some(Instant::now() + Duration::from_secs(210));
    let output = setup.run().await;
    assert_eq!(asked(&setup), ["/a", "/check?/a"]);
    assert_eq!(output.result("http://a.test/a"), redirect);
    assert_eq!(output.result("http://a.test/check?/a"), "→ http://a.test/a");
    assert_eq!(output.outcome("http://a.test/b"), Outcome::Skipped(Skip::Deadline));

    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let answer = move |r: &Request| {
        if sent(r) == "/check?/a" {
            stopped.cancel();
        }
        checked(r)
    };
    let output = Setup { stop, ..Setup::new(&["http://a.test/a", "http://a.test/b"], answer) }.run().await;
    assert_eq!(output.result("http://a.test/a"), redirect);
    assert_eq!(output.pages.len(), 2, "the other page stays to be done");

    // The budget of the cycle, or of the host, is spent.
    for per_host in [true, false] {
        let mut setup =
            Setup::new(&["http://a.test/a", "http://a.test/b"], |r| match r.url.path_and_query() {
                "/check?/a" => {
                    let Ok(to_page) = checked(r).answer else { unreachable!("it answers") };
                    crate::Reply { body: vec![b' '; 2_000].into(), ..to_page }.into()
                }
                _ => checked(r),
            });
        match per_host {
            true => setup.config.bytes_per_host = 1_000,
            false => setup.config.bytes_per_cycle = 1_000,
        }
        let output = setup.run().await;
        assert_eq!(asked(&setup), ["/a", "/check?/a"]);
        assert_eq!(output.result("http://a.test/a"), redirect);
        assert_eq!(output.outcome("http://a.test/b"), Outcome::Skipped(Skip::ByteBudget));
    }

    // robots.txt forbids the URL to which the target leads back.
    let setup = Setup::new(&["http://a.test/a"], |r| match r.url.path_and_query() {
        "/robots.txt" => reply(200, "User-agent: *\nDisallow: /a?sid").into(),
        "/check?/a" => to_with_cookie("/a?sid=1", "seen=1; path=/"),
        _ => checked(r),
    });
    let output = setup.run().await;
    assert_eq!(asked(&setup), ["/a", "/check?/a"]);
    assert_eq!(output.result("http://a.test/a"), redirect);
}

#[tokio::test(start_paused = true)]
async fn a_path_that_leads_back_no_more_is_forgotten() {
    let leads_back = Arc::new(AtomicBool::new(true));
    let mut setup = Setup::new(&["http://a.test/b"], until_it_ends(leads_back.clone()));
    setup.run().await;
    assert_eq!(setup.state("http://a.test/").detour_path.as_deref(), Some("/check"));

    // The site is rebuilt: all old pages redirect to one, as the last cycle has seen.
    leads_back.store(false, Relaxed);
    let of_check = |n: &u32| visited(&format!("http://a.test/{n}"), redirect_to("http://a.test/check"));
    let mut needless = Vec::new();
    for run in 0..3 {
        setup.entries =
            vec![of_check(&run), of_check(&(run + 10)), visited("http://a.test/check", Content::default())];
        let before = asked(&setup).len();
        let output = setup.run().await;
        assert_eq!(output.pages.len(), 3);
        needless.push(asked(&setup).len() - before - 3);
    }
    assert_eq!(needless.iter().sum::<usize>(), MAX_VAIN_DETOURS as usize, "{needless:?}");
    assert_eq!(setup.state("http://a.test/").detour_path, None);

    // One that leads back is worth others that do not.
    leads_back.store(true, Relaxed);
    setup.entries = vec![entry("http://a.test/b")];
    setup.run().await;
    let state = setup.state("http://a.test/");
    assert_eq!((state.detour_path.as_deref(), state.vain_detours), (Some("/check"), 0));
}

#[tokio::test(start_paused = true)]
async fn pages_with_long_headers_and_too_many_pages_do_not_wait() {
    let long = |r: &Request| match r.url.path_and_query() {
        "/a" => {
            let Ok(to_check) = checked(r).answer else { unreachable!("it answers") };
            with_header(to_check, "x-long", &"x".repeat(MAX_WAITING_HEADERS)).into()
        }
        _ => checked(r),
    };
    let setup = Setup::new(&["http://a.test/a", "http://a.test/b"], long);
    let output = setup.run().await;
    assert_eq!(output.result("http://a.test/a"), "→ http://a.test/check?/a");
    assert_eq!(output.result("http://a.test/check?/a"), "→ http://a.test/a");
    assert_eq!(output.result("http://a.test/b"), "page 200");

    let beyond = 3;
    let pages: Vec<String> = (0..MAX_DETOURS + beyond).map(|n| format!("http://h{n}.test/a")).collect();
    let mut setup = Setup::new(&[], checked);
    setup.entries = pages.iter().map(|page| entry(page)).collect();
    setup.config.delay_per_host = Duration::from_secs(3);
    (setup.config.open_hosts, setup.config.connections) = (pages.len(), pages.len());
    let output = setup.run().await;
    let read = output.pages.iter().filter(|page| matches!(page.result, FetchResult::Page(_))).count();
    assert_eq!(read, MAX_DETOURS);
    assert_eq!(output.pages.len(), 2 * pages.len());
}

#[tokio::test(start_paused = true)]
async fn a_known_page_is_asked_with_validators_only_before_the_detour() {
    let content = Content { validators: Validators::new(Some("\"e\""), None), ..Content::default() };
    let mut setup = Setup::new(&[], checked);
    setup.entries.push(visited("http://a.test/a", content));
    let output = setup.run().await;
    assert_eq!(output.result("http://a.test/a"), "page 200");
    let conditional: Vec<bool> =
        setup.network.log().iter().map(|asked| !asked.request.validators.is_empty()).collect();
    assert_eq!(conditional, [false, true, false, false], "robots.txt, the page, the check, the page");
    let page = output.pages.iter().find(|page| page.index == Some(0)).unwrap();
    assert_eq!(page.condition, crate::Condition::Unconditional);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_detour_costs_one_page() {
    let setup = Setup::new(&["http://a.test/a"], |r| match r.url.path_and_query() {
        "/check?/a" => panic!("a bug"),
        _ => checked(r),
    });
    let output = setup.run().await;
    assert_eq!(output.result("http://a.test/a"), "→ http://a.test/check?/a");
    assert_eq!(output.outcome("http://a.test/check?/a"), Outcome::Failed(Failure::Protocol));
    assert_eq!(output.report.panics, 1);
}
