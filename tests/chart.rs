//! The Helm chart, without Helm: its values, schema and templates fit each other, and the manifest is made of its lines.
//! `make check-chart` renders and compares them with Helm.

use crate::harness::workspace_file;
use saphyr::{LoadableYamlNode, Yaml};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// Templates in the order in which Helm prints what they make.
const RENDERED: &[&str] = &["networkpolicy", "configmap", "service", "statefulset"];

#[test]
fn the_chart_is_of_this_version() {
    let chart = read("Chart.yaml");
    let version = env!("CARGO_PKG_VERSION");
    for line in [format!("version: {version}"), format!("appVersion: \"{version}\"")] {
        assert!(chart.lines().any(|l| l == line), "Chart.yaml has no line `{line}`");
    }
}

#[test]
fn every_value_is_described_and_used_and_no_other_is() {
    let schema: Value = serde_json::from_str(&read("values.schema.json")).unwrap();
    let values = read("values.yaml");
    let values = Yaml::load_from_str(&values).unwrap();
    let mut known = BTreeSet::new();
    describe(&values[0], &schema, "", &mut known);
    let text: String =
        ["_helpers.tpl", "monitoring.yaml"].map(|name| read(&format!("templates/{name}"))).concat();
    let text = text + &RENDERED.iter().map(|name| template(name)).collect::<String>();
    let is_part = |c: char| c.is_alphanumeric() || c == '.';
    let used = text.split(".Values.").skip(1).map(|rest| rest.split(|c| !is_part(c)).next().unwrap());
    let used: BTreeSet<String> = used.map(str::to_owned).collect();
    assert_eq!(known, used, "values of values.yaml, and those of the templates");
    assert!(known.len() > 15 && !known.iter().any(|name| name.contains("replica")), "{known:?}");
}

#[test]
fn the_manifest_has_the_lines_of_the_chart_and_no_others() {
    let manifest = fs::read_to_string(workspace_file("deploy/kubernetes/recrawl.yaml")).unwrap();
    let manifest: Vec<&str> = manifest.lines().skip_while(|l| *l != "---").collect();
    let values = read("values.yaml");
    let mut known: BTreeSet<&str> = values.lines().map(str::trim).collect();
    let templates: Vec<String> = RENDERED.iter().map(|name| template(name)).collect();
    let mut rest = manifest.iter();
    for text in &templates {
        let mut conditions = 0;
        for line in text.lines() {
            let word = line.trim();
            known.insert(word);
            match word.strip_prefix("{{- ").and_then(|action| action.split(' ').next()) {
                Some("if" | "with") => conditions += 1,
                Some("end") => conditions -= 1,
                _ if conditions == 0 && !word.contains("{{") => {
                    assert!(rest.any(|l| *l == line), "recrawl.yaml has no `{line}`, or not in this place");
                }
                _ => {}
            }
        }
        assert_eq!(conditions, 0, "each condition has an end");
    }
    // Its key is within an expression.
    known.extend(["---", "recrawl.toml: |"]);
    let is_known = |line: &str| known.contains(line) || known.iter().any(|pattern| fits(line, pattern));
    let others: Vec<&&str> = manifest.iter().filter(|line| !is_known(line.trim())).collect();
    assert!(others.is_empty(), "lines that the chart has not; run `make check-chart`: {others:#?}");
}

/// Collects the paths of values, each of which the schema describes.
fn describe(values: &Yaml, schema: &Value, path: &str, known: &mut BTreeSet<String>) {
    let Yaml::Mapping(entries) = values else { panic!("{path}: no mapping, and without description") };
    assert_eq!(schema["additionalProperties"], false, "{path}: misspelt names must be refused");
    for (key, value) in entries {
        let key = key.as_str().expect("a name");
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let schema = &schema["properties"][key];
        assert!(schema.is_object(), "values.schema.json has no {path}");
        match schema["description"].is_string() {
            true => assert!(known.insert(path)),
            false => describe(value, schema, &path, known),
        }
    }
}

/// Whether a line may come from a line of a template: all but its expressions is there, in order.
fn fits(line: &str, pattern: &str) -> bool {
    let mut parts = pattern.split("{{").map(|part| part.split_once("}}").map_or(part, |(_, after)| after));
    let first = parts.next().unwrap_or_default();
    if first.is_empty() {
        return false;
    }
    let mut rest = line.strip_prefix(first);
    for part in parts {
        rest = rest.and_then(|rest| rest.find(part).map(|at| &rest[at + part.len()..]));
    }
    pattern.contains("{{") && rest.is_some()
}

fn template(name: &str) -> String {
    read(&format!("templates/{name}.yaml"))
}

fn read(name: &str) -> String {
    fs::read_to_string(workspace_file("deploy/helm/recrawl").join(name)).unwrap()
}
