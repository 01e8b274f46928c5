//! Every entry in docs/internals/manners.md names existing tests, or says `not tested` with a reason.

use crate::tidy::Complaint;
use crate::workspace::{Workspace, WorkspaceFile};
use std::collections::BTreeSet;

const PAGE: &str = "docs/internals/manners.md";
const UNTESTED: &str = "not tested: ";

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let page = workspace.text(PAGE).unwrap_or_default();
    let known: BTreeSet<String> = workspace.rust().flat_map(|file| named_tests(workspace, file)).collect();
    let mut found = Vec::new();
    for (line, cell) in rows(page) {
        let named: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        if named.is_empty() && cell.strip_prefix(UNTESTED).is_none_or(|why| why.trim().is_empty()) {
            let text = format!("end the entry with `: PACKAGE TEST`, or with `{UNTESTED}` and the reason");
            found.push(Complaint::at(PAGE, line, text));
        }
        for test in named.into_iter().filter(|test| !known.contains(*test)) {
            let text = format!("unknown test `{test}`; write its full name as for `cargo test -p`");
            found.push(Complaint::at(PAGE, line, text));
        }
    }
    found
}

/// The text behind the last colon of each entry `- what: tests`, with its line.
fn rows(page: &str) -> impl Iterator<Item = (usize, &str)> {
    page.lines().enumerate().filter_map(|(i, line)| {
        let entry = line.strip_prefix("- ")?;
        let tests = entry.find(UNTESTED).or_else(|| Some(entry.rfind(": ")? + 2));
        Some((i + 1, tests.map_or("", |at| &entry[at..]).trim()))
    })
}

/// The tests of a file, as `PACKAGE MODULE::…::NAME`.
fn named_tests(workspace: &Workspace, file: &WorkspaceFile) -> Vec<String> {
    let Some(folder) = file.crate_folder().filter(|f| workspace.crates().contains(f)) else {
        return Vec::new();
    };
    let own = modules(&file.path);
    let tests = file.items().iter().filter(|item| item.is_test());
    let named = tests.map(|test| {
        let around = test.modules.iter().map(String::as_str);
        own.iter().copied().chain(around).chain([&*test.name]).collect::<Vec<_>>().join("::")
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() {
        return named;
    }
    let manifest = workspace.manifest(Some(folder));
    let package = manifest["package"]["name"].as_str().expect("cargo wants a name");
    named.into_iter().map(|path| format!("{package} {path}")).collect()
}

/// The modules of a file's path, within its crate or its test program.
fn modules(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
    if ["crates", "lab"].contains(&parts[0]) {
        // In a crate's `tests`, each file or folder is a separate program.
        let outside = if parts.get(2) == Some(&"tests") { 4 } else { 3 };
        parts.drain(..outside.min(parts.len()));
    } else {
        parts.remove(0);
    }
    if matches!(parts.last(), Some(&("lib" | "main" | "mod"))) {
        parts.pop();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(rows: &str) -> Vec<usize> {
        let page = format!("# Page\n\n{rows}");
        let test = "#[test] fn one() { assert!(true) }";
        let files = [
            ("crates/a/Cargo.toml", "[package]\nname = \"x-a\""),
            ("crates/recrawl/Cargo.toml", "[package]\nname = \"x\""),
            (
                "crates/a/src/lib.rs",
                "#[cfg(test)] mod tests { #[test] fn one() { assert!(true) } } fn two() {}",
            ),
            ("crates/a/src/b/tests.rs", test),
            ("crates/a/tests/c.rs", test),
            ("crates/a/tests/d/main.rs", test),
            ("crates/a/tests/d/e.rs", test),
            ("tests/f.rs", test),
            (PAGE, &page),
        ];
        check(&Workspace::from_files(&files)).into_iter().filter_map(|c| c.line).collect()
    }

    #[test]
    fn every_test_of_a_row_exists() {
        let good = "- w: h: `x-a tests::one`\n- w, `a::MAX`: `x-a b::tests::one`, `x-a one`\n\
                    - w: `x-a e::one`, `x f::one`\n- w: not tested: a terminal is needed: h\n";
        assert_eq!(complaints(good), [0; 0]);
        let bad = "- w: `x-a two`\n- w: `x-a one`, `x one`\n- w: `one`\n\
                   - w: not tested: \n- w: it works\n- w\n";
        assert_eq!(complaints(bad), [3, 4, 5, 6, 7, 8]);
    }
}
