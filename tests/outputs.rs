//! What other programs read: Parquet beside JSON lines, the index of the archive, the stream of events.

use crate::harness::{World, count, fails, json_lines, misused, succeeds, warc_files, web};
use recrawl_archive::{ArchiveReader, opener};
use recrawl_mockweb::procedural::ProceduralConfig;
use recrawl_mockweb::{Config, Validators, WebConfig};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// A crawl with all kinds of visits: changed, the same, not modified, redirected, not found, failed.
fn crawled(extra: &str) -> World {
    let mut config = web(60, 3);
    config.validators = Validators::Strong;
    let world = World::new(config, &format!("[cycle]\npages = \"50%\"\n{extra}"));
    let lone = world.lone_pages();
    world.server.set_faults(vec![
        world.fault_on(lone[0], "redirect:/private/open-target"),
        world.fault_on(lone[1], "status:404"),
        world.fault_on(lone[2], "status:500"),
    ]);
    world
}

fn export(world: &World, what: &str, name: &str) -> PathBuf {
    let out = world.folder.path().join(name);
    succeeds(world.run(&["export", what, "--out", out.to_str().unwrap()]));
    out
}

#[test]
fn the_format_is_chosen_by_name_or_by_word_and_never_guessed() {
    let world = World::new(web(20, 1), "");
    world.crawl(1);
    for (name, words, begins) in [
        ("pages.parquet", &[][..], "PAR1"),
        ("pages.PARQUET", &[], "PAR1"),
        ("pages", &["--format", "parquet"], "PAR1"),
        ("pages.jsonl", &[], "{\"url\":"),
        ("none", &[], "{\"url\":"),
        ("odd.parquet", &["--format", "jsonl"], "{\"url\":"),
        ("pages.csv", &[], "url,status,depth,"),
        ("odd.txt", &["--format", "csv"], "url,status,depth,"),
    ] {
        let out = world.folder.path().join(name);
        let mut all = vec!["export", "pages", "--out", out.to_str().unwrap()];
        all.extend(words);
        let said = succeeds(world.run(&all));
        assert!(said.contains("pages in"), "{said}");
        assert!(fs::read(&out).unwrap().starts_with(begins.as_bytes()), "{name}");
    }
    let out = world.folder.path().join("pages.xlsx");
    let line = fails(world.run(&["export", "pages", "--out", out.to_str().unwrap()]), 2);
    assert!(line.contains(".jsonl, .csv or .parquet") && !out.exists(), "{line}");
    for what in ["cdxj", "cycles"] {
        let line = fails(world.run(&["export", what, "--out", "-", "--format", "parquet"]), 2);
        assert!(line.contains("Parquet are only for pages, contents, visits and hosts"), "{line}");
    }
    let cycles = json_lines(&succeeds(world.run(&["export", "cycles", "--out", "-"])));
    assert_eq!(cycles.iter().map(|c| count(c, "cycle")).collect::<Vec<_>>(), [Some(1)]);
}

/// What JSON lines and CSV have of one value.
fn csv_field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.contains([',', '"']) => format!("\"{}\"", text.replace('"', "\"\"")),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[test]
fn csv_holds_what_json_lines_hold() {
    let world = World::new(web(20, 1), "");
    world.crawl(2);
    for what in ["pages", "visits"] {
        let json = fs::read_to_string(export(&world, what, &format!("{what}.jsonl"))).unwrap();
        let rows: Vec<serde_json::Map<String, Value>> =
            json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let csv = fs::read_to_string(export(&world, what, &format!("{what}.csv"))).unwrap();
        let (names, lines) = csv.split_once('\n').unwrap();
        let names: Vec<&str> = names.split(',').collect();
        assert_eq!(names.len(), rows[0].len(), "{names:?}");
        let expected: Vec<String> = rows
            .iter()
            .map(|row| names.iter().map(|name| csv_field(&row[*name])).collect::<Vec<_>>().join(","))
            .collect();
        assert_eq!(lines.lines().collect::<Vec<_>>(), expected, "{what}");
    }
}

#[test]
fn contents_are_what_the_archive_holds_and_what_show_prints() {
    let world = crawled("");
    (0..3).for_each(|_| drop(world.next_cycle()));
    let plain = json_lines(&succeeds(world.run(&["export", "contents", "--out", "-"])));
    let texts = json_lines(&succeeds(world.run(&["export", "contents", "--out", "-", "--text"])));
    let archived = world.pages().values().filter(|page| page["body"] == "archived").count();
    assert!(archived > 20 && plain.len() == archived && texts.len() == archived, "{archived}");
    let (mut redirects, mut languages) = (0, 0);
    for (row, with_text) in plain.iter().zip(&texts) {
        assert!(row.get("text").is_none() && row["url"] == with_text["url"], "{row}");
        if row["status"] == 302 {
            redirects += 1;
            assert!(row["title"].is_null() && with_text["text"].is_null(), "{with_text}");
            continue;
        }
        assert_eq!(row["status"], 200, "{row}");
        if row["content_type"].as_str().is_some_and(|kind| kind.starts_with("text/html")) {
            assert!(!row["title"].as_str().unwrap().is_empty(), "{row}");
            languages += u64::from(row["language"] == "en");
        }
    }
    assert!(redirects == 1 && languages > 20, "{redirects} {languages}");
    let page = texts.iter().rfind(|row| row["text"].as_str().is_some_and(|text| !text.is_empty())).unwrap();
    let url = page["url"].as_str().unwrap();
    assert_eq!(succeeds(world.run(&["show", url])).trim_end(), page["text"].as_str().unwrap());
    let html = succeeds(world.run(&["show", url, "--html"]));
    assert_eq!(count(page, "bytes"), Some(html.len() as u64));
    let parquet = world.folder.path().join("contents.parquet");
    succeeds(world.run(&["export", "contents", "--text", "--out", parquet.to_str().unwrap()]));
    assert!(fs::read(&parquet).unwrap().starts_with(b"PAR1"));
    let line = fails(world.run(&["export", "pages", "--text", "--out", "-"]), 2);
    assert!(line.contains("only for recrawl export contents"), "{line}");
}

#[test]
fn markdown_is_what_show_prints_with_absolute_links() {
    let world = crawled("");
    (0..3).for_each(|_| drop(world.next_cycle()));
    let rows = json_lines(&succeeds(world.run(&["export", "contents", "--out", "-", "--markdown"])));
    let is_html =
        |row: &&Value| row["content_type"].as_str().is_some_and(|kind| kind.starts_with("text/html"));
    let pages: Vec<&Value> = rows.iter().filter(|row| row["status"] == 200).filter(is_html).collect();
    assert!(pages.len() > 10 && rows[0].get("text").is_none(), "{}", rows[0]);
    let (mut links, mut longer) = (0, 0);
    for row in pages {
        let (url, markdown) = (row["url"].as_str().unwrap(), row["markdown"].as_str().unwrap());
        let main = succeeds(world.run(&["show", url, "--markdown"]));
        assert_eq!(main.trim_end(), markdown.trim_end(), "{url}");
        assert!(!markdown.contains("<script") && !markdown.contains("](/"), "{markdown}");
        links += markdown.matches("](http://127.").count();
        let whole = succeeds(world.run(&["show", url, "--markdown", "--whole"]));
        longer += usize::from(whole.len() > main.len());
        assert_eq!(whole, succeeds(world.run(&["show", url, "--markdown", "--whole"])), "the same bytes");
    }
    assert!(links > 20 && longer > 5, "{links} {longer}");
    let redirect = rows.iter().find(|row| row["status"] == 302).unwrap();
    assert_eq!(redirect["markdown"], Value::Null);
    let line = fails(world.run(&["show", redirect["url"].as_str().unwrap(), "--markdown"]), 1);
    assert!(line.contains("a redirect to") && line.contains("use --html or --headers"), "{line}");
    let both =
        json_lines(&succeeds(world.run(&["export", "contents", "--out", "-", "--text", "--markdown"])));
    assert!(both[0].get("text").is_some() && both[0].get("markdown").is_some(), "{}", both[0]);
    assert!(
        fails(world.run(&["export", "pages", "--markdown", "--out", "-"]), 2).contains("export contents")
    );
}

#[test]
fn an_export_of_changes_has_the_pages_that_are_new_or_changed_since() {
    let world = crawled("");
    (0..3).for_each(|_| drop(world.next_cycle()));
    let reports = json_lines(&succeeds(world.run(&["export", "cycles", "--out", "-"])));
    let export = |what: &str, since: &str| {
        let rows = succeeds(world.run(&["export", what, "--out", "-", "--changed-since", since]));
        json_lines(&rows).iter().map(|row| row["url"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // A time within a cycle counts the whole cycle.
    let last = reports.last().unwrap();
    let time = Duration::from_millis(count(last, "started").unwrap() + 1);
    let time = humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + time).to_string();
    let is_since = |page: &Value, cycle| count(page, "first").max(count(page, "last_change")) >= Some(cycle);
    let cycle = count(last, "cycle").unwrap();
    let pages = world.pages();
    let expected: Vec<_> =
        pages.iter().filter(|(_, page)| is_since(page, cycle)).map(|(url, _)| url).collect();
    let visited = pages.values().filter(|page| count(page, "first").is_some()).count();
    let mut found = export("pages", &time);
    found.sort();
    assert_eq!(found.iter().collect::<Vec<_>>(), expected);
    assert!(!found.is_empty() && found.len() < visited, "{} of {visited}", found.len());
    assert_eq!(export("pages", "1000d").len(), visited, "all that was ever fetched");
    let contents = export("contents", &time);
    assert!(!contents.is_empty() && contents.iter().all(|url| found.contains(url)));
    assert_eq!(export("pages", "2999-01-01"), Vec::<String>::new());
    let wrong = misused(world.run(&["export", "pages", "--out", "-", "--changed-since", "soon"]));
    assert!(wrong.contains("--changed-since <TIME>': \"soon\" is no time; write a day"), "{wrong}");
    let wrong = fails(world.run(&["export", "visits", "--out", "-", "--changed-since", "7d"]), 2);
    assert!(wrong.contains("only for recrawl export pages and contents"), "{wrong}");
}

/// The events of a file by cycle; each cycle's end says how many there are.
fn events(path: &Path) -> BTreeMap<u64, Vec<Value>> {
    let mut cycles = BTreeMap::<u64, Vec<Value>>::new();
    for line in json_lines(&fs::read_to_string(path).unwrap()) {
        match line["end_of_cycle"].as_u64() {
            None => cycles.entry(count(&line, "cycle").unwrap()).or_default().push(line),
            Some(cycle) => {
                let told = cycles.get(&cycle).map_or(0, Vec::len) as u64;
                assert_eq!(count(&line, "events"), Some(told), "cycle {cycle}");
            }
        }
    }
    cycles
}

#[test]
fn events_are_the_visits_of_each_cycle_and_go_on_after_a_stop() {
    let world = crawled("");
    let file = world.folder.path().join("events.jsonl");
    let crawl = |cycles: u32| {
        let mut command = world.crawl_command(cycles);
        succeeds(command.arg("--events").arg(&file).output().unwrap())
    };
    world.crawl(1);
    crawl(2);
    world.server.advance().unwrap();
    // A stop in the middle of a line, and cycles without the file.
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() - 100]).unwrap();
    world.crawl(2);
    crawl(1);
    let events = events(&file);
    assert_eq!(events.keys().copied().collect::<Vec<_>>(), [2, 3, 4, 5, 6], "it began behind cycle 1");
    let visits = json_lines(&succeeds(world.run(&["export", "visits", "--out", "-"])));
    let place = |v: &Value| (count(v, "cycle"), v["url"].as_str().unwrap().to_owned());
    let told: Vec<_> = events.values().flatten().map(place).collect();
    let kept: Vec<_> = visits.iter().map(place).filter(|(cycle, _)| *cycle > Some(1)).collect();
    assert_eq!(told, kept);
    for (event, visit) in events.values().flatten().zip(visits.iter().filter(|v| count(v, "cycle") > Some(1)))
    {
        let expected = match (visit["outcome"].as_str().unwrap(), visit["changed"].as_bool()) {
            (_, Some(true)) => "changed",
            (_, Some(false)) => "unchanged",
            ("fetched" | "redirected", None) => "first",
            ("not_found", _) => "gone",
            _ => "not_looked_at",
        };
        assert_eq!(event["checked"], expected, "{event} {visit}");
        let (confirmed, why) = (&event["confirmed"], &event["why"]);
        assert_eq!(confirmed, &visit["confirmed"], "{event} {visit}");
        assert_eq!(confirmed.is_null(), expected != "gone", "{event}");
        assert_eq!(why.is_null(), expected != "not_looked_at", "{event}");
    }
    let words: std::collections::BTreeSet<_> =
        events.values().flatten().map(|e| e["checked"].as_str().unwrap()).collect();
    assert!(["changed", "unchanged", "gone", "not_looked_at"].iter().all(|w| words.contains(w)), "{words:?}");
}

#[test]
fn events_can_be_printed_in_place_of_reports_and_need_kept_visits() {
    let world = World::new(web(20, 1), "");
    world.crawl(1);
    let print = |cycles: &str| {
        let output = world.run(&["crawl", "--cycles", cycles, "--events", "-"]);
        json_lines(&succeeds(output))
            .iter()
            .filter_map(|line| count(line, "end_of_cycle"))
            .collect::<Vec<_>>()
    };
    assert_eq!(print("1"), [1, 2]);
    world.crawl(1);
    assert_eq!(print("1"), [3, 4], "what was committed in between is printed first");
    let line = fails(world.run(&["crawl", "--cycles", "1", "--events", "-", "--json"]), 2);
    assert!(line.contains("--events"), "{line}");
    world.configure("[storage]\nkeep_visits = 0");
    let line = fails(world.run(&["crawl", "--cycles", "1", "--events", "-"]), 2);
    assert!(line.contains("storage.keep_visits"), "{line}");
}

/// The WARC files by number, with their lengths.
fn warc_lengths(world: &World) -> BTreeMap<u64, u64> {
    let files = warc_files(&world.data_dir).into_iter();
    files.map(|(number, path)| (number, fs::metadata(path).unwrap().len())).collect()
}

#[test]
fn the_oldest_bodies_go_first_and_what_they_were_of_is_still_told() {
    const MIB: u64 = 1 << 20;
    let procedural =
        ProceduralConfig { pages: 40, hosts: 2, seed: 7, page_bytes: 250_000, ..Default::default() };
    // Whoever answers 304 sends no body again.
    let mut config = Config::new(WebConfig::Procedural(procedural));
    config.validators = Validators::None;
    let world = World::new(
        config,
        "[cycle]\npages = \"100%\"\n[storage]\nreserve = \"0 B\"\narchive_file = \"1 MiB\"\narchive_max = \"2 MiB\"\n",
    );
    let (mut removed, mut again) = (None, 0);
    let mut before = BTreeMap::new();
    for _ in 0..6 {
        let newest = warc_lengths(&world).keys().last().copied().unwrap_or(0);
        world.next_cycle();
        let files = warc_lengths(&world);
        assert!(files.values().sum::<u64>() <= 2 * MIB || files.len() == 1, "{files:?}");
        assert!(
            files.keys().zip(files.keys().skip(1)).all(|(a, b)| a + 1 == *b),
            "the oldest went: {files:?}"
        );
        let pages = world.pages();
        for (url, page) in &pages {
            let file = count(page, "warc_file");
            let expected = file.map(|file| if files.contains_key(&file) { "archived" } else { "removed" });
            assert_eq!(page["body"].as_str(), expected, "{url}: {page}");
            if expected == Some("removed") {
                removed = Some(url.clone());
            }
            // Its body came again, the same, after the file was removed.
            let was: Option<&Value> = before.get(url);
            if was.is_some_and(|was| was["body"] == "removed" && was["X"] == page["X"])
                && was.unwrap()["n"] != page["n"]
            {
                assert!(file >= Some(newest), "{url} is archived anew: {page}");
                again += 1;
            }
        }
        before = pages;
    }
    assert!(again > 0, "no body came again");
    let url = removed.expect("a cycle has more than the cap");
    let told: Value = serde_json::from_str(&succeeds(world.run(&["explain", &url, "--json"]))).unwrap();
    let state = world.pages()[&url]["body"].clone();
    assert_eq!(told["page"]["body"], state);
    let words = if state == "removed" { "which was removed" } else { "body        in recrawl-" };
    let told = succeeds(world.run(&["explain", &url]));
    assert!(told.contains(words), "{told}");
    let output = world.run(&["export", "cdxj", "--out", "-"]);
    let warning = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(warning.contains("storage.archive_max"), "{warning}");
    let names: Vec<String> = warc_files(&world.data_dir).values().map(|path| name_of(path)).collect();
    assert!(succeeds(output).lines().all(|line| names.iter().any(|name| line.contains(name))));
    world.is_sound();
}

#[test]
fn revisits_name_their_captures_and_a_304_hides_none() {
    let world = crawled("");
    world.warm_up();
    world.next_cycle();
    let (mut captures, mut named, mut not_modified) = (Vec::new(), Vec::new(), 0);
    let archive = ArchiveReader::open(opener::open(&world.data_dir).unwrap()).unwrap();
    for (_, name) in archive.files.iter() {
        let mut records = archive.records(name).unwrap();
        while let Some(record) = records.next_record().unwrap() {
            let of = |names: [&str; 3]| names.map(|name| record.field(name).unwrap_or_default().to_owned());
            match record.kind() {
                Some("response") => captures.push(of(["WARC-Target-URI", "WARC-Date", "WARC-Record-ID"])),
                Some("revisit") => {
                    assert_eq!(record.field("WARC-Target-URI"), record.field("WARC-Refers-To-Target-URI"));
                    named.push(of(["WARC-Refers-To-Target-URI", "WARC-Refers-To-Date", "WARC-Refers-To"]));
                    not_modified += usize::from(record.http_status() == Some("304"));
                }
                _ => {}
            }
        }
    }
    assert!(not_modified > 5, "{not_modified} of {}", named.len());
    assert!(named.iter().all(|revisit| captures.contains(revisit)), "{named:?}");
    // The newest line of each page leads to a body.
    let index = fs::read_to_string(export(&world, "cdxj", "index.cdxj")).unwrap();
    assert!(!index.contains("\"status\": \"304\""), "{index}");
    assert_eq!(index.lines().count(), captures.len() + named.len() - not_modified);
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// The Python with the programs that `make check-archives` installs, where it did.
fn python() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_BIN_EXE_recrawl")).parent()?.parent()?;
    Some(target.join("archives/bin/python")).filter(|python| python.exists())
}

#[test]
fn archive_index_and_tables_are_what_other_programs_take_them_for() {
    let world = crawled("[storage]\narchive_requests = true\n");
    world.warm_up();
    world.next_cycle();
    let index = export(&world, "cdxj", "index.cdxj");
    let lines: Vec<String> = fs::read_to_string(&index).unwrap().lines().map(String::from).collect();
    assert!(lines.is_sorted() && lines.len() > 60, "{} lines", lines.len());
    let mut places = BTreeMap::new();
    for line in &lines {
        let fields: Value = serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap();
        let place = (fields["filename"].clone().to_string(), fields["offset"].as_str().unwrap().to_owned());
        assert!(places.insert(place, fields).is_none(), "{line}");
    }
    let files = warc_files(&world.data_dir);
    for (url, page) in world.pages() {
        let (Some(file), Some(offset)) = (count(&page, "warc_file"), count(&page, "warc_offset")) else {
            continue;
        };
        let place = (Value::from(name_of(&files[&file])).to_string(), offset.to_string());
        assert_eq!(places[&place]["url"], url.as_str(), "the page's record is in the index");
    }
    is_what_other_programs_read(&world);
}

/// Reads the archive, its index and the tables with other programs, where they are installed.
pub fn is_what_other_programs_read(world: &World) {
    let Some(python) = python() else {
        println!(
            "not compared with warcio, cdxj-indexer, pywb, py-wacz and pyarrow: `make check-archives` installs them"
        );
        return;
    };
    let (pages, visits) =
        (export(world, "pages", "pages.parquet"), export(world, "visits", "visits.parquet"));
    let (pages_lines, visits_lines) =
        (export(world, "pages", "pages.jsonl"), export(world, "visits", "visits.jsonl"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/check-archives.py");
    let mut check = Command::new(python);
    check.arg(script).arg(world.data_dir.join("warc")).arg(export(world, "cdxj", "index.cdxj"));
    check.arg(export(world, "wacz", "archive.wacz"));
    let output = check.args([pages, pages_lines, visits, visits_lines]).output().unwrap();
    println!("{}", succeeds(output));
}
