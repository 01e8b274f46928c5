use super::request::form;
use super::secret::*;
use super::subscriptions::*;
use super::*;
use recrawl_types::{Change, Content, Failure as FetchFailure};

const NOW: u64 = 1_700_000_000_000;
const SECOND: u64 = 1_000;
const HOUR: u64 = 3_600 * SECOND;
const DAY: u64 = 24 * HOUR;
const KEY_OF_TESTS: [u8; KEY_BYTES] = [7; KEY_BYTES];

fn url(text: &str) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(text).unwrap()
}

fn feed() -> CanonicalUrl {
    url("https://a.test/feed")
}

fn offered(table: &mut Subscriptions, feed: &CanonicalUrl, hub: &str, id: &str) -> bool {
    table.offer(feed, &url(hub), feed.as_text().as_str(), id.into(), NOW)
}

/// A table with one subscription, whose request was sent.
fn requested() -> Subscriptions {
    let mut table = Subscriptions::default();
    assert!(offered(&mut table, &feed(), "https://hub.test/", "id"));
    assert_eq!(table.sizes(NOW), [1, 0, 0]);
    assert_eq!(table.take_due(NOW), Some(feed()));
    table
}

#[test]
fn a_request_is_verified_once_and_renewed_at_two_thirds_of_its_lease() {
    let topic = "https://a.test/feed";
    for (lease, got) in
        [(Some(3_000), 3_000), (Some(1), 60), (Some(u64::MAX), 30 * 86_400), (None, LEASE.as_secs())]
    {
        let mut table = requested();
        assert_eq!(table.take_due(NOW + 1), None, "it waits for the verification");
        assert!(!table.verified("other", topic, lease, NOW), "unknown callback");
        assert!(!table.verified("id", "https://a.test/feed/", lease, NOW), "other topic");
        assert_eq!(table.sizes(NOW), [1, 0, 0]);
        assert!(table.verified("id", topic, lease, NOW));
        assert!(!table.verified("id", topic, lease, NOW + 1), "a replay");
        table.failed("id", NOW + 1);
        assert_eq!(table.sizes(NOW + 1), [0, 1, 0], "verified before the answer came");
        let (renewal, end) = (NOW + got * SECOND * 2 / 3, NOW + got * SECOND);
        assert_eq!(table.take_due(renewal - 1), None);
        assert_eq!(table.take_due(renewal), Some(feed()));
        assert_eq!((table.sizes(end - 1), table.sizes(end)), ([0, 1, 0], [1, 0, 0]));
        assert!(table.verified("id", topic, lease, end), "renewed late");
        assert_eq!(table.sizes(end), [0, 1, 0]);
    }
}

#[test]
fn what_fails_backs_off_from_an_hour_to_a_day() {
    let mut table = requested();
    let mut now = NOW;
    for wait in [1, 2, 4, 8, 16, 24, 24] {
        table.failed("id", now);
        assert_eq!(table.sizes(now), [0, 0, 1]);
        assert_eq!(table.take_due(now + wait * HOUR - 1), None, "{wait}");
        now += wait * HOUR;
        assert_eq!(table.take_due(now), Some(feed()), "{wait}");
    }
    // Nobody verifies the request: after an hour it has failed, too.
    assert_eq!(table.take_due(now + HOUR), None);
    assert!(!table.verified("id", "https://a.test/feed", None, now + HOUR), "too late");
    now += HOUR + DAY;
    assert_eq!(table.take_due(now), Some(feed()));
    assert!(table.verified("id", "https://a.test/feed", Some(86_400), now));
    assert!(
        !table.denied("id", "https://a.test/", now) && !table.denied("other", "https://a.test/feed", now)
    );
    assert!(table.denied("id", "https://a.test/feed", now));
    assert_eq!((table.sizes(now), table.take_due(now + HOUR - 1)), ([0, 0, 1], None), "it starts again");
    assert_eq!(table.take_due(now + HOUR), Some(feed()));
}

#[test]
fn the_table_is_bounded_and_a_feed_has_one_subscription() {
    let mut table = requested();
    assert!(!offered(&mut table, &feed(), "https://hub.test/", "id"), "as before");
    assert!(offered(&mut table, &feed(), "https://other.test/", "new"));
    assert_eq!((table.feed("id"), table.feed("new")), (None, Some(&feed())));
    assert!(table.drop_feed(&feed()) && !table.drop_feed(&feed()));
    assert_eq!((table.feed("new"), table.sizes(NOW)), (None, [0, 0, 0]));
    let page = |origin: usize, page: usize| url(&format!("https://h{origin}.test/{page}"));
    let mut fill = |origin: usize, number: usize| {
        offered(&mut table, &page(origin, number), "https://hub.test/", &format!("{origin} {number}"))
    };
    assert!((0..MAX_SUBSCRIPTIONS_PER_ORIGIN).all(|number| fill(0, number)));
    assert!(!fill(0, MAX_SUBSCRIPTIONS_PER_ORIGIN));
    let origins = MAX_SUBSCRIPTIONS / MAX_SUBSCRIPTIONS_PER_ORIGIN;
    assert!((1..origins).all(|o| (0..MAX_SUBSCRIPTIONS_PER_ORIGIN).all(|number| fill(o, number))));
    assert!(!fill(origins, 0));
    assert_eq!(table.sizes(NOW), [MAX_SUBSCRIPTIONS as u64, 0, 0]);
    let again = Subscriptions::of_rows(table.rows());
    assert_eq!(again, table, "stored and loaded");
}

#[test]
fn signatures_are_those_of_the_secret_the_body_and_the_method() {
    // RFC 2202 §3 and RFC 4231 §4.3, test case 2.
    let (secret, body) = ("Jefe", b"what do ya want for nothing?");
    let known = [
        ("sha1", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        ("sha256", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        (
            "sha384",
            "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
        ),
        (
            "sha512",
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
        ),
    ];
    for (method, tag) in known {
        let sent = |signature: &str| is_signed(secret, signature, body);
        assert!(sent(&format!("{method}={tag}")) && sent(&format!(" {method}={} ", tag.to_uppercase())));
        for (other, _) in known.iter().filter(|(other, _)| *other != method) {
            assert!(!sent(&format!("{other}={tag}")), "{other} for {method}");
        }
        let cut = &tag[..tag.len() - 2];
        for wrong in [cut, &format!("{tag}00"), &tag[1..], "", "zz", &format!("{cut}00")] {
            assert!(!sent(&format!("{method}={wrong}")), "{method}={wrong}");
        }
        let whole = format!("{method}={tag}");
        assert!(!is_signed("jefe", &whole, body) && !is_signed(secret, &whole, b"what do ya want"));
    }
    for wrong in ["", "=", "md5=750c783e6ab0b503eaa86e310a5db738", "sha256", known[1].1] {
        assert!(!is_signed(secret, wrong, body), "{wrong}");
    }
}

fn open(tables: &Arc<SledTables>) -> WebSub {
    let never = || panic!("a key is stored");
    let is_new = kept::<String>(tables, KEY).unwrap().is_none();
    let key = move || if is_new { Ok(KEY_OF_TESTS) } else { never() };
    WebSub::open(tables.clone(), "https://crawl.test/hubs/", key).unwrap()
}

fn visit(outcome: Outcome) -> Visit {
    let content = Content { kind: ContentKind::Hints, ..Content::default() };
    Visit { at: NOW, content: Some(content), ..Visit::new(feed(), outcome) }
}

fn hub() -> Hub {
    Hub { url: url("https://hub.test/?a=1"), topic: "https://a.test/feed?x=1&y=2".into() }
}

fn verify(websub: &WebSub, id: &str, mode: &str, topic: &str) -> bool {
    websub.verify(id, HubQuestion { mode, topic, lease: Some(3_600) }, NOW)
}

#[test]
fn a_feed_that_names_a_hub_is_subscribed_to_over_restarts() {
    let tables = Arc::new(SledTables::temporary().unwrap());
    let websub = open(&tables);
    websub.visited(&visit(Outcome::Fetched(Change::First)), Some(&hub()));
    let due = websub.next_request(&|_| true, NOW).unwrap();
    assert_eq!(due.hub, hub().url);
    let fields: Vec<(&str, &str)> = due.form.split('&').filter_map(|field| field.split_once('=')).collect();
    let (callback, secret) = (fields[0].1.to_owned(), fields[3].1.to_owned());
    assert_eq!(callback, format!("https%3A%2F%2Fcrawl.test%2Fhubs%2Fwebsub%2F{}", due.id));
    let rest = [("hub.mode", "subscribe"), ("hub.topic", "https%3A%2F%2Fa.test%2Ffeed%3Fx%3D1%26y%3D2")];
    assert_eq!(fields[1..3], rest);
    assert_eq!(fields[4], ("hub.lease_seconds", "864000"));
    assert!((32..200).contains(&secret.len()) && !due.form.contains(&HEXLOWER.encode(&KEY_OF_TESTS)));
    assert_eq!(websub.next_request(&|_| true, NOW), None);
    websub.keep().unwrap();
    drop(websub);
    // Requested before the restart, verified after it.
    let websub = open(&tables);
    for (id, mode, topic) in [
        (due.id.as_str(), "unsubscribe", hub().topic.as_str()),
        (&due.id, "subscribe", "https://a.test/feed"),
        (&due.id, "", &hub().topic),
        ("0", "subscribe", &hub().topic),
    ] {
        assert!(!verify(&websub, id, mode, topic), "{id} {mode} {topic}");
    }
    assert!(verify(&websub, &due.id, "subscribe", &hub().topic));
    assert!(!verify(&websub, &due.id, "subscribe", &hub().topic), "a replay");
    websub.keep().unwrap();
    let websub = open(&tables);
    assert_eq!(websub.sizes(NOW), [0, 1, 0]);
    // RFC 4231 has other secrets; this one is the hub's.
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA384, secret.as_bytes());
    let signature = format!("sha384={}", HEXLOWER.encode(ring::hmac::sign(&key, b"<feed/>").as_ref()));
    let sender = |id: &str, signature: Option<&str>, body: &[u8]| websub.sender(id, signature, body);
    assert_eq!(sender(&due.id, Some(&signature), b"<feed/>"), PingSender::HubOf(feed()));
    assert_eq!(sender(&due.id, Some(&signature), b"<feed />"), PingSender::Forger);
    assert_eq!(sender(&due.id, None, b"<feed/>"), PingSender::Forger);
    assert_eq!(sender("0", Some(&signature), b"<feed/>"), PingSender::Unknown);
    // A denial ends it.
    assert!(verify(&websub, &due.id, "denied", &hub().topic));
    assert_eq!(websub.sizes(NOW), [0, 0, 1]);
}

#[test]
fn feeds_that_are_gone_or_out_of_scope_are_dropped() {
    let fetched = || visit(Outcome::Fetched(Change::Unchanged));
    let unread = |outcome| Visit { content: None, ..visit(outcome) };
    for (visit, hub, left) in [
        (fetched(), Some(hub()), 1),
        (unread(Outcome::NotModified), None, 1),
        (unread(Outcome::Failed(FetchFailure::Timeout)), None, 1),
        (fetched(), None, 0),
        (Visit { content: Some(Content::default()), ..fetched() }, None, 0),
        (unread(Outcome::NotFound(410)), None, 0),
        (unread(Outcome::Redirected(Change::Changed)), None, 0),
    ] {
        let websub = open(&Arc::new(SledTables::temporary().unwrap()));
        websub.visited(&fetched(), Some(&self::hub()));
        websub.visited(&visit, hub.as_ref());
        assert_eq!(websub.sizes(NOW), [left, 0, 0], "{visit:?}");
    }
    let tables = Arc::new(SledTables::temporary().unwrap());
    let websub = open(&tables);
    websub.visited(&fetched(), Some(&hub()));
    websub.keep().unwrap();
    for (host, only_count, found) in [
        ("b.test", false, 0),
        ("hub.test", true, 1),
        ("a.test", true, 1),
        ("a.test", false, 1),
        ("a.test", true, 0),
    ] {
        let is_meant = |url: &CanonicalUrl| url.host() == host;
        assert_eq!(WebSub::forget(&tables, &is_meant, only_count).unwrap(), found, "{host} {only_count}");
    }
    assert_eq!(websub.next_request(&|_| false, NOW), None);
    assert_eq!(websub.sizes(NOW), [0, 0, 0]);
}

#[test]
fn the_public_url_is_checked() {
    for (base, is_right) in [
        ("", true),
        ("https://crawl.example.org", true),
        ("http://crawl.example.org:8080/recrawl/", true),
        ("crawl.example.org", false),
        ("ftp://crawl.example.org", false),
        ("https://crawl.example.org/?a=1", false),
        ("https://crawl.example.org/?", false),
        ("https://crawl.example.org/#a", false),
        ("https://user@crawl.example.org/", false),
        (" https://crawl.example.org", false),
    ] {
        assert_eq!(super::base(base).is_ok(), is_right, "{base:?} {:?}", super::base(base));
    }
}

#[test]
fn a_form_is_encoded() {
    assert_eq!(form(&[("hub.topic", "a b&c=é/?"), ("x", "")]), "hub.topic=a+b%26c%3D%C3%A9%2F%3F&x=");
}

/// A hub on loopback that answers each request with the next of these, and what it was sent.
fn answering(
    answers: &'static [&'static str],
) -> (std::net::SocketAddr, std::thread::JoinHandle<Vec<String>>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move || {
        let take = |answer: &&str| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut sent = Vec::new();
            while !sent.ends_with(b"hub.mode=subscribe") {
                let mut byte = [0];
                assert_eq!(stream.read(&mut byte).unwrap(), 1, "the whole form");
                sent.push(byte[0]);
            }
            write!(stream, "HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            String::from_utf8(sent).unwrap()
        };
        answers.iter().map(take).collect()
    };
    (address, std::thread::spawn(serve))
}

#[tokio::test]
async fn a_request_is_posted_where_the_rules_allow() {
    use super::request::{HubError, send};
    use recrawl_fetcher::{FetchConfig, HttpNetwork, NetworkError, RequestOptions};
    let config =
        FetchConfig { allow_addresses: vec!["127.0.0.0/8".parse().unwrap()], ..FetchConfig::default() };
    let network = HttpNetwork::new(&config).unwrap();
    let time = std::time::Duration::from_secs(10);
    let post = async |hub: &str, admits: fn(&CanonicalUrl) -> bool| {
        let manner = |url: &CanonicalUrl| admits(url).then(RequestOptions::default);
        send(&network, &url(hub), "hub.mode=subscribe", &manner, time, 2).await
    };
    let (address, served) = answering(&[
        "202 Accepted",
        "307 Temporary Redirect\r\nLocation: /moved?a=1",
        "200 OK",
        "302 Found\r\nLocation: /x",
        "503 Busy",
        "308 Permanent Redirect\r\nLocation: http://10.0.0.1/",
        "307 Temporary Redirect\r\nLocation: /private",
    ]);
    let hub = format!("http://{address}/hub");
    assert_eq!(post(&hub, |_| true).await, Ok(()));
    assert_eq!(post(&hub, |_| true).await, Ok(()), "redirected");
    assert_eq!(post(&hub, |_| true).await, Err(HubError::Status(302)));
    assert_eq!(post(&hub, |_| true).await, Err(HubError::Status(503)));
    let refused = Err(HubError::Network(NetworkError::NoContact));
    assert_eq!(post(&hub, |_| true).await, refused, "not the loopback, without a contact");
    let admits = |url: &CanonicalUrl| url.path_and_query() != "/private";
    assert_eq!(post(&hub, admits).await, Err(HubError::Forbidden));
    assert_eq!(post("http://192.0.2.1/", |_| true).await, refused, "beyond loopback without a contact");
    let sent = served.join().unwrap();
    assert!(sent[0].starts_with("POST /hub HTTP/1.1\r\n"), "{}", sent[0]);
    assert!(sent[0].to_lowercase().contains("content-type: application/x-www-form-urlencoded\r\n"));
    assert!(sent[2].starts_with("POST /moved?a=1 HTTP/1.1\r\n"), "{}", sent[2]);
}

/// Both hubs are in `fetch.allow_addresses`, but only one host is in scope.
#[tokio::test]
async fn a_hub_inside_is_asked_only_in_scope_also_behind_a_redirect() {
    use super::request::{HubError, send};
    use crate::admission::{blocks::Blocks, loading::service_manner, scope::Scope};
    use recrawl_fetcher::{FetchConfig, HttpNetwork, NetworkError};
    let config =
        FetchConfig { allow_addresses: vec!["127.0.0.0/8".parse().unwrap()], ..FetchConfig::default() };
    let network = HttpNetwork::new(&config).unwrap();
    let scope = crate::config::Scope { hosts: vec!["127.0.0.1".into()], ..crate::config::Scope::default() };
    let scope = Scope::new(&scope, &UrlRules::default()).unwrap();
    let blocks = Blocks::default();
    let post = async |hub: &str| {
        let manner = |url: &CanonicalUrl| service_manner(url, &scope, &blocks);
        let time = std::time::Duration::from_secs(10);
        send(&network, &url(hub), "hub.mode=subscribe", &manner, time, 2).await
    };
    let (address, served) =
        answering(&["202 Accepted", "307 Temporary Redirect\r\nLocation: http://127.0.0.2:8080/restart"]);
    assert_eq!(post(&format!("http://{address}/hub")).await, Ok(()), "in scope");
    let refused = Err(HubError::Network(NetworkError::Refused));
    assert_eq!(post(&format!("http://{address}/hub")).await, refused, "it redirects out of scope");
    assert_eq!(post("http://127.0.0.2:8080/restart").await, refused, "out of scope");
    served.join().unwrap();
}
