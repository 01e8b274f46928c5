//! robots.txt in a run: which hosts are requested, when, and what follows.

use super::redirects::{sent, to, to_with_cookie};
use super::*;
use crate::NetworkError;
use crate::testing::with_header;
use recrawl_types::Failure;
use recrawl_types::host::RobotsBody;

#[tokio::test(start_paused = true)]
async fn a_denied_page_is_not_asked_for() {
    let pages = ["http://a.test/no/1", "http://a.test/no/2", "http://a.test/yes"];
    let setup = Setup::new(&pages, with_robots("User-agent: *\nDisallow: /no/\n"));
    let output = setup.run().await;
    assert_eq!(output.outcome(pages[0]), Outcome::RobotsDenied);
    assert_eq!(output.result(pages[2]), "page 200");
    assert_eq!(setup.network.urls(), ["http://a.test/robots.txt", "http://a.test/yes"]);
    let state = setup.state(pages[0]);
    assert_eq!((state.robots_denied, state.requests), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn rfc_9309_section_2_3_1_4_server_errors_and_network_failures_forbid_everything() {
    // Of eleven other crawlers, one does this on a network failure; the others crawl.
    for script in [
        Script::from(reply(500, "")),
        reply(503, "User-agent: *\nAllow: /").into(),
        reply(429, "User-agent: *\nAllow: /").into(),
        NetworkError::Dns.into(),
        NetworkError::Connect.into(),
        NetworkError::Tls.into(),
        NetworkError::Timeout.into(),
        NetworkError::Protocol.into(),
        NetworkError::Encoding.into(),
        Script::from(reply(200, "")).after(Duration::from_secs(31)),
    ] {
        let shown = format!("{:?}", script.answer);
        let why = match &script.answer {
            Ok(reply) if reply.status != 200 => Failure::Status(reply.status),
            Ok(_) => Failure::Timeout,
            Err(error) => match error.outcome() {
                Outcome::Failed(why) => why,
                other => panic!("{other:?}"),
            },
        };
        let mut setup = Setup::new(&["http://a.test/1", "http://a.test/2"], move |_| script.clone());
        let output = setup.run().await;
        assert_eq!(output.outcome("http://a.test/1"), Outcome::RobotsUnreachable(Some(why)), "{shown}");
        assert_eq!(setup.network.urls(), ["http://a.test/robots.txt"], "{shown}");
        // mwmbl #337, "robots.txt spamming": the next cycle, shortly after, does not request it
        // again.
        setup.now += 59_999;
        let output = setup.run().await;
        assert_eq!(output.report.requests, 0, "{shown}");
        let no_try = Outcome::Skipped(Skip::HostBackOff);
        assert_eq!(output.outcome("http://a.test/1"), no_try, "{shown}");
        assert_eq!(setup.state("http://a.test/").failures, 1, "{shown}");
        setup.now += 31_000;
        assert_eq!(setup.run().await.report.requests, 1, "{shown}");
        assert_eq!(setup.state("http://a.test/").failures, 2, "{shown}");
        // Once it is there, the host has answered, also if no page may be requested.
        setup.now += 10 * 60_000;
        setup.network = ScriptedNetwork::new(with_robots("User-agent: *\nDisallow: /\n"));
        assert_eq!(setup.run().await.outcome("http://a.test/1"), Outcome::RobotsDenied, "{shown}");
        assert_eq!(setup.state("http://a.test/").failures, 0, "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn rfc_9309_section_2_3_1_3_client_errors_allow_everything() {
    // crawlee: the branch for 404 was unreachable.
    for status in [400, 401, 403, 404, 410, 428, 430, 451] {
        let setup = Setup::new(&["http://a.test/1"], move |r| match r.url.path_and_query() {
            "/robots.txt" => reply(status, "User-agent: *\nDisallow: /").into(),
            _ => friendly(r),
        });
        assert_eq!(setup.run().await.result("http://a.test/1"), "page 200", "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_429_for_robots_asks_us_to_wait_and_takes_no_rules_away() {
    let rules = "User-agent: *\nDisallow: /no\n";
    let pages = ["http://a.test/no", "http://a.test/yes"];
    let mut setup = Setup::new(&pages, with_robots(rules));
    assert_eq!(setup.run().await.outcome(pages[0]), Outcome::RobotsDenied);
    // A day later the file is expired, and the server responds with an error.
    setup.now += 24 * 3_600_000;
    setup.network = ScriptedNetwork::new(|r| match r.url.path_and_query() {
        "/robots.txt" => reply(429, "").into(),
        _ => friendly(r),
    });
    let output = setup.run().await;
    for page in pages {
        assert_eq!(output.outcome(page), Outcome::RobotsUnreachable(Some(Failure::Status(429))), "{page}");
    }
    assert_eq!(setup.network.urls(), ["http://a.test/robots.txt"]);
    // A minute later it is requested again, and the rules are back.
    setup.now += 60_000;
    setup.network = ScriptedNetwork::new(with_robots(rules));
    let output = setup.run().await;
    assert_eq!(
        (output.outcome(pages[0]), output.result(pages[1])),
        (Outcome::RobotsDenied, "page 200".into())
    );
}

#[tokio::test(start_paused = true)]
async fn robots_is_kept_by_scheme_host_and_port_and_asked_for_once_a_day() {
    // NUTCH-1752: robots.txt of one port was applied to another.
    let pages = ["http://a.test/x", "https://a.test/x", "http://a.test:8080/x"];
    let mut setup = Setup::new(&pages, |r| match (r.url.to_string().as_str(), r.url.path_and_query()) {
        ("https://a.test/robots.txt", _) => reply(200, "User-agent: *\nDisallow: /").into(),
        (_, "/robots.txt") => reply(404, "").into(),
        _ => friendly(r),
    });
    let output = setup.run().await;
    assert_eq!(output.result(pages[0]), "page 200");
    assert_eq!(output.outcome(pages[1]), Outcome::RobotsDenied);
    assert_eq!(output.result(pages[2]), "page 200");
    assert_eq!(output.report.robots_requests, 3);
    setup.now += 24 * 3_600_000 - 1;
    assert_eq!(setup.run().await.report.robots_requests, 0);
    setup.now += 1;
    assert_eq!(setup.run().await.report.robots_requests, 3);
}

#[tokio::test(start_paused = true)]
async fn rfc_9309_section_2_4_holds_within_a_long_run_too() {
    // NUTCH and Scrapy: a file stayed valid as long as the process ran.
    let hour = Duration::from_secs(3600);
    let pages: Vec<String> = (0..100).map(|i| format!("http://a.test/{i:03}")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let start = Instant::now();
    let mut setup = Setup::new(&pages, move |r| match r.url.path_and_query() {
        "/robots.txt" if start.elapsed() < hour * 30 => reply(404, "").into(),
        "/robots.txt" => reply(200, "User-agent: *\nDisallow: /").into(),
        _ => friendly(r),
    })
    .delay(hour);
    let report = setup.run().await.report;
    // Requested at hours 0, 24 (still absent) and 48.
    assert_eq!(report.robots_requests, 3);
    assert_eq!((report.outcomes.page, report.outcomes.robots_denied), (46, 54));

    // A wait longer than the cache time must not lead to requests for robots.txt only.
    setup.config.robots_cache = Duration::from_secs(60);
    setup.now += 1_000 * 3_600_000;
    setup.network = ScriptedNetwork::new(friendly);
    let report = setup.run().await.report;
    assert_eq!((report.outcomes.page, report.robots_requests), (100, 100));
}

#[tokio::test(start_paused = true)]
async fn rfc_9309_section_2_4_a_stale_file_is_asked_for_conditionally() {
    let day = 24 * 3_600_000;
    let mut setup =
        Setup::new(&["http://a.test/no", "http://a.test/yes"], |r| match r.url.path_and_query() {
            "/robots.txt" if r.validators.etag.as_deref() == Some("\"v1\"") => reply(304, "").into(),
            "/robots.txt" => {
                with_header(reply(200, "User-agent: *\nDisallow: /no\n"), "etag", "\"v1\"").into()
            }
            _ => friendly(r),
        });
    for cycle in 0..3 {
        let output = setup.run().await;
        assert_eq!(output.outcome("http://a.test/no"), Outcome::RobotsDenied, "{cycle}");
        assert_eq!(output.result("http://a.test/yes"), "page 200", "{cycle}");
        let robots = setup.state("http://a.test/").robots.unwrap();
        assert_eq!((robots.fetched, output.report.robots_requests), (setup.now, 1), "{cycle}");
        let log = setup.network.log();
        let asked = log.iter().rfind(|a| a.request.url.path_and_query() == "/robots.txt").unwrap();
        assert_eq!(asked.request.validators.is_empty(), cycle == 0, "{cycle}");
        setup.now += day;
    }
    // The file changes, then becomes unreachable. From then on it is requested unconditionally.
    setup.network = ScriptedNetwork::new(with_robots("User-agent: *\nDisallow: /yes\n"));
    assert_eq!(setup.run().await.outcome("http://a.test/yes"), Outcome::RobotsDenied);
    setup.now += day;
    setup.network = ScriptedNetwork::new(|_| reply(503, "").into());
    assert_eq!(
        setup.run().await.outcome("http://a.test/no"),
        Outcome::RobotsUnreachable(Some(Failure::Status(503)))
    );
    setup.now += day;
    setup.run().await;
    assert!(setup.network.log().iter().all(|a| a.request.validators.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn rfc_9309_section_2_3_1_2_redirects_are_judged_under_the_origin_asked_for() {
    // NUTCH-2581: the redirected file replaced that of the target's host.
    let pages = ["http://a.test/a", "http://b.test/a", "http://b.test/b"];
    let setup = Setup::new(&pages, |r| match (&*r.url.host(), r.url.path_and_query()) {
        ("a.test", "/robots.txt") => {
            with_header(reply(301, ""), "location", "http://b.test/rules/a.txt").into()
        }
        ("b.test", "/rules/a.txt") => reply(200, "User-agent: *\nDisallow: /a").into(),
        ("b.test", "/robots.txt") => reply(200, "User-agent: *\nDisallow: /b").into(),
        _ => friendly(r),
    });
    let output = setup.run().await;
    assert_eq!(output.outcome(pages[0]), Outcome::RobotsDenied);
    assert_eq!(output.result(pages[1]), "page 200");
    assert_eq!(output.outcome(pages[2]), Outcome::RobotsDenied);
    assert_eq!(output.report.robots_requests, 3);
    let body = |page| setup.state(page).robots.unwrap().body;
    assert_eq!(body("http://a.test/"), RobotsBody::Rules(b"User-agent: *\nDisallow: /a".to_vec()));
    assert_eq!(body("http://b.test/"), RobotsBody::Rules(b"User-agent: *\nDisallow: /b".to_vec()));
}

#[tokio::test(start_paused = true)]
async fn rfc_9309_section_2_3_1_2_five_redirects_are_followed_and_a_sixth_is_none() {
    for (hops, result) in [(5, "RobotsDenied"), (6, "page 200")] {
        let setup = Setup::new(&["http://h0.test/x"], move |r| {
            let host = r.url.host();
            let at: usize = host.trim_start_matches('h').trim_end_matches(".test").parse().unwrap();
            match r.url.path_and_query() {
                "/robots.txt" if at == hops => reply(200, "User-agent: *\nDisallow: /").into(),
                "/robots.txt" => {
                    let target = format!("http://h{}.test/robots.txt", at + 1);
                    with_header(reply(302, ""), "location", &target).into()
                }
                _ => friendly(r),
            }
        });
        assert_eq!(setup.run().await.result("http://h0.test/x"), result, "{hops}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_redirect_of_robots_is_followed_with_its_cookies_and_session() {
    let rules = || Some(reply(200, "User-agent: *\nDisallow: /x").into());
    type Answer = fn(&str) -> Option<Script>;
    let cases: [(Answer, &[&str]); 4] = [
        (
            |sent| (sent == "/robots.txt").then(|| to_with_cookie("/robots.txt", "k=1")),
            &["/robots.txt [k=1]"],
        ),
        (
            |sent| match sent {
                "/robots.txt" => Some(to("/check?back=/robots.txt")),
                "/check?back=/robots.txt" => Some(to_with_cookie("/robots.txt", "k=1; path=/")),
                _ => None,
            },
            &["/check?back=/robots.txt", "/robots.txt [k=1]"],
        ),
        (
            |sent| {
                (sent == "/robots.txt").then(|| to_with_cookie("/robots.txt;jsessionid=A1", "JSESSIONID=A1"))
            },
            &["/robots.txt;jsessionid=A1 [JSESSIONID=A1]"],
        ),
        (|sent| (sent == "/robots.txt").then(|| to("/r%6fbots.txt")), &["/r%6fbots.txt"]),
    ];
    for (answer, then) in cases {
        let setup = Setup::new(&["http://a.test/x", "http://a.test/y"], move |r| match &*sent(r) {
            path if path.contains("bots") => answer(path).or_else(rules).unwrap(),
            _ => friendly(r),
        });
        let output = setup.run().await;
        assert_eq!(output.result("http://a.test/x"), "RobotsDenied");
        assert_eq!(output.result("http://a.test/y"), "page 200");
        let asked: Vec<String> = setup.network.log().iter().map(|asked| sent(&asked.request)).collect();
        assert_eq!(asked, [&["/robots.txt"], then, &["/y"]].concat(), "no page gets a cookie");
    }
    // A cookie that changes each time ends at the limit.
    let setup = Setup::new(&["http://a.test/x"], |r| match sent(r).strip_prefix("/robots.txt") {
        Some(cookie) => to_with_cookie("/robots.txt", &format!("k=1{}", cookie.len())),
        None => friendly(r),
    });
    assert_eq!(setup.run().await.result("http://a.test/x"), "page 200");
}

#[tokio::test(start_paused = true)]
async fn a_redirect_of_robots_to_nowhere_or_to_itself_is_none() {
    for location in ["/robots.txt", "mailto:me@a.test", "http://[", ""] {
        let setup = Setup::new(&["http://a.test/x"], move |r| match r.url.path_and_query() {
            "/robots.txt" => with_header(reply(301, ""), "location", location).into(),
            _ => friendly(r),
        });
        assert_eq!(setup.run().await.result("http://a.test/x"), "page 200", "{location:?}");
        assert_eq!(setup.network.log().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn rfc_9309_section_2_5_a_long_file_is_cut_and_its_beginning_obeyed() {
    let pages = ["http://a.test/first", "http://a.test/last"];
    let setup = Setup::new(&pages, |r| match r.url.path_and_query() {
        "/robots.txt" => {
            let filler = "Disallow: /filler\n".repeat(30_000);
            reply(200, &format!("User-agent: *\nDisallow: /first\n{filler}Disallow: /last\n")).into()
        }
        _ => friendly(r),
    });
    let output = setup.run().await;
    assert_eq!(output.outcome(pages[0]), Outcome::RobotsDenied);
    assert_eq!(output.result(pages[1]), "page 200");
}

#[tokio::test(start_paused = true)]
async fn an_origin_at_a_refused_address_is_refused_and_not_unreachable() {
    let pages = ["http://a.test/1", "http://a.test/2"];
    let setup = Setup::new(&pages, |_| NetworkError::Refused.into());
    let output = setup.run().await;
    assert_eq!(output.outcome(pages[0]), NetworkError::Refused.outcome());
    assert_eq!((setup.network.log().len(), output.report.requests), (1, 0));
    assert_eq!(setup.state(pages[0]).robots, None, "once allowed, it must not be shut out for a while");
}

#[tokio::test(start_paused = true)]
async fn a_redirect_of_robots_to_a_refused_address_forbids_everything() {
    let setup = Setup::new(&["http://a.test/1"], |r| match &*r.url.host() {
        "a.test" => with_header(reply(301, ""), "location", "http://127.0.0.1/robots.txt").into(),
        _ => NetworkError::Refused.into(),
    });
    assert_eq!(
        setup.run().await.outcome("http://a.test/1"),
        Outcome::RobotsUnreachable(Some(Failure::Redirect))
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_page_under_a_robots_txt_takes_its_sitemaps_along() {
    let pages = ["http://a.test/1", "http://a.test/2", "http://b.test/1", "http://c.test/1"];
    let setup = Setup::new(&pages, |r| match (&*r.url.host(), r.url.path_and_query()) {
        ("a.test", "/robots.txt") => {
            let text =
                "Sitemap: http://a.test/s.xml\nUser-agent: *\nDisallow: /1\nSitemap: http://b.test/t.xml\n";
            reply(200, text).into()
        }
        ("b.test", "/robots.txt") => reply(404, "").into(),
        ("c.test", "/robots.txt") => reply(503, "").into(),
        _ => friendly(r),
    });
    let mut told: Vec<_> =
        setup.run().await.pages.into_iter().map(|p| (p.entry.url.as_text(), p.sitemaps)).collect();
    told.sort();
    let named = vec![url("http://a.test/s.xml"), url("http://b.test/t.xml")];
    // A page that robots.txt forbids carries them too.
    let expected =
        [("a.test/1", Some(named)), ("a.test/2", None), ("b.test/1", Some(vec![])), ("c.test/1", None)];
    assert_eq!(told, expected.map(|(page, sitemaps)| (format!("http://{page}"), sitemaps)));
}
