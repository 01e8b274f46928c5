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

#[test]
fn a_callback_answers_the_challenge_of_a_request_and_no_other() {
    let served = served();
    let query = "hub.topic=https%3A%2F%2Fa.example%2Ff&hub.challenge=a%20%3Cb%3E&hub.lease_seconds=60&more=1";
    let answer = served.get(&format!("/websub/known?hub.mode=subscribe&{query}"));
    assert_eq!((answer.status, answer.body.as_str()), (200, "a <b>"));
    assert!(answer.header("content-type").is_some_and(|media| media.starts_with("text/plain")));
    for (id, mode, status) in
        [("known", "unsubscribe", 404), ("other", "subscribe", 404), ("turned-off", "subscribe", 404)]
    {
        assert_eq!(
            served.get(&format!("/websub/{id}?hub.mode={mode}&{query}")).status,
            status,
            "{id} {mode}"
        );
    }
    for wrong in ["", "?hub.mode=subscribe", "?hub.mode=subscribe&hub.topic=x&hub.lease_seconds=-1"] {
        assert_eq!(served.get(&format!("/websub/known{wrong}")).status, 422, "{wrong}");
    }
}

#[test]
fn a_notification_may_have_any_body_within_the_limit() {
    let served = served();
    for (id, signature, body, status) in [
        ("known", "sha1=00", "<feed/>", 204),
        ("known", "sha1=00", "<other/>", 410),
        ("known", "sha1=01", "<feed/>", 410),
        ("other", "sha1=00", "<feed/>", 410),
        ("turned-off", "sha1=00", "", 404),
        ("flooding", "sha1=00", "", 429),
    ] {
        let headers = format!("X-Hub-Signature: {signature}\r\n");
        let answer = served.ask("POST", &format!("/websub/{id}"), &headers, body);
        assert_eq!(answer.status, status, "{id} {signature} {body}: {answer:?}");
    }
    let long = format!("Content-Length: {}\r\n", (1 << 20) + 1);
    assert_eq!(served.ask("POST", "/websub/known", &long, "").status, 413);
}
