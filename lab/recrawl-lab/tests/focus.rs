//! `recrawl-lab focus`: scores, terms from examples, classifiers and replays on a small corpus.

use crate::ended::{fails, succeeds};
use crate::program;
use recrawl_focus::Topic;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;

const TERMS: &str = "genre = [\"lab\", \"exercise\", \"step\"]\ncontent = [\"statistics\", \"regression\"]\n";

fn focus(words: &[&str]) -> std::process::Output {
    program().arg("focus").args(words).output().unwrap()
}

fn told(words: &[&str]) -> Value {
    serde_json::from_str(&succeeds(focus(words))).unwrap()
}

/// Eight sites, every other one about statistics: a home page, a list of three labs and a page of three notes.
fn corpus(folder: &Path) {
    let mut parts = [
        "site_id\tsite\ttopics\tlanguage\n".to_owned(),
        "page_id\tsite_id\turl\ttitle\tgenre\tchars\n".to_owned(),
        "from\tto\tkind\tanchor\n".to_owned(),
        String::new(),
    ];
    for site in 0..8 {
        let subject = ["statistics", "history"][site % 2];
        parts[0] += &format!("{site}\tteam/{site}\t{subject}\ten\n");
        let first = site * 9;
        let mut page = |place: usize, path: &str, title: &str, genre: &str, text: &str| {
            let page = first + place;
            let url = format!("https://s{site}.example/{path}");
            parts[1] += &format!("{page}\t{site}\t{url}\t{title}\t{genre}\t500\n");
            parts[3] +=
                &format!("{{\"page_id\": {page}, \"text\": \"{text} about {subject} and regression\"}}\n");
        };
        page(0, "", "Home", "home", "Welcome");
        page(1, "labs/", "Labs", "listing", "All of them");
        page(2, "notes/", "Notes", "listing", "All of them");
        for place in 3..6 {
            page(place, &format!("labs/{place}"), "Lab", "lab", "Lab exercise, step by step,");
        }
        for place in 6..9 {
            page(place, &format!("notes/{place}"), "Note", "lecture", "Lecture of the day");
        }
        for (from, to, anchor) in [(0, 2, "notes"), (0, 1, "labs")]
            .into_iter()
            .chain((3..6).flat_map(|place| [(1, place, "lab exercise"), (2, place + 3, "notes")]))
        {
            parts[2] += &format!("{}\t{}\tbody\t{anchor}\n", first + from, first + to);
        }
    }
    let gzip = |name: &str, text: &str| {
        let file = fs::File::create(folder.join(name)).unwrap();
        let mut packer = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        packer.finish().unwrap();
    };
    fs::write(folder.join("sites.tsv"), &parts[0]).unwrap();
    gzip("pages.tsv.gz", &parts[1]);
    gzip("links.tsv.gz", &parts[2]);
    fs::write(folder.join("text.jsonl.zst"), zstd::encode_all(parts[3].as_bytes(), 1).unwrap()).unwrap();
}

#[test]
fn a_replay_tells_how_soon_each_order_finds_the_relevant_pages() {
    let folder = tempfile::tempdir().unwrap();
    corpus(folder.path());
    let terms = folder.path().join("lab-statistics.toml");
    fs::write(&terms, TERMS).unwrap();
    let (data, terms) = (folder.path().to_str().unwrap(), terms.to_str().unwrap());
    let words = ["replay", data, "--terms", terms, "--seeds", "3", "--json"];
    let report = told(&words);
    assert_eq!(report, told(&[&words[..], &["--threads", "1"]].concat()), "threads do not change a result");
    assert_eq!((&report["pages"], &report["cases"][0]["relevant"]), (&72.into(), &12.into()));
    let replays = report["replays"].as_array().unwrap();
    let until = |name: &str| -> f64 {
        let replay = replays.iter().find(|replay| replay["policy"] == name).unwrap();
        assert_eq!(replay["outcomes"].as_array().map(Vec::len), Some(3), "{name}");
        replay["until_most"].as_f64().unwrap()
    };
    assert_eq!(replays.len(), 9);
    assert!(until("learned") < until("random") && until("anchor") < until("random"), "{report:#}");
    let text = succeeds(focus(&["replay", data, "--terms", terms, "--policy", "fs-2,ps", "--seeds", "1"]));
    assert!(
        text.contains("lab x statistics") && text.contains("fs-2") && !text.contains("breadth"),
        "{text}"
    );
    let hidden = told(&[&words[..], &["--hide-urls", "--anchors", "body", "--policy", "ps"]].concat());
    assert_eq!((&hidden["urls_hidden"], &hidden["anchors"]), (&true.into(), &"body".into()));
}

#[test]
fn a_model_is_trained_measured_and_used() {
    let folder = tempfile::tempdir().unwrap();
    corpus(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (terms, model, page) = (path("lab-statistics.toml"), path("labs.bin"), path("page.html"));
    fs::write(&terms, TERMS).unwrap();
    let data = folder.path().to_str().unwrap();
    let words = ["train", data, "--terms", &terms, "--folds", "3", "--out", &model, "--json"];
    let report = told(&words);
    let classifiers = report["cases"][0]["classifiers"].as_array().unwrap();
    let names: Vec<&str> = classifiers.iter().filter_map(|c| c["classifier"].as_str()).collect();
    assert_eq!(names, ["terms", "terms, one set", "linear"]);
    assert!(fails(focus(&words), 2).contains("--force"), "a model is not overwritten");
    let html = "<title>Lab</title><p>Lab exercise, step by step, about statistics and regression</p>";
    fs::write(&page, html).unwrap();
    let by_terms = told(&["score", "--terms", &terms, "--language", "en", &page, "--json"]);
    assert_eq!(by_terms[0]["relevant"], true, "{by_terms:#}");
    assert_eq!(by_terms[0]["found"][0]["term"], "lab");
    let by_model =
        told(&["score", "--terms", &terms, "--model", &model, "--language", "en", &page, "--json"]);
    assert_eq!(by_model[0]["genre"], by_terms[0]["genre"]);
    assert_ne!(by_model[0]["relevance"], by_terms[0]["relevance"]);
    assert!(fails(focus(&["score", "--terms", &terms, "--model", &terms, &page]), 2).contains("not a model"));
}

#[test]
fn terms_are_proposed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (folder, texts) in [
        ("labs", ["lab exercise statistics", "lab exercise history"]),
        ("relevant", ["lab exercise statistics", "lab exercise statistics"]),
        ("others", ["news statistics", "news history"]),
    ] {
        fs::create_dir(path(folder)).unwrap();
        for (number, text) in texts.iter().enumerate() {
            fs::write(format!("{}/{number}.txt", path(folder)), text).unwrap();
        }
    }
    let (labs, relevant, others) = (path("labs"), path("relevant"), path("others"));
    let words =
        ["terms", "--genre", &labs, "--relevant", &relevant, "--language", "en", "--genre-terms", "3"];
    let proposed = succeeds(focus(&words));
    assert!(Topic::from_toml(&proposed).is_ok(), "{proposed}");
    assert!(fails(focus(&[&words[..], &["--by", "contrast"]].concat()), 2).contains("--background"));
    let contrast = [&words[..], &["--by", "contrast", "--background", &others, "--json"]].concat();
    let terms = told(&contrast);
    let genre: Vec<&str> =
        terms["genre"].as_array().unwrap().iter().filter_map(|t| t["term"].as_str()).collect();
    assert!(genre.contains(&"lab") && !genre.contains(&"news"), "{terms:#}");
}

#[test]
fn corpora_and_topics_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (data, terms) = (folder.path().to_str().unwrap(), path("terms.toml"));
    fs::write(&terms, TERMS).unwrap();
    let replay = |more: &[&str]| fails(focus(&[&["replay", data, "--terms", &terms], more].concat()), 2);
    assert!(replay(&[]).contains("GENRE-TOPIC.toml"));
    let lab = ["--genre", "lab", "--topic", "statistics"];
    assert!(replay(&lab).contains("no sites.tsv"));
    corpus(folder.path());
    assert!(replay(&["--genre", "exam", "--topic", "statistics"]).contains("no page has the genre `exam`"));
    assert!(replay(&["--genre", "lab", "--topic", "law"]).contains("no site has the topic `law`"));
    fs::write(path("sites.tsv"), "site_id\tsite\ttopics\tlanguage\n7\tx\t\ten\n").unwrap();
    assert!(replay(&lab).contains("sites.tsv: line 2: site_id 7 instead of 0"));
    let words = ["replay", data, "--terms", &terms, "--policy", "best"];
    let output = focus(&words);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && error.contains("pfs-2"), "{error}");
}
