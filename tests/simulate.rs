//! `recrawl simulate`, on a small history made here.

use crate::harness::{fails, program, succeeds};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

/// A page: its first and last cycle, and its changes.
type Page = (u32, u32, String);

/// 190 pages over the cycles 0 to 30: every tenth changes every other cycle, as many once in six, the others in turn
/// once or never. Ten more are there from cycle 5 to 20. Ten pages make a site.
fn history() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let page = |page: u32| {
        let gap = match page % 10 {
            0 => 2,
            1 => 6,
            2..=5 => 11 + page % 7,
            _ => 31,
        };
        let (first, last) = if page < 190 { (0, 30) } else { (5, 20) };
        let changes = (first + 1..=last).filter(|cycle| (cycle + page).is_multiple_of(gap));
        let changes: Vec<String> =
            changes.zip(1..).map(|(cycle, version)| format!("{cycle}:{version}")).collect();
        (first, last, changes.join(" "))
    };
    write(folder.path(), 30, &(0..200).map(page).collect::<Vec<_>>());
    folder
}

/// A history in the format of folders, of the cycles 0 to `last`.
fn write(folder: &Path, last: u32, pages: &[Page]) {
    let days: Vec<String> =
        (0..=last).map(|c| format!("{c}\t2026-{:02}-{:02}\n", c / 28 + 1, c % 28 + 1)).collect();
    std::fs::write(folder.join("cycles.tsv"), format!("cycle\tdate\n{}", days.concat())).unwrap();
    let mut text = "page_id\turl\tpath\tgroup\ttitle\tfirst_cycle\tlast_cycle\tchanges\n".to_owned();
    for (page, (first, last, changes)) in pages.iter().enumerate() {
        let site = page / 10;
        text += &format!(
            "{page}\thttps://s{site}.example/{page}\tp{page}\ts{site}\t\t{first}\t{last}\t{changes}\n"
        );
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    std::fs::write(folder.join("pages.tsv.gz"), gzip.finish().unwrap()).unwrap();
}

fn simulate(folder: &Path, words: &[&str]) -> Output {
    program().arg("simulate").arg("--data").arg(folder).args(words).output().unwrap()
}

fn json(folder: &Path, words: &[&str]) -> Value {
    let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    serde_json::from_str(&succeeds(simulate(folder, &words))).unwrap()
}

fn figure(report: &Value, policy: &str, figure: &str) -> f64 {
    let policies = report["policies"].as_array().unwrap();
    policies.iter().find(|p| p["name"] == policy).unwrap()[figure].as_f64().unwrap()
}

#[test]
fn all_policies_are_compared_on_the_same_history() {
    let folder = history();
    let report = json(folder.path(), &[]);
    assert_eq!((&report["pages"], &report["cycles"], &report["k"]), (&190.into(), &30.into(), &9.into()));
    assert_eq!(report["warmup"], 2);
    let policies = report["policies"].as_array().unwrap();
    let names: Vec<&str> = policies.iter().map(|p| p["name"].as_str().unwrap()).collect();
    for name in ["rand", "age", "nad", "p_gamma", "u_fresh", "p_burst", "oracle", "true_rate"] {
        assert!(names.contains(&name), "{names:?}");
    }
    for policy in policies {
        for part in ["change_rate", "freshness"] {
            assert_eq!(policy["per_cycle"][part].as_array().unwrap().len(), 28, "{}", policy["name"]);
        }
        let visited = policy["visited_share"].as_f64().unwrap();
        assert!(visited > 0.0 && visited <= 1.0);
    }
    assert_eq!(figure(&report, "oracle", "change_rate"), 1.0);
    assert!(figure(&report, "p_gamma", "change_rate") > figure(&report, "rand", "change_rate"));
    assert!(figure(&report, "age", "longest_neglect") < figure(&report, "nad", "longest_neglect"));
    let age = policies.iter().find(|p| p["name"] == "age").unwrap();
    assert_ne!(age["against_best"]["change_rate"]["best"], "oracle", "a bound is no rival");
    let [low, high] = [0, 1].map(|end| age["intervals"]["change_rate"][end].as_f64().unwrap());
    let value = figure(&report, "age", "change_rate");
    assert!(low <= value && value <= high, "{low} {value} {high}");
}

#[test]
fn a_run_repeats_itself_and_ties_follow_the_seed() {
    let folder = history();
    let policies = ["--policy", "rand", "--policy", "age", "--formula", "t * X"];
    let run = |more: &[&str]| succeeds(simulate(folder.path(), &[&policies[..], more].concat()));
    assert_eq!(run(&["--json"]), run(&["--json"]));
    assert_ne!(run(&["--json"]), run(&["--json", "--random-seed", "5"]));
    let table = run(&["--ties", "index"]);
    assert!(table.contains("ChangeRate") && table.contains("t * X") && table.contains('*'), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 120), "{table}");
}

#[test]
fn an_expression_means_itself_and_a_name_its_formula() {
    let folder = history();
    let words = [
        "--policy",
        "nad",
        "--formula",
        "(nad)",
        "--formula",
        "nad * t",
        "--formula",
        "default",
        "--ties",
        "index",
    ];
    let report = json(folder.path(), &words);
    let policies = report["policies"].as_array().unwrap();
    let kinds: Vec<_> =
        policies.iter().map(|p| (p["kind"].as_str().unwrap(), p["expression"].as_str().unwrap())).collect();
    assert_eq!(kinds[..3], [("policy", "nad * t"), ("formula", "nad"), ("formula", "nad * t")]);
    assert_eq!((policies[3]["name"].as_str(), kinds[3].0), (Some("default"), "formula"));
    assert_eq!(policies[0]["per_cycle"], policies[2]["per_cycle"]);
    assert_ne!(policies[0]["per_cycle"], policies[1]["per_cycle"]);
    assert_eq!(policies[2]["against_best"]["change_rate"]["verdict"], "same");
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, "name = \"mine\"\nexpression = \"nad * t\"\nestimators = \"cycles\"\n").unwrap();
    let with_file = json(folder.path(), &["--policy", "age", "--formula", file.to_str().unwrap()]);
    assert_eq!(with_file["policies"][1]["name"], "mine");
}

#[test]
fn budget_pages_and_cycles_are_as_asked() {
    let folder = history();
    let age = |words: &[&str]| json(folder.path(), &[&["--policy", "age"], words].concat());
    assert_eq!(age(&["--share", "0.5"])["k"], 95);
    assert_eq!(age(&["--pages-per-cycle", "7"])["k"], 7);
    let all = age(&["--pages-per-cycle", "100000"]);
    assert_eq!((&all["k"], &all["policies"][0]["freshness"]), (&190.into(), &1.0.into()));
    let limited = age(&["--share", "0.5", "--per-site", "2"]);
    assert_eq!(limited["policies"][0]["per_cycle"]["visited"][0], 38, "two pages of each of 19 sites");
    let short = age(&["--last", "9", "--warmup", "0"]);
    assert_eq!(
        (&short["cycles"], short["policies"][0]["per_cycle"]["age"].as_array().unwrap().len()),
        (&9.into(), 9)
    );
    let middle = age(&["--first", "5", "--last", "19"]);
    assert_eq!(
        (&middle["pages"], &middle["cycles"]),
        (&200.into(), &14.into()),
        "all are there from cycle 5 on"
    );
    assert!(middle["data"].as_str().unwrap().ends_with(", cycles 5 to 19"));
    let all = age(&["--set", "all"]);
    assert_eq!(all["pages"], 200);
    let per_cycle = &all["policies"][0]["per_cycle"];
    // Cycle 5 is the third that is counted: ten pages come with it, and are visited in the next two.
    assert_eq!((&per_cycle["first_visits"][2], &per_cycle["warmup_visits"][4]), (&10.into(), &10.into()));
    assert_eq!((&per_cycle["visited"][1], &per_cycle["visited"][2]), (&9.into(), &10.into()));
}

#[test]
fn cycles_can_be_made_longer() {
    let folder = history();
    let age = |words: &[&str]| json(folder.path(), &[&["--policy", "age"], words].concat());
    assert_eq!(age(&["--every", "1"]), age(&[]));
    let weeks = age(&["--every", "7"]);
    assert_eq!((&weeks["pages"], &weeks["cycles"]), (&190.into(), &4.into()));
    assert_eq!(weeks["policies"][0]["per_cycle"]["visited"].as_array().unwrap().len(), 2);
    // The first two of three long cycles are the warm-up.
    assert_eq!(age(&["--every", "7", "--first", "5", "--last", "26"])["cycles"], 3);
    let table = succeeds(simulate(folder.path(), &["--policy", "age", "--every", "7"]));
    assert!(table.contains(", every 7 cycles: 190 pages"), "{table}");
    let line = fails(simulate(folder.path(), &["--every", "30"]), 2);
    assert!(line.contains("warm-up of 2") && line.contains("last cycle"), "{line}");
    assert_eq!(simulate(folder.path(), &["--every", "0"]).status.code(), Some(2));
}

#[test]
fn curves_are_drawn() {
    let folder = history();
    let plot = folder.path().join("curves.svg");
    let words = ["--policy", "age", "--formula", "t * X", "--plot", plot.to_str().unwrap()];
    succeeds(simulate(folder.path(), &words));
    let svg = std::fs::read_to_string(&plot).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("t * X") && svg.contains("ChangeRate"));
    let nowhere = folder.path().join("none").join("curves.svg");
    let line = fails(simulate(folder.path(), &["--policy", "age", "--plot", nowhere.to_str().unwrap()]), 2);
    assert!(line.contains("none"), "{line}");
}

#[test]
fn what_cannot_be_asked_is_named() {
    let folder = history();
    for (words, wants) in [
        (&["--policy", "p_gama"][..], &["p_gama", "`p_gamma`"][..]),
        (&["--policy", "nutch"], &["nutch", "recrawl-lab simulate"]),
        (&["--metric", "ap_at_10"], &["--metric", "recrawl-lab simulate"]),
        (&["--formula", "t * Y"], &["--formula", "Y"]),
        (&["--formula", "none.toml"], &["none.toml"]),
        (&["--pages-per-cycle", "0"], &["0 pages"]),
        (&["--share", "0"], &["share of 0"]),
        (&["--share", "1.5"], &["share of 1.5"]),
        (&["--warmup", "30"], &["warm-up of 30", "--warmup"]),
        (&["--last", "99"], &["--last 99", "30"]),
        (&["--first", "31"], &["--first 31", "0 to 30"]),
        (&["--first", "9", "--last", "8"], &["--first 9", "0 to 8"]),
        (&["--format", "xml"], &["xml"]),
    ] {
        let line = fails(simulate(folder.path(), words), 2);
        assert!(wants.iter().all(|want| line.contains(want)), "{words:?}: {line}");
    }
    let both = simulate(folder.path(), &["--share", "0.1", "--pages-per-cycle", "3"]);
    assert_eq!(both.status.code(), Some(2));
    // Most pages come later: said, with where to begin.
    let late: Vec<Page> = (0..20).map(|page| (if page < 4 { 0 } else { 7 }, 30, String::new())).collect();
    write(folder.path(), 30, &late);
    let warned = simulate(folder.path(), &["--policy", "age"]);
    let said = String::from_utf8(warned.stderr).unwrap();
    assert!(said.contains("only 4 of 20 pages") && said.contains("--first 7"), "{said}");
    assert!(simulate(folder.path(), &["--policy", "age", "--first", "7"]).stderr.is_empty());
    write(folder.path(), 30, &[(5, 20, String::new())]);
    assert!(fails(simulate(folder.path(), &[]), 1).contains("--set all"));
    let nothing = folder.path().join("nothing");
    assert!(fails(simulate(&nothing, &[]), 2).contains("nothing"));
}

#[test]
fn poor_histories_end_in_a_result_or_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, 8, &[]);
    assert!(fails(simulate(path, &[]), 1).contains("page"));

    write(path, 8, &[(0, 8, "3:1 4:0".into())]);
    let one = json(path, &[]);
    assert_eq!((&one["pages"], &one["k"]), (&1.into(), &1.into()));
    assert_eq!(figure(&one, "age", "visited_share"), 1.0);

    write(path, 8, &vec![(0, 8, String::new()); 40]);
    let still = json(path, &[]);
    for policy in still["policies"].as_array().unwrap() {
        assert!(policy["change_rate"].is_null() && policy["freshness"].is_null(), "{policy}");
        assert!(policy["delay_p50"].is_null());
    }
    // No score is a number: the pages go in the order of ties.
    let none = json(path, &["--formula", "log(0 - 1) / 0 + pow(0 - 1, 0.5)", "--policy", "rand"]);
    assert_eq!(none["policies"][1]["per_cycle"]["visited"][0], 2);

    let gzip = std::fs::read(path.join("pages.tsv.gz")).unwrap();
    std::fs::write(path.join("pages.tsv.gz"), &gzip[..gzip.len() / 2]).unwrap();
    let line = fails(simulate(path, &[]), 1);
    assert!(line.contains("pages.tsv.gz") && line.contains("cut off"), "{line}");
}

/// A history of 60 pages over the cycles 0 to 20, of which the first ones change once each, in cycle 10.
fn with_changes(changes: usize) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let page = |page: usize| (0, 20, if page < changes { "10:1" } else { "" }.to_owned());
    write(folder.path(), 20, &(0..60).map(page).collect::<Vec<Page>>());
    folder
}

#[test]
fn figures_of_too_few_changes_are_left_out_and_their_number_is_said() {
    let words = ["--policy", "age", "--policy", "rand", "--formula", "t * X", "--share", "0.2"];
    for (changes, said) in [(0, "0 changes"), (23, "23 changes")] {
        let folder = with_changes(changes);
        let report = json(folder.path(), &words);
        let told = serde_json::json!({"after_warmup": changes, "needed": 24, "enough": false});
        assert_eq!(report["changes"], told);
        for policy in report["policies"].as_array().unwrap() {
            for metric in ["change_rate", "ndcg_log2", "freshness", "age", "delay_p50"] {
                assert!(policy[metric].is_null(), "{metric}: {policy}");
                let against = &policy["against_best"][metric];
                assert!(against["best"].is_null() && against["p_sites"].is_null(), "{against}");
                assert_eq!(against["verdict"], "cannot_tell");
            }
            assert!(policy["visited_share"].is_number() && policy["longest_neglect"].is_number(), "{policy}");
        }
        let text = succeeds(simulate(folder.path(), &words));
        assert!(text.contains(&format!("{said} after the warm-up, too few to compare policies")), "{text}");
        assert!(text.contains("—") && !text.contains("0.0000"), "{text}");
    }
    let folder = with_changes(24);
    let report = json(folder.path(), &words);
    assert_eq!(report["changes"]["enough"], true);
    assert!(figure(&report, "age", "change_rate") > 0.0);
    let text = succeeds(simulate(folder.path(), &words));
    assert!(text.contains("24 changes after the warm-up\n") && !text.contains("too few"), "{text}");
}

#[test]
fn changes_in_the_warm_up_are_none_to_find() {
    let folder = with_changes(30);
    let report = json(folder.path(), &["--policy", "age", "--warmup", "10"]);
    assert_eq!(report["changes"]["after_warmup"], 0, "{report}");
    let report = json(folder.path(), &["--policy", "age", "--warmup", "9"]);
    assert_eq!(report["changes"]["after_warmup"], 30, "{report}");
}

#[test]
fn important_pages_count_as_several() {
    let folder = history();
    let file = folder.path().join("importance.toml");
    let words = |formula: &'static str| {
        ["--formula", formula, "--ties", "index", "--importance", file.to_str().unwrap()].map(str::to_owned)
    };
    let figures = |rules: &str| {
        std::fs::write(&file, rules).unwrap();
        let of = |formula| {
            let words = words(formula);
            let words: Vec<&str> = words.iter().map(String::as_str).chain(["--policy", "age"]).collect();
            let report = json(folder.path(), &words);
            let names = ["change_rate", "freshness", "change_rate_by_importance", "freshness_by_importance"];
            names.map(|name| figure(&report, formula, name))
        };
        [of("p_eb"), of("importance * p_eb")]
    };
    let ones = figures("[[pages]]\nmatch = \"s3.example\"\nimportance = 1\n");
    assert_eq!(ones[0], ones[1], "all pages count alike");
    assert_eq!(ones[0][..2], ones[0][2..], "to the last digit");
    // Sites whose pages rarely change.
    let rules: Vec<String> = (0..5)
        .map(|site| format!("[[pages]]\nmatch = \"https://s{site}.example/{site}9\"\nimportance = 100\n"))
        .collect();
    let [plain, weighed] = figures(&rules.concat());
    assert_eq!(plain[..2], ones[0][..2], "the usual figures know nothing of importance");
    assert!(weighed[3] > plain[3] && weighed[0] < plain[0], "{plain:?} {weighed:?}");
    let line = fails(simulate(folder.path(), &["--policy", "age", "--importance", "none.toml"]), 2);
    assert!(line.contains("none.toml"), "{line}");
    let table =
        succeeds(simulate(folder.path(), &["--policy", "age", "--importance", file.to_str().unwrap()]));
    assert!(table.contains("CR(imp)") && table.contains("fresh(imp)"), "{table}");
    assert!(!succeeds(simulate(folder.path(), &["--policy", "age"])).contains("(imp)"));
}
