//! Full-text search.

use super::client::served;
use super::crawl::PAGES;
use serde_json::json;

#[test]
fn a_query_is_passed_on_and_its_answer_is_plain_text() {
    let served = served();
    let found = served.get("/api/v1/search?q=%3Cscript%3E&since=7").json();
    assert_eq!((&found["total"], &found["is_partial"]), (&json!(PAGES), &json!(false)));
    assert_eq!(found["results"].as_array().unwrap().len(), 10);
    let snippet = json!([{"text": "some <b>", "is_match": false}, {"text": "<script>", "is_match": true}]);
    let first = &found["results"][0];
    assert_eq!(
        (&first["snippet"], &first["fetched_at"], &first["title"]),
        (&snippet, &json!(7), &json!("Page 0"))
    );
    let narrowed = served.get("/api/v1/search?q=a&host=a.example&limit=3").json();
    assert_eq!((narrowed["results"].as_array().unwrap().len(), &narrowed["is_partial"]), (3, &json!(true)));
}

#[test]
fn what_is_no_query_is_refused() {
    let served = served();
    let long = format!("q={}", "a".repeat(100_000));
    for (query, status, at) in [
        ("", 422, Some("query")),
        ("q=a&limit=0", 422, Some("limit")),
        ("q=a&limit=101", 422, Some("limit")),
        ("q=a&since=-1", 422, Some("query")),
        ("q=a&sort=worst", 422, Some("query")),
        ("q=a%00b", 422, Some("q")),
        ("q=nothing", 409, None),
        (&long, 431, None),
    ] {
        let refused = served.get(&format!("/api/v1/search?{query}"));
        assert_eq!(refused.status, status, "{:.20}", query);
        if let Some(at) = at {
            assert_eq!(refused.json()["at"].as_str(), Some(at), "{query}");
        }
    }
}
