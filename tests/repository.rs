//! What operators do with a repository: look at it, copy it while it is crawled, save what damage has left.

use crate::harness::{World, count, fails, succeeds, web};
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
    let damaged = fails(world.run(&["repository", "verify"]), 1);
    assert!(damaged.contains("--salvage"), "{damaged}");
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
