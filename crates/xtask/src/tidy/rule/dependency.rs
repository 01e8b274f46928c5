//! Every external crate has one line in the root manifest and one row in docs/dependencies.md:
//! where it is used, why, and the alternatives.

use crate::rust_tokens::{is_word, levels};
use crate::tidy::Complaint;
use crate::workspace::{Workspace, line_of};
use std::collections::BTreeMap;

/// The page with the rows.
pub const PAGE: &str = "docs/dependencies.md";

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let (users, mut found) = users(workspace);
    let page = workspace.text(PAGE).unwrap_or_default();
    let rows: BTreeMap<&str, Row> = page.lines().filter_map(Row::parse).map(|row| (row.name, row)).collect();
    let manifest = workspace.manifest(None);
    let listed =
        manifest["workspace"].get("dependencies").and_then(|t| t.as_table()).cloned().unwrap_or_default();
    let outside: Vec<&str> =
        listed.iter().filter(|(_, d)| d.get("path").is_none()).map(|(n, _)| n.as_str()).collect();

    for name in &outside {
        let Some(used) = users.get(*name) else {
            let text = format!("no workspace crate uses `{name}`; delete the line and its row in {PAGE}");
            found.push(Complaint::of_file("Cargo.toml", text));
            continue;
        };
        let used = used.join(", ");
        match rows.get(name) {
            None => {
                let text = format!("add a row for `{name}` (used in {used}): where, why, alternatives");
                found.push(Complaint::of_file(PAGE, text));
            }
            Some(row) if row.used_in != used => {
                let text = format!(
                    "`{name}` is used in {used}; run `cargo xtask tidy --fix` to update the second column"
                );
                found.push(Complaint::at(PAGE, line_of(page, row.offset(page)), text));
            }
            Some(row) if row.has_empty_cell => {
                let text =
                    format!("the row of `{name}` has an empty cell; add the reason and the alternatives");
                found.push(Complaint::at(PAGE, line_of(page, row.offset(page)), text));
            }
            Some(_) => {}
        }
    }
    for row in rows.values().filter(|row| !outside.contains(&row.name)) {
        let text = format!("`{}` is not a dependency of the workspace; delete its row", row.name);
        found.push(Complaint::at(PAGE, line_of(page, row.offset(page)), text));
    }
    found
}

/// The page with the second column updated from the manifests.
pub fn corrected_page(workspace: &Workspace) -> String {
    let (users, _) = users(workspace);
    let page = workspace.text(PAGE).unwrap_or_default();
    let correct = |line: &str| match Row::parse(line) {
        Some(row) if users.contains_key(row.name) => {
            let mut cells: Vec<String> = line.split('|').map(str::to_owned).collect();
            cells[2] = format!(" {} ", users[row.name].join(", "));
            cells.join("|") + "\n"
        }
        _ => format!("{line}\n"),
    };
    page.lines().map(correct).collect()
}

/// External crate → workspace crates that use it, with `(tests)` if only tests use it; and a
/// complaint for each dependency with its own version.
fn users(workspace: &Workspace) -> (BTreeMap<String, Vec<String>>, Vec<Complaint>) {
    let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut found = Vec::new();
    for folder in workspace.crates() {
        let manifest = workspace.manifest(Some(folder));
        for (table, suffix) in
            [("dependencies", ""), ("build-dependencies", ""), ("dev-dependencies", " (tests)")]
        {
            let Some(dependencies) = manifest.get(table).and_then(|t| t.as_table()) else { continue };
            for (name, dependency) in dependencies {
                if dependency.get("workspace").and_then(|w| w.as_bool()) != Some(true) {
                    let text = format!(
                        "`{name}` has its own version; write `{name}.workspace = true`, and the version in the root Cargo.toml"
                    );
                    found.push(Complaint::of_file(format!("crates/{folder}/Cargo.toml"), text));
                }
                if !is_named(workspace, folder, name) {
                    let text = format!("no file of {folder} uses `{name}`; delete the line");
                    found.push(Complaint::of_file(format!("crates/{folder}/Cargo.toml"), text));
                }
                let crates = users.entry(name.clone()).or_default();
                if crates.last().is_none_or(|last| last != folder) {
                    crates.push(format!("{folder}{suffix}"));
                }
            }
        }
    }
    (users, found)
}

/// Whether the code of a crate names the dependency.
fn is_named(workspace: &Workspace, folder: &str, dependency: &str) -> bool {
    let word = dependency.replace('-', "_");
    let files = workspace.rust().filter(|f| f.crate_folder() == Some(folder));
    // Skip the scan of files without the word.
    let mut texts = files.filter(|f| f.text.contains(&word));
    texts.any(|f| levels(f.tokens()).iter().flatten().any(|token| is_word(token, &word)))
}

/// One row of the table: `` | `name` | used in | why | considered | ``.
struct Row<'a> {
    line: &'a str,
    name: &'a str,
    used_in: &'a str,
    has_empty_cell: bool,
}

impl<'a> Row<'a> {
    fn parse(line: &'a str) -> Option<Row<'a>> {
        let cells = line.trim().strip_prefix('|')?.strip_suffix('|')?;
        let cells: Vec<&str> = cells.split('|').map(str::trim).collect();
        let name = cells.first()?.strip_prefix('`')?.strip_suffix('`')?;
        let has_empty_cell = cells.len() != 4 || cells.iter().any(|c| c.is_empty());
        Some(Row { line, name, used_in: cells.get(1)?, has_empty_cell })
    }

    /// Line of the row.
    fn offset(&self, page: &str) -> usize {
        page.find(self.line).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "[workspace.dependencies]\nrecrawl-a = { path = \"crates/a\" }\nurl = \"2\"\nbytes = \"1\"\nspare = \"1\"\n";

    fn complaints(root: &str, page: &str) -> Vec<String> {
        let workspace = Workspace::of(&[
            ("Cargo.toml", root),
            ("crates/a/Cargo.toml", "[dependencies]\nurl.workspace = true\nbytes = \"1\""),
            ("crates/a/src/lib.rs", "use bytes::Bytes; fn f(u: url::Url) {}"),
            ("crates/b/src/lib.rs", "fn f() -> url::Url { recrawl_a::f() }"),
            ("crates/b/Cargo.toml", "[dev-dependencies]\nurl.workspace = true\nrecrawl-a.workspace = true"),
            (PAGE, page),
        ]);
        check(&workspace).into_iter().map(|c| format!("{}: {}", c.path, c.text)).collect()
    }

    #[test]
    fn the_page_and_the_manifests_are_compared() {
        let found = complaints(
            ROOT,
            "| crate | used in | why | instead |\n|---|---|---|---|\n| `url` | a | URLs | none |\n| `gone` | a | x | y |",
        );
        assert_eq!(found.len(), 5, "{found:#?}");
        assert!(found[0].starts_with("crates/a/Cargo.toml: `bytes` has its own version"), "{found:#?}");
        assert!(found[3].contains("`url` is used in a, b (tests)"), "{found:#?}");
        assert!(found[1].contains("add a row for `bytes` (used in a)"), "{found:#?}");
        assert!(found[2].contains("no workspace crate uses `spare`"), "{found:#?}");
        assert!(found[4].contains("`gone` is not a dependency"), "{found:#?}");
    }

    #[test]
    fn the_second_column_can_be_corrected() {
        let workspace = Workspace::of(&[
            ("crates/a/Cargo.toml", "[dev-dependencies]\nurl.workspace = true"),
            (PAGE, "# Page\n| `url` | b | URLs | none |\n| `gone` | b | x | y |\n"),
        ]);
        let page = "# Page\n| `url` | a (tests) | URLs | none |\n| `gone` | b | x | y |\n";
        assert_eq!(corrected_page(&workspace), page);
    }

    #[test]
    fn a_dependency_that_no_code_names_is_named() {
        let workspace = Workspace::of(&[
            ("crates/a/Cargo.toml", "[dependencies]\nhttp-body.workspace = true\nurl.workspace = true"),
            ("crates/a/src/lib.rs", "use http_body::Body; // url\nconst URL: &str = \"url\";"),
            ("crates/b/src/lib.rs", "use url::Url;"),
        ]);
        assert!(is_named(&workspace, "a", "http-body"));
        assert!(!is_named(&workspace, "a", "url"));
    }

    #[test]
    fn a_row_without_a_reason_is_named() {
        let root = "[workspace.dependencies]\nurl = \"2\"\n";
        let found = complaints(root, "| `url` | a, b (tests) | URLs | |");
        assert!(found.iter().any(|c| c.contains("`url` has an empty cell")), "{found:#?}");
        let found = complaints(root, "| `url` | a, b (tests) | URLs | by hand |");
        assert!(!found.iter().any(|c| c.contains("`url`")), "{found:#?}");
    }
}
