//! The allowed imports between workspace crates: the arrows of docs/architecture.md.

use crate::tidy::Complaint;
use crate::tidy::workspace::Workspace;
use std::collections::BTreeSet;

/// Crate, and the crates that it imports.
const ARROWS: &[(&str, &[&str])] = &[
    ("types", &[]),
    ("fetcher", &["types"]),
    ("extractor", &["types"]),
    ("change", &["types"]),
    ("console", &[]),
    ("repository", &["types"]),
    ("formula", &["types"]),
    ("archive", &["repository", "types"]),
    ("verifier", &["repository", "types"]),
    ("scheduler", &["formula", "types"]),
    ("simulation", &["formula", "scheduler", "types"]),
    ("learner", &["formula", "simulation"]),
    ("mockweb", &[]),
    (
        "recrawl",
        &[
            "archive",
            "change",
            "console",
            "extractor",
            "fetcher",
            "formula",
            "learner",
            "repository",
            "scheduler",
            "simulation",
            "types",
            "verifier",
        ],
    ),
    ("benchmark", &["formula", "repository", "scheduler", "types", "verifier"]),
    ("fuzzing", &["extractor", "fetcher", "formula", "repository", "simulation", "types"]),
    ("xtask", &[]),
];

/// Additional imports for tests.
const TEST_ARROWS: &[(&str, &[&str])] = &[("change", &["extractor"]), ("recrawl", &["mockweb"])];

const HERE: &str = "crates/xtask/src/tidy/rule/import.rs";

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let mut found = Vec::new();
    for folder in workspace.crates() {
        let path = format!("crates/{folder}/Cargo.toml");
        let Some((_, arrows)) = ARROWS.iter().find(|(name, _)| *name == folder) else {
            let text = format!("new crate: define its imports in docs/architecture.md and in {HERE}");
            found.push(Complaint::of_file(path, text));
            continue;
        };
        let allowed: BTreeSet<String> = arrows.iter().map(|a| (*a).to_owned()).collect();
        let actual = ours(workspace, folder, &["dependencies", "build-dependencies"]);
        for extra in actual.difference(&allowed) {
            let text = format!(
                "{folder} may not import {extra}; pass data through `types`, or change the arrows in docs/architecture.md and {HERE}"
            );
            found.push(Complaint::of_file(&path, text));
        }
        for missing in allowed.difference(&actual) {
            let text = format!(
                "{folder} no longer imports {missing}; remove the arrow from docs/architecture.md and {HERE}"
            );
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

    fn complaints(crates: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            crates.iter().map(|(name, manifest)| (format!("crates/{name}/Cargo.toml"), *manifest)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        check(&Workspace::of(&files)).into_iter().map(|c| c.text).collect()
    }

    #[test]
    fn the_arrows_are_kept() {
        let found = complaints(&[
            ("types", ""),
            (
                "change",
                "[dependencies]\nrecrawl-types.workspace = true\n[dev-dependencies]\nrecrawl-extractor.workspace = true",
            ),
            ("extractor", "[dependencies]\nrecrawl-types.workspace = true\nurl.workspace = true"),
        ]);
        assert_eq!(found, [] as [&str; 0]);
    }

    #[test]
    fn an_arrow_too_many_or_too_few_is_named() {
        let found = complaints(&[
            ("types", "[dependencies]\nrecrawl-change.workspace = true"),
            ("change", ""),
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

    #[test]
    fn every_arrow_leads_to_a_crate_of_the_list() {
        let names: Vec<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
        for (name, arrows) in ARROWS.iter().chain(TEST_ARROWS) {
            assert!(names.contains(name) && arrows.iter().all(|a| names.contains(a)), "{name} → {arrows:?}");
        }
    }
}
