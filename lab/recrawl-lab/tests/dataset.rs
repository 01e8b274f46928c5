//! `recrawl-lab dataset`: data sets made up; what is there is left alone.

use crate::ended::{fails, succeeds};
use crate::program;
use recrawl_simulation::{DatasetSummary, open};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

fn dataset(folder: &Path, words: &str) -> Output {
    program().current_dir(folder).arg("dataset").args(words.split(' ')).output().unwrap()
}

fn info(folder: &Path, name: &str) -> Value {
    serde_json::to_value(DatasetSummary::compute(&open(&folder.join(name), None).unwrap())).unwrap()
}

#[test]
fn a_seed_makes_a_world() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let words = "--preset brdc12 --pages 500 --cycles 30 --random-seed 7";
    succeeds(dataset(at, &format!("generate one {words}")));
    succeeds(dataset(at, &format!("generate two {words}")));
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
    assert_eq!(one["digest"], info(at, "two")["digest"]);
    succeeds(dataset(at, "generate three --preset brdc12 --pages 500 --cycles 30 --random-seed 8"));
    assert_ne!(one["digest"], info(at, "three")["digest"]);
}

#[test]
fn signals_are_added_to_the_same_changes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    succeeds(dataset(at, "generate plain --pages 300 --cycles 30"));
    succeeds(dataset(at, "generate told --pages 300 --cycles 30 --signal-precision 0.6 --signal-recall 0.9"));
    let (plain, told) = (info(at, "plain"), info(at, "told"));
    assert_eq!((&plain["signals"], &plain["changes"]), (&0.into(), &told["changes"]));
    assert!(told["signals"].as_u64() > told["changes"].as_u64(), "{told}");
}

#[test]
fn bursts_of_folders_add_changes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    succeeds(dataset(at, "generate plain --pages 300 --cycles 30"));
    succeeds(dataset(at, "generate folders --pages 300 --cycles 30 --folder-bursts 0.05"));
    let (plain, folders) = (info(at, "plain"), info(at, "folders"));
    assert_eq!(plain["digest"], "92e9cdd2842f2ecdbf11ccf84c01c703", "without the option the same as ever");
    assert!(folders["changes"].as_u64() > plain["changes"].as_u64(), "{folders}");
}

#[test]
fn what_is_there_is_not_overwritten_and_wrong_words_touch_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("bits.txt"), "010\n001\n").unwrap();
    for (words, wants) in [
        ("generate bits.txt", "not overwritten"),
        ("generate out --preset brdc21", "default, brdc12"),
        ("generate out --pages 5 --sites 6", "at least one page per site"),
        ("generate out --cycles 0", "0 cycles"),
        ("generate out --signal-precision 0.5 --signal-recall 2", "signal_recall = 2"),
        ("generate out --folder-bursts 2", "folder_bursts = 2"),
        ("generate out --folder-bursts 0", "--folder-bursts: use a share above 0"),
        ("generate out --preset radinsky --folder-bursts 0.1", "no sites, bursts of folders"),
    ] {
        let line = fails(dataset(at, words), 2);
        assert!(line.contains(wants), "{words}: {line}");
    }
    assert_eq!(fs::read_to_string(at.join("bits.txt")).unwrap(), "010\n001\n");
    assert_eq!(fs::read_dir(at).unwrap().count(), 1, "nothing else came to be");
}
