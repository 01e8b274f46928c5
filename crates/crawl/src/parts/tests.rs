use super::*;
use crate::admission::pattern::Pattern;
use crate::part::{InTables, Takedown};
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, LastmodCounts, Origin, Ping, Round, Site, UrlRules};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Imports of another part that stand, each with its reason.
const IMPORTS: &[(&str, &str)] = &[
    // A target that asks for the changes of a page gets each, whatever the noise of its site.
    ("noise", "notify"),
];

/// Modules that join parts, or run rounds: no part imports them.
const ABOVE: &[&str] =
    &["crawl", "cycle", "settings", "report", "open_read", "output", "progress", "parts::PARTS"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/parts")
}

/// The Rust files of a part, without its tests.
fn files(of: &str) -> Vec<PathBuf> {
    let (mut files, mut folders) = (vec![folder().join(format!("{of}.rs"))], vec![folder().join(of)]);
    while let Some(folder) = folders.pop().filter(|folder| folder.is_dir()) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files.retain(|file| !file.ends_with("tests.rs") && !file.iter().any(|name| name == "tests"));
    files
}

#[test]
fn the_list_has_what_the_folder_has() {
    let listed: Vec<String> = PARTS.iter().map(|part| part.name.to_owned()).collect();
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let found: BTreeSet<String> =
        entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let found: Vec<String> = found.into_iter().filter(|name| name != "tests").collect();
    assert_eq!(listed, found, "a part is a folder or file of src/parts, and a line in PARTS, in order");
}

#[test]
fn no_part_imports_another_or_what_joins_them() {
    let mut used = BTreeSet::new();
    for part in PARTS {
        for file in files(part.name) {
            let text = fs::read_to_string(&file).unwrap();
            let product = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            for above in ABOVE {
                let is_there = [format!("crate::{above}::"), format!("crate::{above};")];
                assert!(
                    !is_there.iter().any(|path| product.contains(path)),
                    "{} imports {above}",
                    file.display()
                );
            }
            for other in PARTS.iter().filter(|other| other.name != part.name) {
                if product.contains(&format!("crate::parts::{}", other.name)) {
                    let import = (part.name, other.name);
                    assert!(IMPORTS.contains(&import), "{} imports {}", file.display(), other.name);
                    used.insert(import);
                }
            }
        }
    }
    assert_eq!(used.len(), IMPORTS.len(), "{used:?}");
}

/// Keeps something of a page in the tables, as the part does. None if it keeps nothing.
fn plant(part: &str, tables: &SledTables, page: &CanonicalUrl) -> Option<()> {
    let origin = Origin::of(page);
    let counts = LastmodCounts { newer_changed: 3, ..LastmodCounts::default() };
    match part {
        "dates" => tables.apply_lastmods(Round(1), [(origin, counts)]).unwrap(),
        "improve" => improve::panel::Panel::plant(tables, page),
        "noise" => {
            tables.apply_round(Round(1), [(Site::of(page).to_string(), b"{}".to_vec())]).unwrap();
        }
        "pings" => {
            tables.keep_ping(page, Some(Ping::at(1))).unwrap();
            tables.apply_ping_counts(Round(1), [(origin, counts)]).unwrap();
        }
        "traps" => tables.keep_traps(&origin, b"patterns").unwrap(),
        "focus" | "next_change" | "notify" | "promises" | "render" | "trust" => return None,
        unknown => panic!("say how `{unknown}` keeps a page in the tables, or that it keeps none"),
    }
    Some(())
}

/// Searches the files of the tables for a name. It writes them anew before, which drops removed rows.
fn holds(tables: SledTables, dir: &Path, name: &str) -> (SledTables, bool) {
    tables.flush().unwrap();
    let tables = tables.written_anew(dir).unwrap();
    let (mut folders, mut holds) = (vec![dir.to_owned()], false);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => holds |= memmem(&fs::read(path).unwrap(), name.as_bytes()),
            }
        }
    }
    (tables, holds)
}

fn memmem(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn what_a_part_keeps_of_a_page_is_gone_after_a_takedown() {
    let page = UrlRules::keep_all().canonicalize("https://planted-host.example/a").unwrap();
    let meant = Pattern::host("planted-host.example").unwrap();
    for Part { name, forget } in PARTS {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("tables");
        let tables = SledTables::open(&dir).unwrap();
        let planted = plant(name, &tables, &page);
        let Forget::Rows(forget) = forget else {
            assert!(planted.is_none(), "{name} keeps a page, and says that it keeps none");
            continue;
        };
        assert!(planted.is_some(), "{name} removes rows that this test does not keep");
        // Host names are kept by label, from the last to the first: the first label stands as it is.
        let (tables, is_kept) = holds(tables, &dir, "planted-host");
        assert!(is_kept, "{name}: the test would find it");
        for only_count in [true, false] {
            let takedown = Takedown { tables: &tables, meant: &meant, only_count };
            forget(&takedown, &mut InTables::default()).unwrap();
        }
        let (_, is_kept) = holds(tables, &dir, "planted-host");
        assert!(!is_kept, "{name} keeps a page that was taken down");
    }
}
