use super::indexnow::{IndexNowRequest, MAX_URLS};
use super::*;
use crate::lesson::RoundLesson;
use recrawl_fetcher::{Condition, FetchResult, Response};
use recrawl_types::{
    Change, Cycle, DatedRound, Failure as FetchFailure, Outcome, Round, Skip, UrlRules, Visit,
};

const NOW: u64 = 5 * HOUR;
const KEY: &str = "0123456789abcdef";
/// Visits of pages that nobody pinged.
const QUIET: [(&str, bool); 6] = [("https://a.test/quiet", false); 6];

fn url(text: &str) -> CanonicalUrl {
    UrlRules::default().canonicalize(text).unwrap()
}

fn request(urls: &[&str], key: &str, key_location: Option<&str>) -> IndexNowRequest {
    IndexNowRequest {
        host: None,
        urls: urls.iter().map(ToString::to_string).collect(),
        key: key.into(),
        key_location: key_location.map(Into::into),
    }
}

fn notice(urls: &[&str], key: &str) -> Notice {
    request(urls, key, None).read(&UrlRules::default()).unwrap()
}

fn key_file(host: &str, key: &str, result: FetchResult) -> FetchedPage {
    let record = PageRecord::discovered(Cycle(1), 1);
    let url = url(&format!("https://{host}/{key}.txt"));
    FetchedPage {
        index: None,
        entry: ScheduleEntry::new(url, Share::Asked, record),
        hops: 0,
        result,
        condition: Condition::Unconditional,
        at: NOW,
        elapsed: std::time::Duration::ZERO,
        sitemaps: None,
        hold: Default::default(),
    }
}

fn page(body: &str) -> FetchResult {
    FetchResult::Page(Box::new(Response { status: 200, body: body.to_owned().into(), ..Response::default() }))
}

fn pings() -> Arc<Pings> {
    Arc::new(Pings::open(Arc::new(SledTables::temporary().unwrap()), 0.5).unwrap())
}

fn receive(pings: &Pings, notice: Notice) -> Result<Received, PingRefusal> {
    pings.receive(notice, &|_| true, 1_000, NOW).unwrap()
}

/// Sends the pages with a key that is proven first.
fn proven(pings: &Pings, host: &str, pages: usize) {
    let urls: Vec<String> = (0..pages).map(|page| format!("https://{host}/{page}")).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    if receive(pings, notice(&urls, KEY)) == Ok(Received::Checking(pages)) {
        assert!(pings.take_key_file(&key_file(host, KEY, page(KEY))).unwrap());
    }
}

fn dated(round: u32) -> DatedRound {
    DatedRound { round: Round(round), cycle: Cycle(round) }
}

/// Visits a page and compares it.
fn learn(pings: &Arc<Pings>, round: u32, visits: &[(&str, bool)]) {
    let mut lesson = PingLesson::new(pings.clone());
    for (text, changed) in visits {
        let outcome = Outcome::Fetched(if *changed { Change::Changed } else { Change::Unchanged });
        lesson.visited(&Visit { at: NOW, ..Visit::new(url(text), outcome) });
    }
    visits.iter().for_each(|(text, changed)| lesson.compared(&url(text), None, *changed));
    lesson.store(&pings.tables, dated(round)).unwrap();
    lesson.committed(&pings.tables).unwrap();
}

#[test]
fn a_request_is_read_by_the_rules_of_the_protocol() {
    let page = "https://a.test/x";
    for (request, wrong) in [
        (request(&[page], KEY, None), None),
        (request(&[page, "https://a.test/y", page], KEY, Some("https://a.test/k.txt")), None),
        (request(&["https://a.test/s/x"], KEY, Some("https://a.test/s/k.txt?a=/b/")), None),
        (IndexNowRequest { host: Some("A.test".into()), ..request(&[page], KEY, None) }, None),
        (request(&[page], "short", None), Some("key")),
        (request(&[page], &"k".repeat(129), None), Some("key")),
        (request(&[page], "../../etc/passwd", None), Some("key")),
        (request(&[], KEY, None), Some("urlList")),
        (request(&[page; MAX_URLS + 1], KEY, None), Some("urlList")),
        (request(&[page, "mailto:a@a.test"], KEY, None), Some("urlList[1]")),
        (request(&[page, "https://b.test/x"], KEY, None), Some("urlList[1]")),
        (request(&[page], KEY, Some("https://b.test/k.txt")), Some("urlList[0]")),
        (request(&[page], KEY, Some("k.txt")), Some("keyLocation")),
        (request(&[page], KEY, Some("https://a.test/s/k.txt")), Some("urlList[0]")),
        (IndexNowRequest { host: Some("b.test".into()), ..request(&[page], KEY, None) }, Some("host")),
        (IndexNowRequest { host: Some("a b".into()), ..request(&[page], KEY, None) }, Some("host")),
    ] {
        let read = request.read(&UrlRules::default());
        assert_eq!(read.as_ref().err().map(|wrong| wrong.at.as_str()), wrong, "{request:?}");
    }
    let notice = notice(&["http://a.test:8080/x"], KEY);
    assert_eq!(notice.key_file, url(&format!("http://a.test:8080/{KEY}.txt")));
}

#[test]
fn pages_are_noted_once_their_host_shows_the_key() {
    let pings = pings();
    assert!(!pings.is_urgent());
    assert_eq!(receive(&pings, notice(&["https://a.test/x"], KEY)), Ok(Received::Checking(1)));
    assert!(pings.is_urgent() && pings.is_key_file(&url(&format!("https://a.test/{KEY}.txt"))));
    assert_eq!(receive(&pings, notice(&["https://a.test/y"], KEY)), Ok(Received::Checking(1)));
    assert_eq!(pings.of_page(&url("https://a.test/x")), None);
    let other = key_file("b.test", KEY, page(KEY));
    assert!(!pings.take_key_file(&other).unwrap(), "a page like any other");
    assert!(pings.take_key_file(&key_file("a.test", KEY, page(&format!("\u{a0}\n {KEY}\r\n")))).unwrap());
    assert_eq!(pings.of_page(&url("https://a.test/x")), Some(Ping::at(NOW)));
    assert_eq!(receive(&pings, notice(&["https://a.test/x"], KEY)), Ok(Received::Noted(1)));
    assert_eq!(pings.of_page(&url("https://a.test/x")), Some(Ping { count: 2, ..Ping::at(NOW) }));
    assert_eq!(pings.sizes(), [2, 0, 0]);
    assert!(pings.take_news() && !pings.take_news());
}

#[test]
fn a_key_that_is_not_in_its_file_lets_nothing_in() {
    for answer in [
        page("another key"),
        page(&format!("{KEY}0")),
        page(""),
        FetchResult::Nothing(Outcome::NotFound(404)),
        FetchResult::Nothing(Outcome::RobotsDenied),
        FetchResult::Redirect { target: url("https://a.test/"), response: Box::default() },
    ] {
        let pings = pings();
        receive(&pings, notice(&["https://a.test/x"], KEY)).unwrap();
        assert!(pings.take_key_file(&key_file("a.test", KEY, answer)).unwrap());
        assert_eq!(receive(&pings, notice(&["https://a.test/x"], KEY)), Err(PingRefusal::WrongKey));
        assert_eq!((pings.sizes(), pings.counts().forged), ([0; 3], 2));
        // The result holds for a day.
        let again = pings.receive(notice(&["https://a.test/x"], KEY), &|_| true, 9, NOW + 24 * HOUR).unwrap();
        assert_eq!(again, Ok(Received::Checking(1)));
    }
}

#[test]
fn a_host_that_is_not_available_is_asked_three_times() {
    let passing = [Outcome::Skipped(Skip::HostBackOff), Outcome::Failed(FetchFailure::Timeout)];
    for outcome in passing {
        let pings = pings();
        receive(&pings, notice(&["https://a.test/x"], KEY)).unwrap();
        for _ in 0..3 {
            assert!(pings.is_urgent());
            assert_eq!(pings.state().keys.take_unchecked().len(), 1);
            assert!(!pings.is_urgent(), "asked for in this round");
            pings.take_key_file(&key_file("a.test", KEY, FetchResult::Nothing(outcome))).unwrap();
            pings.end_round();
        }
        assert_eq!(pings.state().keys.take_unchecked(), []);
        assert_eq!(pings.sizes(), [0; 3]);
        assert!(!pings.is_urgent());
    }
}

#[test]
fn floods_are_bounded() {
    let pings = pings();
    let many: Vec<String> = (0..600).map(|page| format!("https://a.test/{page}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    proven(&pings, "a.test", 300);
    assert_eq!(receive(&pings, notice(&many, KEY)), Ok(Received::Noted(600)));
    assert_eq!(receive(&pings, notice(&many, KEY)), Err(PingRefusal::TooMany(3_600)));
    let later = pings.receive(notice(&many, KEY), &|_| true, 1_000, NOW + HOUR).unwrap();
    assert_eq!(later, Ok(Received::Noted(600)), "the next hour");
    // Each key is a request to the host: a few an hour.
    for number in 0..MAX_CHECKS_PER_HOUR {
        let forged = notice(&["https://b.test/"], &format!("forged-{number}"));
        assert_eq!(receive(&pings, forged), Ok(Received::Checking(1)));
    }
    let forged = notice(&["https://b.test/"], "forged-again");
    assert_eq!(receive(&pings, forged), Err(PingRefusal::TooMany(3_600)));
    // A forger does not use up what the host itself may send.
    let pings = self::pings();
    proven(&pings, "a.test", 1);
    assert_eq!(receive(&pings, notice(&many, "forged-key")), Ok(Received::Checking(600)));
    assert_eq!(receive(&pings, notice(&many, "forged-key")), Err(PingRefusal::TooMany(3_600)));
    assert_eq!(receive(&pings, notice(&many, KEY)), Ok(Received::Noted(600)));
    // Pages that wait for keys.
    let pings = self::pings();
    for host in 0..MAX_PAGES_WITHOUT_KEY / 600 + 1 {
        let urls: Vec<String> = (0..600).map(|page| format!("https://h{host}.test/{page}")).collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        let is_full = (host + 1) * 600 > MAX_PAGES_WITHOUT_KEY;
        let expected = if is_full { Err(PingRefusal::Full) } else { Ok(Received::Checking(600)) };
        assert_eq!(receive(&pings, notice(&urls, KEY)), expected, "{host}");
    }
}

#[test]
fn pages_outside_the_crawl_are_not_noted() {
    let pings = pings();
    let notice = notice(&["https://a.test/in", "https://a.test/out"], KEY);
    let admits = |url: &CanonicalUrl| url.path_and_query() == "/in";
    assert_eq!(pings.receive(notice, &admits, 9, NOW).unwrap(), Ok(Received::Checking(1)));
    let out = self::notice(&["https://c.test/out"], KEY);
    assert_eq!(pings.receive(out, &admits, 9, NOW).unwrap(), Ok(Received::Noted(0)), "no key is fetched");
    assert_eq!((pings.counts().foreign, pings.sizes()), (2, [0, 1, 0]));
}

#[test]
fn a_host_whose_pings_prove_right_is_visited_at_once() {
    let pings = pings();
    pings.begin_round(3, true);
    proven(&pings, "a.test", 2);
    assert!(!pings.is_urgent(), "not trusted yet");
    assert_eq!(pings.trusted(), []);
    learn(&pings, 1, &[&[("https://a.test/0", true)], &QUIET[..]].concat());
    assert_eq!(pings.of_page(&url("https://a.test/0")), None, "answered");
    assert_eq!(pings.sizes(), [1, 0, 1]);
    assert_eq!(pings.trusted(), [url("https://a.test/1")]);
    pings.set_min_trust(0.9);
    assert_eq!(pings.trusted(), [], "an operator trusts less");
    pings.set_min_trust(0.5);
    // Four pages wait, and three may join this cycle.
    proven(&pings, "a.test", 4);
    assert!(pings.is_urgent());
    assert_eq!(pings.take_urgent().len(), 3);
    assert!(!pings.is_urgent(), "no more in this cycle");
    pings.begin_round(3, false);
    assert_eq!(pings.take_urgent().len(), 1, "each page once");
    assert!(!pings.is_urgent());
    pings.begin_round(3, true);
    assert!(pings.is_urgent(), "the next cycle tries the others again");
    // It begins to lie.
    for round in 2..9 {
        proven(&pings, "a.test", 4);
        let visits: Vec<String> = (0..4).map(|page| format!("https://a.test/{page}")).collect();
        let visits: Vec<(&str, bool)> = visits.iter().map(|url| (url.as_str(), false)).collect();
        learn(&pings, round, &visits);
    }
    proven(&pings, "a.test", 4);
    assert!(!pings.is_urgent() && pings.trusted().is_empty());
    assert_eq!(pings.take_urgent(), []);
}

#[test]
fn what_waits_and_what_was_learned_survive_a_restart() {
    let tables = Arc::new(SledTables::temporary().unwrap());
    let open = || Arc::new(Pings::open(tables.clone(), 0.5).unwrap());
    let pings = open();
    proven(&pings, "a.test", 3);
    learn(&pings, 1, &[&[("https://a.test/0", true)], &QUIET[..]].concat());
    let sizes = pings.sizes();
    assert_eq!(sizes, [2, 0, 1]);
    drop(pings);
    let pings = open();
    assert_eq!(pings.sizes(), sizes);
    // The round again, as after a crash before its commit: it counts once.
    let before = tables.ping_counts(&Origin::from_url(&url("https://a.test/"))).unwrap();
    learn(&pings, 1, &[("https://a.test/1", true)]);
    assert_eq!(tables.ping_counts(&Origin::from_url(&url("https://a.test/"))).unwrap(), before);
    assert_eq!(Pings::forget(&tables, &|url| url.path_and_query() == "/2", true).unwrap(), 1);
    assert_eq!(Pings::forget(&tables, &|url| url.path_and_query() == "/2", false).unwrap(), 1);
    assert_eq!(open().sizes(), [0, 0, 1]);
}

#[test]
fn a_ping_after_the_visit_waits_for_the_next() {
    let pings = pings();
    proven(&pings, "a.test", 1);
    let page = url("https://a.test/0");
    let mut lesson = PingLesson::new(pings.clone());
    let visit = Visit { at: NOW, ..Visit::new(page.clone(), Outcome::NotModified) };
    lesson.visited(&visit);
    let again = pings.receive(notice(&["https://a.test/0"], KEY), &|_| true, 9, NOW + 1).unwrap();
    assert_eq!(again, Ok(Received::Noted(1)));
    lesson.compared(&page, None, false);
    lesson.store(&pings.tables, dated(1)).unwrap();
    lesson.committed(&pings.tables).unwrap();
    assert_eq!(pings.of_page(&page), Some(Ping::at(NOW + 1)));
    // A visit that failed answers nothing.
    learn(&pings, 2, &[]);
    let mut lesson = PingLesson::new(pings.clone());
    lesson
        .visited(&Visit { at: NOW + 9, ..Visit::new(page.clone(), Outcome::Failed(FetchFailure::Timeout)) });
    lesson.committed(&pings.tables).unwrap();
    assert!(pings.of_page(&page).is_some());
}
