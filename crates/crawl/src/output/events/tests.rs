//! A stream that is cut anywhere continues as if it had not been cut.

use super::file::WINDOW;
use super::*;
use crate::config::units::Size;
use recrawl_repository::storage::MemoryStorage;
use recrawl_types::{CanonicalUrl, Failure as Missed, Share, Skip, UrlRules};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

fn url(text: &str) -> CanonicalUrl {
    UrlRules::default().canonicalize(text).unwrap()
}

/// A crawl of this many cycles, each scheduling every page.
fn crawled(cycles: u32) -> Repository {
    let storage = Arc::new(MemoryStorage::new());
    let mut repository = Repository::open(storage).unwrap().keeping_visits(100);
    commit(&mut repository, cycles);
    repository
}

fn commit(repository: &mut Repository, cycles: u32) {
    for _ in 0..cycles {
        let before = repository.current();
        let mut next = repository.begin(&before, repository.current().cycle().next()).unwrap();
        let cycle = next.number().0;
        for (page, outcome, confirmed) in [
            ("a", Outcome::Fetched(Change::First), 0),
            ("b", Outcome::Fetched(Change::Changed), 0),
            ("c", Outcome::NotModified, 0),
            ("d", Outcome::NotFound(410), cycle as u8),
            ("e", Outcome::Failed(Missed::Status(503)), 0),
            ("f", Outcome::RobotsDenied, 0),
            ("g", Outcome::Skipped(Skip::Deadline), 0),
        ] {
            let at = 1_700_000_000 + u64::from(cycle);
            let url = url(&format!("http://a.example/{page}"));
            next.keep_visit(&StoredVisit {
                url,
                at,
                share: Share::Score,
                outcome,
                confirmed,
                missed: 0,
                learned: None,
            })
            .unwrap();
        }
        repository.commit(next, b"{}").unwrap();
    }
}

struct EventWorld {
    folder: tempfile::TempDir,
    tables: SledTables,
    rotation: config::Events,
}

impl EventWorld {
    fn new() -> EventWorld {
        let (folder, tables) = (tempfile::tempdir().unwrap(), SledTables::temporary().unwrap());
        EventWorld { folder, tables, rotation: config::Events::default() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("events.jsonl")
    }

    /// Opens the stream and lets it follow; returns the content of the file.
    fn follow(&self, repository: &Repository) -> Result<String, Failure> {
        let mut events = Events::at(&self.path(), None, repository, &self.tables)?;
        events.add(&self.rotation, repository, &self.tables)?;
        Ok(fs::read_to_string(self.path()).unwrap())
    }
}

#[test]
fn each_page_of_a_cycle_has_a_line_and_the_cycle_an_end() {
    let world = EventWorld::new();
    let mut repository = crawled(1);
    assert_eq!(
        world.follow(&repository).unwrap(),
        "{\"end_of_cycle\":1,\"events\":0}\n",
        "what was before is not told"
    );
    commit(&mut repository, 1);
    let text = world.follow(&repository).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let expected = [
        r#"{"end_of_cycle":1,"events":0}"#,
        r#"{"cycle":2,"time":1700000002,"url":"http://a.example/a","checked":"first","outcome":"fetched","share":"score"}"#,
        r#"{"cycle":2,"time":1700000002,"url":"http://a.example/b","checked":"changed","outcome":"fetched","share":"score"}"#,
        r#"{"cycle":2,"time":1700000002,"url":"http://a.example/c","checked":"unchanged","outcome":"not_modified","share":"score"}"#,
        r#"{"cycle":2,"time":1700000002,"url":"http://a.example/d","checked":"gone","outcome":"not_found","share":"score","status":410,"confirmed":2}"#,
        r#"{"cycle":2,"time":1700000002,"url":"http://a.example/e","checked":"not_looked_at","outcome":"failed","share":"score","why":"status","status":503}"#,
        r#"{"cycle":2,"time":1700000002,"url":"http://a.example/f","checked":"not_looked_at","outcome":"robots_denied","share":"score","why":"robots_denied"}"#,
        r#"{"cycle":2,"time":1700000002,"url":"http://a.example/g","checked":"not_looked_at","outcome":"skipped","share":"score","why":"deadline"}"#,
        r#"{"end_of_cycle":2,"events":7}"#,
    ];
    assert_eq!(lines, expected);
    assert_eq!(world.follow(&repository).unwrap(), text, "nothing is told twice");
}

#[test]
fn a_file_cut_at_any_byte_loses_and_doubles_nothing() {
    let world = EventWorld::new();
    let mut repository = crawled(0);
    world.follow(&repository).unwrap();
    commit(&mut repository, 2);
    let whole = world.follow(&repository).unwrap();
    let first = whole.find('\n').unwrap() + 1;
    // Syncs of a real disk take time, so test all bytes of the end lines and some of the rest.
    let is_odd = |cut: &usize| cut.is_multiple_of(29) || whole[cut - 1..=*cut].contains('\n');
    let ends = whole.len() - 32..whole.len();
    for cut in (first..whole.len()).filter(|cut| is_odd(cut) || ends.contains(cut)) {
        fs::write(world.path(), &whole[..cut]).unwrap();
        assert_eq!(world.follow(&repository).unwrap(), whole, "cut at byte {cut}");
        // A power cut may keep the length, but none of the bytes after the last end line.
        let mut blank = whole.as_bytes()[..cut].to_vec();
        let sound = whole[..cut].rfind("{\"end").filter(|at| whole[*at..cut].contains('\n'));
        let sound = sound.map_or(first, |at| at + whole[at..].find('\n').unwrap() + 1).min(cut);
        blank[sound..].fill(0);
        fs::write(world.path(), &blank).unwrap();
        assert_eq!(world.follow(&repository).unwrap(), whole, "blank from byte {sound} to {cut}");
    }
    // A file cut within its first line is as good as new: it begins with the next commit.
    for cut in 0..first {
        fs::write(world.path(), &whole[..cut]).unwrap();
        assert_eq!(world.follow(&repository).unwrap(), "{\"end_of_cycle\":2,\"events\":0}\n", "cut at {cut}");
    }
}

#[test]
fn the_last_end_is_found_behind_more_than_a_window_of_torn_lines() {
    let world = EventWorld::new();
    let repository = crawled(2);
    for torn in [0, 10, WINDOW as usize - 30, WINDOW as usize, 3 * WINDOW as usize + 5] {
        let mut text = String::from("{\"end_of_cycle\":1,\"events\":0}\n{\"end_of_cycle\":2,\"events\":7}\n");
        let sound = text.len();
        text.push_str(&"{\"url\":\"{\\\"end_of_cycle\\\":9}\"}\n".repeat(torn / 30));
        fs::write(world.path(), &text).unwrap();
        assert_eq!(world.follow(&repository).unwrap().len(), sound, "{torn} bytes");
    }
}

#[test]
fn cycles_that_are_no_longer_kept_are_named() {
    let world = EventWorld::new();
    let mut repository = crawled(1);
    world.follow(&repository).unwrap();
    commit(&mut repository, 4);
    let mut repository = repository.keeping_visits(2);
    commit(&mut repository, 1);
    let text = world.follow(&repository).unwrap();
    let ends: Vec<&str> = text.lines().filter(|line| !line.contains("\"url\"")).collect();
    let expected = [
        r#"{"end_of_cycle":1,"events":0}"#,
        r#"{"lost_from":2,"lost_to":4}"#,
        r#"{"end_of_cycle":4,"events":0}"#,
        r#"{"end_of_cycle":5,"events":7}"#,
        r#"{"end_of_cycle":6,"events":7}"#,
    ];
    assert_eq!(ends, expected);
}

#[test]
fn what_is_no_file_of_this_crawls_events_is_left_alone() {
    let world = EventWorld::new();
    let repository = crawled(1);
    for text in ["my notes\n", "{\"end_of_cycle\":5,\"events\":0}\n", "{\"end_of_cycles\":1}\n", "\0"] {
        fs::write(world.path(), text).unwrap();
        let error = world.follow(&repository).unwrap_err();
        assert!(error.is_usage(), "{error}");
        assert!(error.to_string().contains("choose another file"), "{error}");
        assert_eq!(fs::read_to_string(world.path()).unwrap(), text);
    }
}

impl EventWorld {
    /// A file that is rotated after each cycle but the smallest.
    fn rotating(keep: u32) -> EventWorld {
        EventWorld { rotation: config::Events { max_bytes: Size(200), keep }, ..EventWorld::new() }
    }

    /// Numbers of rotated files, and the text of all files, oldest first.
    fn all(&self) -> (Vec<u32>, Vec<String>) {
        let at = |number: u32| self.folder.path().join(format!("events.jsonl.{number}"));
        let numbers: Vec<u32> = (1..100).rev().filter(|number| at(*number).exists()).collect();
        let paths = numbers.iter().map(|number| at(*number)).chain([self.path()]);
        let texts = paths.map(|path| fs::read_to_string(path).unwrap()).collect();
        (numbers, texts)
    }

    /// Each file is complete, and together they have these cycles, each once.
    fn tells(&self, cycles: std::ops::RangeInclusive<u32>) {
        let (_, texts) = self.all();
        let mut told = Vec::new();
        for text in &texts {
            assert!(text.ends_with('\n') && text.starts_with("{\"end_of_cycle\":"), "{text}");
            let mut open = 0;
            for line in text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()) {
                match line["end_of_cycle"].as_u64() {
                    None => open += 1,
                    Some(cycle) => {
                        assert_eq!(line["events"], open);
                        told.extend((open > 0).then_some(cycle as u32));
                        open = 0;
                    }
                }
            }
            assert_eq!(open, 0, "no cycle is in two files");
        }
        assert_eq!(told, cycles.collect::<Vec<_>>());
    }
}

#[test]
fn a_full_file_is_put_aside_and_the_oldest_go() {
    let world = EventWorld::rotating(3);
    let mut repository = crawled(1);
    world.follow(&repository).unwrap();
    commit(&mut repository, 2);
    world.follow(&repository).unwrap();
    assert_eq!(world.all().0, [2, 1]);
    world.tells(2..=3);
    assert_eq!(fs::read_to_string(world.path()).unwrap(), "{\"end_of_cycle\":3,\"events\":0}\n");
    commit(&mut repository, 4);
    world.follow(&repository).unwrap();
    assert_eq!(world.all().0, [3, 2, 1]);
    world.tells(5..=7);
    // Keep fewer files from now on.
    let world = EventWorld { rotation: config::Events { keep: 1, ..world.rotation.clone() }, ..world };
    commit(&mut repository, 1);
    world.follow(&repository).unwrap();
    assert_eq!(world.all().0, [1]);
    world.tells(8..=8);
}

#[test]
fn a_stop_anywhere_while_a_file_is_put_aside_loses_and_doubles_nothing() {
    let mut repository = crawled(1);
    let world = EventWorld::rotating(9);
    world.follow(&repository).unwrap();
    commit(&mut repository, 3);
    world.follow(&repository).unwrap();
    commit(&mut repository, 2);
    let aside = |number: u32| world.folder.path().join(format!("events.jsonl.{number}"));
    // A rotation interrupted after the old files moved, or also after the full one moved, with the
    // new one missing, empty or incomplete.
    let full = fs::read_to_string(aside(1)).unwrap();
    for torn in [None, Some(""), Some("{\"end_of"), Some("{\"end_of_cycle\":4,\"events\":0}")] {
        match torn {
            None => fs::remove_file(world.path()).unwrap(),
            Some(torn) => fs::write(world.path(), torn).unwrap(),
        }
        let whole = EventWorld { rotation: config::Events::default(), ..EventWorld::new() };
        for number in 1..=3 {
            let name = aside(number).file_name().unwrap().to_owned();
            fs::copy(aside(number), whole.folder.path().join(name)).unwrap();
        }
        if let Some(torn) = torn {
            fs::write(whole.path(), torn).unwrap();
        }
        whole.follow(&repository).unwrap();
        whole.tells(2..=6);
    }
    let half = EventWorld { rotation: config::Events::default(), ..EventWorld::new() };
    fs::copy(aside(3), half.folder.path().join("events.jsonl.4")).unwrap();
    fs::copy(aside(2), half.folder.path().join("events.jsonl.3")).unwrap();
    fs::write(half.path(), &full).unwrap();
    half.follow(&repository).unwrap();
    half.tells(2..=6);
}

#[test]
fn a_file_that_somebody_else_put_aside_is_begun_anew() {
    let world = EventWorld::new();
    let mut repository = crawled(1);
    world.follow(&repository).unwrap();
    let mut events = Events::at(&world.path(), None, &repository, &world.tables).unwrap();
    commit(&mut repository, 1);
    events.add(&world.rotation, &repository, &world.tables).unwrap();
    let moved = world.folder.path().join("events.jsonl-20261121");
    fs::rename(world.path(), &moved).unwrap();
    commit(&mut repository, 1);
    // Until it is reopened, it writes to the old file.
    events.add(&world.rotation, &repository, &world.tables).unwrap();
    let mut events = Events::at(&world.path(), Some(events.up_to), &repository, &world.tables).unwrap();
    commit(&mut repository, 1);
    events.add(&world.rotation, &repository, &world.tables).unwrap();
    let (old, new) = (fs::read_to_string(moved).unwrap(), fs::read_to_string(world.path()).unwrap());
    assert!(old.ends_with("{\"end_of_cycle\":3,\"events\":7}\n"), "{old}");
    assert!(new.starts_with("{\"end_of_cycle\":3,\"events\":0}\n"), "{new}");
    assert!(new.ends_with("{\"end_of_cycle\":4,\"events\":7}\n"), "{new}");
    // A file emptied in place also starts anew, and an incomplete cycle is cut off.
    fs::write(world.path(), "").unwrap();
    commit(&mut repository, 1);
    events.add(&world.rotation, &repository, &world.tables).unwrap();
    let new = fs::read_to_string(world.path()).unwrap();
    assert!(new.starts_with("{\"end_of_cycle\":4,\"events\":0}\n{\"cycle\":5,"), "{new}");
    let torn = new.clone() + "{\"cycle\":6,";
    fs::write(world.path(), torn).unwrap();
    commit(&mut repository, 1);
    events.add(&world.rotation, &repository, &world.tables).unwrap();
    assert!(fs::read_to_string(world.path()).unwrap().starts_with(&(new + "{\"cycle\":6,\"time\"")));
}
