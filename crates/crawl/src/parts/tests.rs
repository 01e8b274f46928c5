use super::*;
use crate::admission::pattern::Pattern;
use crate::operator::takedown::remove_from;
use crate::part::{InTables, Takedown};
use recrawl_repository::{DropCounts, RequisiteRow, SledTables};
use recrawl_types::{CanonicalUrl, HostState, HostTable, LastmodCounts, Origin, Ping, Round, Site, UrlRules};
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

/// The tables of the configuration that the rounds themselves read.
const OF_ROUNDS: &[&str] = &[
    "budget",
    "consent",
    "crawler",
    "cycle",
    "dns",
    "events",
    "extract",
    "fetch",
    "hints",
    "hosts",
    "log",
    "pages",
    "politeness",
    "proxy",
    "round",
    "schedule",
    "scope",
    "serve",
    "storage",
    "urls",
    "vault",
];

#[test]
fn each_table_of_the_configuration_has_one_owner() {
    let all = toml::Table::try_from(crate::config::Config::default()).unwrap();
    let of_parts = PARTS.iter().flat_map(|part| part.tables);
    let mut owned: Vec<&str> = OF_ROUNDS.iter().chain(of_parts).copied().collect();
    owned.sort_unstable();
    let all: Vec<&str> = all.keys().map(String::as_str).collect();
    assert_eq!(owned, all, "a table is the rules of one part, or one that the rounds read");
}

#[test]
fn each_part_has_a_page_that_names_its_tables() {
    let docs = folder().join("../../../../docs");
    for part in PARTS {
        let page = fs::read_to_string(docs.join(part.page).with_extension("md")).unwrap();
        for table in part.tables {
            let is_named = [format!("[{table}]"), format!("{table}.")].iter().any(|name| page.contains(name));
            assert!(is_named, "docs/{}.md does not name [{table}], the rules of {}", part.page, part.name);
        }
    }
}

#[test]
fn each_lesson_of_a_part_is_one_of_the_round() {
    let listed = fs::read_to_string(folder().join("../cycle/lessons.rs")).unwrap();
    let listed = listed.split_once("lessons! {").unwrap().1.split_once('}').unwrap().0;
    let mut lessons = 0;
    for part in PARTS {
        for file in files(part.name).into_iter().filter(|file| file.exists()) {
            let text = fs::read_to_string(&file).unwrap();
            for (at, implemented) in text.match_indices("impl RoundLesson for ") {
                let name = &text[at + implemented.len()..];
                let name = name.split(['<', ' ']).next().unwrap();
                assert!(listed.contains(&format!(": {name}")), "{name} of {} teaches nothing", part.name);
                lessons += 1;
            }
        }
    }
    assert_eq!(lessons, listed.lines().filter(|line| line.ends_with(',')).count());
}

/// The module of a file, from the root of the crate.
fn module_of(file: &Path) -> Vec<String> {
    let path = file.with_extension("");
    let below = path.strip_prefix(folder().parent().unwrap()).unwrap();
    below.iter().map(|name| name.to_str().unwrap().to_owned()).collect()
}

/// Is the path this module, or in it?
fn is_in(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// All paths in a text that begin with `crate` or `super`, from the root of the crate, with groups spread out.
fn paths(text: &str, module: &[String]) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, root) in text.match_indices("crate::").chain(text.match_indices("super::")) {
        if text[..at].ends_with(is_word) || text[..at].ends_with("::") {
            continue;
        }
        let mut below = &text[at + root.len()..];
        let mut ups = usize::from(root == "super::");
        while let Some(rest) = below.strip_prefix("super::").filter(|_| ups > 0) {
            (below, ups) = (rest, ups + 1);
        }
        let base = if ups == 0 { &[] } else { &module[..module.len().saturating_sub(ups)] };
        found.extend(spread(below).0.into_iter().map(|path| [base, &[path]].concat().join("::")));
    }
    found
}

/// The paths at the beginning of a text, and the rest of it.
fn spread(text: &str) -> (Vec<String>, &str) {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        let mut all = Vec::new();
        loop {
            let (paths, after) = spread(rest);
            all.extend(paths);
            // Behind a name there may be another name for it.
            let end = after.find([',', '}']).unwrap_or(after.len());
            match after[end..].strip_prefix(',') {
                Some(next) => rest = next,
                None => return (all, after.get(end + 1..).unwrap_or_default()),
            }
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    match rest.strip_prefix("::") {
        Some(below) => {
            let (paths, rest) = spread(below);
            (paths.into_iter().map(|path| format!("{name}::{path}")).collect(), rest)
        }
        None => (vec![name.to_owned()], rest),
    }
}

#[test]
fn paths_are_found_in_groups_and_behind_super() {
    let text = "use crate::{cycle, parts::{noise::{self, Floor as F}, traps}};\nlet x = crate::report::of(super::super::dates::x);";
    let module = ["parts", "pings", "lesson"].map(str::to_owned);
    let expected = [
        "cycle",
        "parts::noise::self",
        "parts::noise::Floor",
        "parts::traps",
        "report::of",
        "parts::dates::x",
    ];
    assert_eq!(paths(text, &module), expected);
    assert!(is_in("cycle", "cycle") && is_in("cycle::plan", "cycle") && !is_in("cycles", "cycle"));
}

#[test]
fn no_part_imports_another_or_what_joins_them() {
    let mut used = BTreeSet::new();
    for part in PARTS {
        for file in files(part.name) {
            let text = fs::read_to_string(&file).unwrap();
            let product = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            let paths = paths(product, &module_of(&file));
            for above in ABOVE {
                assert!(!paths.iter().any(|path| is_in(path, above)), "{} imports {above}", file.display());
            }
            for other in PARTS.iter().filter(|other| other.name != part.name) {
                let module = format!("parts::{}", other.name);
                if paths.iter().any(|path| is_in(path, &module)) {
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
    let origin = Origin::from_url(page);
    let counts = LastmodCounts { newer_changed: 3, ..LastmodCounts::default() };
    match part {
        "dates" => tables.apply_lastmods(Round(1), [(origin, counts)]).unwrap(),
        "improve" => improve::panel::AuditPanel::plant(tables, page),
        "noise" => {
            tables.apply_round(Round(1), [(Site::from_url(page).to_string(), b"{}".to_vec())]).unwrap();
        }
        "pings" => {
            pings::websub::WebSub::plant(tables, page);
            tables.keep_ping(page, Some(Ping::at(1))).unwrap();
            tables.apply_ping_counts(Round(1), [(origin, counts)]).unwrap();
        }
        "repeated_links" => tables.add_dropped_links(&origin, DropCounts { linked: 1, listed: 0 }).unwrap(),
        "requisites" => tables.keep_requisite(page, &RequisiteRow::default()).unwrap(),
        "seed_hosts" => crate::stored::keep(tables, "failing_seed_hosts", &[origin.to_string()]).unwrap(),
        "traps" => tables.keep_traps(&origin, b"patterns").unwrap(),
        "convert" | "deliver" | "focus" | "next_change" | "notify" | "promises" | "render" | "trust" => {
            return None;
        }
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
    for CrawlPart { name, forget, .. } in PARTS {
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
            let takedown =
                Takedown { tables: &tables, meant: &meant, rules: &UrlRules::default(), only_count };
            forget(&takedown, &mut InTables::default()).unwrap();
        }
        let (_, is_kept) = holds(tables, &dir, "planted-host");
        assert!(!is_kept, "{name} keeps a page that was taken down");
    }
}

#[test]
fn a_takedown_asks_all_parts_and_what_is_kept_beside_them() {
    let page = UrlRules::keep_all().canonicalize("https://planted-host.example/a").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("tables");
    let tables = SledTables::open(&dir).unwrap();
    let planted = PARTS.iter().filter(|part| plant(part.name, &tables, &page).is_some()).count();
    let (tables, is_kept) = holds(tables, &dir, "planted-host");
    assert!(planted > 5 && is_kept, "{planted} parts");
    // Beside the parts, rounds keep hosts, and operators ask for pages.
    HostTable::store(&tables, &Origin::from_url(&page), &HostState::default()).unwrap();
    crate::stored::keep(&tables, "control_seeds", &[page.to_string()]).unwrap();
    let asked = serde_json::json!({page.to_string(): {"who": "anna", "at": 7}});
    crate::stored::keep(&tables, "control_asked", &asked).unwrap();
    let meant = Pattern::host("planted-host.example").unwrap();
    remove_from(&tables, &meant, &UrlRules::default(), false).unwrap();
    let (_, is_kept) = holds(tables, &dir, "planted-host");
    assert!(!is_kept, "something was not asked");
}
