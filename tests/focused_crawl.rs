//! Focused crawls (`[focus]`): relevant pages first, the same plan after a kill, and nothing of it without the key.

use crate::harness::{PATIENCE, World, count, fails, json_lines, succeeds};
use recrawl_mockweb::procedural::ProceduralConfig;
use recrawl_mockweb::{Config, WebConfig};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const TERMS: &str = r#"
genre = ["syllabus", "grading", "homework", "lecture", "midterm exam"]
content = ["database", "sql", "transaction", "relational model"]
"#;

/// A web with lists of syllabi.
pub fn courses(pages: u32) -> Config {
    let procedural = ProceduralConfig {
        pages,
        hosts: 12,
        seed: 7,
        page_bytes: 4_000,
        syllabi: 0.06,
        ..ProceduralConfig::default()
    };
    Config::new(WebConfig::Procedural(procedural))
}

/// The settings of a crawl that fills `fill_pages` URLs a cycle in this order.
fn settings(order: &str, fill_pages: u32) -> String {
    format!(
        "[cycle]\nfill = true\nfill_pages = {fill_pages}\ndiscovery_min = 0\nwarmup = 0\n\
         [scope]\nhosts = [\"*\"]\n[focus]\nenabled = true\nterms = \"TERMS\"\norder = \"{order}\"\ntarget_recall = 1\n"
    )
}

pub fn focused(web: Config, settings: &str) -> World {
    let world = World::new(web, "");
    let terms = world.folder.path().join("terms.toml");
    std::fs::write(&terms, TERMS).expect("the terms are written");
    world.configure(&settings.replace("TERMS", terms.to_str().expect("UTF-8")));
    world
}

fn sum(reports: &[Value], name: &str) -> u64 {
    reports.iter().filter_map(|report| count(&report["focus"], name)).sum()
}

#[test]
fn a_focused_crawl_finds_relevant_pages_much_earlier_than_one_by_breadth() {
    let found = |order: &str| {
        let world = focused(courses(3_000), &settings(order, 400));
        let reports = world.crawl(1);
        let [relevant, judged, explored] =
            ["relevant_found", "discovered", "explored"].map(|name| sum(&reports, name));
        assert!((300..=430).contains(&judged), "{order}: {judged} pages");
        assert!(explored > 5, "{order}: {explored} explored");
        let pages = world.pages();
        let is_relevant =
            |page: &&Value| page["relevance"].as_f64().is_some_and(|relevance| relevance >= 0.47);
        assert_eq!(
            pages.values().filter(is_relevant).count() as u64,
            relevant,
            "{order}: the export says so too"
        );
        relevant
    };
    let [breadth, learned, siblings] = ["breadth", "learned", "pfs-2"].map(found);
    assert!(2 * learned > 3 * breadth, "{learned} learned, {breadth} breadth");
    assert!(siblings > breadth, "{siblings} pfs-2, {breadth} breadth");
}

#[test]
fn sitemaps_are_no_pages_of_a_genre_and_discovery_stops_where_enough_is_found() {
    let WebConfig::Procedural(procedural) = courses(3_000).web else { panic!("it is procedural") };
    let web = Config::new(WebConfig::Procedural(ProceduralConfig { sitemaps: true, ..procedural }));
    let enough =
        settings("learned", 200).replace("target_recall = 1", "target_recall = 0.03\nexplore_share = 0.5");
    let world = focused(web, &enough);
    let mut command = world.command(&["crawl", "--json", "--until", "filled"]);
    command.arg("--seeds").arg(world.seed_file());
    let reports = json_lines(&succeeds(command.output().expect("the program runs")));
    let pages = world.pages();
    let fetched = |page: &Value| page["n"].is_u64();
    let judged = |page: &Value| page["relevance"].is_number();
    let (sitemaps, others): (Vec<(_, &Value)>, Vec<(_, &Value)>) =
        pages.iter().partition(|(url, _)| url.contains("sitemap"));
    assert!(sitemaps.iter().any(|(_, page)| fetched(page)), "{sitemaps:?}");
    assert!(!sitemaps.iter().any(|(_, page)| judged(page)), "{sitemaps:?}");
    assert!(others.iter().filter(|(_, page)| judged(page)).count() > 100);
    // The round that reaches it is the last.
    let reaches = |report: &Value| report["focus"]["recall_low"].as_f64().is_some_and(|low| low >= 0.03);
    let (last, before) = reports.split_last().expect("rounds");
    assert!(reaches(last) && !before.iter().any(reaches), "{reports:?}");
    assert!(others.iter().any(|(_, page)| !fetched(page)), "it stopped before all was fetched");
    let next = world.next_cycle();
    assert_eq!(next["focus"]["is_satisfied"], true, "{next}");
    assert_eq!((count(&next["focus"], "explored"), count(&next["focus"], "discovered")), (Some(0), Some(0)));
}

/// What a focused crawl knows of each page, and why each was visited.
fn knowledge(world: &World) -> (BTreeMap<String, Vec<Value>>, Vec<String>) {
    let columns = ["n", "depth", "relevance", "genre", "content", "expected", "tunnel"];
    let of = |page: Value| columns.iter().map(|column| page[column].clone()).collect();
    let pages = world.pages().into_iter().map(|(url, page)| (url, of(page))).collect();
    let visits = json_lines(&succeeds(world.run(&["export", "visits", "--out", "-"])));
    let why = |visit: &Value| format!("{} {} {}", visit["url"], visit["share"], visit["probability"]);
    let mut visits: Vec<String> = visits.iter().map(why).collect();
    visits.sort();
    (pages, visits)
}

#[test]
fn a_killed_crawl_plans_what_it_would_have_planned() {
    let mut world = focused(courses(800), &settings("learned", 240));
    let crawl = |world: &World| {
        let mut command = world.command(&["crawl", "--until", "filled"]);
        command.arg("--seeds").arg(world.seed_file()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    succeeds(crawl(&world).output().expect("the program runs"));
    let whole = knowledge(&world);
    assert!(whole.1.iter().any(|visit| visit.contains("\"explored\"")), "{:?}", whole.1);
    world.data_dir = world.folder.path().join("killed");
    for requests in [5, 60, 40, 50] {
        let answered = || world.server.log(0).expect("the log is in memory").len();
        let (before, start) = (answered(), Instant::now());
        let mut child = crawl(&world).spawn().expect("the program starts");
        while answered() < before + requests && start.elapsed() < PATIENCE {
            if child.try_wait().expect("our child").is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().expect("our child");
        child.wait().expect("our child");
    }
    succeeds(crawl(&world).output().expect("the program runs"));
    let resumed = knowledge(&world);
    assert_eq!(whole.0.len(), resumed.0.len());
    for (url, known) in &whole.0 {
        assert_eq!(Some(known), resumed.0.get(url), "{url}");
    }
    assert_eq!(whole.1, resumed.1, "each visit with its share and probability");
}

/// The files of all generations, and the visits that are kept, by name.
fn committed(data_dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let files =
        std::fs::read_dir(data_dir).expect("a data directory").map(|file| file.expect("a file").path());
    let is_one = |name: &str| name.starts_with("generation-") || name.starts_with("MANIFEST");
    files
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            is_one(&name).then(|| (name, std::fs::read(&path).expect("it can be read")))
        })
        .collect()
}

#[test]
fn a_crawl_without_a_focus_has_no_byte_of_one() {
    let mut world = World::new(courses(200), "[storage]\narchive = false\n");
    let plain = world.crawl(3);
    let files = committed(&world.data_dir);
    world.data_dir = world.folder.path().join("other");
    world.configure(
        "[storage]\narchive = false\n[focus]\nenabled = false\norder = \"fs-2\"\nterms = \"absent.toml\"\n",
    );
    let other = world.crawl(3);
    for (plain, other) in plain.iter().zip(&other) {
        let names =
            |report: &Value| report.as_object().expect("a report").keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(plain), names(other));
        assert!(!names(plain).contains(&"focus".to_owned()));
    }
    let pages = world.pages();
    assert!(pages.values().all(|page| page.get("relevance").is_none() && page.get("expected").is_none()));
    let others = committed(&world.data_dir);
    assert!(!files.is_empty() && files.keys().eq(others.keys()));
    for (name, bytes) in &files {
        // Content has times of the server. Index and manifest have its compressed length, and are compressed themselves.
        if [".content", ".index"].iter().all(|end| !name.ends_with(end)) && name != "MANIFEST" {
            assert!(
                bytes.len() == others[name].len(),
                "{name} has {} and {} bytes",
                bytes.len(),
                others[name].len()
            );
        }
        if [".keys", ".known", ".history"].iter().any(|end| name.ends_with(end)) {
            assert!(*bytes == others[name], "{name} differs");
        }
    }
    assert!(!is_focused(&files["MANIFEST"]));
}

/// The last byte of a manifest (docs/internals/formats.md).
fn is_focused(manifest: &[u8]) -> bool {
    manifest.last() == Some(&1)
}

#[test]
fn a_focus_can_begin_in_an_older_folder_and_end_again() {
    let world = focused(courses(300), "[cycle]\nwarmup = 0\n");
    world.crawl(2);
    let before = world.pages();
    let terms = world.folder.path().join("terms.toml");
    let on = format!("[cycle]\nwarmup = 0\npages = \"100%\"\n[focus]\nenabled = true\nterms = {terms:?}\n");
    world.configure(&on);
    let reports = world.crawl(2);
    assert!(sum(&reports, "relevant_known") > 0, "{reports:?}");
    let manifest = std::fs::read(world.data_dir.join("MANIFEST")).expect("a manifest");
    assert!(is_focused(&manifest));
    let judged = |pages: &crate::harness::Pages| {
        pages
            .values()
            .filter(|page| page.get("relevance").is_some_and(|relevance| !relevance.is_null()))
            .count()
    };
    let during = world.pages();
    assert!(judged(&before) == 0 && judged(&during) > 100, "{} judged", judged(&during));
    world.configure("[cycle]\nwarmup = 0\n");
    let reports = world.crawl(1);
    assert!(reports[0].get("focus").is_none());
    assert_eq!(judged(&world.pages()), judged(&during), "what was known stays");
    world.is_sound();
}

#[test]
fn explain_and_status_tell_of_the_focus() {
    let world = focused(courses(600), &settings("learned", 100));
    world.crawl(1);
    let pages = world.pages();
    let is_untried =
        |page: &&Value| page["n"].is_null() && page["last_attempt"].is_null() && !page["expected"].is_null();
    let untried = pages.values().find(is_untried).expect("a URL that waits")["url"].as_str().expect("a URL");
    let text = succeeds(world.run(&["explain", untried]));
    for part in ["expected ", "group yield: ", "relevant beside it", "irrelevant pages in a row"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let relevant =
        pages.values().find(|page| page["relevance"].as_f64() >= Some(0.47)).expect("one is relevant");
    let text = succeeds(world.run(&["explain", relevant["url"].as_str().expect("a URL")]));
    assert!(text.contains("relevant (focus.threshold 0.47)"), "{text}");
    let told: Value =
        serde_json::from_str(&succeeds(world.run(&["explain", "--json", untried]))).expect("JSON");
    let features = told["focus"]["untried"]["features"].as_array().expect("features").len();
    assert_eq!(features, 8, "{told}");
    let text = succeeds(world.run(&["status"]));
    assert!(text.contains("relevant page") && text.contains("harvest 0."), "{text}");
}

#[test]
fn mistakes_in_the_focus_are_told_before_anything_is_touched() {
    let world = World::new(courses(20), "");
    for (focus, says) in [
        ("terms = \"absent.toml\"", &["focus.terms", "absent.toml", "No such file"][..]),
        ("terms = \"TERMS\"\norder = \"best\"", &["focus.order", "learned", "fs-2"]),
        (
            "terms = \"TERMS\"\nclassifier = \"linear\"\nmodel = \"TERMS\"",
            &["focus.model", "not a model of this version"],
        ),
        ("terms = \"TERMS\"\nordre = \"ps\"", &["focus.ordre", "did you mean `focus.order`"]),
    ] {
        let terms = world.folder.path().join("terms.toml");
        std::fs::write(&terms, TERMS).expect("the terms are written");
        let focus = focus.replace("TERMS", terms.to_str().expect("UTF-8"));
        let text = format!("[focus]\nenabled = true\n{focus}\n");
        std::fs::write(world.config_file(), text).expect("the configuration is written");
        let mut check = crate::harness::program();
        check.args(["config", "check", "--config"]).arg(world.config_file());
        for told in [check.output().expect("the program runs"), world.run(&["status"])] {
            let told = fails(told, 2);
            for part in says {
                assert!(told.contains(part), "{told:?} has no {part:?}");
            }
        }
        assert!(!world.data_dir.exists());
    }
}
