//! Conditional requests, noise, gzip, and the sizes of responses.

use crate::client::{ask, bundled, get, procedural};
use recrawl_mockweb::Validators;
use std::io::Read;

/// A page of the web and a cycle at which it changes.
fn a_change(server: &recrawl_mockweb::Server) -> (u32, u32) {
    server.truth(0, 60).find_map(|page| Some((page.page_id, page.changes.first()?.0))).unwrap()
}

#[test]
fn a_page_is_304_until_it_changes() {
    for server in [procedural(60, 2, |_| {}), bundled(|_| {})] {
        let (page, cycle) = a_change(&server);
        let url = server.url(page);
        server.set_clock(cycle - 1).unwrap();
        let before = get(&url);
        let (tag, date) = (before.field("etag").unwrap(), before.field("last-modified").unwrap());
        for condition in [("if-none-match", tag), ("if-modified-since", date)] {
            let again = ask("GET", &url, &[condition], "");
            assert_eq!((again.status, again.body.len()), (304, 0));
            assert_eq!(again.field("etag"), Some(tag));
        }
        server.set_clock(cycle).unwrap();
        for condition in [("if-none-match", tag), ("if-modified-since", date)] {
            let changed = ask("GET", &url, &[condition], "");
            assert_eq!(changed.status, 200);
            assert_ne!(changed.body, before.body);
            assert_ne!(changed.field("etag"), Some(tag));
        }
    }
}

#[test]
fn a_page_says_the_same_until_it_changes_and_then_something_else() {
    let server = procedural(40, 2, |_| {});
    for page in server.truth(0, 20) {
        let mut before: Option<(u32, Vec<u8>)> = None;
        for cycle in 0..=20 {
            server.set_clock(cycle).unwrap();
            let body = get(&page.url).body;
            let version = server.version(page.page_id, cycle).unwrap();
            if let Some((old, old_body)) = &before {
                assert_eq!(*old == version, *old_body == body, "{} at {cycle}", page.url);
            }
            before = Some((version, body));
        }
    }
}

#[test]
fn pages_have_the_size_asked_for() {
    let server = procedural(300, 4, |_| {});
    let bytes: usize = server.truth(0, 0).map(|page| get(&page.url).body.len()).sum();
    assert!((9_000..11_000).contains(&(bytes / 300)), "{} bytes a page", bytes / 300);
}

#[test]
fn liars_and_the_restless() {
    let server = procedural(60, 2, |config| config.validators = Validators::Lying);
    let (page, cycle) = a_change(&server);
    let before = get(&server.url(page));
    let tag = before.field("etag").unwrap();
    server.set_clock(cycle).unwrap();
    assert_eq!(ask("GET", &server.url(page), &[("if-none-match", tag)], "").status, 304);
    assert_ne!(get(&server.url(page)).body, before.body);
    assert_eq!(server.held().all.fresh, 1);

    let server = procedural(60, 2, |config| config.validators = Validators::Restless);
    let before = get(&server.url(0));
    let again = ask("GET", &server.url(0), &[("if-none-match", before.field("etag").unwrap())], "");
    assert_eq!((again.status, again.body), (200, before.body));
}

#[test]
fn a_lying_304_leaves_the_old_version_held() {
    let server = procedural(60, 2, |config| config.validators = Validators::Lying);
    let (page, cycle) = a_change(&server);
    let tag = get(&server.url(page)).field("etag").unwrap().to_string();
    server.set_clock(cycle).unwrap();
    assert_eq!(ask("GET", &server.url(page), &[("if-none-match", &tag)], "").status, 304);
    let held = server.held();
    let slot = held.pages[page as usize];
    assert_eq!((slot.held, slot.cycle, slot.now), (Some(0), Some(cycle), Some(cycle)));
    assert_eq!(held.all.fresh, 0);
}

#[test]
fn noise_differs_at_every_response_and_changes_no_version() {
    for server in [procedural(20, 2, |c| c.noise = 1.0), bundled(|c| c.noise = 1.0)] {
        let (first, second) = (get(&server.url(3)), get(&server.url(3)));
        assert_ne!(first.body, second.body);
        assert_eq!(first.field("etag"), second.field("etag"));
        assert!(first.field("etag").unwrap().starts_with("W/"));
        assert_eq!(server.held().pages[3].held, Some(0));
    }
}

#[test]
fn gzip_comes_when_asked_for_and_switched_on() {
    let server = procedural(20, 2, |config| config.gzip = true);
    let plain = get(&server.url(0));
    assert_eq!(plain.field("content-encoding"), None);
    let packed = ask("GET", &server.url(0), &[("accept-encoding", "br, gzip;q=0.5")], "");
    assert_eq!(packed.field("content-encoding"), Some("gzip"));
    let mut body = Vec::new();
    flate2::read::GzDecoder::new(&packed.body[..]).read_to_end(&mut body).unwrap();
    assert_eq!(body, plain.body);
    assert_eq!(
        ask("GET", &server.url(0), &[("accept-encoding", "gzip;q=0")], "").field("content-encoding"),
        None
    );
}

#[test]
fn head_is_get_without_a_body_and_counts_for_nothing() {
    let server = procedural(20, 2, |_| {});
    let head = ask("HEAD", &server.url(0), &[], "");
    let full = get(&server.url(1));
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert!(head.field("content-length").unwrap().parse::<usize>().unwrap() > 5_000);
    assert_eq!(full.field("content-length").unwrap().parse(), Ok(full.body.len()));
    let counts: Vec<Option<u32>> = server.counts().into_iter().map(|count| count.page_id).collect();
    assert_eq!(counts, [Some(1)]);
    assert_eq!(ask("POST", &server.url(0), &[], "x").status, 405);
    assert!(server.log(0).unwrap().iter().all(|access| access.complete));
}
