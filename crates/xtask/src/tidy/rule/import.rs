//! The allowed imports between workspace crates: the table of crates in docs/architecture.md.

use crate::tidy::Complaint;
use crate::workspace::Workspace;
use std::collections::{BTreeMap, BTreeSet};

const TABLE: &str = "docs/architecture.md";
/// The head of the table: a crate is in the first column, what it imports in the third.
const HEAD: &str = "| crate | purpose | imports |";

/// Additional imports for tests.
const TEST_ARROWS: &[(&str, &[&str])] = &[
    ("change", &["extractor"]),
    ("crawl", &["mockweb"]),
    ("delivery", &["mockweb"]),
    ("experts", &["contents", "generator"]),
    ("extractor", &["mockweb"]),
    ("forecast", &["generator"]),
    ("generator", &["contents", "types"]),
    ("recrawl", &["generator", "mockweb"]),
    ("rivals", &["contents"]),
];

const HERE: &str = "crates/xtask/src/tidy/rule/import.rs";

/// The crates of the table, and what each imports.
fn arrows(workspace: &Workspace) -> BTreeMap<&str, BTreeSet<&str>> {
    let text = workspace.text(TABLE).unwrap_or_default();
    let rows = text.lines().skip_while(|line| !line.starts_with(HEAD)).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| {
        let mut cells = row.split('|').skip(1);
        let name = quoted(cells.next()?).next()?;
        Some((name, quoted(cells.nth(1)?).collect()))
    })
    .collect()
}

/// What stands between backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let arrows = arrows(workspace);
    let unknown = arrows.iter().flat_map(|(name, imports)| imports.iter().chain([name]));
    let unknown = unknown.filter(|name| !workspace.crates().contains(*name));
    let mut found: Vec<Complaint> = unknown
        .map(|name| Complaint::of_file(TABLE, format!("no crate {name}; correct the table")))
        .collect();
    for folder in workspace.crates() {
        let path = workspace.manifest_path(folder);
        let Some(imports) = arrows.get(folder) else {
            found.push(Complaint::of_file(path, format!("new crate: add it and its imports to {TABLE}")));
            continue;
        };
        let allowed: BTreeSet<String> = imports.iter().map(|name| (*name).to_owned()).collect();
        let actual = ours(workspace, folder, &["dependencies", "build-dependencies"]);
        // The product must build without the laboratory.
        for extra in actual.iter().filter(|name| workspace.is_of_lab(name) && !workspace.is_of_lab(folder)) {
            let text = format!(
                "{folder} may not import {extra}, which is of the laboratory; the arrow is the other way"
            );
            found.push(Complaint::of_file(&path, text));
        }
        for extra in actual.difference(&allowed) {
            let text = format!(
                "{folder} may not import {extra}; pass data through `types`, or change the table of {TABLE}"
            );
            found.push(Complaint::of_file(&path, text));
        }
        for missing in allowed.difference(&actual) {
            let text = format!("{folder} no longer imports {missing}; remove it from the table of {TABLE}");
            found.push(Complaint::of_file(&path, text));
        }
        let in_tests = TEST_ARROWS.iter().find(|(name, _)| *name == folder).map_or(&[][..], |(_, a)| a);
        for extra in ours(workspace, folder, &["dev-dependencies"]) {
            if !allowed.contains(&extra) && !in_tests.contains(&extra.as_str()) {
                let text = format!(
                    "{folder} may not import {extra} even in tests; test at the interface, or add the pair in {HERE}"
                );
                found.push(Complaint::of_file(&path, text));
            }
        }
    }
    found
}

/// The folders of workspace crates in the given tables of a manifest.
fn ours(workspace: &Workspace, folder: &str, tables: &[&str]) -> BTreeSet<String> {
    let manifest = workspace.manifest(Some(folder));
    let named = tables.iter().filter_map(|t| manifest.get(*t)?.as_table()).flat_map(|t| t.keys());
    let ours = named.filter_map(|name| {
        let folder = name.strip_prefix("recrawl-").unwrap_or(name);
        workspace.crates().contains(folder).then(|| folder.to_owned())
    });
    ours.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = "| crate | purpose | imports | knows nothing of |\n|---|---|---|---|\n\
        | `types` | types | – | everything |\n| `change` | changes | `types` | `disk` |\n\
        | `fetcher` | pages | `types` | |\n| `extractor` | links | `types` | |\n";

    fn complaints(crates: &[(&str, &'static str)]) -> Vec<String> {
        let manifest = |(name, text): &(&str, &'static str)| (format!("crates/{name}/Cargo.toml"), *text);
        let mut files: Vec<(String, &'static str)> = crates.iter().map(manifest).collect();
        files.push((TABLE.into(), ROWS));
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        check(&Workspace::from_files(&files)).into_iter().map(|c| c.text).collect()
    }

    #[test]
    fn the_arrows_are_kept() {
        let found = complaints(&[
            ("types", ""),
            ("fetcher", "[dependencies]\nrecrawl-types.workspace = true"),
            (
                "change",
                "[dependencies]\nrecrawl-types.workspace = true\n[dev-dependencies]\nrecrawl-extractor.workspace = true",
            ),
            ("extractor", "[dependencies]\nrecrawl-types.workspace = true\nurl.workspace = true"),
        ]);
        assert_eq!(found, [] as [&str; 0]);
    }

    #[test]
    fn the_product_imports_nothing_of_the_laboratory() {
        let rows = "| crate | purpose | imports |\n|---|---|---|\n| `types` | types | `fits` |\n\
                    | `fits` | fits | – |\n| `tables` | tables | `fits` |\n";
        let on_fits = "[dependencies]\nrecrawl-fits.workspace = true";
        let workspace = Workspace::from_files(&[
            (TABLE, rows),
            ("crates/types/Cargo.toml", on_fits),
            ("lab/fits/Cargo.toml", ""),
            ("lab/tables/Cargo.toml", on_fits),
        ]);
        let found = check(&workspace);
        assert_eq!(found.len(), 1, "{:?}", found.iter().map(|c| &c.text).collect::<Vec<_>>());
        assert!(found[0].text.starts_with("types may not import fits, which is of the laboratory"));
    }

    #[test]
    fn a_row_without_a_crate_is_named() {
        let types = "[dependencies]\nrecrawl-types.workspace = true";
        let found = complaints(&[("types", ""), ("change", types), ("fetcher", types)]);
        assert_eq!(found, ["no crate extractor; correct the table"]);
    }

    #[test]
    fn an_arrow_too_many_or_too_few_is_named() {
        let found = complaints(&[
            ("types", "[dependencies]\nrecrawl-change.workspace = true"),
            ("change", ""),
            ("extractor", "[dependencies]\nrecrawl-types.workspace = true"),
            (
                "fetcher",
                "[dependencies]\nrecrawl-types.workspace = true\n[dev-dependencies]\nrecrawl-change.workspace = true",
            ),
            ("newcomer", ""),
        ]);
        assert_eq!(found.len(), 4, "{found:#?}");
        assert!(found[0].starts_with("change no longer imports types"));
        assert!(found[1].starts_with("fetcher may not import change even in tests"));
        assert!(found[2].starts_with("new crate"));
        assert!(found[3].starts_with("types may not import change"));
    }
}
