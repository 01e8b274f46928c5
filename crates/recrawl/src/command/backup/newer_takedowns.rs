//! Takedowns that are newer than a backup, as the data directory before knows them: restoring repeats them.

use crate::audit;
use recrawl_crawl::admission::decisions::Decisions;
use recrawl_crawl::admission::pattern::Pattern;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::operator::takedown::TakedownOrder;
use recrawl_repository::storage::FileStorage;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

/// Orders that repeat the takedowns of `before` which a backup of this time, in milliseconds since 1970, lacks: those that
/// its log of changes has since, and those in force that the backup has not. One that was ended, or that kept the pages in
/// the crawl, removes what the backup has of them, and blocks nothing.
///
/// # Errors
/// When `before` is no data directory, or cannot be read.
pub fn orders(before: &Path, made: u64, backup: &Decisions) -> Result<Vec<TakedownOrder>, Failure> {
    let named = |e: &dyn std::fmt::Display| {
        let before = before.display();
        Failure::Usage(format!(
            "--takedowns-of {before}: {e}; name the data directory before the restore, or leave it out and repeat its \
             takedowns"
        ))
    };
    FileStorage::existing(before).map_err(|e| named(&e))?;
    let decided = open_read::decisions(before, || open_read::tables(before)).map_err(|e| named(&e))?;
    let mut patterns = Vec::new();
    // The older log first.
    for name in ["jsonl.1", "jsonl"] {
        let log = before.join(audit::FILE).with_extension(name);
        match File::open(&log) {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            opened => {
                let lines = BufReader::new(opened.map_err(|e| named(&e))?).split(b'\n');
                for line in lines {
                    patterns.extend(taken_down_since(made, &line.map_err(|e| named(&e))?));
                }
            }
        }
    }
    patterns.extend(decided.taken_down.iter().filter(|down| !backup.taken_down.contains(down)).cloned());
    let mut orders: Vec<TakedownOrder> = Vec::new();
    for pattern in patterns {
        if orders.iter().all(|order| order.pattern != pattern) {
            let keep_crawling = !decided.taken_down.contains(&pattern);
            orders.push(TakedownOrder { pattern, keep_crawling, end: false });
        }
    }
    Ok(orders)
}

/// The pattern of a line of the log that is a takedown of this time or later. A crash may have torn a line.
fn taken_down_since(made: u64, line: &[u8]) -> Option<Pattern> {
    let entry: Value = serde_json::from_slice(line).ok()?;
    let change = &entry["change"];
    let is_newer = entry["at"].as_u64().is_some_and(|at| at >= made);
    let is_takedown = change["kind"] == "takedown" && change["end"] != true;
    (is_newer && is_takedown).then(|| serde_json::from_value(change["pattern"].clone()).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn newer_takedowns_are_those_of_the_log_and_those_in_force() {
        let folder = tempfile::tempdir().unwrap();
        let storage = FileStorage::create(folder.path()).unwrap();
        let pattern = |host: &str| Pattern::host(host).unwrap();
        let of = |hosts: &[&str]| Decisions {
            taken_down: hosts.iter().map(|host| pattern(host)).collect(),
            ..Decisions::default()
        };
        of(&["old.test", "new.test", "lost.test"]).write(&storage).unwrap();
        let line = |at, host: &str, rest: &str| {
            format!("{{\"at\":{at},\"change\":{{\"kind\":\"takedown\",\"pattern\":\"{host}\"{rest}}}}}\n")
        };
        let log = [
            line(3, "old.test", ""),
            line(5, "new.test", ",\"keep_crawling\":false"),
            "{\"at\":5,\"change\":{\"kind\":\"block\",\"pattern\":\"b.test\"}}\n{\"at\":6,\"ch\n".into(),
            line(6, "kept.test", ",\"keep_crawling\":true"),
            line(6, "new.test", ""),
        ];
        fs::write(folder.path().join("control.jsonl"), log.concat()).unwrap();
        let rotated = line(5, "ended.test", "") + &line(5, "ended.test", ",\"end\":true");
        fs::write(folder.path().join("control.jsonl.1"), rotated).unwrap();
        let found = orders(folder.path(), 5, &of(&["old.test"])).unwrap();
        let found: Vec<_> =
            found.iter().map(|order| (order.pattern.to_string(), order.keep_crawling)).collect();
        let expected = [("ended.test", true), ("new.test", false), ("kept.test", true), ("lost.test", false)];
        assert_eq!(found, expected.map(|(host, keep)| (host.to_owned(), keep)));
        let nowhere = orders(&folder.path().join("none"), 5, &of(&[])).unwrap_err().to_string();
        assert!(nowhere.contains("--takedowns-of") && nowhere.contains("repeat its takedowns"), "{nowhere}");
    }
}
