//! Redirects: a new target is visited at once, as a separate visit.

use super::*;
use crate::NetworkError;
use crate::testing::with_header;
use recrawl_types::{Content, ContentKind, Failure, Fingerprint, Skip, Validators};

fn to(location: &str) -> Script {
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
        assert_eq!(output.of("http://a.test/old"), "→ http://b.test/new");
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
    assert_eq!(output.of("http://a.test/r/0"), "page 200");
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
    assert_eq!(output.of("http://a.test/r/100"), "→ http://a.test/r/99");
    assert_eq!(output.outcome("http://a.test/r/99"), Outcome::Failed(Failure::Redirect));
}

#[tokio::test(start_paused = true)]
async fn loops_end() {
    let pages = ["http://a.test/self", "http://a.test/session", "http://a.test/x"];
    let setup = Setup::new(&pages, |r| match r.url.path_and_query() {
        "/self" => to("/self#again"),
        // The canonical URL does not include the session.
        "/session" => to("/session?sid=123"),
        "/x" => to("/y"),
        "/y" => to("/x"),
        _ => friendly(r),
    });
    let output = setup.run().await;
    assert_eq!(output.outcome(pages[0]), Outcome::Failed(Failure::Redirect));
    assert_eq!(output.outcome(pages[1]), Outcome::Failed(Failure::Redirect));
    assert_eq!(output.of(pages[2]), "→ http://a.test/y");
    assert_eq!(output.of("http://a.test/y"), "→ http://a.test/x");
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
    assert_eq!(output.of("http://a.test/there"), "page 200");
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
        assert_eq!(output.of(page), "page 200");
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
    assert_eq!(output.outcome("http://127.0.0.1/admin"), Outcome::RefusedAddress);
    assert_eq!(output.outcome("http://169.254.169.254/latest/meta-data/"), Outcome::RefusedAddress);
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
