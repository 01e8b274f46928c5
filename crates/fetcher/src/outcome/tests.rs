use super::*;
use crate::testing::{reply, with_header};
use proptest::prelude::*;
use recrawl_types::{PageRecord, Share};

const NOW: u64 = 784_111_777_000; // Sun, 06 Nov 1994 08:49:37 GMT

#[test]
fn rfc_9110_section_10_2_3_retry_after_in_both_forms() {
    let wait = |status, value: &str| with_header(reply(status, ""), "retry-after", value).retry_after(NOW);
    let seconds = |s| Some(Duration::from_secs(s));
    assert_eq!(wait(503, "120"), seconds(120));
    assert_eq!(wait(429, " 120 "), seconds(120));
    assert_eq!(wait(429, "0"), seconds(0));
    assert_eq!(wait(503, "Sun, 06 Nov 1994 08:50:37 GMT"), seconds(60));
    assert_eq!(wait(503, "Sunday, 06-Nov-94 08:50:37 GMT"), seconds(60));
    assert_eq!(wait(503, "Sun Nov  6 08:50:37 1994"), seconds(60));
    assert_eq!(wait(503, "Sun, 06 Nov 1994 08:00:00 GMT"), seconds(0), "past");
    assert_eq!(wait(503, "Sat, 06 Nov 2094 08:00:00 GMT"), seconds(86_400), "capped at a day");
    assert_eq!(wait(503, "999999999999999999999999"), seconds(86_400));
    assert_eq!(wait(503, "2.5"), seconds(3), "some servers send it");
    assert_eq!(wait(503, "2.0"), seconds(2));
    for meant in
        ["3, 3", "3s", "3 seconds", "2.5.5", "3.", "Mon, 06 Nov 1994 08:49:40 UTC", "6 Nov 1994 08:49:40"]
    {
        assert_eq!(wait(503, meant), seconds(3), "{meant}");
    }
    for nonsense in ["", "-1", "soon", ".5", "+5", "1e3", "1994-11-06"] {
        assert_eq!(wait(503, nonsense), None, "{nonsense:?}");
    }
    assert_eq!(wait(200, "120"), None);
    assert_eq!(wait(500, "120"), None);
}

#[test]
fn the_date_of_a_response_is_the_clock_by_which_it_counts() {
    let wait = |until: &str, fields: &[(&'static str, &str)]| {
        let mut answer = with_header(reply(503, ""), "retry-after", until);
        for (name, value) in fields {
            answer = with_header(answer, name, value);
        }
        answer.retry_after(NOW).map(|wait| wait.as_secs())
    };
    let at = |time: &str| format!("Sun, 06 Nov 1994 {time} GMT");
    let (ahead, behind) = (at("09:49:37"), at("07:49:37"));
    assert_eq!(wait(&at("09:49:40"), &[("date", &ahead)]), Some(3), "a clock an hour ahead");
    assert_eq!(wait(&at("07:49:40"), &[("date", &behind)]), Some(3), "a clock an hour behind");
    assert_eq!(wait(&at("07:49:30"), &[("date", &behind)]), Some(0), "past");
    assert_eq!(wait(&at("08:49:40"), &[("date", "soon")]), Some(3), "no date: our clock");
    assert_eq!(wait(&at("09:49:40"), &[("date", &ahead), ("age", "2")]), Some(1), "kept by a cache for 2 s");
    assert_eq!(wait(&at("09:49:40"), &[("date", &ahead), ("age", "x")]), Some(3));
    assert_eq!(wait(&at("09:49:40"), &[("date", &ahead), ("age", "18446744073709551615")]), Some(3_603));
    assert_eq!(wait("7", &[("date", &ahead)]), Some(7), "seconds need no clock");
    let other = "Sunday, 06-Nov-94 09:49:37 GMT";
    assert_eq!(wait(&at("09:49:40"), &[("date", other)]), Some(3), "another form of date");
}

#[test]
fn only_what_speaks_against_the_host_counts_against_it() {
    use Failure::*;
    let failed = |failure| is_host_failure(&FetchResult::Nothing(Outcome::Failed(failure)));
    for failure in [Dns, Connect, Tls, Timeout, Protocol, Status(429), Status(500), Status(503), Status(599)]
    {
        assert!(failed(failure), "{failure:?}");
    }
    for failure in [Encoding, Redirect, Status(400), Status(401), Status(403), Status(418)] {
        assert!(!failed(failure), "{failure:?}");
    }
    assert!(!is_host_failure(&FetchResult::Nothing(Outcome::NotFound(404))));
    assert!(!is_host_failure(&FetchResult::Page(Box::default())));
}

#[test]
fn a_broken_copy_has_no_validators() {
    let validators =
        |cut| Response::from(Reply { cut, ..with_header(reply(200, "half"), "etag", "\"1\"") }).validators;
    for cut in [None, Some(Cut::Limit)] {
        assert_eq!(validators(cut).etag.as_deref(), Some("\"1\""), "{cut:?}");
    }
    for cut in [Cut::Disconnect, Cut::Checksum, Cut::Coding] {
        assert_eq!(validators(Some(cut)), Validators::default(), "{cut:?}");
    }
}

#[test]
fn a_part_that_nobody_asked_for_is_no_page() {
    let is_part = |range: &str| is_part(&with_header(reply(206, "x"), "content-range", range));
    for part in ["bytes 0-29/60", "bytes 1-59/60", "bytes 0-29/*", "bytes 5-5/6"] {
        assert!(is_part(part), "{part}");
    }
    for whole in ["bytes 0-59/60", " bytes  0-0/1", "lines 1-2/3", "bytes", "bytes */60"] {
        assert!(!is_part(whole), "{whole}");
    }
    assert!(!super::is_part(&reply(206, "x")));
}

#[test]
fn a_location_is_taken_as_browsers_take_it() {
    let rules = UrlRules::default();
    let from = rules.canonicalize("http://a.test/dir/page?q").unwrap();
    let target = |location: &[u8]| {
        let mut answer = reply(302, "");
        answer
            .headers
            .insert(reqwest::header::LOCATION, reqwest::header::HeaderValue::from_bytes(location).unwrap());
        let (_, target) = chain::target(&answer, &from.to_url(), &rules)?;
        Some(target).filter(|target| *target != from).map(|target| target.to_string())
    };
    for (location, to) in [
        (&b"/x"[..], "http://a.test/x"),
        (b"x", "http://a.test/dir/x"),
        (b"?r", "http://a.test/dir/page?r"),
        (b"//B.test", "http://b.test/"),
        (b"  https://b.test/y  ", "https://b.test/y"),
        (b"http:\\\\b.test\\y", "http://b.test/y"),
        ("/ünï".as_bytes(), "http://a.test/%C3%BCn%C3%AF"),
        ("//bücher.test/ü".as_bytes(), "http://xn--bcher-kva.test/%C3%BC"),
        (b"/caf\xe9?q=\xe9", "http://a.test/caf%E9?q=%E9"),
        (b"http://0x7f.1/", "http://127.0.0.1/"),
    ] {
        assert_eq!(target(location).as_deref(), Some(to), "{location:?}");
    }
    for location in [
        &b""[..],
        b"#top",
        b"/dir/page?q",
        b"javascript:alert(1)",
        b"data:,x",
        b"file:///etc/passwd",
        b"//\xe9.test/",
        b"//b.test:25/",
    ] {
        assert_eq!(target(location), None, "{location:?}");
    }
    let long = format!("/{}", "x".repeat(3_000));
    assert_eq!(target(long.as_bytes()), None, "longer than a URL may be");
    let mut two = with_header(reply(302, ""), "location", " ");
    two.headers.append(reqwest::header::LOCATION, "/x".parse().unwrap());
    let (_, found) = chain::target(&two, &from.to_url(), &rules).unwrap();
    assert_eq!(found.to_string(), "http://a.test/x", "the first is empty");
}

#[test]
fn validators_that_could_not_be_sent_back_are_not_kept() {
    let mut answer = reply(200, "");
    answer.headers.insert(ETAG, reqwest::header::HeaderValue::from_bytes(b"\"\xff\"").unwrap());
    let answer = with_header(answer, "last-modified", "Sun, 06 Nov 1994 08:49:37 GMT");
    let response = Response::from(answer);
    assert_eq!(response.validators.etag, None);
    assert_eq!(response.validators.last_modified.as_deref(), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
}

#[test]
fn a_304_counts_only_when_it_was_asked_for() {
    let url = UrlRules::default().canonicalize("http://a.test/").unwrap();
    let entry = ScheduleEntry::new(url, Share::Score, PageRecord::default());
    let of = |conditional| {
        result_of(Ok(reply(304, "")), &entry, &entry.url.to_url(), conditional, &UrlRules::default())
    };
    assert!(matches!(of(true), FetchResult::NotModified(_)));
    assert!(matches!(of(false), FetchResult::Nothing(Outcome::Failed(Failure::Status(304)))));
}

proptest! {
    /// For any value: at most a day or none. A formatted value is parsed back.
    #[test]
    fn any_retry_after_is_a_bounded_wait_or_none(
        value in "[ -~]{0,40}|[0-9]{1,40}|[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT",
        now in 0..4_000_000_000_000_u64,
        ahead in 0..200_000_u64,
    ) {
        let after = |value: &str| with_header(reply(503, ""), "retry-after", value).retry_after(now);
        prop_assert!(after(&value).is_none_or(|wait| wait <= MAX_HOST_BACK_OFF));
        let date = SystemTime::UNIX_EPOCH + Duration::from_secs(now / 1000 + ahead);
        let wait = after(&httpdate::fmt_http_date(date)).expect("a date");
        let expected = Duration::from_secs(ahead).saturating_sub(Duration::from_millis(now % 1000));
        prop_assert_eq!(wait, expected.min(MAX_HOST_BACK_OFF));
        prop_assert_eq!(after(&ahead.to_string()), Some(Duration::from_secs(ahead).min(MAX_HOST_BACK_OFF)));
    }
}
