//! `recrawl-lab simulate`: the policies of a crawl beside their rivals.

use crate::ended::{fails, succeeds};
use crate::{program, workspace_file};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn simulate(data: &Path, words: &[&str]) -> Output {
    program().arg("simulate").arg("--data").arg(data).args(words).output().unwrap()
}

fn json(data: &Path, words: &[&str]) -> Value {
    let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    serde_json::from_str(&succeeds(simulate(data, &words))).unwrap()
}

#[test]
fn rivals_are_compared_with_policies_and_formulas() {
    let recording = &workspace_file("crates/mockweb/recording");
    let words = ["--policy", "nutch", "--policy", "bayes_greedy", "--policy", "age", "--formula", "t * X"];
    let report = json(recording, &[&words[..], &["--metric", "ap_at_10"]].concat());
    let policies = report["policies"].as_array().unwrap();
    let kinds: Vec<_> =
        policies.iter().map(|p| (p["name"].as_str().unwrap(), p["kind"].as_str().unwrap())).collect();
    assert_eq!(
        kinds,
        [("nutch", "policy"), ("age", "policy"), ("t * X", "formula"), ("bayes_greedy", "bound")]
    );
    assert!(policies.iter().all(|policy| policy["ap_at_10"].as_f64().unwrap() > 0.0), "{policies:?}");
    assert!(policies[1].get("mp_at_10").is_none(), "a metric that was not asked for");
    let line = fails(simulate(recording, &["--policy", "nuch"]), 2);
    assert!(line.contains("did you mean `nutch`?") && line.contains("p_gamma"), "{line}");
}

#[test]
fn clusters_are_made_as_asked() {
    let recording = &workspace_file("crates/mockweb/recording");
    let words = ["--policy", "cls_sad", "--policy", "age", "--share", "0.2", "--warmup", "1"];
    let sad = |more: &[&str]| json(recording, &[&words[..], more].concat());
    let visits = |report: &Value| report["policies"][0]["per_cycle"].clone();
    let plain = sad(&[]);
    let defaults = ["--cluster-features", "content,url,links,dynamic", "--content-ranks", "10"];
    let named = sad(&[&defaults[..], &["--recluster", "28", "--cluster-order", "nearest"]].concat());
    assert_eq!(visits(&named), visits(&plain));
    for other in [
        ["--cluster-features", "url"],
        ["--cluster-features", "content,url,links,dynamic,ranking"],
        ["--clusters", "2"],
        ["--content-ranks", "30"],
        ["--recluster", "1"],
        ["--cluster-order", "longest-unvisited"],
    ] {
        let report = sad(&other);
        assert_ne!(visits(&report), visits(&plain), "{other:?}");
        assert_eq!(report["policies"][1]["per_cycle"], plain["policies"][1]["per_cycle"], "{other:?}");
    }
    for (words, wants) in [
        (&["--policy", "age", "--recluster", "1"][..], "--recluster: no policy here has clusters"),
        (&["--policy", "lb", "--cluster-order", "nearest"], "--cluster-order: no policy here has clusters"),
    ] {
        let line = fails(simulate(recording, words), 2);
        assert!(line.contains(wants), "{words:?}: {line}");
    }
    let line = fails(simulate(recording, &[&words[..], &["--clusters", "4000"]].concat()), 2);
    assert!(line.contains("--clusters 4000") && line.contains("each cluster needs one"), "{line}");
    for (option, value) in
        [("--clusters", "0"), ("--clusters", "4097"), ("--content-ranks", "51"), ("--recluster", "0")]
    {
        let refused = simulate(recording, &[&words[..], &[option, value]].concat());
        assert_eq!(refused.status.code(), Some(2), "{option} {value}");
    }
}
