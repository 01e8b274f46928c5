//! `recrawl-lab cluster`, on the bundled recording.

use crate::ended::{fails, succeeds};
use crate::{program, workspace_file};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

/// Runs `recrawl-lab cluster` in a folder. `RECORDING` stands for the bundled recording.
fn cluster(folder: &Path, words: &str) -> Output {
    let recording = workspace_file("crates/mockweb/recording");
    let mut program = program();
    program.current_dir(folder).arg("cluster");
    words.split(' ').for_each(|word| match word {
        "RECORDING" => _ = program.arg(&recording),
        word => _ = program.arg(word),
    });
    program.output().unwrap()
}

/// A model file without the day of the fit.
fn undated(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("date = ")).collect();
    assert_eq!(lines.len() + 1, text.lines().count());
    lines.join("\n")
}

#[test]
fn a_model_is_fitted_shown_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let said = succeeds(cluster(at, "fit --data RECORDING --out one.toml --clusters 12 --random-seed 5"));
    assert!(said.starts_with("one.toml: 12 clusters of "), "{said}");
    succeeds(cluster(at, "fit --data RECORDING --out two.toml --clusters 12 --seed 5"));
    assert_eq!(undated(&at.join("one.toml")), undated(&at.join("two.toml")));
    let refused = fails(cluster(at, "fit --data RECORDING --out two.toml --clusters 12 --features url"), 2);
    assert!(refused.contains("--force"), "{refused}");
    succeeds(cluster(at, "fit --data RECORDING --out two.toml --clusters 12 --features url --force"));

    let shown: Value = serde_json::from_str(&succeeds(cluster(at, "show one.toml --json"))).unwrap();
    let clusters = shown["clusters"].as_array().unwrap();
    assert_eq!((clusters.len(), &shown["random_seed"]), (12, &5.into()));
    let pages: Vec<u64> = clusters.iter().map(|cluster| cluster["pages"].as_u64().unwrap()).collect();
    assert!(pages.is_sorted_by(|a, b| a >= b), "{pages:?}");
    assert_eq!(said.split(' ').nth(4), Some(&*pages.iter().sum::<u64>().to_string()), "{said}");
    assert!(clusters[0]["closeness"].as_f64().unwrap() > 0.2, "{}", clusters[0]);
    let text = succeeds(cluster(at, "show two.toml"));
    assert!(text.contains("slashes") && !text.contains("images"), "{text}");
    assert!(text.contains(shown["digest"].as_str().unwrap()), "{text}");

    let report = "report --data RECORDING --model one.toml --json --seed 5";
    let report: Value = serde_json::from_str(&succeeds(cluster(at, report))).unwrap();
    let sizes = &report["sizes"];
    assert_eq!(
        (&sizes["clusters"]["number"], &sizes["sites"]["number"]),
        (&12.into(), &67.into()),
        "{sizes}"
    );
    assert_eq!(sizes["clusters"]["most"], pages[0], "pages of the fit are assigned as they were");
    let curve = report["tau"]["curve"].as_array().unwrap();
    let taus: Vec<f64> = curve.iter().map(|at| at["tau_per_page"].as_f64().unwrap()).collect();
    assert!(taus.len() > 5 && taus[0] > 0.1 && taus[taus.len() - 1] > taus[0] && taus[0] < 1.0, "{taus:?}");
    let variation = &report["variation"];
    let points = variation["clusters"].as_array().unwrap();
    for name in ["static", "dynamic", "both", "chance"] {
        assert!(points[0][name].as_f64().unwrap() > 0.0, "{}", points[0]);
    }
    let both = |clusters: u64| {
        let point = points.iter().find(|point| point["clusters"] == clusters).unwrap();
        (point["both"].as_f64().unwrap(), point["chance"].as_f64().unwrap())
    };
    assert!(both(25).0 < both(1).0 && both(25).0 < both(25).1, "{points:?}");
    assert!(variation["sites"].as_f64().unwrap() > 0.0 && variation["groups"].as_f64().unwrap() > 0.0);
}

#[test]
fn wrong_words_and_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("poem.toml"), "tyger = \"burning bright\"\n").unwrap();
    fs::write(at.join("old.toml"), "[model]\nversion = 99\n").unwrap();
    succeeds(
        program().current_dir(at).args(["dataset", "generate", "made", "--pages", "80"]).output().unwrap(),
    );
    for (words, wants) in [
        ("show none.toml", "no such file"),
        ("show poem.toml", "not a model"),
        ("show old.toml", "version 99"),
        ("fit --data none --out new.toml", "none"),
        ("fit --data made --out new.toml --cycle 9999", "the last cycle of made is"),
        ("fit --data made --out none/new.toml", "no such folder"),
        ("fit --data made --out new.toml --features content,url", "needed for --features content"),
        ("report --data made --cycle 9999", "the last cycle of made is"),
        ("report --data made --model poem.toml", "not a model"),
    ] {
        let line = fails(cluster(at, words), 2);
        assert!(line.contains(wants), "{words}: {line}");
        assert!(!at.join("new.toml").exists(), "{words}");
    }
    let refused = cluster(at, "fit --data made --out new.toml --clusters 0");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("1 to 4096"));
    let fitted = cluster(at, "fit --data made --out urls.toml --clusters 3");
    let said = String::from_utf8_lossy(&fitted.stderr).into_owned();
    assert!(said.contains("URLs alone"), "{said}");
    succeeds(fitted);
    let line = fails(cluster(at, "report --data RECORDING --model urls.toml"), 2);
    assert!(line.contains("fitted to other data"), "{line}");
}
