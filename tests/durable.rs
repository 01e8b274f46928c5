//! What a data directory keeps, whatever happens to it: an older version, lost files, a power cut,
//! flipped bits.

use crate::daemon::{self, Daemon};
use crate::harness::{World, count, fails, host_of, succeeds, warc_files, web};
use flate2::read::GzDecoder;
use recrawl_mockweb::Validators;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// All files below a folder, by path from there.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(folder: &Path, from: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => walk(&path, from, all),
                false => drop(all.insert(path.strip_prefix(from).unwrap().into(), fs::read(&path).unwrap())),
            }
        }
    }
    let mut all = BTreeMap::new();
    walk(folder, folder, &mut all);
    all
}

/// Puts these files, and no others, into a folder.
fn put(files: &BTreeMap<PathBuf, Vec<u8>>, folder: &Path) {
    let _ = fs::remove_dir_all(folder);
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// The record in the archive to which a page's position leads, as text.
fn body(data_dir: &Path, page: &Value) -> Option<String> {
    let (number, offset) = (count(page, "warc_file")?, count(page, "warc_offset")?);
    let bytes = fs::read(warc_files(data_dir).get(&number)?).ok()?;
    let mut text = Vec::new();
    let _ = GzDecoder::new(bytes.get(offset as usize..)?).read_to_end(&mut text);
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Every visited page has a body, and its position leads to it.
fn each_position_leads_to_its_page(world: &World) -> usize {
    let mut visited = 0;
    for (url, page) in world.pages() {
        if !page["n"].is_null() {
            let body = body(&world.data_dir, &page).unwrap_or_else(|| panic!("{url} has no body: {page}"));
            assert!(body.starts_with("WARC/1.1\r\nWARC-Type: response\r\n"), "{url}: {body}");
            assert!(body.contains(&format!("\r\nWARC-Target-URI: {url}\r\n")), "{url}: {body}");
            visited += 1;
        }
    }
    visited
}

/// Written by the last program of format version 4: two cycles, a takedown (a cycle of its own) of
/// 127.3.0.2, a block of b.test, a pause of p.test, and a fourth cycle that was killed after three
/// visits.
fn of_version_4(folder: &Path) {
    let packed = File::open(crate::harness::workspace_file("tests/version-4.gz")).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    let mut all = BTreeMap::new();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let mut line = || {
            let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
            let text = String::from_utf8(rest[..end].to_vec()).unwrap();
            rest = &rest[end + 1..];
            text
        };
        let (name, length) = (line(), line().parse().unwrap());
        let (content, behind) = rest.split_at(length);
        all.insert(name.into(), content.to_vec());
        rest = behind;
    }
    put(&all, folder);
}

#[test]
fn a_directory_of_version_4_goes_on_with_what_was_decided_and_with_its_cycle() {
    let world = World::new(web(5, 1), "");
    world.configure("[fetch]\ntimeout = \"1 s\"\nallow_addresses = [\"127.0.0.0/8\"]");
    of_version_4(&world.data_dir);
    let before = world.pages();
    let expected = json!({"paused": null, "paused_hosts": 1, "blocked": 1, "taken_down": 1});
    assert_eq!(world.status()["controls"], expected, "read from the tables, and nothing is written");
    assert!(!world.data_dir.join("decisions.json").exists());
    world.is_sound();
    let out = world.folder.path().join("snapshot");
    succeeds(world.run(&["repository", "snapshot", out.to_str().unwrap()]));
    let snapshot = World { data_dir: out, ..World::new(web(5, 1), "") };
    assert_eq!(snapshot.status()["controls"], expected, "a snapshot has it too");

    // Nobody answers at its addresses any more: the rest of the cycle fails, and what was visited
    // stays so.
    let report = world.crawl(1).remove(0);
    assert!(count(&report, "cycle") == Some(4) && count(&report, "fetched") >= Some(3), "{report}");
    assert_eq!(world.status()["controls"], expected);
    let text = fs::read_to_string(world.data_dir.join("decisions.json")).unwrap();
    for name in ["\"127.3.0.2\"", "\"*.b.test\"", "p.test", "anna"] {
        assert!(text.contains(name), "{text}");
    }
    let after = world.pages();
    for (url, page) in &before {
        assert!(count(&after[url], "n") >= count(page, "n"), "{url}");
    }
    assert!(each_position_leads_to_its_page(&world) >= 7);
    let daemon_sees = succeeds(world.run(&["explain", "http://127.3.0.2:8973/p1.html"]));
    assert!(daemon_sees.contains("taken down (recrawl takedown, "), "{daemon_sees}");
    world.is_sound();
    // A second takedown leaves no name in the tables, where the older program kept it.
    world.crawl(1);
    succeeds(world.run(&["takedown", "--host", "127.3.0.2", "--keep-crawling"]));
    let tables = files(&world.data_dir.join("hosts.sled"));
    let holds =
        |part: &[u8]| tables.values().any(|bytes| bytes.windows(part.len()).any(|window| window == part));
    // The site of a seed stays, as the command says.
    assert!(!holds(b"host 127.3.0.2") && !holds(b"b.test") && holds(b"127.3.0.1"));
    assert_eq!(world.status()["controls"]["taken_down"], 0);
}

#[test]
fn what_was_decided_outlives_the_tables_and_its_file_cannot_be_done_without() {
    let world = daemon::world(20, 2, "[cycle]\npages = \"100%\"");
    world.crawl(2);
    let beginning = world.server.seeds()[0].clone();
    let host = host_of(&beginning);
    succeeds(world.run(&["takedown", "--host", &host]));
    let daemon = Daemon::start(&world);
    daemon.change("PUT", "/api/v1/blocks/b.test", None);
    daemon.stop();
    let asked =
        || world.server.log(0).unwrap().iter().filter(|a| format!("http://{}/", a.host) == beginning).count();
    let before = asked();
    fs::remove_dir_all(world.data_dir.join("hosts.sled")).unwrap();
    (0..3).for_each(|_| drop(world.next_cycle()));
    assert_eq!(asked(), before, "what was taken down is asked for no more, though the tables are gone");
    assert_eq!(world.status()["controls"]["blocked"], 1);

    let file = world.data_dir.join("decisions.json");
    let kept = fs::read(&file).unwrap();
    let refused = |what: &str| {
        for words in [&["crawl", "--cycles", "1"][..], &["takedown", "--host", "c.test"]] {
            let line = fails(world.run(words), 1);
            assert!(
                line.contains("decisions.json") && line.contains(what) && line.contains("write {} into it"),
                "{line}"
            );
        }
        let verified = fails(world.run(&["repository", "verify"]), 1);
        assert!(verified.contains("1 damaged place"), "{verified}");
        assert!(world.status()["pages"].is_number(), "it can still be looked at");
    };
    fs::remove_file(&file).unwrap();
    refused("it is missing");
    let mut flipped = kept.clone();
    flipped[40] ^= 1;
    fs::write(&file, flipped).unwrap();
    refused("checksum");
    let out = world.folder.path().join("saved");
    let told = fails(world.run(&["repository", "verify", "--salvage", out.to_str().unwrap()]), 1);
    assert!(told.contains("decisions.json") || told.contains("damaged"), "{told}");
    assert!(!out.join("decisions.json").exists(), "what was decided is not made up");
    fs::write(&file, kept).unwrap();
    world.is_sound();
    world.crawl(1);
    // By hand, and knowingly.
    fs::write(&file, "{}\n").unwrap();
    world.crawl(1);
    assert_eq!(world.status()["controls"]["taken_down"], 0);
}

/// The archive as it was synced when the last cycle ended, and the log ahead of it.
#[test]
fn a_log_that_a_power_cut_left_ahead_of_the_archive_leads_to_no_other_body() {
    let mut config = web(40, 1);
    config.validators = Validators::None;
    let world = World::new(config, "[cycle]\npages = \"100%\"\n[politeness]\ndelay_per_host = \"100 ms\"");
    world.crawl(2);
    world.server.advance().unwrap();
    let warc = world.data_dir.join("warc");
    let closed = files(&warc);
    let mut child = world.spawn_crawl(1);
    let log = world.data_dir.join("cycle-0000000003.visits");
    while fs::metadata(&log).map_or(0, |data| data.len()) < 1_500 {
        assert!(child.try_wait().unwrap().is_none(), "it is killed in the midst of the cycle");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let grown = files(&warc);
    assert_ne!(closed, grown, "bodies were archived");
    put(&closed, &warc);
    world.crawl(1);
    assert!(each_position_leads_to_its_page(&world) > 10);
    world.is_sound();
}

#[test]
fn a_body_that_was_lost_is_archived_again() {
    let world = World::new(web(12, 1), "[cycle]\npages = \"100%\"");
    (0..3).for_each(|_| drop(world.next_cycle()));
    let warc = &warc_files(&world.data_dir)[&1];
    let length = fs::metadata(warc).unwrap().len();
    File::options().write(true).open(warc).unwrap().set_len(length / 2).unwrap();
    let lost = world.pages().values().filter(|page| page["body"] == "lost").count();
    assert!(lost > 2, "{lost} bodies");
    assert!(fails(world.run(&["repository", "verify"]), 1).contains("damaged"));
    // Their pages are asked for without a condition, so that no 304 comes in the body's place.
    (0..2).for_each(|_| drop(world.next_cycle()));
    assert_eq!(
        each_position_leads_to_its_page(&world),
        world.pages().values().filter(|p| !p["n"].is_null()).count()
    );
    assert_eq!(world.pages().values().filter(|page| page["body"] == "lost").count(), 0);
}

/// Some places of a file, the ends among them.
fn places(bytes: &[u8]) -> impl Iterator<Item = usize> + use<> {
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    (0..7).map(move |part| (used.saturating_sub(1)) * part / 6).take(used.min(7))
}

#[test]
fn a_flipped_bit_in_any_file_is_told_and_what_is_left_is_crawled_on() {
    let world = World::new(web(20, 2), "[cycle]\npages = \"100%\"");
    (0..3).for_each(|_| drop(world.next_cycle()));
    let home = world.data_dir.clone();
    let all = files(&home);
    let before = world.pages();
    let sound: Value =
        serde_json::from_str(&succeeds(world.run(&["repository", "verify", "--json"]))).unwrap();
    let rows = count(&sound, "table_rows").unwrap();
    assert!(rows > 3 && count(&sound, "warc_records") > Some(20), "{sound}");
    let (mut flips, mut told, mut without_effect) = (0, BTreeMap::new(), 0);
    let mut world = world;
    for (name, bytes) in &all {
        let is_table = name.starts_with("hosts.sled");
        for at in places(bytes) {
            let mut damaged = all.clone();
            damaged.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
            put(&damaged, &home);
            flips += 1;
            let verified = world.run(&["repository", "verify", "--json"]);
            let what = format!("byte {at} of {}", name.display());
            let text = String::from_utf8_lossy(&verified.stdout).into_owned()
                + &String::from_utf8_lossy(&verified.stderr);
            assert!(!text.contains("panicked"), "{what}: {text}");
            assert_eq!(files(&home), damaged, "{what}: verify only reads");
            if verified.status.success() {
                // Where sled has nothing any more.
                let found: Value = serde_json::from_slice(&verified.stdout).unwrap();
                assert!(is_table && found["table_rows"] == rows, "{what} is not told: {text}");
                without_effect += 1;
                continue;
            }
            let file = if is_table { "hosts.sled".into() } else { name.display().to_string() };
            assert!(verified.status.code() == Some(1) && text.contains(&file), "{what}: {text}");
            if told.insert(name.clone(), at).is_some() {
                continue;
            }
            // Saved, and crawled on.
            let out = world.folder.path().join("saved");
            let _ = fs::remove_dir_all(&out);
            fails(world.run(&["repository", "verify", "--salvage", out.to_str().unwrap()]), 1);
            fs::rename(home.join("warc"), out.join("warc")).unwrap();
            if !out.join("decisions.json").exists() {
                assert!(name.ends_with("decisions.json"), "{what}");
                fs::write(out.join("decisions.json"), "{}").unwrap();
            }
            world = World { data_dir: out, ..world };
            let report = world.crawl(1).remove(0);
            assert!(count(&report, "fetched") > Some(0), "{what}: {report}");
            let after = world.pages();
            assert!(
                before.keys().all(|url| after.contains_key(url)) || name.to_string_lossy().ends_with(".keys"),
                "{what}"
            );
            world = World { data_dir: home.clone(), ..world };
        }
    }
    let files = all.values().filter(|bytes| !bytes.is_empty()).count();
    println!(
        "{flips} flips in {files} files: {} files told, {without_effect} flips of hosts.sled without effect",
        told.len()
    );
    assert!(told.len() >= files - 1, "{told:?} of {:?}", all.keys());
}
