//! `recrawl learn`: a formula from recorded changes, what is written, what is refused, how it is stopped and
//! goes on.

use crate::harness::{fails, program, succeeds};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use recrawl_generator::{Recipe, generate};
use recrawl_simulation::format;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a history as bit strings: pages that change at rates of their own.
fn history(folder: &Path, pages: usize, cycles: usize) -> String {
    named_history(folder, "pages.txt", pages, cycles, 5)
}

fn named_history(folder: &Path, name: &str, pages: usize, cycles: usize, seed: u64) -> String {
    let mut lot = StdRng::seed_from_u64(seed);
    let mut page = |i: usize| -> String {
        let rate = [0.6, 0.2, 0.05, 0.0][i % 4];
        (0..cycles).map(|_| if lot.random_bool(rate) { '1' } else { '0' }).chain(['\n']).collect()
    };
    let path = folder.join(name);
    std::fs::write(&path, (0..pages).map(&mut page).collect::<String>()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A small learning in a folder.
fn learn(folder: &Path, words: &[&str]) -> Command {
    let data = folder.join("pages.txt");
    let mut command = program();
    command.current_dir(folder).args(["learn", "--format", "gp4c", "--data"]).arg(data);
    command.args(["--folds", "3", "--random-seeds", "1", "--share", "0.1"]).args(words);
    command
}

const SMALL: [&str; 4] = ["--population", "50", "--generations", "3"];

#[test]
fn a_learned_formula_is_written_with_its_report_and_can_be_used() {
    let folder = tempfile::tempdir().unwrap();
    history(folder.path(), 60, 30);
    let json = learn(folder.path(), &SMALL).args(["--json", "--out", "mine.toml"]).output().unwrap();
    let json: Value = serde_json::from_str(&succeeds(json)).unwrap();
    assert_eq!(json["formula"]["name"], "mine");
    assert_eq!(json["folds"].as_array().unwrap().len(), 3);
    let known: Vec<&Value> =
        json["standings"].as_array().unwrap().iter().filter(|s| s["role"] != "learned").collect();
    assert_eq!((known.len(), &known[0]["name"]), (1, &json["choice"]["known"]));
    let all = learn(folder.path(), &SMALL).args(["--json", "--all-policies", "--out", "all.toml"]).output();
    let all: Value = serde_json::from_str(&succeeds(all.unwrap())).unwrap();
    let standings = all["standings"].as_array().unwrap();
    assert!(standings.iter().any(|s| s["name"] == "age" && s["role"] == "known"));
    assert_eq!((&all["folds"], &all["choice"]), (&json["folds"], &json["choice"]));
    for name in ["all.toml", "all.md", "all.svg"] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    let expression = json["formula"]["expression"].as_str().unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("mine.md").contains(&format!("    {expression}\n")));
    assert!(read("mine.svg").starts_with("<svg"));
    assert!(read("mine.toml").contains("data_digest") && read("mine.toml").contains("preset = \"recrawl\""));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4, "and nothing else");
    let shown =
        program().current_dir(folder.path()).args(["formula", "check", "mine.toml"]).output().unwrap();
    assert!(succeeds(shown).contains("terminals"));

    // The same seed, the same formula, on any number of threads; what was learned is not written over.
    let line = fails(learn(folder.path(), &SMALL).args(["--out", "mine.toml"]).output().unwrap(), 2);
    assert!(line.contains("mine.toml exists"), "{line}");
    for threads in ["1", "3"] {
        let name = format!("again-{threads}.toml");
        let again =
            learn(folder.path(), &SMALL).args(["--threads", threads, "--out", &name]).output().unwrap();
        assert!(succeeds(again).starts_with(expression));
    }
    let without = |name: &str| read(name).lines().filter(|l| !l.starts_with("name")).collect::<String>();
    assert_eq!(without("again-1.toml"), without("again-3.toml"));
}

/// A preset of a text runs that text's protocol; and what was written is said, with the reason.
#[test]
fn a_preset_brings_its_protocol_and_the_choice_is_told() {
    let folder = tempfile::tempdir().unwrap();
    history(folder.path(), 60, 30);
    let run = |out: &str, words: &[&str]| -> Value {
        let mut command = learn(folder.path(), &SMALL);
        let output = command.args(["--json", "--out", out]).args(words).output().unwrap();
        serde_json::from_str(&succeeds(output)).unwrap()
    };
    let protocol = |json: &Value| json["formula"]["provenance"]["protocol"].as_str().unwrap().to_owned();
    let cycles = |json: &Value| json["folds"][0]["cycles"].clone();
    let journal = run("journal.toml", &["--preset", "journal"]);
    assert_eq!((protocol(&journal), cycles(&journal)), ("journal".into(), serde_json::json!([7, 7, 8])));
    let other = run("other.toml", &["--preset", "journal", "--protocol", "thesis"]);
    assert_eq!((protocol(&other), cycles(&other)), ("thesis".into(), serde_json::json!([28, 28, 28])));

    let choice = &other["choice"];
    assert_eq!(choice["gains_on_other_folds"].as_array().unwrap().len(), 3);
    let is_learned = choice["gain"].as_f64().unwrap() > choice["error"].as_f64().unwrap();
    assert_eq!(choice["written"], if is_learned { "learned" } else { "known" });
    assert!(choice["why"].as_str().unwrap().contains("one standard error"), "{choice}");

    let told = |json: &Value| {
        json["warnings"].as_array().unwrap().iter().any(|w| w.as_str().unwrap().contains("|x| ≤ 1"))
    };
    assert!(!told(&other), "the journal's logarithm knows probabilities");
    let text = succeeds(learn(folder.path(), &SMALL).args(["--out", "warned.toml"]).output().unwrap());
    assert!(text.contains("\nwrote the "), "{text}");
    assert!(text.contains("\nwarning: preset recrawl: with protection `program`, log x is 0"), "{text}");
}

/// A learning that would take for ever is stopped, goes on, and is stopped again.
#[test]
fn a_stopped_learning_keeps_a_checkpoint_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    history(folder.path(), 30, 12);
    let endless =
        ["--population", "5", "--start-from", "none", "--generations", "1000000", "--out", "long.toml"];
    let checkpoint = folder.path().join("long.checkpoint.json");
    let generation = || {
        let text: Value = serde_json::from_str(&std::fs::read_to_string(&checkpoint).unwrap()).unwrap();
        text["runs"].as_array().unwrap().last().unwrap()["generation"].as_u64().unwrap()
    };
    let mut before = 0;
    for words in [&endless[..], &[&endless[..], &["--resume"]].concat()] {
        let mut learning = learn(folder.path(), words);
        learning.env("RECRAWL_LOG", "info").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = learning.spawn().unwrap();
        // It listens before it says that it begins.
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("learning started") {
            line.clear();
            assert_ne!(errors.read_line(&mut line).unwrap(), 0, "it ended before it began");
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let said = succeeds(child.wait_with_output().unwrap());
        assert!(said.contains("long.checkpoint.json") && said.contains("--resume"), "{said}");
        assert!(generation() > before, "{before}");
        before = generation();
    }
    let line = fails(learn(folder.path(), &endless).output().unwrap(), 2);
    assert!(line.contains("long.checkpoint.json exists; pass --resume"), "{line}");
    let other = learn(folder.path(), &endless).args(["--resume", "--fitness", "age"]).output().unwrap();
    let line = fails(other, 2);
    assert!(line.contains("its fitness is change_rate, now it is age"), "{line}");
    assert!(!folder.path().join("long.toml").exists());
}

#[test]
fn what_cannot_be_learned_says_why_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    history(folder.path(), 30, 12);
    for (words, code, says) in [
        (&["--preset", "best"][..], 2, "unknown preset 'best'"),
        (&["--fitness", "speed"], 2, "unknown fitness 'speed'"),
        (&["--folds", "2"], 2, "2 folds"),
        (&["--only-fold", "6"], 2, "no fold 6"),
        (&["--start-from", "t *"], 2, "--start-from"),
        (&["--start-from", "t * nad", "--terminals", "basic"], 2, "nad is not among the basic"),
        (&["--share", "0"], 2, "share of 0"),
        (&["--random-seeds", "1,1"], 2, "random seed 1 is repeated"),
        (&["--out", "mine.json"], 2, "end in .toml"),
        (&["--resume"], 2, "nothing to resume"),
        (&["--warmup", "12"], 1, "leave none"),
        (&["--protocol", "journal", "--warmup", "3"], 1, "--protocol thesis"),
        (&["--folds", "31"], 1, "too few for 31 folds"),
    ] {
        let mut command = program();
        command.current_dir(folder.path()).args(["learn", "--format", "gp4c", "--data", "pages.txt"]);
        let line = fails(command.args(SMALL).args(words).output().unwrap(), code);
        assert!(line.contains(says), "{words:?}: {line}");
    }
    for (text, says) in
        [("", "pages.txt"), ("0110\n", "too few"), (&"0000000000\n".repeat(20), "ever changes")]
    {
        std::fs::write(folder.path().join("pages.txt"), text).unwrap();
        let output = learn(folder.path(), &SMALL).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{text:?}");
        let line = fails(output, 1);
        assert!(line.contains(says), "{line}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// One data set is learned from as before there could be several, digit by digit.
#[test]
fn one_data_set_gives_the_figures_that_it_gave_before() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| {
        let output = program().current_dir(folder.path()).args(line.split(' ')).output().unwrap();
        succeeds(output)
    };
    let recipe = Recipe { pages: 120, sites: 12, cycles: 30, seed: 7, ..Recipe::default() };
    format::create(&generate(&recipe).unwrap(), &folder.path().join("web"), "native").unwrap();
    let json = run("learn --data web --folds 3 --fold-by site --random-seeds 1 --share 0.1 --population 60 \
                    --generations 4 --fitness freshness --json --out one.toml");
    let json: Value = serde_json::from_str(&json).unwrap();
    let chosen = json["folds"].as_array().unwrap().iter().map(|fold| {
        let choices = fold["choices"].as_array().unwrap();
        let choice = choices.iter().find(|choice| choice["method"] == fold["chosen"]).unwrap();
        let figure = |name: &str| choice[name].as_f64().unwrap();
        (
            choice["expression"].as_str().unwrap().to_owned(),
            figure("train"),
            figure("validation"),
            figure("test"),
        )
    });
    let before = [
        ("p_eb_site", 0.810439560439561, 0.9255319148936173, 0.7289915966386554),
        ("u_harm_site", 0.9118541033434653, 0.8025210084033614, 0.8040293040293045),
        ("u_age_site", 0.7678571428571427, 0.8122710622710627, 0.9057750759878422),
    ];
    assert_eq!(chosen.collect::<Vec<_>>(), before.map(|(text, a, b, c)| (text.to_owned(), a, b, c)));
    let (gain, error) = (json["choice"]["gain"].as_f64(), json["choice"]["error"].as_f64());
    assert_eq!((gain, error), (Some(-0.026536146373442992), Some(0.023392294854532186)));
    // What threads remember of each other's replays depends on their order; what is asked does not.
    let work = &json["work"];
    assert_eq!([&work["asked"], &work["replayed"], &work["cycles"]], [720, 559, 15652]);
    assert_eq!(work["replays_by_page"], Value::Null, "no formula reads siblings");
}

#[test]
fn several_data_sets_give_one_formula_and_a_line_each() {
    let folder = tempfile::tempdir().unwrap();
    named_history(folder.path(), "a.txt", 60, 30, 5);
    named_history(folder.path(), "b.txt", 40, 24, 6);
    let several = |words: &[&str]| {
        let mut command = program();
        command
            .current_dir(folder.path())
            .args(["learn", "--format", "gp4c", "--data", "a.txt", "--data", "b.txt"]);
        command.args(["--folds", "3", "--random-seeds", "1", "--share", "0.1"]).args(SMALL).args(words);
        command.output().unwrap()
    };
    let json: Value = serde_json::from_str(&succeeds(several(&["--json", "--threads", "1"]))).unwrap();
    let sets = json["sets"].as_array().unwrap();
    assert_eq!((sets[0]["name"].as_str(), sets[1]["name"].as_str()), (Some("a.txt"), Some("b.txt")));
    assert_eq!((sets[0]["pages"].as_u64(), sets[1]["cycles"].as_u64()), (Some(60), Some(22)));
    assert_eq!(json["folds"].as_array().unwrap().len(), 3);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let report = read("learned-2-sets.md");
    assert!(
        report.contains("\n| a.txt | 60 | 28 | ") && report.contains("\n| b.txt | 40 | 22 | "),
        "{report}"
    );
    assert!(read("learned-2-sets.toml").contains("data = \"a.txt, b.txt\""));
    assert!(!folder.path().join("learned-2-sets.svg").exists());
    let text = succeeds(several(&["--threads", "2", "--out", "again.toml"]));
    assert!(text.starts_with(json["formula"]["expression"].as_str().unwrap()), "{text}");
    assert!(
        text.contains("\n  a.txt ") && text.contains("\n  b.txt ") && text.contains("\nwrote the "),
        "{text}"
    );
    let without = |name: &str| read(name).lines().filter(|l| !l.starts_with("name")).collect::<String>();
    assert_eq!(without("again.toml"), without("learned-2-sets.toml"));

    std::fs::copy(folder.path().join("a.txt"), folder.path().join("c.txt")).unwrap();
    for (words, code, says) in [
        (&["--data", "c.txt"][..], 2, "a.txt and c.txt are the same data; give each data set once"),
        (&["--data", "a.txt"], 2, "a.txt and a.txt are the same data"),
        (&["--data", "d.txt"], 2, "d.txt"),
        (&["--last", "25"], 2, "out of range for b.txt; use a cycle from 0 to 24"),
        (
            &["--folds", "41"],
            1,
            "b.txt: 40 of 40 pages exist from the first cycle to the last, too few for 41 folds",
        ),
        (&["--protocol", "journal", "--warmup", "7"], 1, "b.txt: training has 8 cycles"),
    ] {
        let mut command = program();
        command
            .current_dir(folder.path())
            .args(["learn", "--format", "gp4c", "--data", "a.txt", "--data", "b.txt"]);
        let line = fails(command.args(["--out", "new.toml"]).args(words).output().unwrap(), code);
        assert!(line.contains(says), "{words:?}: {line}");
    }
    assert!(!folder.path().join("new.toml").exists());
}

/// Formulas of siblings are learned, and the output tells that they were replayed page by page.
#[test]
fn terminals_of_related_pages_are_learned_page_by_page() {
    let folder = tempfile::tempdir().unwrap();
    history(folder.path(), 60, 30);
    let words = ["--terminals", "related", "--rounds", "2", "--json", "--out", "related.toml"];
    let json: Value =
        serde_json::from_str(&succeeds(learn(folder.path(), &SMALL).args(words).output().unwrap())).unwrap();
    let work = &json["work"];
    assert!(work["replays_by_page"].as_u64() >= work["replayed"].as_u64(), "several rounds: {work}");
    let toml = std::fs::read_to_string(folder.path().join("related.toml")).unwrap();
    assert!(toml.contains("ties by hash, 2 rounds a cycle"), "{toml}");
    let words = ["--terminals", "related", "--out", "one-round.toml"];
    let text = succeeds(learn(folder.path(), &SMALL).args(words).output().unwrap());
    assert!(text.contains(" page by page, "), "{text}");
}

/// Writes 60 pages over 30 cycles, of which some change once, in the middle.
fn few_changes(folder: &Path, changes: usize) {
    let page = |page: usize| {
        let cycle = |cycle: usize| if cycle == 15 && page * changes % 60 < changes { '1' } else { '0' };
        (0..30).map(cycle).chain(['\n']).collect::<String>()
    };
    std::fs::write(folder.join("pages.txt"), (0..60).map(page).collect::<String>()).unwrap();
}

#[test]
fn from_too_few_changes_nothing_is_learned_and_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    few_changes(folder.path(), 0);
    let line = fails(learn(folder.path(), &SMALL).args(["--out", "none.toml"]).output().unwrap(), 1);
    assert!(line.contains("nothing to learn from"), "{line}");

    few_changes(folder.path(), 6);
    let json = learn(folder.path(), &SMALL).args(["--json", "--out", "few.toml"]).output().unwrap();
    let json: Value = serde_json::from_str(&succeeds(json)).unwrap();
    let changes = &json["changes"];
    assert_eq!((&changes["test"], &changes["enough"]), (&6.into(), &false.into()), "{changes}");
    assert!(changes["training"].as_u64().unwrap() < 6, "{changes}");
    assert_eq!(json["choice"]["written"], "known");
    for figure in ["gain", "error", "gains_on_other_folds"] {
        assert!(json["choice"][figure].is_null(), "{figure}: {json}");
    }
    assert!(json["folds"].is_null() && json["standings"].is_null(), "{json}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    for text in [read("few.md"), read("few.toml")] {
        assert!(text.contains("6 in all test parts; too few to tell formulas apart"), "{text}");
        assert!(!text.contains("0.0000"), "{text}");
    }
    assert!(!read("few.md").contains("## Folds"));
    let text = succeeds(learn(folder.path(), &SMALL).args(["--out", "again.toml"]).output().unwrap());
    assert!(text.contains("too few to tell formulas apart") && text.contains("test data: —"), "{text}");
    assert!(!text.contains("0.0000"), "{text}");

    named_history(folder.path(), "other.txt", 60, 30, 6);
    let two =
        learn(folder.path(), &SMALL).args(["--data", "other.txt", "--out", "two.toml"]).output().unwrap();
    let line = fails(two, 1);
    assert!(line.contains("too few to tell formulas apart") && line.contains("leave this set out"), "{line}");

    history(folder.path(), 60, 30);
    let json = learn(folder.path(), &SMALL).args(["--json", "--out", "many.toml"]).output().unwrap();
    let json: Value = serde_json::from_str(&succeeds(json)).unwrap();
    assert_eq!(json["changes"]["enough"], true, "{}", json["changes"]);
    assert!(json["choice"]["gain"].is_number() && json["folds"].is_array(), "{json}");
    assert!(read("many.md").contains("Data: changes after the warm-up: "));
}
