//! Every page is reachable, and every link has a page.

use crate::client::{bundled, get, links, procedural, split};
use recrawl_mockweb::{Config, ProceduralConfig, Server, WebConfig};
use std::collections::{HashSet, VecDeque};

/// Follows every link from the first host's index page. Returns all URLs that gave a page, and the
/// number of links within a host and between hosts, without those of index pages.
fn walk(server: &Server) -> (HashSet<String>, u32, u32) {
    let seeds: HashSet<String> = server.seeds().into_iter().collect();
    let first = server.seeds()[0].clone();
    let mut seen = HashSet::from([first.clone()]);
    let mut queue = VecDeque::from([first]);
    let (mut inside, mut outside) = (0, 0);
    while let Some(url) = queue.pop_front() {
        let reply = get(&url);
        assert_eq!(reply.status, 200, "{url}");
        for link in links(&url, &reply.text()) {
            if !seeds.contains(&url) {
                let stays = split(&link).0 == split(&url).0;
                *(if stays { &mut inside } else { &mut outside }) += 1;
            }
            if seen.insert(link.clone()) {
                queue.push_back(link);
            }
        }
    }
    (seen, inside, outside)
}

#[test]
fn every_procedural_page_is_reached_and_every_link_arrives() {
    let server = procedural(700, 9, |_| {});
    let (seen, inside, outside) = walk(&server);
    for page in server.truth(0, 0) {
        assert!(seen.contains(&page.url), "{}", page.url);
    }
    assert!(server.seeds().iter().all(|seed| seen.contains(seed)));
    let share = f64::from(inside) / f64::from(inside + outside);
    assert!((0.74..0.82).contains(&share), "{share} of the links stay on their host");
    let a_page = f64::from(inside + outside) / 700.0;
    assert!((23.0..28.0).contains(&a_page), "{a_page} links a page");
    // Every URL was allowed or is known to be forbidden.
    let known: HashSet<String> = server.truth(0, 0).map(|page| page.url).chain(server.seeds()).collect();
    let strangers: Vec<&String> = seen.difference(&known).collect();
    assert!(!strangers.is_empty());
    for url in strangers {
        let target = split(url).1;
        let is_refused = ["/private/", "/cgi-bin/", "/drafts/", "/tmp/", "/search?"]
            .iter()
            .any(|prefix| target.starts_with(prefix));
        assert!(is_refused, "{url}");
    }
}

#[test]
fn hosts_on_one_address_are_told_apart_by_name() {
    let server = procedural(50, 5, |config| {
        config.addresses = Some(1);
        config.domain = Some("mock.test".into());
    });
    let port = server.port();
    assert_eq!(server.seeds()[4], format!("http://h5.mock.test:{port}/"));
    assert_eq!(server.names()[4], ("h5.mock.test".to_string(), [127, 1, 0, 1].into()));
    let at = format!("127.1.0.1:{port}");
    let asked = |host: &str, target: &str| crate::client::ask_at(&at, "GET", host, target, &[], "");
    for page in server.truth(0, 0) {
        let (host, target) = split(&page.url);
        let reply = asked(host, target);
        assert_eq!(reply.status, 200, "{}", page.url);
        assert!(links(&page.url, &reply.text()).iter().all(|link| link.contains(".mock.test:")));
    }
    assert_eq!(asked(&at, "/").status, 421);
}

#[test]
fn a_crowd_has_the_last_address_for_itself() {
    let server = procedural(50, 6, |config| {
        config.crowd = 3;
        config.domain = Some("mock.test".into());
    });
    let addresses: Vec<u8> = server.names().iter().map(|(_, address)| address.octets()[3]).collect();
    assert_eq!(addresses, [1, 2, 3, 4, 4, 4]);
    let at = |address: u8| format!("127.1.0.{address}:{}", server.port());
    let asked =
        |address: u8, host: &str| crate::client::ask_at(&at(address), "GET", host, "/", &[], "").status;
    assert_eq!(asked(4, &format!("h5.mock.test:{}", server.port())), 200);
    assert_eq!(asked(3, &at(3)), 200, "who is alone may be called by the address");
    assert_eq!(asked(4, &at(4)), 421);
}

#[test]
fn every_recorded_page_there_at_the_clock_is_reached_and_no_other() {
    let server = bundled(|config| config.cycle = 40);
    // Recorded texts also link to pages that come later or are gone.
    let mut seen = HashSet::new();
    let mut queue: VecDeque<String> = server.seeds().into_iter().take(1).collect();
    let mut missing = HashSet::new();
    while let Some(url) = queue.pop_front() {
        if !seen.insert(url.clone()) {
            continue;
        }
        let reply = get(&url);
        match reply.status {
            200 => queue.extend(links(&url, &reply.text())),
            404 => drop(missing.insert(url)),
            other => panic!("{other} for {url}"),
        }
    }
    for page in server.truth(40, 40) {
        match page.version {
            Some(_) => assert!(seen.contains(&page.url) && !missing.contains(&page.url), "{}", page.url),
            None => {
                assert_eq!(get(&page.url).status, 404, "{}", page.url);
                missing.remove(&page.url);
            }
        }
    }
    assert!(missing.is_empty(), "links to nothing: {missing:?}");
    // No link left the local web.
    let hosts: HashSet<String> = server.seeds().iter().map(|seed| split(seed).0.to_string()).collect();
    assert!(seen.iter().all(|url| hosts.contains(split(url).0)));
}

#[test]
fn sitemaps_list_what_index_pages_list() {
    let server = bundled(|config| config.cycle = 76);
    for seed in server.seeds() {
        let robots = get(&format!("{seed}robots.txt")).text();
        let sitemap = robots.lines().find_map(|line| line.strip_prefix("Sitemap: ")).unwrap().to_string();
        let listed: HashSet<String> = get(&sitemap)
            .text()
            .split("<loc>")
            .skip(1)
            .map(|rest| rest.split('<').next().unwrap().replace("&amp;", "&"))
            .collect();
        let index: HashSet<String> = links(&seed, &get(&seed).text())
            .into_iter()
            .filter(|link| split(link).0 == split(&seed).0 && !link.contains("/private/"))
            .collect();
        assert_eq!(listed, index, "{seed}");
        assert!(!listed.is_empty());
    }
}

#[test]
fn a_procedural_sitemap_lists_every_page_of_its_host_with_its_last_change() {
    let config = ProceduralConfig { pages: 90, hosts: 3, sitemaps: true, ..ProceduralConfig::default() };
    let server = Server::start(Config::new(WebConfig::Procedural(config))).unwrap();
    server.set_clock(40).unwrap();
    let mut listed = HashSet::new();
    for seed in server.seeds() {
        let robots = get(&format!("{seed}robots.txt")).text();
        let sitemap = robots.lines().find_map(|line| line.strip_prefix("Sitemap: ")).unwrap().to_string();
        let text = get(&sitemap).text();
        for entry in text.split("<url>").skip(1) {
            let between =
                |open: &str| entry.split(open).nth(1).unwrap().split('<').next().unwrap().to_string();
            assert!(listed.insert((between("<loc>").replace("&amp;", "&"), between("<lastmod>"))));
        }
    }
    assert_eq!(listed.len(), 90);
    for page in 0..90 {
        let modified = get(&server.url(page)).field("last-modified").unwrap().to_string();
        let (_, date) =
            listed.iter().find(|(url, _)| *url == server.url(page)).expect("every page is listed");
        // "Mon, 01 Jan 2001 …" and "2001-01-01"
        assert_eq!((&modified[5..7], &modified[12..16]), (&date[8..], &date[..4]), "{modified} {date}");
    }
}
