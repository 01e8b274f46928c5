//! Compares our parser with Protego and robotstxt on a recorded corpus of files and paths.
//!
//! Every disagreement needs a reason in code. A *quirk* rewrites file and path so that ours, on the
//! result, does what the other parser does on the original. The smallest set of quirks under which
//! ours agrees explains a disagreement. With all quirks of a parser at once, ours must agree on
//! every case, so that no quirk explains too much. disagreements.tsv lists the reasons with their
//! counts, which are compared here.

mod quirks;

use super::*;
use quirks::{PROTEGO, Quirk, ROBOTSTXT};
use serde_json::Value;
use std::collections::BTreeMap;

const CORPUS: &str = include_str!("differential/corpus.jsonl");
const EXPLAINED: &str = include_str!("differential/disagreements.tsv");

/// One file, with the results of the other parsers.
struct Case {
    file: String,
    /// Protego's Crawl-delay.
    delay: Option<f64>,
    /// A path, and whether Protego and robotstxt allow it.
    paths: Vec<(String, bool, bool)>,
}

fn cases() -> Vec<Case> {
    let case = |line: &str| {
        let case: Value = serde_json::from_str(line).unwrap();
        let pieces: Vec<(String, usize)> = serde_json::from_value(case["file"].clone()).unwrap();
        let paths: Vec<(String, u8, u8)> = serde_json::from_value(case["paths"].clone()).unwrap();
        Case {
            file: pieces.iter().map(|(text, n)| text.repeat(*n)).collect(),
            delay: case["delay"].as_f64(),
            paths: paths.into_iter().map(|(path, p, r)| (path, p == 1, r == 1)).collect(),
        }
    };
    CORPUS.lines().map(case).collect()
}

/// Our result after these quirks.
fn allows(file: &str, path: &str, quirks: &[&Quirk]) -> bool {
    let (file, path) = quirks::rewrite(file, path, quirks);
    RobotsRules::parse(file.as_bytes(), "recrawl").allows(&path)
}

/// Our Crawl-delay after these quirks.
fn delay(file: &str, quirks: &[&Quirk]) -> Option<f64> {
    let (file, _) = quirks::rewrite(file, "/", quirks);
    RobotsRules::parse(file.as_bytes(), "recrawl").crawl_delay.map(|d| d.as_secs_f64())
}

/// The smallest set of quirks, at most three, for which `holds` is true.
fn explain(quirks: &[Quirk], holds: impl Fn(&[&Quirk]) -> bool) -> Option<String> {
    let mut sets: Vec<Vec<&Quirk>> = vec![Vec::new()];
    for _ in 0..3 {
        let mut larger = Vec::new();
        for set in &sets {
            let begin =
                set.last().map_or(0, |last| quirks.iter().position(|q| q.name == last.name).unwrap() + 1);
            larger.extend(quirks[begin..].iter().map(|q| [set.as_slice(), &[q]].concat()));
        }
        sets = larger;
        if let Some(found) = sets.iter().find(|set| holds(set)) {
            return Some(found.iter().map(|q| q.name).collect::<Vec<_>>().join(", "));
        }
    }
    None
}

/// The rows of the list: parser, reason, count.
fn documented() -> BTreeMap<(String, String), usize> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let count = cells.get(2)?.parse().ok()?;
        Some(((cells[0].to_owned(), cells[1].to_owned()), count))
    };
    EXPLAINED.lines().filter_map(row).collect()
}

#[test]
fn rfc_9309_section_2_2_every_disagreement_with_protego_and_robotstxt_is_explained() {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut unexplained = Vec::new();
    let mut verdicts = 0;
    for case in cases() {
        for (path, protego, robotstxt) in &case.paths {
            verdicts += 2;
            let ours = allows(&case.file, path, &[]);
            for (parser, quirks, theirs) in
                [("Protego", PROTEGO, *protego), ("robotstxt", ROBOTSTXT, *robotstxt)]
            {
                let all: Vec<&Quirk> = quirks.iter().collect();
                if allows(&case.file, path, &all) != theirs {
                    unexplained.push(format!("{parser} under all quirks: {path} in {:?}", case.file));
                }
                if ours != theirs {
                    match explain(quirks, |set| allows(&case.file, path, set) == theirs) {
                        Some(reason) => *counts.entry((parser.into(), reason)).or_default() += 1,
                        None => unexplained.push(format!("{parser}: {path} in {:?}", case.file)),
                    }
                }
            }
        }
    }
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    assert!(verdicts > 7_000, "{verdicts}");
    let documented: BTreeMap<_, _> =
        documented().into_iter().filter(|((parser, _), _)| parser != "Crawl-delay").collect();
    assert_eq!(counts, documented, "disagreements.tsv");
}

#[test]
fn every_disagreement_with_protego_on_crawl_delay_is_explained() {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for case in cases() {
        if delay(&case.file, &[]) != case.delay {
            let reason = explain(quirks::PROTEGO_DELAY, |set| delay(&case.file, set) == case.delay);
            let reason = reason.unwrap_or_else(|| panic!("{:?} in {:?}", case.delay, case.file));
            *counts.entry(("Crawl-delay".into(), reason)).or_default() += 1;
        }
    }
    let documented: BTreeMap<_, _> =
        documented().into_iter().filter(|((parser, _), _)| parser == "Crawl-delay").collect();
    assert_eq!(counts, documented, "disagreements.tsv");
}
