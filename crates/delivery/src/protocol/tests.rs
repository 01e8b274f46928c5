use super::*;
use crate::document::id;
use recrawl_types::UrlRules;
use serde_json::{Value, json};
use std::path::Path;

fn page(name: &str) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(&format!("http://a.test/{name}")).unwrap()
}

fn put(name: &str) -> CopyItem {
    CopyItem::Put(Box::new(PageDocument {
        id: id(&page(name)),
        version: 7,
        url: page(name).to_string(),
        host: "a.test".into(),
        title: Some("A \"title\"\nof two lines".into()),
        language: None,
        content_type: Some("text/html".into()),
        status: 200,
        fetched_at: 5,
        changes: 2,
        text: Some("words".into()),
        fields: [("price".to_owned(), json!("15"))].into(),
    }))
}

fn items() -> Vec<CopyItem> {
    vec![put("a"), CopyItem::Delete(page("b")), put("c")]
}

fn server(text: &str) -> Arc<dyn TargetServer> {
    match TargetPlace::parse(text).unwrap().protocol {
        TargetProtocol::Server(server) => server,
        other => panic!("{other:?}"),
    }
}

fn answers(next: AfterAnswer) -> Vec<ItemAnswer> {
    match next {
        AfterAnswer::Answers(answers) => answers.into_iter().map(|(answer, _)| answer).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_names_a_target_is_read_and_what_does_not_is_refused_with_an_example() {
    for (text, expected) in [
        ("opensearch+https://search.test:9200/docs", "https://search.test:9200/_bulk"),
        ("elasticsearch+http://search.test/prefix/docs/", "http://search.test/prefix/_bulk"),
    ] {
        let request = server(text).request(1, &items());
        assert_eq!(request.url.as_str(), expected);
    }
    let request = server("meilisearch+http://localhost:7700/docs").request(1, &[put("a")]);
    assert_eq!(request.url.as_str(), "http://localhost:7700/indexes/docs/documents?primaryKey=id");
    let place = TargetPlace::parse("jsonl+file:///tmp/x.jsonl").unwrap();
    assert!(matches!(place.protocol, TargetProtocol::Lines(path) if path == Path::new("/tmp/x.jsonl")));
    let place = TargetPlace::parse("jsonl+s3://bucket/docs/2026/").unwrap();
    assert_eq!(place.address, "jsonl+s3://bucket/docs/2026");
    assert!(matches!(place.protocol, TargetProtocol::Objects(store) if store == "s3://bucket/docs/2026"));
    for text in [
        "jsonl+s3://bucket",
        "jsonl+ftp://bucket/docs",
        "jsonl+gs:///docs",
        "jsonl+az://key:secret@container/docs",
        "jsonl+s3://bucket/docs?region=x",
        "",
        "docs",
        "https://search.test/docs",
        "opensearch+ftp://search.test/docs",
        "opensearch+https://search.test",
        "opensearch+https://search.test/",
        "opensearch+https://user@search.test/docs",
        "opensearch+https://search.test/docs?x=1",
        "opensearch+https://search.test/Docs",
        "opensearch+https://search.test/_bulk",
        "meilisearch+http://localhost/a%20b",
        "jsonl+file://relative.jsonl",
        "jsonl+file:///folder/",
        "jsonl+file:///folder/../docs.jsonl",
        "command:load-docs",
        "command:",
        "solr+http://localhost:8983/solr/a%2Fb",
    ] {
        let refused = TargetPlace::parse(text).expect_err(text).to_string();
        assert!(refused.contains("write it as one of: opensearch+https://"), "{refused}");
    }
    let secret =
        TargetPlace::parse("opensearch+https://me:p@ss/w@search.test/docs?key=k").unwrap_err().to_string();
    assert!(secret.starts_with("\"opensearch+https://(hidden)@search.test/docs?(hidden)\": "), "{secret}");
}

#[test]
fn a_bulk_request_has_a_version_for_each_change() {
    let opensearch = server("opensearch+https://search.test/docs");
    let body = String::from_utf8(opensearch.request(9, &items()).body).unwrap();
    let lines: Vec<Value> = body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(body.ends_with('\n') && lines.len() == 5);
    let of = |name: &str| json!({"_index": "docs", "_id": id(&page(name)), "version": 9, "version_type": "external_gte"});
    assert_eq!(
        [&lines[0], &lines[2], &lines[3]],
        [&json!({"index": of("a")}), &json!({"delete": of("b")}), &json!({"index": of("c")})]
    );
    assert_eq!((&lines[1]["url"], &lines[1]["text"]), (&json!("http://a.test/a"), &json!("words")));
    assert_eq!(lines[1]["price"], "15");
    let known = lines[1].as_object().unwrap().keys().filter(|name| *name != "price");
    assert!(known.into_iter().all(|name| crate::document::FIELDS.contains(&name.as_str())));
}

#[test]
fn the_answer_of_each_item_is_read() {
    let opensearch = server("opensearch+https://search.test/docs");
    let read = |statuses: [u64; 3], status| {
        let item = |(at, status): (usize, u64)| {
            let action = if at == 1 { "delete" } else { "index" };
            let error = if status > 404 || status == 400 {
                json!({"type": if status == 400 { "mapper_parsing_exception" } else { "x" }, "reason": "because"})
            } else {
                Value::Null
            };
            json!({action: {"_id": "x", "status": status, "error": error}})
        };
        let items_answered: Vec<Value> = statuses.into_iter().enumerate().map(item).collect();
        opensearch.read(
            &items(),
            status,
            json!({"errors": true, "items": items_answered}).to_string().as_bytes(),
        )
    };
    use ItemAnswer::{Refused, Taken, Unknown};
    assert_eq!(answers(read([201, 404, 200], 200)), [Taken, Taken, Taken]);
    assert_eq!(answers(read([400, 200, 429], 200)), [Refused, Taken, Unknown]);
    assert_eq!(answers(read([503, 503, 409], 200)), [Unknown, Unknown, Unknown]);
    let AfterAnswer::Answers(told) = read([400, 200, 200], 200) else { panic!("an answer to each") };
    assert_eq!(told[0].1.as_deref(), Some("because"));
}

/// What is no answer to a bulk request confirms nothing.
#[test]
fn other_answers_interrupt() {
    let opensearch = server("opensearch+https://search.test/docs");
    for (status, body) in [
        (200, ""),
        (200, "<html>hello</html>"),
        (200, "{}"),
        (200, r#"{"errors":false,"items":[]}"#),
        (301, ""),
        (400, r#"{"error":{"type":"illegal_argument_exception","reason":"no newline"},"status":400}"#),
        (401, "{}"),
        (404, "no such"),
        (429, ""),
        (500, "oops"),
        (503, ""),
    ] {
        let next = opensearch.read(&items(), status, body.as_bytes());
        assert!(
            matches!(&next, AfterAnswer::Interrupted(why) if !why.is_empty()),
            "{status} {body}: {next:?}"
        );
    }
    assert_eq!(opensearch.read(&items(), 413, b""), AfterAnswer::Divide);
    assert_eq!(answers(opensearch.read(&[put("a")], 413, b"too large")), [ItemAnswer::Refused]);
}

#[test]
fn the_end_of_a_task_is_the_answer() {
    let meilisearch = server("meilisearch+http://localhost:7700/docs");
    let deletes = [CopyItem::Delete(page("a")), CopyItem::Delete(page("b"))];
    let request = meilisearch.request(1, &deletes);
    assert_eq!(request.url.as_str(), "http://localhost:7700/indexes/docs/documents/delete-batch");
    assert_eq!(
        serde_json::from_slice::<Value>(&request.body).unwrap(),
        json!([id(&page("a")), id(&page("b"))])
    );
    let read = |items: &[CopyItem], status, body: Value| {
        meilisearch.read(items, status, body.to_string().as_bytes())
    };
    let puts = [put("a"), put("b")];
    let AfterAnswer::Ask(ask) = read(&puts, 202, json!({"taskUid": 12, "status": "enqueued"})) else {
        panic!("a task")
    };
    assert_eq!((ask.url.as_str(), ask.method), ("http://localhost:7700/tasks/12", HttpMethod::Get));
    assert!(matches!(read(&puts, 200, json!({"uid": 12, "status": "processing"})), AfterAnswer::Ask(_)));
    assert_eq!(
        answers(read(&puts, 200, json!({"uid": 12, "status": "succeeded"}))),
        [ItemAnswer::Taken, ItemAnswer::Taken]
    );
    let failed = |code: &str, kind: &str| json!({"uid": 12, "status": "failed", "error": {"message": "m", "code": code, "type": kind}});
    assert_eq!(read(&puts, 200, failed("invalid_document_fields", "invalid_request")), AfterAnswer::Divide);
    assert_eq!(
        answers(read(&puts[..1], 200, failed("invalid_document_fields", "invalid_request"))),
        [ItemAnswer::Refused]
    );
    assert!(matches!(read(&puts, 200, failed("internal", "internal")), AfterAnswer::Interrupted(_)));
    assert_eq!(
        answers(read(&deletes, 200, failed("index_not_found", "invalid_request"))),
        [ItemAnswer::Taken, ItemAnswer::Taken]
    );
    // Of the index or the request, and not of a document: no part of it would be taken.
    for code in ["index_primary_key_already_exists", "invalid_index_uid", "missing_payload"] {
        for next in [
            read(&puts, 200, failed(code, "invalid_request")),
            read(&puts[..1], 200, failed(code, "invalid_request")),
            read(&puts, 400, json!({"message": "m", "code": code, "type": "invalid_request"})),
        ] {
            assert!(matches!(next, AfterAnswer::Interrupted(_)), "{code}: {next:?}");
        }
    }
    assert_eq!(read(&puts, 400, json!({"message": "m", "code": "invalid_document_id"})), AfterAnswer::Divide);
    for (status, body) in
        [(202, json!({})), (200, json!({})), (200, json!("x")), (403, json!({})), (500, json!({}))]
    {
        assert!(matches!(read(&puts, status, body.clone()), AfterAnswer::Interrupted(_)), "{status} {body}");
    }
}

/// One target, however it is written, has one copy; another has another.
#[test]
fn an_address_is_that_of_one_target() {
    let address = |text: &str| TargetPlace::parse(text).unwrap().address;
    let first = address("opensearch+https://search.test/docs");
    for same in ["elasticsearch+https://search.test/docs", "opensearch+https://SEARCH.test:443/docs/"] {
        assert_eq!(address(same), first);
    }
    assert_eq!(address("jsonl+file:///a//b/./docs.jsonl"), address("jsonl+file:///a/b/docs.jsonl"));
    for other in [
        "opensearch+http://search.test/docs",
        "opensearch+https://search.test/docs-2",
        "opensearch+https://search.test/a/docs",
        "meilisearch+https://search.test/docs",
    ] {
        assert_ne!(address(other), first);
    }
}

#[test]
fn typesense_answers_each_line() {
    let typesense = server("typesense+http://localhost:8108/docs");
    let request = typesense.request(1, &[put("a"), put("b")]);
    assert_eq!(request.url.as_str(), "http://localhost:8108/collections/docs/documents/import?action=upsert");
    assert!(!String::from_utf8(request.body).unwrap().contains("null"));
    let deletes: Vec<CopyItem> =
        (0..typesense.max_deletes()).map(|n| CopyItem::Delete(page(&n.to_string()))).collect();
    let request = typesense.request(1, &deletes);
    assert_eq!(request.method, HttpMethod::Delete);
    let asked = UrlRules::keep_all().canonicalize(request.url.as_str()).unwrap();
    assert_eq!(asked.as_text(), request.url.as_str());
    let puts = [put("a"), put("b"), put("c")];
    let lines = "{\"success\":true}\n{\"success\":false,\"code\":400,\"error\":\"m\"}\n{\"success\":false,\"code\":503}\n";
    use ItemAnswer::{Refused, Taken, Unknown};
    assert_eq!(answers(typesense.read(&puts, 200, lines.as_bytes())), [Taken, Refused, Unknown]);
    assert_eq!(answers(typesense.read(&deletes[..2], 200, b"{\"num_deleted\":0}")), [Taken, Taken]);
    // The collection is made by the first documents.
    let absent = b"{\"message\": \"Not Found\"}";
    assert_eq!(answers(typesense.read(&deletes[..1], 404, absent)), [Taken]);
    assert!(typesense.read_list(None, 404, absent).unwrap().is_absent);
    let AfterAnswer::Make(index) = typesense.read(&puts, 404, absent) else { panic!("nothing is made") };
    assert_eq!((index.method, index.url.as_str()), (HttpMethod::Post, "http://localhost:8108/collections"));
    assert_eq!(index.body, br#"{"fields":[{"name":".*","type":"auto"}],"name":"docs"}"#);
    assert!(typesense.read_list(None, 404, b"<html>").is_err());
    for (items, status, body) in [
        (&puts[..], 200, "{\"success\":true}"),
        (&puts, 200, "<html>"),
        (&puts, 404, "<html>"),
        (&deletes, 404, "{\"message\":\"no such path\"}"),
        (&deletes, 200, ""),
        (&deletes, 401, "{}"),
    ] {
        let next = typesense.read(items, status, body.as_bytes());
        assert!(matches!(next, AfterAnswer::Interrupted(_)), "{status} {body}");
    }
}

#[test]
fn solr_refuses_a_request_with_a_wrong_document() {
    let solr = server("solr+http://localhost:8983/solr/docs");
    let request = solr.request(1, &[put("a")]);
    assert_eq!(request.url.as_str(), "http://localhost:8983/solr/docs/update?commitWithin=5000");
    let deletes = [CopyItem::Delete(page("a"))];
    let body: Value = serde_json::from_slice(&solr.request(1, &deletes).body).unwrap();
    assert_eq!(body, json!({"delete": [id(&page("a"))]}));
    let read = |items: &[CopyItem], status, body: &str| solr.read(items, status, body.as_bytes());
    let wrong = r#"{"responseHeader":{"status":400},"error":{"msg":"unknown field","code":400}}"#;
    assert_eq!(read(&[put("a"), put("b")], 400, wrong), AfterAnswer::Divide);
    assert_eq!(answers(read(&[put("a")], 400, wrong)), [ItemAnswer::Refused]);
    let in_part =
        r#"{"responseHeader":{"status":0,"errors":[{"type":"ADD","id":"x","message":"unknown field"}]}}"#;
    assert_eq!(read(&[put("a"), put("b")], 200, in_part), AfterAnswer::Divide);
    let told = vec![(ItemAnswer::Refused, Some("unknown field".to_owned()))];
    assert_eq!(read(&[put("a")], 200, in_part), AfterAnswer::Answers(told));
    for sound in [r#"{"responseHeader":{"status":0}}"#, r#"{"responseHeader":{"status":0,"errors":[]}}"#] {
        assert_eq!(answers(read(&deletes, 200, sound)), [ItemAnswer::Taken]);
    }
    for (status, body) in
        [(400, wrong), (400, "{}"), (404, "<html>"), (200, "<html>"), (200, "{}"), (200, in_part), (503, "")]
    {
        assert!(matches!(read(&deletes, status, body), AfterAnswer::Interrupted(_)), "{status} {body}");
    }
}

#[test]
fn a_document_that_is_removed_leaves_no_line() {
    let written = lines(9, &items());
    let text: Vec<&[u8]> = written.split_inclusive(|byte| *byte == b'\n').collect();
    let ops: Vec<Value> =
        text.iter().map(|line| serde_json::from_slice::<Value>(line).unwrap()["op"].clone()).collect();
    assert_eq!(ops, ["put", "delete", "put"]);
    let is_removed = |url: &CanonicalUrl| [page("a"), page("b")].contains(url);
    let left: Vec<&[u8]> = text.iter().copied().filter(|line| kept(line, &is_removed)).collect();
    // The line of the delete stays: readers are to know.
    assert_eq!(left, text[1..]);
    for line in ["{\"op\":\"put\",\"id\"", "{\"op\":\"put\",\"id\":\"x\"}", "", "\n"] {
        assert!(!kept(line.as_bytes(), &is_removed), "{line}");
    }
}
