use super::*;
use crate::open;

fn read(text: &str) -> Result<Dataset, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.cdxj");
    std::fs::write(&path, text).unwrap();
    open(&path, None).map_err(|e| e.to_string().split_once("index.cdxj").unwrap().1.to_owned())
}

#[test]
fn an_object_a_capture_is_read() {
    let text = r#"!OpenWayback-CDXJ 1.0
com,example)/ 20260101000000 {"url": "https://example.com/", "mime": "text/html", "status": "200", "digest": "sha1:A", "length": "1", "offset": "0", "filename": "a.warc.gz"}
com,example)/ 20260102000000 {"url": "https://example.com/", "mime": "text/html", "status": 200, "digest": "sha1:B\u0041"}
com,example)/ 20260103000000 {"url": "https://example.com/", "mime": "warc/revisit", "digest": "sha1:A"}
com,example)/ 20260104000000 {"url": "https://example.com/", "mime": "text/html", "status": "500", "digest": "sha1:C"}
org,example)/a 20260102000000 {"mime": "text/html", "status": "200", "digest": "sha1:D"}
"#;
    let data = read(text).unwrap();
    assert_eq!((data.truth.cycles(), data.truth.changes()), (2, vec![2, 0]));
    assert!(!data.truth.differs(0, 0, 2), "the first content came back");
    assert_eq!((&*data.pages[0].url, &*data.pages[1].url), ("https://example.com/", "org,example)/a"));
    assert_eq!(data.sites, ["example.com", ""]);
}

#[test]
fn hostile_objects_are_errors_with_a_line() {
    let good = "a)/ 20260101000000 {\"status\":\"200\",\"digest\":\"A\"}\n";
    let deep = format!("a)/ 20260101000000 {{\"x\":{}\n", "[".repeat(100_000));
    for (bad, wants) in [
        ("a)/ 20260101000000 {\"status\":\"200\"", "object: EOF"),
        ("a)/ 20260101000000 {\"status\":[],\"digest\":\"A\"}", "object: "),
        ("a)/ 20260101000000 {\"digest\":\"A\",\"digest\":\"B\"}", "object: duplicate field"),
        ("a)/ 20260101000000 {\"status\":\"200\"}", "a capture without a digest"),
        ("a)/ 20260101000000 {\"status\":\"200\",\"digest\":\"A\",\"url\":\"http://a/\\n\"}", "address "),
        ("a)/ 2026010100000x {\"status\":\"200\",\"digest\":\"A\"}", "time "),
        ("a)/ 20260101000000", "\"a)/ 20260101000000\": expected a key, a time and an object"),
        ("", "\"\": expected a key"),
        (&deep, "object: EOF"),
    ] {
        let message = read(&format!("{good}{bad}\n")).unwrap_err();
        assert!(message.starts_with(&format!(":2: {wants}")), "{bad:.60}: {message:.200}");
        assert!(message.len() < 300, "short: {message:.400}");
    }
}
