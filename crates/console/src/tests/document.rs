//! The OpenAPI document: whole, and without loose ends.

use super::client::served;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// All values of `key`, however deep.
fn all<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get(key));
            fields.values().for_each(|value| all(value, key, found));
        }
        Value::Array(items) => items.iter().for_each(|value| all(value, key, found)),
        _ => {}
    }
}

fn operations(document: &Value) -> Vec<(String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let each = paths.iter().flat_map(|(path, item)| {
        item.as_object()
            .unwrap()
            .iter()
            .map(move |(method, operation)| (format!("{method} {path}"), operation))
    });
    each.collect()
}

#[test]
fn references_lead_somewhere_and_nothing_is_described_for_nobody() {
    let document = served().get("/openapi.json").json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3."));
    let mut references = Vec::new();
    all(&document, "$ref", &mut references);
    let references: BTreeSet<&str> = references.into_iter().map(|r| r.as_str().unwrap()).collect();
    for reference in &references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(
            references.contains(format!("#/components/schemas/{name}").as_str()),
            "{name} is used nowhere"
        );
    }
}

#[test]
fn operations_are_described_whole() {
    let document = served().get("/openapi.json").json();
    let mut ids = BTreeSet::new();
    for (name, operation) in operations(&document) {
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{name}: an id is given once");
        assert!(operation["summary"].as_str().is_some_and(|text| text.ends_with('.')), "{name}");
        let named: BTreeSet<&str> =
            name.split('{').skip(1).map(|part| part.split('}').next().unwrap()).collect();
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let in_path: BTreeSet<&str> = parameters
            .filter(|parameter| parameter["in"] == "path")
            .map(|parameter| parameter["name"].as_str().unwrap())
            .collect();
        assert_eq!(named, in_path, "{name}");
        let answers = operation["responses"].as_object().unwrap();
        assert!(answers.contains_key("default") && answers.len() > 2, "{name}: good and bad answers");
    }
    assert_eq!(document["components"]["securitySchemes"]["token"]["scheme"], "bearer");
}

#[test]
fn no_handler_is_forgotten() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api");
    let mut handlers = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        handlers += text.matches("#[utoipa::path(").count();
        assert!(!text.contains(".route("), "a route that is not described: use routes!");
    }
    let document = served().get("/openapi.json").json();
    assert_eq!(operations(&document).len(), handlers, "a handler is not in api.rs");
}

#[test]
fn answers_have_the_fields_that_are_described() {
    let served = served();
    let document = served.get("/openapi.json").json();
    for (path, schema) in [
        ("/api/v1/hosts", "HostList"),
        ("/api/v1/pages?limit=1", "PageList"),
        ("/api/v1/versions?url=https://a.example/0007", "VersionList"),
        ("/api/v1/version?url=https://a.example/0007&warc_file=1&warc_offset=7", "VersionContent"),
        ("/api/v1/changes?limit=1", "PageChangeList"),
        ("/api/v1/controls", "Controls"),
        ("/api/v1/formulas", "Formulas"),
        ("/api/v1/status", "Status"),
        ("/health", "Health"),
        ("/none", "Problem"),
    ] {
        let answer = served.get(path).json();
        let described = document["components"]["schemas"][schema]["properties"].as_object().unwrap();
        let described: BTreeSet<&String> = described.keys().collect();
        let told: BTreeSet<&String> = answer.as_object().unwrap().keys().collect();
        let required = document["components"]["schemas"][schema]["required"].as_array().unwrap();
        assert!(told.is_subset(&described), "{path}: {told:?} beyond {described:?}");
        for field in required {
            assert!(answer.get(field.as_str().unwrap()).is_some(), "{path} has no {field}");
        }
    }
}
