//! Siblings that change together: the plan visits the others, the report names the burst, and `explain` says why.

use crate::harness::{World, count, succeeds};
use recrawl_mockweb::recording::RecordingSource;
use recrawl_mockweb::replay::ReplayConfig;
use recrawl_mockweb::{Config, WebConfig};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;

/// Last cycle of the recording.
const CYCLES: usize = 14;
/// The cycle in which the folder changes.
const BURST: usize = 9;

/// A recording of five folders of eight pages, of which one changes as a whole.
fn recording(folder: &std::path::Path) {
    let mut cycles = String::from("cycle\tdate\n");
    (0..=CYCLES).for_each(|cycle| writeln!(cycles, "{cycle}\t2026-01-{:02}", cycle + 1).unwrap());
    std::fs::write(folder.join("cycles.tsv"), cycles).unwrap();
    let mut pages = String::from("page_id\turl\tpath\tgroup\ttitle\tfirst_cycle\tlast_cycle\tchanges\n");
    for page in 0..40 {
        let path = format!("{}/page-{page:02}", ["api", "blog", "docs", "help", "news"][page / 8]);
        let changes = if page / 8 == 2 { format!("{BURST}:1") } else { String::new() };
        writeln!(pages, "{page}\thttps://a.test/{path}\t{path}\tall\t{path}\t0\t{CYCLES}\t{changes}")
            .unwrap();
    }
    let file = std::fs::File::create(folder.join("pages.tsv.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    packed.write_all(pages.as_bytes()).unwrap();
    packed.finish().unwrap();
}

#[test]
fn a_burst_is_reported_followed_and_explained() {
    let folder = tempfile::tempdir().unwrap();
    recording(folder.path());
    let sources = vec![RecordingSource::Folder(folder.path().into())];
    let replay = ReplayConfig { sources, hosts: 1, ..ReplayConfig::default() };
    let web = Config::new(WebConfig::Replay(replay));
    let world = World::new(web, "[cycle]\npages = \"40%\"\n[schedule]\nformula = \"p_burst\"");
    let explained = |url: &str, words: &[&str]| succeeds(world.run(&[&["explain", url], words].concat()));
    let mut burst: Option<(Value, u32)> = None;
    for cycle in 1..=CYCLES {
        let report = world.next_cycle();
        let Some(found) = report.get("bursts") else { continue };
        assert!(cycle > BURST, "nothing changed before: {report}");
        if burst.is_some() {
            continue;
        }
        burst = Some((found.clone(), cycle as u32));
        assert_eq!(found["groups"], 1, "{found}");
        let strongest = &found["strongest"][0];
        assert!(strongest["folder"].as_str().unwrap().ends_with("/docs/"), "{strongest}");
        assert_eq!(
            (count(strongest, "pages"), count(strongest, "visits")),
            (Some(8), count(strongest, "changes"))
        );
        // The burst sends the plan to the rest of the folder at once.
        let changed = count(strongest, "changes").unwrap() + count(&report, "changed").unwrap();
        assert_eq!(changed, 8, "all are found within a cycle: {report}");
    }
    assert!(burst.is_some(), "the folder changed");

    // A page of the folder that is as it was tells what the others showed.
    let pages = world.pages();
    let (url, _) = pages.iter().find(|(url, _)| url.contains("/docs/")).unwrap();
    let told: Value = serde_json::from_str(&explained(url, &["--json"])).unwrap();
    let siblings = &told["siblings"];
    assert_eq!(count(siblings, "pages"), Some(8), "{siblings}");
    assert!(siblings["folder"].as_str().unwrap().ends_with("/docs/"), "{siblings}");
    assert!(count(siblings, "rank_without") >= Some(1), "{siblings}");
    let text = explained(url, &[]);
    assert!(text.contains("siblings    8 pages in http") && text.contains("without them: score"), "{text}");
    let other: Value = serde_json::from_str(&explained(url, &["--json", "--formula", "p_eb_site"])).unwrap();
    assert!(other["siblings"].is_null(), "it reads none: {other}");
}
