//! Data sets: converted and shown; what is there is left alone.

use crate::harness::{World, fails, program, succeeds, web};
use recrawl_generator::{Recipe, generate};
use recrawl_simulation::format;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

fn dataset(folder: &Path, words: &str) -> Output {
    let words = words.split(' ').filter(|word| !word.is_empty());
    program().current_dir(folder).arg("dataset").args(words).output().unwrap()
}

fn info(folder: &Path, words: &str) -> Value {
    serde_json::from_str(&succeeds(dataset(folder, &format!("info {words} --json")))).expect("JSON")
}

#[test]
fn a_world_survives_the_way_through_bit_strings() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut recipe = Recipe { cycles: 30, seed: 7, ..Recipe::named("brdc12").unwrap() };
    recipe.resize(500);
    format::create(&generate(&recipe).unwrap(), &at.join("one"), "native").unwrap();
    let one = info(at, "one");
    assert_eq!(
        (one["pages"].as_u64(), one["cycles"].as_u64(), one["fixed"].as_u64()),
        (Some(500), Some(30), Some(500))
    );
    assert_eq!(one["sites"], 8, "as many sites for the pages as the preset has");
    assert_eq!(
        (&one["dates"][0], &one["form"], &one["over"]),
        (&"2012-09-17".into(), &"words".into(), &"fixed".into())
    );

    let said = succeeds(dataset(at, "convert one bits.txt --format gp4c"));
    assert!(
        said.contains("500 pages") && said.contains("lost in this format: addresses and sites"),
        "{said}"
    );
    let lines = fs::read_to_string(at.join("bits.txt")).unwrap();
    assert!(lines.lines().count() == 500 && lines.lines().all(|line| line.len() == 30), "{lines}");
    succeeds(dataset(at, "convert bits.txt back"));
    let back = info(at, "back --format native");
    for name in ["pages", "changes", "change_rate", "never", "per_page", "per_cycle", "top_share", "rates"] {
        assert_eq!(back[name], one[name], "{name}");
    }
    let shown = succeeds(dataset(at, "info one"));
    assert!(
        shown.contains("2012-09-17 to 2012-10-17") && shown.contains(one["digest"].as_str().unwrap()),
        "{shown}"
    );
}

#[test]
fn signals_are_shown_and_lost_in_bit_strings() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut recipe = Recipe { cycles: 30, signal_precision: 0.6, signal_recall: 0.9, ..Recipe::default() };
    recipe.resize(300);
    format::create(&generate(&recipe).unwrap(), &at.join("told"), "native").unwrap();
    assert!(succeeds(dataset(at, "info told")).contains("  signals  "));
    let said = succeeds(dataset(at, "convert told bits.txt --format gp4c"));
    assert!(said.contains("lost in this format: signals"), "{said}");
}

#[test]
fn what_is_there_is_not_overwritten_and_wrong_words_touch_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("bits.txt"), "010\n001\n").unwrap();
    for (words, wants) in [
        ("convert bits.txt bits.txt --format gp4c", "not overwritten"),
        ("convert bits.txt out --format parquet", "native, gp4c"),
        ("convert bits.txt out --format cdx", "read only"),
        ("convert bits.txt out --from-format parquet", "native, gp4c"),
        ("convert none.txt out", "none.txt"),
        ("convert bits.txt out --cycle 1h", "cdx, cdxj"),
        ("info none.txt", "none.txt"),
    ] {
        let line = fails(dataset(at, words), 2);
        assert!(line.contains(wants), "{words}: {line}");
    }
    assert_eq!(fs::read_to_string(at.join("bits.txt")).unwrap(), "010\n001\n");
    assert_eq!(fs::read_dir(at).unwrap().count(), 1, "nothing else came to be");
}

#[test]
fn bad_data_end_with_file_line_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("bits.txt"), "010\n01\n").unwrap();
    fs::write(at.join("empty"), "").unwrap();
    fs::write(at.join("poem"), "Tyger Tyger\n").unwrap();
    for (words, wants) in [
        ("info bits.txt", "bits.txt:2: 2 characters, but the first line has 3"),
        ("info empty", "empty: the file is empty"),
        ("convert bits.txt out", "bits.txt:2: "),
    ] {
        let line = fails(dataset(at, words), 1);
        assert!(line.contains(wants), "{words}: {line}");
    }
    assert!(fails(dataset(at, "info poem"), 2).contains("--format"));
    assert!(!at.join("out").exists());
}

#[test]
fn an_archive_s_index_is_read_in_cycles_of_any_length() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let line = |time, digest| {
        format!("com,example)/ {time} http://example.com/ text/html 200 {digest} - - 9 9 a.warc.gz\n")
    };
    let lines = [line("20260101000000", "A"), line("20260105000000", "B"), line("20260112000000", "A")];
    fs::write(at.join("index.cdx"), lines.concat()).unwrap();
    let days = info(at, "index.cdx");
    assert_eq!(
        (days["cycles"].as_u64(), days["changes"].as_u64(), days["back"].as_u64()),
        (Some(11), Some(2), Some(1))
    );
    assert_eq!(info(at, "index.cdx --cycle 7d")["changes"], 1, "both captures of the first week are one");
    assert_eq!(info(at, "index.cdx --cycle 3650d")["cycles"], 0);
    succeeds(dataset(at, "convert index.cdx weeks --cycle 7d"));
    assert_eq!(info(at, "weeks")["digest"], info(at, "index.cdx --cycle 7d")["digest"]);
}

#[test]
fn the_visits_of_a_crawl_are_a_data_set() {
    let world = World::new(web(40, 2), "[cycle]\npages = \"100%\"\n");
    world.warm_up();
    (0..4).for_each(|_| drop(world.next_cycle()));
    let at = world.folder.path();
    succeeds(world.run(&["export", "visits", "--out", at.join("visits.jsonl").to_str().unwrap()]));
    let figures = info(at, "visits.jsonl");
    let pages = world.pages();
    let visited = pages.values().filter(|page| !page["n"].is_null()).count();
    let changes: u64 = pages.values().filter_map(|page| page["X"].as_u64()).sum();
    assert_eq!(figures["pages"].as_u64(), Some(visited as u64), "of {} pages known", pages.len());
    // Figures speak of the fixed set; converted whole, nothing is lost.
    succeeds(dataset(at, "convert visits.jsonl history"));
    let rows = flate2::read::GzDecoder::new(fs::File::open(at.join("history/pages.tsv.gz")).unwrap());
    let rows = std::io::read_to_string(rows).unwrap();
    let listed =
        rows.lines().skip(1).flat_map(|row| row.rsplit('\t').next().unwrap().split_whitespace()).count();
    assert_eq!(listed as u64, changes, "every change that a visit saw, and no other");
    assert!(changes > 0);
    // And what a crawl saw is what its next formula is learned from.
    let words =
        "--data visits.jsonl --first 3 --warmup 1 --folds 3 --population 20 --generations 2 --random-seeds 1";
    let mut learn = program();
    succeeds(learn.current_dir(at).arg("learn").args(words.split_whitespace()).output().unwrap());
    let learned = fs::read_to_string(at.join("learned-visits.jsonl.toml")).unwrap();
    assert!(learned.contains("data = \"visits.jsonl, cycles 3 to"), "{learned}");
}

#[test]
fn a_set_without_a_change_has_no_share_of_changes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("still.txt");
    std::fs::write(&file, "0000\n0000\n").unwrap();
    let info = |words: &[&str]| {
        let mut command = program();
        command.args(["dataset", "info", "--format", "gp4c"]).arg(&file).args(words);
        succeeds(command.output().unwrap())
    };
    let json: Value = serde_json::from_str(&info(&["--json"])).unwrap();
    assert_eq!((&json["change_rate"], &json["top_share"]), (&0.0.into(), &Value::Null), "{json}");
    let text = info(&[]);
    assert!(text.contains("top 5 % of pages —") && !text.contains("% of the changes"), "{text}");
}
