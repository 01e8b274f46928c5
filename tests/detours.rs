//! Pages that send a visitor without a cookie elsewhere and take him back with one, over several cycles.

use crate::harness::{World, count, serve_each, succeeds, web};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

const SETTINGS: &str = "[cycle]\npages = \"100%\"\nwarmup = 1\n[politeness]\ndelay_per_host = \"0 ms\"\ndelay_per_ip = \"0 ms\"\n";
const PAGES: [&str; 3] = ["/a", "/b", "/c"];

/// Serves what `answer` gives for a target and the field Cookie: further fields and a body. A Location makes it a
/// redirect. Returns the address, and the requests.
fn serve(answer: fn(&str, &str) -> (String, String)) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let log = Arc::new(Mutex::new(Vec::new()));
    let requests = log.clone();
    serve_each(listener, move |target, head| {
        let cookies = head.lines().find_map(|line| line.strip_prefix("cookie: ")).unwrap_or_default();
        requests.lock().unwrap().push(format!("{target} {cookies}").trim_end().to_owned());
        let (fields, body) = answer(target, cookies);
        ("text/html", fields, body)
    });
    (address, log)
}

fn page(target: &str) -> (String, String) {
    let links: String = PAGES.iter().map(|page| format!("<a href={page}>{page}</a> ")).collect();
    (String::new(), format!("<p>The document of {target}. {links}"))
}

/// The check sets the cookie, and its query names the page to return to.
fn by_check(target: &str, cookies: &str) -> (String, String) {
    match target.split_once('?') {
        Some(("/check", page)) => {
            (format!("Set-Cookie: seen=1; path=/\r\nLocation: {page}\r\n"), String::new())
        }
        _ if target == "/" || cookies == "seen=1" => page(target),
        _ => (format!("Location: /check?{target}\r\n"), String::new()),
    }
}

/// Each page sets a cookie, and the one check knows from it where to return to.
fn by_page(target: &str, cookies: &str) -> (String, String) {
    match (target, cookies.strip_prefix("from=")) {
        ("/check", Some(page)) => {
            (format!("Set-Cookie: seen={page}; path=/\r\nLocation: {page}\r\n"), String::new())
        }
        ("/check", None) => (String::new(), "<p>Please allow cookies".into()),
        _ if target == "/" || cookies.contains("seen=") => page(target),
        _ => (format!("Set-Cookie: from={target}; path=/\r\nLocation: /check\r\n"), String::new()),
    }
}

#[test]
fn pages_behind_a_check_for_cookies_are_read_in_each_cycle() {
    for (answer, checks) in [(by_check as fn(&str, &str) -> _, 3), (by_page, 1)] {
        let (address, log) = serve(answer);
        let world = World::new(web(1, 1), SETTINGS);
        world.seeds(&[format!("http://{address}/")]);
        let reports = world.crawl(4);
        let pages = world.pages();
        let log = log.lock().unwrap();
        let sum = |name| reports.iter().filter_map(|report| count(report, name)).sum::<u64>();
        let requests = log.iter().filter(|asked| !asked.starts_with("/robots.txt")).count() as u64;
        assert!(sum("asked_again") >= 3 * 3, "{reports:?}");
        assert_eq!(sum("fetched") + sum("asked_again"), requests, "{log:?}");
        for target in PAGES {
            let url = format!("http://{address}{target}");
            let found = &pages[&url];
            let [visits, changes] = ["n", "X"].map(|name| count(found, name));
            assert_eq!((visits, changes), (Some(2), Some(0)), "three visits, and no change: {found}");
            let shown = succeeds(world.run(&["show", &url]));
            assert!(shown.contains(&format!("The document of {target}.")), "{shown}");
            let asked = log.iter().filter(|asked| asked.split(' ').next() == Some(target)).count();
            assert_eq!(asked, 6, "each visit without and with the cookie: {log:?}");
        }
        let redirects: Vec<_> = pages.iter().filter(|(url, _)| url.contains("/check")).collect();
        assert_eq!(redirects.len(), checks, "{pages:?}");
        assert!(redirects.iter().all(|(_, page)| count(page, "n") == Some(2)), "once a cycle: {redirects:?}");
        world.is_sound();
    }
}
