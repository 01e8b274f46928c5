//! The list of changes, and the feed.

use super::client::served;
use super::crawl::{NOW, PAGES};
use serde_json::Value;

#[test]
fn parts_of_the_list_are_the_whole() {
    let served = served();
    let (mut seen, mut next) = (Vec::new(), String::new());
    loop {
        let list = served.get(&format!("/api/v1/changes?limit=7{next}")).json();
        seen.extend(list["changes"].as_array().unwrap().iter().map(|change| change["id"].clone()));
        match list["next"].as_str() {
            Some(cursor) => next = format!("&cursor={cursor}"),
            None => break,
        }
    }
    let ids: Vec<Value> = (0..PAGES).map(|page| format!("msg_{page}").into()).collect();
    assert_eq!(seen, ids);
}

#[test]
fn differences_come_where_they_are_asked_for_and_of_few_rows() {
    let served = served();
    let of =
        |query: &str| served.get(&format!("/api/v1/changes?limit=1{query}")).json()["changes"][0].clone();
    assert_eq!((&of("")["difference"], &of("&diff=false")["title"]), (&Value::Null, &Value::Null));
    let shown = of("&diff=true");
    assert_eq!((shown["title"].as_str(), shown["url"].as_str().is_some()), (Some("Page 0"), true));
    for (query, at) in [
        ("diff=true&limit=101", "limit"),
        ("limit=0", "limit"),
        ("changes=no-kind", "changes"),
        ("cursor=x", "cursor"),
        ("since=1796042367000", "since"),
    ] {
        let refused = served.get(&format!("/api/v1/changes?{query}"));
        assert_eq!((refused.status, refused.json()["at"].as_str()), (422, Some(at)), "{query}");
    }
}

/// The list and the feed have the same filters. Another filter is another feed.
#[test]
fn the_feed_begins_at_a_time() {
    let served = served();
    let since = format!("since={}", NOW / 1000 - 9);
    assert_eq!(
        served.get(&format!("/api/v1/changes?{since}")).json()["changes"].as_array().unwrap().len(),
        10
    );
    let feed = served.get(&format!("/feed.atom?{since}")).body;
    assert_eq!(feed.matches("<entry>").count(), 10);
    let id = |feed: &str| feed.split_once("<id>").unwrap().1.split("</id>").next().unwrap().to_owned();
    assert_ne!(id(&feed), id(&served.get("/feed.atom").body));
    let whole = id(&served.get("/feed.atom").body);
    for same in ["/feed.atom?changes=", "/feed.atom?partition=1"] {
        assert_eq!(id(&served.get(same).body), whole, "{same}");
    }
    served.crawl.set(|status| status.fleet.as_mut().unwrap().partition = 2);
    assert_ne!(id(&served.get("/feed.atom").body), whole, "another partition has another feed");
}

#[test]
fn a_reader_that_has_the_feed_gets_it_only_if_it_is_another() {
    let served = served();
    let first = served.get("/feed.atom?changes=changed");
    let (tag, kind) = (first.header("etag").unwrap().to_owned(), first.header("content-type").unwrap());
    assert_eq!((first.status, kind), (200, "application/atom+xml; charset=utf-8"));
    assert_eq!(first.header("cache-control"), Some("no-cache"));
    assert_eq!(first.body.matches("<entry>").count(), 50);
    assert!(first.body.contains(r#"<link rel="self" href="feed.atom?changes=changed"/>"#));
    assert!(served.get("/feed.atom").body.contains(r#"<link rel="self" href="feed.atom"/>"#));
    for (known, status) in [
        (tag.clone(), 304),
        (format!("W/{tag}"), 304),
        (format!("\"other\", {tag}"), 304),
        ("*".into(), 304),
        ("\"other\"".into(), 200),
        (tag.trim_matches('"').to_owned(), 200),
    ] {
        let headers = format!("If-None-Match: {known}\r\n");
        let again = served.ask("GET", "/feed.atom?changes=changed", &headers, "");
        assert_eq!(
            (again.status, again.header("etag"), again.body.is_empty()),
            (status, Some(&*tag), status == 304)
        );
    }
    assert_ne!(served.get("/feed.atom?changes=gone").header("etag"), Some(&*tag));
    assert_eq!(served.get("/feed.atom?changes=no-kind").status, 422);
}
