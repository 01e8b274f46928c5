//! Every external crate has one line in the root manifest and one entry in docs/dependencies.md:
//! why, and the alternatives.

use crate::rust_tokens::{is_word, levels};
use crate::tidy::Complaint;
use crate::workspace::Workspace;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = "docs/dependencies.md";

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let (used, mut found) = used(workspace);
    let page = workspace.text(PAGE).unwrap_or_default();
    let entries: BTreeMap<&str, (usize, &str)> =
        entries(page).map(|(line, name, text)| (name, (line, text))).collect();
    let manifest = workspace.manifest(None);
    let listed =
        manifest["workspace"].get("dependencies").and_then(|t| t.as_table()).cloned().unwrap_or_default();
    let outside: Vec<&str> =
        listed.iter().filter(|(_, d)| d.get("path").is_none()).map(|(n, _)| n.as_str()).collect();

    for name in &outside {
        if !used.contains(*name) {
            let text = format!("no workspace crate uses `{name}`; delete the line and its entry in {PAGE}");
            found.push(Complaint::of_file("Cargo.toml", text));
            continue;
        }
        match entries.get(name) {
            None => {
                let text = format!("add an entry for `{name}`: why, and the alternatives");
                found.push(Complaint::of_file(PAGE, text));
            }
            Some((line, text)) if !text.contains("; instead of ") => {
                let text = format!("the entry of `{name}` has no `; instead of `: add the alternatives");
                found.push(Complaint::at(PAGE, *line, text));
            }
            Some(_) => {}
        }
    }
    for (name, (line, _)) in entries.iter().filter(|(name, _)| !outside.contains(*name)) {
        let text = format!("`{name}` is not a dependency of the workspace; delete its entry");
        found.push(Complaint::at(PAGE, *line, text));
    }
    found
}

/// Entries ``- `name`: why; instead of …`` before the second heading, as line, name, text.
fn entries(page: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let lines = page.lines().enumerate().take_while(|(_, line)| !line.starts_with("## "));
    lines.filter_map(|(i, line)| {
        let (name, text) = line.strip_prefix("- `")?.split_once("`: ")?;
        Some((i + 1, name, text))
    })
}

/// External crates that workspace crates use, and a complaint for each dependency with its own
/// version, or that no code names.
fn used(workspace: &Workspace) -> (BTreeSet<String>, Vec<Complaint>) {
    let mut used = BTreeSet::new();
    let mut found = Vec::new();
    for folder in workspace.crates() {
        let manifest = workspace.manifest(Some(folder));
        let tables = ["dependencies", "build-dependencies", "dev-dependencies"];
        for table in tables.iter().filter_map(|table| manifest.get(*table)?.as_table()) {
            for (name, dependency) in table {
                if dependency.get("workspace").and_then(|w| w.as_bool()) != Some(true) {
                    let text = format!(
                        "`{name}` has its own version; write `{name}.workspace = true`, and the version in the root Cargo.toml"
                    );
                    found.push(Complaint::of_file(workspace.manifest_path(folder), text));
                }
                if !is_named(workspace, folder, name) {
                    let text = format!("no file of {folder} uses `{name}`; delete the line");
                    found.push(Complaint::of_file(workspace.manifest_path(folder), text));
                }
                used.insert(name.clone());
            }
        }
    }
    (used, found)
}

/// Whether the code of a crate names the dependency.
fn is_named(workspace: &Workspace, folder: &str, dependency: &str) -> bool {
    let word = dependency.replace('-', "_");
    let files = workspace.rust().filter(|f| f.crate_folder() == Some(folder));
    // Skip the scan of files without the word.
    let mut texts = files.filter(|f| f.text.contains(&word));
    texts.any(|f| levels(f.tokens()).iter().flatten().any(|token| is_word(token, &word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "[workspace.dependencies]\nrecrawl-a = { path = \"crates/a\" }\nurl = \"2\"\nbytes = \"1\"\nspare = \"1\"\n";

    fn complaints(root: &str, page: &str) -> Vec<String> {
        let workspace = Workspace::from_files(&[
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
        let page = "- `url`: URLs; instead of hands\n- `gone`: x; instead of y\n## Rejected\n- `z`: no\n";
        let found = complaints(ROOT, page);
        assert_eq!(found.len(), 4, "{found:#?}");
        assert!(found[0].starts_with("crates/a/Cargo.toml: `bytes` has its own version"), "{found:#?}");
        assert!(found[1].contains("add an entry for `bytes`"), "{found:#?}");
        assert!(found[2].contains("no workspace crate uses `spare`"), "{found:#?}");
        assert!(found[3].contains("`gone` is not a dependency"), "{found:#?}");
    }

    #[test]
    fn a_dependency_that_no_code_names_is_named() {
        let workspace = Workspace::from_files(&[
            ("crates/a/Cargo.toml", "[dependencies]\nhttp-body.workspace = true\nurl.workspace = true"),
            ("crates/a/src/lib.rs", "use http_body::Body; // url\nconst URL: &str = \"url\";"),
            ("crates/b/src/lib.rs", "use url::Url;"),
        ]);
        assert!(is_named(&workspace, "a", "http-body"));
        assert!(!is_named(&workspace, "a", "url"));
    }

    #[test]
    fn an_entry_without_alternatives_is_named() {
        let root = "[workspace.dependencies]\nurl = \"2\"\n";
        let found = complaints(root, "- `url`: URLs");
        assert!(found.iter().any(|c| c.contains("`url` has no `; instead of `")), "{found:#?}");
        let found = complaints(root, "- `url`: URLs; instead of hands");
        assert!(!found.iter().any(|c| c.contains("`url`")), "{found:#?}");
    }
}
