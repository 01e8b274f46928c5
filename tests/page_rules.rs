//! What part of a page counts: rules keep noise out, a changed rule is no change, and pages are shown as they count.

use crate::daemon::{self, Daemon};
use crate::harness::{World, count, fails, replayed_changes, succeeds, web};
use recrawl_mockweb::Validators;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const CYCLE: &str = "[cycle]\npages = \"100%\"\n";
const RULE: &str = "[[pages]]\nmatch = \"*\"\nignore = [\".notice\"]\n";

/// A web whose every response has a clock, a counter and an advertisement.
fn noisy(pages: u32, extra: &str) -> World {
    let mut config = web(pages, 2);
    (config.noise, config.validators) = (1.0, Validators::None);
    World::new(config, extra)
}

/// A page with noise and at least this many archived versions; the web's indexes have neither.
fn noisy_page(world: &World, changes: u64) -> String {
    let seeds = world.server.seeds();
    let pages = world.pages();
    let is_one = |url: &String, page: &Value| !seeds.contains(url) && count(page, "X") >= Some(changes);
    pages.iter().find(|(url, page)| is_one(url, page)).expect("a page").0.clone()
}

/// The changes that the crawl found of each page.
fn found(world: &World) -> BTreeMap<String, u64> {
    world.pages().iter().filter_map(|(url, page)| Some((url.clone(), count(page, "X")?))).collect()
}

#[test]
fn a_rule_leaves_only_real_changes_of_a_noisy_site() {
    let world = noisy(30, &format!("{CYCLE}{RULE}"));
    (0..6).for_each(|_| drop(world.next_cycle()));
    let given = world.given_out();
    let (mut checked, mut changes) = (0, 0);
    for (url, found) in found(&world) {
        let real = replayed_changes(&given[&url]);
        assert_eq!(found, real, "{url}");
        (checked, changes) = (checked + 1, changes + real);
    }
    assert!(checked > 20 && changes > 10, "{checked} pages, {changes} changes");
}

#[test]
fn without_a_rule_the_same_site_changes_at_most_visits() {
    let world = noisy(30, &format!("{CYCLE}[change]\ndetector = \"digest\"\n"));
    (0..4).for_each(|_| drop(world.next_cycle()));
    let given = world.given_out();
    let (found, real) = found(&world)
        .iter()
        .fold((0, 0), |(found, real), (url, x)| (found + x, real + replayed_changes(&given[url])));
    assert!(found > 3 * real && real > 0, "{found} changes found, {real} real");
}

/// Each page's first visit under another rule is compared under the former one, so the rule itself is no change;
/// and no real change is lost.
#[test]
fn a_rule_that_comes_changes_or_goes_is_no_change_of_its_pages() {
    let mut config = web(30, 2);
    config.validators = Validators::None;
    let world = World::new(config, CYCLE);
    (0..3).for_each(|_| drop(world.next_cycle()));
    for rule in [
        "[[pages]]\nmatch = \"*\"\nignore = [\"p:first-of-type\"]\n",
        "[[pages]]\nmatch = \"*\"\ninclude = [\"p\"]\nignore_text = [\"[aeiou]\"]\n",
        "",
    ] {
        let before = found(&world);
        world.configure(&format!("{CYCLE}{rule}"));
        let report = world.next_cycle();
        let (given, after) = (world.given_out(), found(&world));
        let mut changed = 0;
        for (url, x) in &before {
            let last = &given[url][given[url].len() - 2..];
            let real = u64::from(last[0].holds != last[1].holds);
            let is_found = after[url] - x;
            // What the former rule leaves out may have been all that changed.
            assert!(is_found <= real, "{rule}: {url} has not changed");
            changed += is_found;
        }
        assert!(
            count(&report, "changed") == Some(changed) && changed * 2 < before.len() as u64,
            "{rule}: {report}"
        );
    }
    // Back without a rule, the next cycle finds exactly what changed.
    let before = found(&world);
    world.next_cycle();
    let given = world.given_out();
    for (url, x) in found(&world) {
        let last = &given[&url][given[&url].len() - 2..];
        assert_eq!(x - before[&url], u64::from(last[0].holds != last[1].holds), "{url}");
    }
    world.is_sound();
}

/// The files of the commit and the schedule, apart from what tells the time.
/// The files of generations by name.
pub fn generation_files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let name = |entry: &fs::DirEntry| entry.file_name().into_string().unwrap();
    let files = entries.filter(|entry| name(entry).starts_with("generation-") || name(entry) == "MANIFEST");
    files.map(|entry| (name(&entry), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn rules_of_other_pages_leave_plan_and_bytes_as_they_are() {
    let (validators, archive) = (Validators::None, "[storage]\narchive = false\n");
    let crawl = |extra: &str| {
        let world = World::new(
            recrawl_mockweb::Config { validators, ..web(30, 1) },
            &format!("{CYCLE}{archive}{extra}"),
        );
        (0..3).for_each(|_| drop(world.next_cycle()));
        let visits = succeeds(world.run(&["export", "visits", "--out", "-"]));
        let plan: Vec<String> = visits
            .lines()
            .map(|line| {
                let visit: Value = serde_json::from_str(line).unwrap();
                let path = visit["url"].as_str().unwrap().splitn(4, '/').nth(3).unwrap().to_owned();
                format!("{} {path} {} {}", visit["cycle"], visit["share"], visit["outcome"])
            })
            .collect();
        (plan, generation_files(&world.data_dir))
    };
    let (plan, without) = crawl("");
    let (same_plan, with) = crawl("[[pages]]\nmatch = \"other.example\"\nignore = [\"p\"]\n");
    assert_eq!(plan, same_plan);
    let sizes = |files: &BTreeMap<String, Vec<u8>>| -> Vec<(String, usize)> {
        files.iter().map(|(name, bytes)| (name.clone(), bytes.len())).collect()
    };
    assert_eq!(sizes(&without), sizes(&with), "the port of the web is all that differs");
    let (_, ruled) = crawl(RULE);
    assert_ne!(sizes(&without), sizes(&ruled), "a content keeps the number of its rule");
}

#[test]
fn a_bad_rule_is_refused_with_file_key_and_remedy() {
    let world = World::new(web(5, 1), "");
    for (rule, says) in [
        ("match = \"*\"\nignore = [\"p[\"]", "pages.ignore of \"*\": \"p[\" is not a CSS selector"),
        (
            "match = \"*\"\nignore_text = [\"(\"]",
            "pages.ignore_text of \"*\": \"(\" is not a regular expression",
        ),
        ("match = \"*\"\nignore_text = [\"(a{1000}){1000}\"]", "write smaller repetitions"),
        ("match = \"a/b\"\nignore = [\"p\"]", "pages.match: \"a/b\" is not a host: it contains"),
        (
            "match = \"*\"",
            "needs include, ignore, ignore_text, render, convert, requisites, every or importance",
        ),
        ("match = \"a.test\"\nevery = \"1 h\"", "pages.every of \"a.test\": only one page, by its URL"),
        ("match = \"http://a.test/*\"\nevery = \"1 h\"", "\"http://a.test/*\": only one page, by its URL"),
        ("match = \"http://a.test/\"\nevery = \"1 ms\"", "pages.every of \"http://a.test/\": at least 1 s"),
        ("matches = \"*\"", "did you mean `pages.match`"),
    ] {
        world.configure(&format!("[[pages]]\n{rule}\n"));
        let error = fails(world.run(&["crawl", "--cycles", "1"]), 2);
        assert!(error.contains(says) && error.contains("recrawl.toml"), "{error}");
    }
}

#[test]
fn a_rule_that_leaves_no_text_is_told_by_the_round_and_by_the_test_of_a_page() {
    let world =
        World::new(web(8, 1), &format!("{CYCLE}[[pages]]\nmatch = \"*\"\ninclude = [\"#missing\"]\n"));
    let output = world.crawl_command(1).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let report: Value = serde_json::from_str(succeeds(output).lines().next().unwrap()).unwrap();
    assert!(told.contains("left no text of any of the") && told.contains("recrawl page test"), "{told}");
    assert_eq!(report["without_text"], report["first_visits"], "{report}");
    let seed = world.server.seeds()[0].clone();
    let error = fails(world.run(&["page", "test", &seed]), 1);
    assert!(error.contains("the rule leaves no text of this page: include matches no element"), "{error}");
    // A rule of the command line goes before that of the configuration.
    let told = succeeds(world.run(&["page", "test", &seed, "--include", "h1"]));
    assert!(told.contains("of the command line"), "{told}");
    // A page that is given up is not told to match nothing: its elements were never asked.
    let file = world.folder.path().join("siblings.html");
    fs::write(&file, format!("<!doctype html>{}", "<i class=x>a</i>".repeat(20_000))).unwrap();
    let words = ["page", "test", &seed, "--file", file.to_str().unwrap(), "--include"];
    let error = fails(world.run(&[&words[..], &[".x ~ .x"]].concat()), 1);
    assert!(error.contains("need more steps") && error.contains("write fewer selectors"), "{error}");
    succeeds(world.run(&[&words[..], &[".x + .x"]].concat()));
}

/// What a rule leaves of a saved page.
#[test]
fn a_rule_sees_the_lines_and_the_elements_that_a_reader_sees() {
    let world = World::new(web(1, 1), "");
    let file = world.folder.path().join("page.html");
    let left = |html: &str, option: &str, entry: &str| {
        fs::write(&file, format!("<!doctype html><title>log</title><main>{html}</main>")).unwrap();
        let words =
            ["page", "test", "http://a.example/", "--file", file.to_str().unwrap(), "--json", option, entry];
        let told: Value = serde_json::from_str(&succeeds(world.run(&words))).unwrap();
        told["text"].as_str().unwrap().to_owned()
    };
    let log = "Generated at 10:00\nv1.1 new\nv1.0 first";
    for open in ["<pre>#</pre>", "<textarea>#</textarea>", "<div style='white-space: pre'>#</div>"] {
        assert_eq!(
            left(&open.replace('#', log), "--ignore-text", "^Generated at .*$"),
            "v1.1 new\nv1.0 first",
            "{open}"
        );
    }
    for html in [
        "<p>Lamp</p><b class=price aria-hidden=true>12 EUR</b>",
        "<div aria-hidden=true inert><p>Lamp</p><b class=price>12 EUR</b></div><div role=dialog>We use cookies</div>",
        "<x-lamp><template shadowrootmode=open><slot></slot><b class=price>12 EUR</b></template>Lamp</x-lamp>",
    ] {
        assert_eq!(left(html, "--include", ".price"), "12 EUR", "{html}");
    }
}

#[test]
fn a_page_is_tested_and_shown_version_by_version() {
    let world = noisy(10, CYCLE);
    (0..4).for_each(|_| drop(world.next_cycle()));
    let seed = noisy_page(&world, 2);
    let html = succeeds(world.run(&["show", &seed, "--html"]));
    assert!(html.contains("class=\"notice\"") && html.contains("</html>"), "{html}");
    let headers = succeeds(world.run(&["show", &seed, "--headers"]));
    assert!(
        headers.starts_with("HTTP/1.1 200") && headers.to_lowercase().contains("content-type: text/html"),
        "{headers}"
    );
    let text = succeeds(world.run(&["show", &seed]));
    assert!(text.contains("Visitor number") && !text.contains('<'), "{text}");
    let list = succeeds(world.run(&["show", &seed, "--list"]));
    assert!(list.lines().count() >= 3 && list.lines().next().unwrap().contains("text/html"), "{list}");
    let older = succeeds(world.run(&["show", &seed, "--version", "2"]));
    assert_ne!(older, text, "each response has another counter");
    let difference = succeeds(world.run(&["show", &seed, "--diff"]));
    assert!(difference.contains("\n-It is ") && difference.contains("\n+It is "), "{difference}");
    let error = fails(world.run(&["show", &seed, "--version", "99"]), 1);
    assert!(error.contains("archived"), "{error}");

    // The rule is tested before it is in the configuration, and then applies to what is shown.
    let told = succeeds(world.run(&["page", "test", &seed, "--ignore", ".notice", "--json"]));
    let told: Value = serde_json::from_str(&told).unwrap();
    let left = told["text"].as_str().unwrap();
    assert!(!left.contains("Visitor") && left.len() < text.len(), "{told}");
    assert_eq!(told["difference"]["words_added"].as_u64(), Some(0), "{told}");
    let whole = succeeds(world.run(&["page", "test", &seed, "--no-rule"]));
    assert!(whole.contains("Visitor number") && whole.contains("difference  from"), "{whole}");
    let error = fails(world.run(&["page", "test", &seed, "--ignore", "p["]), 2);
    assert!(error.contains("--ignore: \"p[\" is not a CSS selector"), "{error}");
    world.configure(&format!("{CYCLE}{RULE}"));
    assert_eq!(succeeds(world.run(&["show", &seed])).trim_end(), left);

    let file = world.folder.path().join("saved.html");
    fs::write(&file, "<p>Kept</p><p class=ads>Not</p>").unwrap();
    let words = ["page", "test", &seed, "--file", file.to_str().unwrap(), "--ignore", ".ads"];
    let told = succeeds(world.run(&words));
    assert!(told.contains("\nKept\n") && !told.contains("Not\n"), "{told}");
}

#[test]
fn a_page_that_was_taken_down_shows_nothing_and_says_so() {
    let world = World::new(web(6, 1), CYCLE);
    (0..2).for_each(|_| drop(world.next_cycle()));
    let seed = world.server.seeds()[0].clone();
    succeeds(world.run(&["show", &seed]));
    succeeds(world.run(&["takedown", "--page", &seed]));
    let error = fails(world.run(&["show", &seed]), 1);
    assert!(error.contains("taken down"), "{error}");
    let error = fails(world.run(&["show", "http://unknown.example/"]), 1);
    assert!(error.contains("unknown URL"), "{error}");
}

/// A page has a rhythm of its own within a cycle of a day; the others wait for the next cycle.
#[test]
fn a_page_with_a_rhythm_is_visited_within_the_cycle() {
    let world = daemon::world(20, 1, "");
    let page = world.server.url(world.lone_pages()[0]);
    let other = world.server.url(world.lone_pages()[1]);
    daemon::configure(
        &world,
        &format!("[scope]\nmax_depth = 0\n[[pages]]\nmatch = \"{page}\"\nevery = \"1 s\"\n"),
    );
    let daemon = Daemon::start(&world);
    daemon.seed(&[page.clone(), other.clone()]);
    daemon.until("visited again and again", |_| world.asked(&page) >= 4);
    let status = daemon.until("waiting", |s| s["next_round"]["kind"] == "urgent");
    assert!(status["next_round"]["why"].as_str().unwrap().contains("pages.every"), "{status}");
    assert_eq!(world.asked(&other), 1);
    let told = daemon.page(&page);
    assert_eq!(told["visited_next"], "1 s after the last one: its [[pages]] say so, with `every`");
    assert_eq!(told["in_short"][2], "It is visited every 1 s, whatever its score.");
    // It goes on while the page fails, and is not said to wait for a later cycle.
    world.server.set_faults(vec![world.fault_on(world.lone_pages()[0], "status:404")]);
    daemon.until("missed", |_| daemon.page(&page)["page"]["failures"].as_u64() >= Some(2));
    assert_eq!(daemon.page(&page)["visited_next"], told["visited_next"]);
    daemon.stop();
}
