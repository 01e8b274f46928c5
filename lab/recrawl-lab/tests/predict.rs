//! `recrawl-lab predict`: changes predicted from related pages, on a generated web.

use crate::ended::{fails, succeeds};
use crate::{program, workspace_file};
use serde_json::Value;
use std::path::Path;

fn predict(data: &Path, words: &[&str]) -> std::process::Output {
    program().arg("predict").arg("--data").arg(data).args(words).output().unwrap()
}

#[test]
fn it_predicts_on_a_generated_web_the_same_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let web = folder.path().join("related");
    let generate = ["dataset", "generate", "--preset", "radinsky"];
    succeeds(program().args(generate).arg(&web).output().unwrap());
    let few = ["--pages", "4", "--every", "60", "--related", "correlation", "--json"];
    let [one, two] =
        ["1", "2"].map(|threads| succeeds(predict(&web, &[&few[..], &["--threads", threads]].concat())));
    assert_eq!(one, two);
    let report: Value = serde_json::from_str(&one).unwrap();
    let methods: Vec<&str> =
        report["methods"].as_array().unwrap().iter().filter_map(|m| m["name"].as_str()).collect();
    let all =
        ["1D coin", "2D single", "3D experts, correlation", "bagging, correlation", "boosting, correlation"];
    for method in all.into_iter().chain(["union, correlation", "3D experts, random", "majority", "last day"])
    {
        assert!(methods.contains(&method), "{method}: {methods:?}");
    }
    assert_eq!(report["targets"].as_array().map(Vec::len), Some(4));
    assert_eq!(report["methods"][0]["pages"].as_array().map(Vec::len), Some(4));
    let text = succeeds(predict(&web, &few[..few.len() - 1]));
    let short = ["--pages", "2", "--every", "60", "--days", "20", "--setting", "1d", "--figures", "--json"];
    let report: Value = serde_json::from_str(&succeeds(predict(&web, &short))).unwrap();
    let at: Vec<u64> =
        report["by_days"].as_array().unwrap().iter().filter_map(|point| point["at"].as_u64()).collect();
    assert_eq!((at, report["by_experts"].as_array().map(Vec::len)), (vec![10, 20], Some(0)));
    assert_eq!(
        report["by_days"][0]["accuracies"].as_array().map(Vec::len),
        Some(2),
        "the coin and the majority"
    );
    assert!(text.contains("predicted: 4") && text.contains("planted"), "{text}");
}

#[test]
fn what_cannot_be_predicted_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(fails(predict(&folder.path().join("none"), &[]), 2).contains("none"));
    for (words, told) in
        [(["--flips", "0.7"], "0.5"), (["--change", "words:x"], "words"), (["--alpha", "2"], "alpha")]
    {
        let output = predict(folder.path(), &words);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(told), "{words:?}: {error}");
    }
    let told = fails(predict(&workspace_file("crates/mockweb/recording"), &["--days", "900"]), 2);
    assert!(told.contains("at least 903"), "{told}");
}
