//! Hosts whose owners opted out: no request reaches them.

use super::*;
use crate::testing::with_header;
use recrawl_types::Failure;
use recrawl_types::Skip;

const OUT: &str = "http://out.test/";

/// A web where the opted-out host responds, so that a request would be noticed.
fn open_web(r: &Request) -> Script {
    match (r.url.to_string().as_str(), r.url.path_and_query()) {
        ("http://robots.test/robots.txt", _) => {
            with_header(reply(301, ""), "location", "http://out.test/r").into()
        }
        (_, "/robots.txt") => reply(404, "").into(),
        ("http://redirect.test/1", _) => with_header(reply(302, ""), "location", "http://out.test/x").into(),
        _ => reply(200, "page").into(),
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_there_whatever_leads_there() {
    let pages =
        [OUT, "http://out.test:81/2", "https://out.test/3", "http://redirect.test/1", "http://robots.test/1"];
    let mut setup = Setup::new(&pages, open_web);
    setup.opted_out = Arc::new(|host| host == "out.test");
    setup.network = ScriptedNetwork::with_addresses(open_web, |host| {
        assert_ne!(host, "out.test", "no resolver is asked about it");
        Ok("9.9.9.9".parse().unwrap())
    });
    setup.config.delay_per_ip = Duration::from_millis(1);
    let output = setup.run().await;
    for page in &pages[..3] {
        assert_eq!(output.outcome(page), Outcome::Skipped(Skip::OptedOut), "{page}");
    }
    assert_eq!(output.outcome("http://out.test/x"), Outcome::Skipped(Skip::OptedOut), "a redirect's target");
    assert_eq!(output.outcome("http://robots.test/1"), Outcome::RobotsUnreachable(Some(Failure::Redirect)));
    assert_eq!(output.report.outcomes.skipped_opted_out, 4);
    assert!(setup.network.urls().iter().all(|url| !url.contains("out.test")), "{:?}", setup.network.urls());
    assert_eq!(setup.state(OUT), HostState::default(), "nothing was asked of it");
}

/// A stranger's robots.txt sends no request to a host that only `fetch.allow_addresses` opens.
#[tokio::test(start_paused = true)]
async fn a_robots_txt_leads_out_of_scope_to_public_addresses_only() {
    let web = |r: &Request| match (&*r.url.host(), r.url.path_and_query()) {
        ("a.test", "/robots.txt") => with_header(reply(302, ""), "location", "http://a.test/own").into(),
        ("a.test", "/own") => with_header(reply(302, ""), "location", "http://b.test/in").into(),
        ("b.test", "/in") => with_header(reply(302, ""), "location", "http://c.test/out").into(),
        ("c.test", "/out") => with_header(reply(302, ""), "location", "http://b.test/on").into(),
        (_, "/on" | "/robots.txt") => reply(404, "").into(),
        _ => reply(200, "page").into(),
    };
    let mut setup = Setup::new(&["http://a.test/1"], web);
    setup.in_scope = Arc::new(|host| host != "c.test");
    let output = setup.run().await;
    assert_eq!(output.result("http://a.test/1"), "page 200");
    let asked = setup.network.log().into_iter();
    let asked: Vec<(String, bool)> =
        asked.map(|asked| (asked.request.url.to_string(), asked.request.manner.is_public_only)).collect();
    let expected = [
        ("http://a.test/robots.txt", false),
        ("http://a.test/own", false),
        ("http://b.test/in", false),
        ("http://c.test/out", true),
        // A host out of scope told of it.
        ("http://b.test/on", true),
        ("http://a.test/1", false),
    ];
    assert_eq!(asked, expected.map(|(url, is_public)| (url.to_owned(), is_public)));
}
