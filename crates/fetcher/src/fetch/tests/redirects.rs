//! Redirects: a new target is visited at once, as a separate visit.

use super::*;
use crate::NetworkError;
use crate::testing::with_header;
use recrawl_types::{Content, ContentKind, Failure, Fingerprint, Skip, Validators};

pub fn to(location: &str) -> Script {
    with_header(reply(302, ""), "location", location).into()
}

/// `/r/N` redirects to `/r/N-1`, and `/r/0` is a page.
fn chain(r: &Request) -> Script {
    match r.url.path_and_query().strip_prefix("/r/").and_then(|n| n.parse::<u32>().ok()) {
        Some(n) if n > 0 => to(&format!("/r/{}", n - 1)),
        _ => friendly(r),
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_target_is_visited_at_once_and_named_by_the_redirect() {
    for status in [301, 302, 303, 307, 308] {
        let setup = Setup::new(&["http://a.test/old"], move |r| match r.url.path_and_query() {
            "/old" => with_header(reply(status, ""), "location", "//b.test/new?utm_source=x#top").into(),
            _ => friendly(r),
        });
        let output = setup.run().await;
        assert_eq!(output.result("http://a.test/old"), "→ http://b.test/new");
        let target = output.pages.iter().find(|p| p.entry.url == url("http://b.test/new")).unwrap();
        assert_eq!((target.index, target.hops), (None, 1));
        assert_eq!(target.entry.share, Share::Followed);
        assert_eq!((target.entry.record.known.hops, target.entry.record.known.depth), (1, 3));
        assert!(setup.network.urls().contains(&"http://b.test/robots.txt".to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn chains_are_followed_up_to_the_cap() {
    let setup = Setup::new(&["http://a.test/r/5"], chain);
    let output = setup.run().await;
    assert_eq!(output.result("http://a.test/r/0"), "page 200");
    assert_eq!(output.pages.len(), 6);

    let setup = Setup::new(&["http://a.test/r/6"], chain);
    let output = setup.run().await;
    assert_eq!(output.outcome("http://a.test/r/1"), Outcome::Failed(Failure::Redirect));
    assert_eq!(output.pages.len(), 6, "and the page behind it is not visited");
}

#[tokio::test(start_paused = true)]
async fn a_chain_does_not_begin_anew_with_each_cycle() {
    let mut setup = Setup::new(&["http://a.test/r/100"], chain);
    setup.entries[0].record.known.hops = 4;
    let output = setup.run().await;
    assert_eq!(output.result("http://a.test/r/100"), "→ http://a.test/r/99");
    assert_eq!(output.outcome("http://a.test/r/99"), Outcome::Failed(Failure::Redirect));
}

#[tokio::test(start_paused = true)]
async fn loops_end() {
    let pages = ["http://a.test/self", "http://a.test/session", "http://a.test/x"];
    let setup = Setup::new(&pages, |r| match r.url.path_and_query() {
        "/self" => to("/self#again"),
        // The canonical URL does not include the session.
        "/session" => to("/session?sid=1a2b3c"),
        "/x" => to("/y"),
        "/y" => to("/x"),
        _ => friendly(r),
    });
    let output = setup.run().await;
    assert_eq!(output.outcome(pages[0]), Outcome::Failed(Failure::Redirect));
    assert_eq!(output.outcome(pages[1]), Outcome::Failed(Failure::Redirect));
    assert_eq!(output.result(pages[2]), "→ http://a.test/y");
    assert_eq!(output.result("http://a.test/y"), "→ http://a.test/x");
}

#[tokio::test(start_paused = true)]
async fn a_redirect_known_from_the_last_visit_is_not_followed() {
    let content = |target: &str| Content {
        kind: ContentKind::Redirect,
        fingerprint: Fingerprint::of_redirect(&url(target)),
        validators: Validators::new(Some("\"e\""), None),
        ..Content::default()
    };
    let mut setup = Setup::new(&[], |r| match r.url.path_and_query() {
        "/known" | "/moved" => to("/there"),
        _ => friendly(r),
    });
    setup.entries.push(visited("http://a.test/known", content("http://a.test/there")));
    assert_eq!(setup.run().await.pages.len(), 1);

    setup.entries.push(visited("http://a.test/moved", content("http://a.test/before")));
    let output = setup.run().await;
    assert_eq!(output.report.followed, 1);
    assert_eq!(output.result("http://a.test/there"), "page 200");
    let asked = setup.network.log();
    assert!(asked.iter().all(|a| a.request.validators.is_empty()), "redirects are not asked conditionally");
}

#[tokio::test(start_paused = true)]
async fn a_target_that_an_interrupted_run_followed_is_not_followed_again() {
    let mut setup = Setup::new(&["http://a.test/x"], |r| match r.url.path_and_query() {
        "/x" => to("/there"),
        _ => friendly(r),
    });
    setup.followed = vec![url("http://a.test/there")];
    let output = setup.run().await;
    assert_eq!((output.report.followed, output.report.not_followed), (0, 1));
    assert_eq!(output.pages.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_target_is_visited_once_a_run_and_not_besides_when_it_is_scheduled() {
    let mut pages: Vec<String> = (0..100).map(|i| format!("http://a.test/{i:03}")).collect();
    pages.push("http://b.test/page".into());
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let setup = Setup::new(&pages, |r| match (&*r.url.host(), r.url.path_and_query()) {
        ("a.test", "/007") => to("/042"),
        ("a.test", "/008") => to("http://b.test/page"),
        ("a.test", "/009" | "/010") => to("http://c.test/"),
        _ => friendly(r),
    });
    let output = setup.run().await;
    assert_eq!((output.report.followed, output.report.not_followed), (1, 3));
    for page in ["http://a.test/042", "http://b.test/page", "http://c.test/"] {
        assert_eq!(output.result(page), "page 200");
    }
}

#[tokio::test(start_paused = true)]
async fn scope_robots_and_guard_hold_on_every_hop() {
    let pages = ["http://a.test/1", "http://a.test/2", "http://a.test/3", "http://a.test/4"];
    let mut setup = Setup::new(&pages, |r| match (&*r.url.host(), r.url.path_and_query()) {
        ("a.test", "/1") => to("http://outside.test/"),
        ("a.test", "/2") => to("http://denied.test/"),
        ("a.test", "/3") => to("http://0x7f000001/admin"),
        ("a.test", "/4") => to("http://169.254.169.254/latest/meta-data/"),
        ("denied.test", "/robots.txt") => reply(200, "User-agent: recrawl\nDisallow: /").into(),
        ("127.0.0.1" | "169.254.169.254", _) => NetworkError::Refused.into(),
        _ => friendly(r),
    });
    setup.refuses = Arc::new(|entry| (&*entry.url.host() == "outside.test").then_some(Skip::OutOfScope));
    let output = setup.run().await;
    assert!(!setup.network.urls().iter().any(|u| u.contains("outside")));
    assert_eq!(output.outcome("http://denied.test/"), Outcome::RobotsDenied);
    assert_eq!(output.outcome("http://127.0.0.1/admin"), NetworkError::Refused.outcome());
    assert_eq!(output.outcome("http://169.254.169.254/latest/meta-data/"), NetworkError::Refused.outcome());
}

#[tokio::test(start_paused = true)]
async fn a_redirect_without_a_usable_target_is_a_failure() {
    for location in [None, Some(""), Some("mailto:me@a.test"), Some("http://["), Some("ftp://a.test/")] {
        let setup = Setup::new(&["http://a.test/x/"], move |r| match (r.url.path_and_query(), location) {
            ("/robots.txt", _) => reply(404, "").into(),
            (_, Some(location)) => to(location),
            (_, None) => reply(302, "").into(),
        });
        let outcome = setup.run().await.outcome("http://a.test/x/");
        assert_eq!(outcome, Outcome::Failed(Failure::Redirect), "{location:?}");
    }
}

/// Path, query and cookies of a request, as they are sent.
pub fn sent(r: &Request) -> String {
    let Some(hop) = &r.hop else { return r.url.path_and_query().into() };
    assert_eq!(hop.url.host_str(), Some(&*r.url.host()));
    let cookies = hop.cookies.as_ref().map(|cookies| format!(" [{}]", cookies.to_str().unwrap()));
    let query = hop.url.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}{query}{}", hop.url.path(), cookies.unwrap_or_default())
}

/// The requests of a crawl of one page, as they were sent, and its result.
async fn chain_of(answer: impl Fn(&str) -> Option<Script> + Send + Sync + 'static) -> (Vec<String>, String) {
    let setup = Setup::new(&["http://a.test/page"], move |r| answer(&sent(r)).unwrap_or_else(|| friendly(r)));
    let output = setup.run().await;
    let log = setup.network.log();
    let asked = log.iter().map(|asked| sent(&asked.request)).filter(|path| path != "/robots.txt").collect();
    (asked, output.result("http://a.test/page"))
}

pub fn to_with_cookie(location: &str, cookie: &str) -> Script {
    with_header(with_header(reply(302, ""), "location", location), "set-cookie", cookie).into()
}

#[tokio::test(start_paused = true)]
async fn a_page_that_redirects_to_itself_with_a_session_is_requested_as_the_server_says() {
    for target in [
        "/page?sid=a1b2",
        "/page?utm_source=a&utm_medium=b",
        "?",
        "/%70age",
        "/page;jsessionid=A1",
        "/page?&",
    ] {
        let (asked, result) = chain_of(move |sent| (sent == "/page").then(|| to(target))).await;
        let target = target.strip_prefix('/').map_or(format!("/page{target}"), |path| format!("/{path}"));
        assert_eq!((asked, &*result), (vec!["/page".to_owned(), target], "page 200"));
    }
    let (asked, result) = chain_of(|sent| (sent == "/page").then(|| to("///a.test/page?sid=a1b2"))).await;
    assert_eq!((asked, &*result), (vec!["/page".to_owned(), "/page?sid=a1b2".to_owned()], "page 200"));
    // The URLs are joined as sent, and neither fragment nor user is sent.
    let (asked, result) = chain_of(|sent| match sent {
        "/page" => Some(to("http://me:pass@A.test./page?sid=a1b2#top")),
        "/page?sid=a1b2" => Some(to("?sid=a1b3")),
        _ => None,
    })
    .await;
    assert_eq!(
        (asked, &*result),
        (["/page", "/page?sid=a1b2", "/page?sid=a1b3"].map(String::from).to_vec(), "page 200")
    );
}

#[tokio::test(start_paused = true)]
async fn a_session_may_lead_elsewhere_and_back() {
    let (asked, result) = chain_of(|sent| match sent {
        "/page" => Some(to("/page?sid=a1b2")),
        "/page?sid=a1b2" => Some(to("/other?sid=a1b2")),
        _ => None,
    })
    .await;
    assert_eq!(asked, ["/page", "/page?sid=a1b2", "/other?sid=a1b2"]);
    assert_eq!(result, "→ http://a.test/other");
}

#[tokio::test(start_paused = true)]
async fn a_loop_of_sessions_ends() {
    let (asked, result) = chain_of(|sent| match sent {
        "/page" => Some(to("/page?sid=a1b2")),
        "/page?sid=a1b2" => Some(to("/page")),
        _ => None,
    })
    .await;
    assert_eq!((asked.len(), &*result), (2, "Failed(Redirect)"));
    // A new session each time ends at the limit of redirects.
    let count = std::sync::atomic::AtomicU32::new(0);
    let (asked, result) = chain_of(move |sent| {
        let n = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        sent.starts_with("/page").then(|| to_with_cookie(&format!("/page?sid=a1b{n}"), &format!("n={n}")))
    })
    .await;
    assert_eq!((asked.len(), &*result), (6, "Failed(Redirect)"));
}

#[tokio::test(start_paused = true)]
async fn a_cookie_that_is_asked_for_comes_back_along_the_chain_alone() {
    let (asked, result) =
        chain_of(|sent| (sent == "/page").then(|| to_with_cookie("/page", "seen=1; path=/"))).await;
    assert_eq!(asked, ["/page", "/page [seen=1]"]);
    assert_eq!(result, "page 200");

    let setup = Setup::new(&["http://a.test/1", "http://a.test/2"], |r| match &*sent(r) {
        "/1" => to_with_cookie("/new", "a=b"),
        "/new [a=b]" => to("http://b.test/there"),
        _ => friendly(r),
    });
    let output = setup.run().await;
    assert_eq!(output.result("http://b.test/there"), "page 200");
    let asked: Vec<String> = setup.network.log().iter().map(|asked| sent(&asked.request)).collect();
    assert_eq!(
        asked.iter().filter(|asked| asked.contains('[')).count(),
        1,
        "neither /2, robots.txt nor b.test"
    );
}

#[tokio::test(start_paused = true)]
async fn each_hop_keeps_the_delay_of_its_host_and_the_rules_of_robots_txt() {
    let mut setup = Setup::new(&["http://a.test/page", "http://a.test/shut"], |r| match &*sent(r) {
        "/robots.txt" => reply(200, "User-agent: *\nDisallow: /shut?sid=").into(),
        "/page" => to("/page?sid=a1b2"),
        "/shut" => to("/shut?sid=a1b2"),
        _ => friendly(r),
    });
    setup.config.delay_per_host = Duration::from_secs(5);
    let output = setup.run().await;
    assert_eq!(output.result("http://a.test/page"), "page 200");
    assert_eq!(output.outcome("http://a.test/shut"), Outcome::RobotsDenied);
    let log = setup.network.log();
    assert_eq!(log.len(), 4, "robots.txt, two requests of the one page, one of the other");
    for pair in log.windows(2) {
        assert!(pair[1].start - pair[0].end.unwrap() >= Duration::from_secs(5));
    }
}

#[tokio::test(start_paused = true)]
async fn validators_are_not_sent_behind_a_redirect_to_the_page_itself() {
    let content = Content { validators: Validators::new(Some("\"e\""), None), ..Content::default() };
    let mut setup = Setup::new(&[], |r| match &*sent(r) {
        "/page" => to("/page?sid=a1b2"),
        _ => friendly(r),
    });
    setup.entries.push(visited("http://a.test/page", content));
    let output = setup.run().await;
    assert_eq!(output.result("http://a.test/page"), "page 200");
    assert_eq!(output.pages[0].condition, crate::Condition::Unconditional);
    let log = setup.network.log();
    let conditional: Vec<bool> = log.iter().map(|asked| !asked.request.validators.is_empty()).collect();
    assert_eq!(conditional, [false, true, false], "robots.txt, the page, the page with its session");
}
