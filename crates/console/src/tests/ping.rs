//! Pings from site owners.

use super::client::served;
use serde_json::json;

#[test]
fn a_ping_is_answered_with_the_statuses_of_the_protocol() {
    let served = served();
    for (key, status, kind) in [
        ("proven-key", 200, ""),
        ("unknown-key", 202, ""),
        ("forged-key", 403, "wrong-key"),
        ("flooding", 429, "rate-limit"),
        ("too-short", 422, "invalid"),
        ("turned-off", 404, "not-found"),
    ] {
        let query = format!("/indexnow?url=https%3A%2F%2Fa.example%2Fx&key={key}");
        let body = json!({"host": "a.example", "key": key, "urlList": ["https://a.example/x"]}).to_string();
        for answer in [served.get(&query), served.ask("POST", "/indexnow", "", &body)] {
            assert_eq!(answer.status, status, "{key}: {answer:?}");
            if kind.is_empty() {
                assert_eq!(answer.json(), json!({"pages": 1, "checking": status == 202}));
            } else {
                assert_eq!(answer.problem(), kind, "{key}");
            }
            assert_eq!(answer.header("retry-after").is_some(), status == 429, "{key}");
        }
    }
}

#[test]
fn a_ping_that_cannot_be_read_is_refused() {
    let served = served();
    for (path, status) in [
        ("/indexnow", 422),
        ("/indexnow?url=x", 422),
        ("/indexnow?key=x", 422),
        ("/indexnow?url=x&key=y&key=z", 422),
    ] {
        assert_eq!(served.get(path).status, status, "{path}");
    }
    for (body, status) in [
        ("", 415),
        ("{", 400),
        ("[]", 422),
        ("{}", 422),
        (r#"{"key":"k","urlList":"https://a.example/"}"#, 422),
        (r#"{"key":7,"urlList":[]}"#, 422),
    ] {
        let answer = served.ask("POST", "/indexnow", "", body);
        assert_eq!(answer.status, status, "{body}: {answer:?}");
    }
    // Members of later versions of the protocol are ignored.
    let later = r#"{"key":"proven-key","urlList":["https://a.example/"],"priority":1}"#;
    assert_eq!(served.ask("POST", "/indexnow", "", later).status, 200);
}
