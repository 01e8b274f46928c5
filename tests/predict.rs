//! `recrawl predict`: changes predicted from related pages, on a generated web.

use crate::harness::{fails, program, succeeds};
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
    let named = report.to_string();
    for method in ["1D coin", "2D single", "3D experts", "bagging", "boosting", "union", "majority"] {
        assert!(named.contains(method), "{method}: {named}");
    }
    let text = succeeds(predict(&web, &few[..few.len() - 1]));
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
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mockweb/recording");
    let told = fails(predict(&recording, &["--days", "900"]), 2);
    assert!(told.contains("at least 903"), "{told}");
}
