//! `recrawl focus check`: term files.

use crate::harness::{fails, program, succeeds, workspace_file};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

const TERMS: &str = "genre = [\"lab\", \"exercise\", \"step\"]\ncontent = [\"statistics\", \"regression\"]\n";

fn check(file: &Path) -> Output {
    program().args(["focus", "check", "--json"]).arg(file).output().unwrap()
}

#[test]
fn terms_are_checked() {
    let own = succeeds(check(&workspace_file("config/focus/recipe-vegetarian.toml")));
    let checked: Value = serde_json::from_str(&own).unwrap();
    assert_eq!(checked[0]["digest"].as_str().map(str::len), Some(16));
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.toml");
    fs::write(&bad, TERMS.replace("content", "contents")).unwrap();
    let error = fails(check(&bad), 2);
    assert!(
        error.contains("bad.toml: line 2: unknown field") && error.contains("did you mean `content`?"),
        "{error}"
    );
}
