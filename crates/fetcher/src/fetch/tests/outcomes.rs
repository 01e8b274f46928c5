//! Every outcome of a fetch.

use super::*;
use crate::NetworkError;
use crate::net::client::Cut;
use crate::testing::with_header;
use recrawl_types::{Content, ContentKind, Failure, Skip, Validators};

/// A web where the path of a page determines its outcome.
fn web(r: &Request) -> Script {
    match (&*r.url.host(), r.url.path_and_query()) {
        ("unreachable.test", _) => NetworkError::Connect.into(),
        ("refused.test", _) => NetworkError::Refused.into(),
        ("slow.test", "/robots.txt") => reply(200, "User-agent: *\nCrawl-delay: 3600").into(),
        ("denying.test", "/robots.txt") => reply(200, "User-agent: *\nDisallow: /denied").into(),
        (_, "/robots.txt") => reply(404, "").into(),
        ("failing.test", _) => reply(500, "").into(),
        (_, "/dns") => NetworkError::Dns.into(),
        (_, "/connect") => NetworkError::Connect.into(),
        (_, "/tls") => NetworkError::Tls.into(),
        (_, "/timeout") => Script::from(reply(200, "")).after(Duration::from_secs(31)),
        (_, "/protocol") => NetworkError::Protocol.into(),
        (_, "/encoding") => NetworkError::Encoding.into(),
        (_, "/nowhere") => reply(301, "").into(),
        (_, "/redirect") => with_header(reply(301, ""), "location", "/target").into(),
        (_, path) => match path.strip_prefix("/status/").and_then(|s| s.parse().ok()) {
            Some(status) => reply(status, "").into(),
            None => friendly(r),
        },
    }
}

#[tokio::test(start_paused = true)]
async fn every_outcome_has_its_cause() {
    use Outcome::{Failed, NotFound, RefusedAddress, RobotsDenied, RobotsUnreachable, Skipped};
    // One host per page, so that failures do not cause a back-off.
    let table = [
        ("http://a.test/dns", Failed(Failure::Dns)),
        ("http://b.test/connect", Failed(Failure::Connect)),
        ("http://c.test/tls", Failed(Failure::Tls)),
        ("http://d.test/timeout", Failed(Failure::Timeout)),
        ("http://e.test/protocol", Failed(Failure::Protocol)),
        ("http://f.test/encoding", Failed(Failure::Encoding)),
        ("http://g.test/nowhere", Failed(Failure::Redirect)),
        ("http://h.test/status/300", Failed(Failure::Status(300))),
        ("http://i.test/status/304", Failed(Failure::Status(304))), // nothing was asked conditionally
        ("http://j.test/status/400", Failed(Failure::Status(400))),
        ("http://k.test/status/401", Failed(Failure::Status(401))),
        ("http://l.test/status/403", Failed(Failure::Status(403))),
        ("http://m.test/status/404", NotFound(404)),
        ("http://n.test/status/410", NotFound(410)),
        ("http://o.test/status/429", Failed(Failure::Status(429))),
        ("http://p.test/status/451", Failed(Failure::Status(451))),
        ("http://q.test/status/503", Failed(Failure::Status(503))),
        ("http://r.test/status/999", Failed(Failure::Status(999))),
        ("http://denying.test/denied", RobotsDenied),
        ("http://unreachable.test/", RobotsUnreachable(Some(Failure::Connect))),
        ("http://refused.test/", RefusedAddress(Some(recrawl_types::outcome::AddressRefusal::Special))),
        ("http://s.test/elsewhere", Skipped(Skip::OutOfScope)),
        ("http://slow.test/", Skipped(Skip::CrawlDelay)),
        ("http://failing.test/1", Failed(Failure::Status(500))),
        ("http://failing.test/2", Skipped(Skip::HostBackOff)),
    ];
    let mut pages: Vec<&str> = table.iter().map(|(page, _)| *page).collect();
    pages.extend(["http://t.test/page", "http://u.test/status/204", "http://v.test/redirect"]);
    let mut setup = Setup::new(&pages, web);
    let content = Content { validators: Validators::new(Some("\"v1\""), None), ..Content::default() };
    setup.entries.push(visited("http://w.test/status/304", content));
    setup.refuses =
        Arc::new(|entry| (entry.url.path_and_query() == "/elsewhere").then_some(Skip::OutOfScope));
    setup.config.host_failures = 1;
    let output = setup.run().await;
    for (page, outcome) in table {
        assert_eq!(output.outcome(page), outcome, "{page}");
    }
    assert_eq!(output.result("http://t.test/page"), "page 200");
    assert_eq!(output.result("http://u.test/status/204"), "page 204");
    assert_eq!(output.result("http://v.test/redirect"), "→ http://v.test/target");
    assert_eq!(output.result("http://v.test/target"), "page 200");
    assert_eq!(output.result("http://w.test/status/304"), "not modified");
    let o = &output.report.outcomes;
    assert_eq!((o.page, o.not_modified, o.redirect, o.not_found), (3, 1, 1, 2));
    assert_eq!((o.failed(), o.failed_status, o.robots_denied, o.skipped()), (17, 10, 1, 3));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_is_an_outcome_too() {
    let mut pages: Vec<String> = (0..200).map(|i| format!("http://h{}.test/{i}", i % 3)).collect();
    pages.push("http://late.test/".into());
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let slow = |r: &Request| friendly(r).after(Duration::from_millis(900));
    let mut setup = Setup::new(&pages, slow).delay(Duration::from_millis(100));
    setup.config.open_hosts = 3;
    setup.deadline = Some(Instant::now() + Duration::from_millis(3500));
    let output = setup.run().await;
    assert_eq!(output.report.stopped_by, crate::StoppedBy::Deadline);
    // Robots.txt in second 0, then one page per second. The request in flight at 3.5 s is finished.
    assert_eq!((output.report.outcomes.page, output.report.outcomes.skipped_deadline), (9, 192));
    let mut indexes: Vec<u64> = output.pages.iter().filter_map(|p| p.index).collect();
    indexes.sort_unstable();
    assert_eq!(indexes, (0..201).collect::<Vec<_>>(), "each entry once");
    assert_eq!(output.outcome("http://late.test/"), Outcome::Skipped(Skip::Deadline));
}

#[tokio::test(start_paused = true)]
async fn validators_are_sent_back_and_only_those_of_pages() {
    let content = |kind| Content {
        kind,
        validators: Validators::new(Some("W/\"x\""), Some("Tue, 01 Sep 2026 00:00:00 GMT")),
        ..Content::default()
    };
    let mut setup = Setup::new(&["http://a.test/new"], friendly);
    setup.entries.push(visited("http://a.test/text", content(ContentKind::Text)));
    setup.entries.push(visited("http://a.test/image", content(ContentKind::Opaque)));
    setup.entries.push(visited("http://a.test/redirect", content(ContentKind::Redirect)));
    setup.run().await;
    let log = setup.network.log();
    assert_eq!(log.len(), 5);
    for asked in log {
        let conditional = ["/text", "/image"].contains(&asked.request.url.path_and_query());
        assert_eq!(!asked.request.validators.is_empty(), conditional, "{}", asked.request.url);
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_body_is_a_page_that_says_so_and_the_answer_is_handed_on() {
    let mut setup = Setup::new(&["http://a.test/"], |r| match r.url.path_and_query() {
        "/robots.txt" => reply(404, "").into(),
        _ => {
            let page = with_header(reply(200, "0123456789"), "etag", "\"e\"");
            let page = with_header(page, "content-type", "text/html; charset=utf-8");
            with_header(page, "content-type", "text/html").into()
        }
    });
    setup.config.max_body = 4;
    let output = setup.run().await;
    let FetchResult::Page(response) = &output.pages[0].result else { panic!("a page") };
    assert_eq!((&response.body[..], response.cut), (&b"0123"[..], Some(Cut::Limit)));
    assert_eq!(response.content_type.as_deref(), Some("text/html; charset=utf-8, text/html"));
    assert_eq!(response.validators, Validators::new(Some("\"e\""), None));
    assert_eq!((output.report.bytes, output.pages[0].at), (4, NOW));
}

#[tokio::test(start_paused = true)]
async fn only_the_last_request_of_a_host_lets_its_connection_go() {
    let setup = Setup::new(&["http://a.test/1", "http://a.test/2", "http://b.test/1"], friendly);
    setup.run().await;
    let mut last: Vec<String> =
        setup.network.log().iter().filter(|a| a.request.last).map(|a| a.request.url.to_string()).collect();
    last.sort();
    assert_eq!(last, ["http://a.test/2", "http://b.test/1"]);
}

#[tokio::test(start_paused = true)]
async fn a_malformed_header_of_pages_is_no_reason_to_leave_their_host_alone() {
    let pages: Vec<String> = (0..20).map(|i| format!("http://a.test/{i}")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    for (error, is_left_alone) in [(NetworkError::Malformed, false), (NetworkError::Protocol, true)] {
        let setup = Setup::new(&pages, move |r| match r.url.path_and_query() {
            "/robots.txt" => reply(404, "").into(),
            _ => error.into(),
        });
        let output = setup.run().await;
        let failed = pages.iter().filter(|page| output.outcome(page) == Outcome::Failed(Failure::Protocol));
        assert_eq!(failed.count() < pages.len(), is_left_alone, "{error:?}");
    }
}
