//! The crates of the programs, from `cargo metadata`.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs that packages have.
pub const PROGRAMS: [&str; 2] = ["recrawl", "recrawl-lab"];

/// The crates of the workspace and their dependencies.
#[derive(Deserialize)]
pub struct Metadata {
    packages: Vec<CratePackage>,
    resolve: Resolve,
}

/// One version of a crate.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CratePackage {
    id: String,
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Licence in the manifest (SPDX).
    pub license: Option<String>,
    /// `rust-version` in the manifest.
    pub rust_version: Option<String>,
    /// Path of the manifest.
    pub manifest_path: PathBuf,
    /// None for the crates of the workspace.
    pub source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<MetadataNode>,
}

#[derive(Deserialize)]
struct MetadataNode {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// None for a normal dependency, else `dev` or `build`.
    kind: Option<String>,
}

impl Metadata {
    /// Runs `cargo metadata` for Linux on this machine's processor.
    ///
    /// # Errors
    /// The message of cargo.
    pub fn read(root: &Path) -> Result<Metadata, String> {
        let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let output = Command::new("cargo")
            .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &target])
            .current_dir(root)
            .output()
            .map_err(|e| format!("cargo metadata: {e}"))?;
        if !output.status.success() {
            return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))
    }

    /// These packages of the workspace, then all packages compiled for them, by name. `tests`
    /// adds dependencies of their tests, `build` adds build dependencies.
    ///
    /// # Errors
    /// If the workspace has no such package.
    pub fn closures(&self, names: &[&str], tests: bool, build: bool) -> Result<Vec<&CratePackage>, String> {
        let named = |name: &&str| {
            let root = self.packages.iter().find(|p| p.name == *name && p.source.is_none());
            root.map(|p| p.id.as_str()).ok_or_else(|| format!("the workspace has no package {name}"))
        };
        let roots: Vec<&str> = names.iter().map(named).collect::<Result<_, _>>()?;
        let nodes: BTreeMap<&str, &MetadataNode> =
            self.resolve.nodes.iter().map(|n| (n.id.as_str(), n)).collect();
        let mut seen: BTreeSet<&str> = roots.iter().copied().collect();
        let mut open = roots.clone();
        while let Some(id) = open.pop() {
            for dependency in nodes.get(id).map_or(&[][..], |n| &n.deps) {
                let is_wanted = dependency.dep_kinds.iter().any(|k| match k.kind.as_deref() {
                    None => true,
                    Some("dev") => tests && roots.contains(&id),
                    Some(_) => build,
                });
                if is_wanted && seen.insert(&dependency.pkg) {
                    open.push(&dependency.pkg);
                }
            }
        }
        let mut found: Vec<&CratePackage> =
            self.packages.iter().filter(|p| seen.contains(p.id.as_str())).collect();
        found.sort_by(|a, b| {
            let is_other = |p: &CratePackage| !roots.contains(&p.id.as_str());
            (is_other(a), &a.name, &a.version).cmp(&(is_other(b), &b.name, &b.version))
        });
        Ok(found)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Three crates: `a` needs `b`, its tests `c`, its build `d`.
    pub const SMALL: &str = r#"{
        "packages": [
            {"id": "a 1", "name": "a", "version": "1.0.0", "license": "MIT", "rust_version": "1.88", "manifest_path": "none/a/Cargo.toml", "source": null},
            {"id": "d 1", "name": "d", "version": "1.0.0", "license": "MIT", "rust_version": null, "manifest_path": "none/d/Cargo.toml", "source": "registry"},
            {"id": "c 1", "name": "c", "version": "1.0.0", "license": "MIT", "rust_version": "1.90", "manifest_path": "none/c/Cargo.toml", "source": "registry"},
            {"id": "b 1", "name": "b", "version": "1.2.0", "license": "MIT", "rust_version": "1.88.1", "manifest_path": "none/b/Cargo.toml", "source": "registry"}
        ],
        "resolve": {"nodes": [
            {"id": "a 1", "deps": [
                {"pkg": "b 1", "dep_kinds": [{"kind": null}]},
                {"pkg": "c 1", "dep_kinds": [{"kind": "dev"}]},
                {"pkg": "d 1", "dep_kinds": [{"kind": "build"}]}
            ]},
            {"id": "b 1", "deps": []}, {"id": "c 1", "deps": []}, {"id": "d 1", "deps": []}
        ]}
    }"#;

    #[test]
    fn a_closure_has_what_is_asked_for() {
        let metadata: Metadata = serde_json::from_str(SMALL).unwrap();
        let names = |tests, build| -> Vec<String> {
            metadata.closures(&["a"], tests, build).unwrap().iter().map(|p| p.name.clone()).collect()
        };
        assert_eq!(names(false, false), ["a", "b"]);
        assert_eq!(names(true, true), ["a", "b", "c", "d"]);
        assert!(metadata.closures(&["a", "z"], true, true).is_err());
    }
}
