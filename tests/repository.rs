//! What operators do with a repository: look at it, copy it while it is crawled, save what damage has left.

use crate::daemon::{self, Daemon};
use crate::harness::{World, count, fails, json_lines, succeeds, web};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// The same web, crawled from another data directory.
fn at(world: World, data_dir: PathBuf) -> World {
    World { data_dir, ..world }
}

fn word(path: &Path) -> &str {
    path.to_str().expect("a path of our own")
}

#[test]
fn a_snapshot_of_a_running_crawl_is_sound_and_crawls_on() {
    let world = World::new(web(40, 3), "[politeness]\ndelay_per_host = \"10 ms\"");
    world.crawl(1);
    let mut crawl = world.spawn_crawl(6);
    let mut made = Vec::new();
    while crawl.try_wait().unwrap().is_none() || made.is_empty() {
        let out = world.folder.path().join(format!("snapshot-{}", made.len()));
        let told = read(&succeeds(world.run(&["repository", "snapshot", word(&out), "--json"])));
        assert!(count(&told, "linked") > Some(0), "{told}");
        made.push((out, told));
    }
    assert!(crawl.wait().unwrap().success());
    let original = world.pages();
    world.is_sound();
    let refused = fails(world.run(&["repository", "snapshot", word(&made[0].0)]), 2);
    assert!(refused.contains("not empty"), "{refused}");
    let mut world = world;
    for (out, told) in [made.remove(0), made.pop().unwrap_or_else(|| panic!("one snapshot at least"))] {
        let home = world.data_dir.clone();
        world = at(world, out);
        world.is_sound();
        let status = world.status();
        assert_eq!(status["generation"], told["generation"]);
        assert_eq!(status["cycles"].as_array().unwrap().len() as u64, count(&told, "generation").unwrap());
        let report = world.crawl(1).remove(0);
        assert_eq!(count(&report, "cycle"), count(&told, "generation").map(|g| g + 1));
        world.is_sound();
        world = at(world, home);
    }
    assert_eq!(world.pages(), original, "nothing of this touched the crawl");
}

#[test]
fn what_damage_leaves_is_saved_and_crawled_on() {
    let world = World::new(web(60, 3), "");
    world.crawl(3);
    let before = world.pages();
    let out = world.folder.path().join("saved");
    let words = ["repository", "verify", "--salvage", word(&out)];
    let same = fails(world.run(&["repository", "verify", "--salvage", word(&world.data_dir)]), 2);
    assert!(same.contains("the data directory itself"), "{same}");

    // One byte of what visited pages have.
    let newest = "generation-0000000003.content";
    let file = world.data_dir.join(newest);
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let output = world.run(&["repository", "verify"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("--salvage"), "{output:?}");
    fails(output, 1);
    let output = world.run(&words);
    let told = String::from_utf8(output.stdout.clone()).unwrap();
    let error = fails(output, 1);
    assert!(error.contains("damaged; saved to "), "{error}");
    assert!(told.contains(newest) && told.contains("lost          0 pages"), "{told}");
    assert_eq!(std::fs::read(&file).unwrap(), bytes, "the damaged one is only read");

    std::fs::rename(world.data_dir.join("warc"), out.join("warc")).unwrap();
    let world = at(world, out);
    world.is_sound();
    let saved = world.pages();
    assert_eq!(saved.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "every URL");
    assert!(saved.values().any(|p| p["n"].is_null()) && before.values().any(|p| !p["n"].is_null()));
    let reports = world.crawl(2);
    assert_eq!(count(&reports[0], "cycle"), Some(4));
    assert!(count(&reports[0], "fetched") > Some(0), "{reports:?}");
    world.is_sound();

    // Nothing is damaged: all of it is saved, and that is no failure.
    let whole = world.folder.path().join("whole");
    let told = read(&succeeds(world.run(&["repository", "verify", "--salvage", word(&whole), "--json"])));
    assert_eq!(count(&told, "whole"), Some(world.pages().len() as u64), "{told}");
    assert_eq!((count(&told, "lost"), count(&told, "urls_only")), (Some(0), Some(0)), "{told}");
}

#[test]
fn stats_tell_where_the_bytes_are() {
    let world = World::new(web(60, 3), "");
    world.crawl(3);
    let stats = read(&succeeds(world.run(&["repository", "stats", "--json"])));
    let pages = world.pages();
    assert_eq!(count(&stats, "pages"), Some(pages.len() as u64));
    assert_eq!((count(&stats, "hosts"), count(&stats, "sites")), (Some(3), Some(3)));
    let files = stats["files"].as_object().unwrap();
    let all: u64 = files.values().filter_map(Value::as_u64).sum();
    assert_eq!(count(&stats, "bytes"), Some(all));
    let mut blocks = 0;
    for part in ["keys", "known", "history", "content"] {
        let of = &stats["parts"][part];
        let named = files.iter().filter(|(name, _)| name.ends_with(part));
        let bytes: u64 = named.filter_map(|(_, bytes)| bytes.as_u64()).sum();
        assert_eq!(count(of, "bytes"), Some(bytes), "{part}: {stats}");
        assert_eq!(count(of, "live").unwrap() + count(of, "garbage").unwrap(), bytes, "{part}: {stats}");
        blocks += bytes;
    }
    assert!(blocks < all, "index and origins are not of the blocks");
    assert_eq!(count(&stats["pages_per_block"], "max"), Some(pages.len() as u64), "one block: {stats}");
    assert_eq!(count(&stats["kept_visits"], "cycles"), Some(3));
    assert!(count(&stats["kept_visits"], "bytes") > Some(100));
    let text = succeeds(world.run(&["repository", "stats"]));
    assert!(
        text.contains("pending links") && text.contains("never tried") && text.contains("in use"),
        "{text}"
    );
}

/// Everything comes back: pages, archive, seeds that wait, formula, decisions; also of a crawl that a daemon runs.
#[test]
fn a_backup_brings_everything_back() {
    let world = daemon::world(40, 2, "[cycle]\nfill = true");
    let seeds = world.server.seeds();
    world.crawl(1);
    succeeds(world.run(&["formula", "use", "t * (X + 2)"]));
    succeeds(world.run(&["block", "b.test"]));
    let running = Daemon::start(&world);
    running.until("waiting", |s| s["state"] == "waiting" && s["cycle"].is_null());
    let out = world.folder.path().join("backup");
    let told = read(&succeeds(world.run(&["backup", word(&out), "--json"])));
    assert!(count(&told, "pages") > Some(10) && count(&told, "warc_bytes") > Some(1000), "{told}");
    running.until("back", |s| s["state"] == "waiting");
    running.stop();
    let pages = world.pages();
    for inside in [world.data_dir.join("backup"), world.data_dir.join("new/../backup")] {
        let refused = fails(world.run(&["backup", word(&inside)]), 2);
        assert!(refused.contains("is inside the data directory"), "{refused}");
    }
    let refused = fails(world.run(&["backup", word(&out)]), 2);
    assert!(refused.contains("not empty"), "{refused}");
    let refused = fails(world.run(&["restore", word(&out)]), 2);
    assert!(
        refused.contains("not empty") && refused.contains("or move this one away"),
        "not overwritten: {refused}"
    );
    assert!(fails(world.run(&["restore", word(world.folder.path())]), 2).contains("no complete backup"));

    let mut world = at(world, out.clone());
    world.is_sound();
    world = at(world, out.parent().unwrap().join("restored"));
    succeeds(world.run(&["restore", word(&out)]));
    world.is_sound();
    assert_eq!(world.pages(), pages);
    let status = world.status();
    assert_eq!(
        status["formula"]["expression"].as_str().or(status["formula"].as_str()),
        Some("t * (X + 2)"),
        "{status}"
    );
    assert_eq!(status["controls"]["blocked"], 1);
    let shown = succeeds(world.run(&["show", &seeds[0]]));
    assert!(!shown.trim().is_empty());
    // Without seeds: their sites are known.
    let report = json_lines(&succeeds(world.run(&["crawl", "--json", "--cycles", "1"]))).remove(0);
    assert!(count(&report, "fetched") > Some(0), "{report}");
    assert_eq!(world.pages().len(), pages.len());
}

/// A backup that was older than a takedown brought its page back.
#[test]
fn a_restore_repeats_later_takedowns_of_the_data_directory_before_or_says_that_they_are_missing() {
    let mut world = daemon::world(20, 1, "[cycle]\nfill = true");
    world.crawl(1);
    let visited: Vec<String> =
        world.pages().iter().filter(|(_, page)| !page["n"].is_null()).map(|(url, _)| url.clone()).collect();
    // The first is the home page, whose URL begins all others.
    let [early, late, removed] = [1, 2, 3].map(|page| visited[page].clone());
    succeeds(world.run(&["takedown", "--page", &early]));
    let (out, lost) = (world.folder.path().join("backup"), world.data_dir.clone());
    succeeds(world.run(&["backup", word(&out)]));
    succeeds(world.run(&["takedown", "--page", &late]));
    succeeds(world.run(&["takedown", "--page", &removed, "--keep-crawling"]));
    let restored = |name: &str, words: &[&str], mut world: World| {
        world = at(world, out.parent().unwrap().join(name));
        let said = succeeds(world.run(&[&["restore", word(&out)], words].concat()));
        world.is_sound();
        (said, world)
    };
    let has_text = |world: &World, url: &str| world.run(&["show", url]).status.success();
    let said;
    (said, world) = restored("without", &[], world);
    assert!(
        said.contains("are not in it: their pages are back") && said.contains("--takedowns-of"),
        "{said}"
    );
    assert_eq!([&early, &late, &removed].map(|url| has_text(&world, url)), [false, true, true]);
    let said;
    (said, world) = restored("with", &["--takedowns-of", word(&lost)], world);
    assert!(
        said.contains("takedowns   2 after ") && said.contains(&late) && !said.contains(&early),
        "{said}"
    );
    assert_eq!([&early, &late, &removed].map(|url| has_text(&world, url)), [false; 3]);
    let down = |url: &str| succeeds(world.run(&["explain", url])).contains("taken down");
    assert_eq!([&early, &late, &removed].map(|url| down(url)), [true, true, false]);
    // The directory before has no other.
    let (said, world) = restored("again", &["--takedowns-of", word(&out), "--json"], world);
    assert_eq!(read(&said)["takedowns"], serde_json::json!([]), "{said}");
    let nowhere = at(world, out.parent().unwrap().join("nowhere"));
    fails(nowhere.run(&["restore", word(&out), "--takedowns-of", "none"]), 2);
    assert!(!nowhere.data_dir.exists(), "nothing is restored");
}

/// The WARC files of a data directory.
fn warc_files(data_dir: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(data_dir.join("warc")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|file| file.to_string_lossy().ends_with(".warc.gz")).collect()
}

/// A backup was restored without complaint after its disk was full.
#[test]
fn a_backup_without_all_of_its_archive_is_refused() {
    let mut world = World::new(web(20, 1), "");
    world.crawl(1);
    let [out, cut, restored] = ["backup", "cut", "restored"].map(|name| world.folder.path().join(name));
    succeeds(world.run(&["backup", word(&out)]));
    // The copy of a file fails in its middle, as on a full disk, when all but the archive is copied.
    const HALF: u64 = 32 << 20;
    let long = warc_files(&world.data_dir)[0].with_file_name("recrawl-000099.warc.gz");
    std::fs::File::create(&long).unwrap().set_len(2 * HALF).unwrap();
    let backup = world.command(&["backup", word(&cut)]);
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", HALF / 1024), "bash"]);
    let ended = shell.arg(backup.get_program()).args(backup.get_args()).output().unwrap();
    assert!(fails(ended, 1).contains("cannot copy ") && cut.join("warc").is_dir());
    world = at(world, restored);
    assert!(fails(world.run(&["restore", word(&cut)]), 2).contains("no complete backup"));

    let file = warc_files(&out).remove(0);
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    let refused = fails(world.run(&["restore", word(&out)]), 1);
    assert!(refused.contains(&format!("it had {} bytes; nothing was restored", whole.len())), "{refused}");
    std::fs::remove_file(&file).unwrap();
    let refused = fails(world.run(&["restore", word(&out)]), 1);
    assert!(refused.contains(".warc.gz") && refused.contains("nothing was restored"), "{refused}");
    assert!(!world.data_dir.exists());
    std::fs::write(&file, whole).unwrap();
    succeeds(world.run(&["restore", word(&out)]));
    world.is_sound();
    assert!(!world.data_dir.join("archive.json").exists());
}

#[test]
fn what_is_lost_whole_is_told() {
    let world = World::new(web(20, 1), "[schedule]\nformula = \"\"");
    world.crawl(1);
    let told = |code: i32| {
        let output = world.run(&["repository", "verify"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        said
    };
    let sound = told(0);
    assert!(!sound.contains("missing") && sound.contains(": ok: "), "{sound}");
    std::fs::remove_file(world.data_dir.join("schedule.toml")).unwrap();
    assert!(told(0).contains("schedule.toml: missing, so the formula `default` ranks"));
    for entry in std::fs::read_dir(&world.data_dir).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(".kept") {
            std::fs::remove_file(path).unwrap();
        }
    }
    assert!(told(0).contains("though storage.keep_visits is "));
    std::fs::remove_dir_all(world.data_dir.join("hosts.sled")).unwrap();
    assert!(told(0).contains("hosts.sled: missing"));
    for file in warc_files(&world.data_dir) {
        std::fs::remove_file(file).unwrap();
    }
    let lost = told(1);
    assert!(lost.contains("missing, with the bodies of "), "{lost}");
    assert!(lost.contains("the crawl goes on\n            lost: these bodies"), "{lost}");
    let shown = fails(world.run(&["show", &world.server.seeds()[0]]), 1);
    assert!(shown.contains("which is not here") && !shown.contains("archive_max"), "{shown}");
}

fn flip(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    std::fs::write(path, bytes).unwrap();
}

/// Damage was named, with the advice to run the command that had just named it.
#[test]
fn what_to_do_about_damage_is_said_and_works() {
    let mut world = World::new(web(30, 2), "");
    world.crawl(2);
    let (data, out) = (world.data_dir.clone(), world.folder.path().join("backup"));
    let aside = PathBuf::from(format!("{}.damaged", data.display()));
    let pages = world.pages();
    let names: Vec<String> = std::fs::read_dir(&data)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let file = |end: &str| data.join(names.iter().find(|name| name.ends_with(end)).unwrap());
    let verify = |world: &World| {
        let output = world.run(&["repository", "verify"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = fails(output, 1);
        assert!(line.contains("the output says what to do"), "{line}");
        said
    };
    let history = file(".history");
    flip(&history);
    let said = verify(&world);
    for part in [
        format!("it cannot go on with {}", history.display()),
        format!("mv {} {}", data.display(), aside.display()),
        format!("recrawl restore BACKUP --data-dir {}", data.display()),
        format!("recrawl repository verify --salvage {} --data-dir {}", data.display(), aside.display()),
    ] {
        assert!(said.contains(&part), "{part}: {said}");
    }
    let crawl = fails(world.crawl_command(1).output().unwrap(), 1);
    assert!(crawl.contains("`recrawl repository verify` lists all damage and says what to do"), "{crawl}");
    flip(&history);

    // On one disk, a backup has the same files.
    succeeds(world.run(&["backup", word(&out)]));
    flip(&history);
    let said = verify(&world);
    assert!(said.contains(&format!("{} has the same file by a hard link", out.display())), "{said}");
    world = at(world, out.parent().unwrap().join("restored"));
    let refused = fails(world.run(&["restore", word(&out)]), 1);
    assert!(
        refused.contains("nothing was restored: take another backup") && !world.data_dir.exists(),
        "{refused}"
    );
    world = at(world, data.clone());
    flip(&history);

    // On another, it has not.
    for entry in std::fs::read_dir(&out).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        let bytes = std::fs::read(entry.path()).unwrap();
        std::fs::remove_file(entry.path()).unwrap();
        std::fs::write(entry.path(), bytes).unwrap();
    }
    for (what, damage) in [
        (history.clone(), &flip as &dyn Fn(&Path)),
        (data.join("MANIFEST"), &flip),
        (file(".known"), &|path| std::fs::remove_file(path).unwrap()),
    ] {
        damage(&what);
        let said = verify(&world);
        for part in [
            format!("it cannot go on with {}", what.display()),
            format!("recrawl restore {} --data-dir {}", out.display(), data.display()),
            "lost: what was crawled since 20".to_owned(),
        ] {
            assert!(said.contains(&part), "{part}: {said}");
        }
        // As it says.
        std::fs::rename(&data, &aside).unwrap();
        succeeds(world.run(&["restore", word(&out)]));
        world.is_sound();
        assert_eq!(world.pages(), pages);
        std::fs::remove_dir_all(&aside).unwrap();
    }

    // A crawl goes on without old visits.
    let kept = file(".kept");
    flip(&kept);
    let said = verify(&world);
    assert!(said.contains(&format!("the crawl goes on without {}: remove it", kept.display())), "{said}");
    assert!(!said.contains("mv "), "{said}");
    std::fs::remove_file(&kept).unwrap();
    world.is_sound();

    // Nor does it start where nobody knows what was told.
    let notices = data.join("notify.json");
    std::fs::write(&notices, "nonsense").unwrap();
    let said = verify(&world);
    assert!(said.contains("stop the crawl, then remove") && said.contains("notify.json"), "{said}");
    assert!(!said.contains("mv "), "{said}");
    std::fs::remove_file(&notices).unwrap();
    let documents = data.join("nobody.copy");
    std::fs::write(&documents, "nonsense").unwrap();
    let said = verify(&world);
    assert!(said.contains("no target of [[deliver]] has") && !said.contains("mv "), "{said}");
    std::fs::remove_file(&documents).unwrap();
    world.is_sound();
    world.crawl(1);
}

/// Beside a crawl without a socket a backup is refused, and nothing is written.
#[test]
fn a_backup_beside_a_crawl_without_a_socket_is_refused() {
    let world = World::new(web(60, 1), "[politeness]\ndelay_per_host = \"300 ms\"");
    world.crawl(1);
    let requests = || world.server.log(0).unwrap().len();
    let before = requests();
    let mut crawl = world.spawn_crawl(50);
    let out = world.folder.path().join("backup");
    while requests() == before {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let line = fails(world.run(&["backup", word(&out)]), 1);
    assert!(line.contains("in use by another process") && line.contains("stop it first"), "{line}");
    assert!(!out.exists());
    crawl.kill().unwrap();
    crawl.wait().unwrap();
    succeeds(world.run(&["backup", word(&out)]));
}
