//! Ours beside two outside parsers, Protego and robotstxt, on a recorded corpus of files and paths.
//!
//! Where one of them judges otherwise, a reason is wanted that is more than a word: a *quirk* rewrites
//! file and path so that ours, on the rewritten, does what the other does on the original. A
//! disagreement is explained by the smallest set of quirks under which ours gives the other's verdict;
//! and under all quirks of a parser at once, ours must give its verdict on every case, so that no quirk
//! claims too much. docs/internals/robots-disagreements.md tells the reasons, with their counts, which are
//! compared here.

mod quirks;

use super::*;
use quirks::{PROTEGO, Quirk, ROBOTSTXT};
use serde_json::Value;
use std::collections::BTreeMap;

const CORPUS: &str = include_str!("differential/corpus.jsonl");
const EXPLAINED: &str = include_str!("../../../../docs/internals/robots-disagreements.md");

/// One file, with what the others say of it.
struct Case {
    file: String,
    /// The Crawl-delay, by Protego.
    delay: Option<f64>,
    /// A path, and whether it is allowed by Protego and by robotstxt.
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

/// Our verdict after these quirks.
fn allows(file: &str, path: &str, quirks: &[&Quirk]) -> bool {
    let (file, path) = quirks::rewrite(file, path, quirks);
    Rules::parse(file.as_bytes(), "recrawl").allows(&path)
}

/// Our Crawl-delay after these quirks.
fn delay(file: &str, quirks: &[&Quirk]) -> Option<f64> {
    let (file, _) = quirks::rewrite(file, "/", quirks);
    Rules::parse(file.as_bytes(), "recrawl").crawl_delay.map(|d| d.as_secs_f64())
}

/// The smallest set of quirks, at most three, under which `holds`.
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

/// `| parser | reason | count |` of the documentation.
fn documented() -> BTreeMap<(String, String), usize> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let count = cells.get(3)?.parse().ok()?;
        Some(((cells[1].to_owned(), cells[2].to_owned()), count))
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
    assert_eq!(counts, documented, "docs/internals/robots-disagreements.md");
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
    assert_eq!(counts, documented, "docs/internals/robots-disagreements.md");
}
