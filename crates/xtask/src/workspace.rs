//! The text files of the repository in memory. Rules and their tests need no disk.

use crate::rust_tokens::{self, RustItemTokens};
use proc_macro2::TokenStream;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// Folders with generated files.
const NOT_OURS: &[&str] = &[
    ".git",
    "target",
    "data",
    "fuzz/corpus",
    "fuzz/artifacts",
    "fuzz/coverage",
    "fuzz/target",
    "tests/browser/node_modules",
];

/// Folders of crates: those of the product, and those of the laboratory.
const PRODUCT: &str = "crates/";
const LAB: &str = "lab/";

/// One text file.
pub struct WorkspaceFile {
    /// Path relative to the root, with `/`.
    pub path: String,
    /// Content; empty if not text.
    pub text: String,
    /// The text as Rust, and its items, read once for all rules.
    tokens: OnceCell<TokenStream>,
    items: OnceCell<Vec<RustItemTokens>>,
}

impl WorkspaceFile {
    /// A file in memory.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> WorkspaceFile {
        WorkspaceFile {
            path: path.into(),
            text: text.into(),
            tokens: OnceCell::new(),
            items: OnceCell::new(),
        }
    }

    /// The tokens of a Rust file.
    ///
    /// # Panics
    /// If it is not Rust; then cargo could not have built this program.
    pub fn tokens(&self) -> TokenStream {
        let read = || self.text.parse().unwrap_or_else(|e| panic!("{} is not Rust: {e}", self.path));
        self.tokens.get_or_init(read).clone()
    }

    /// The functions and modules of a Rust file.
    pub fn items(&self) -> &[RustItemTokens] {
        self.items.get_or_init(|| rust_tokens::items(self.tokens()))
    }

    /// The part of the path after the last `/`.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The file's crate, if any. The tests at the root belong to the program.
    pub fn crate_folder(&self) -> Option<&str> {
        if self.path.starts_with("tests/") {
            return Some("recrawl");
        }
        self.in_crates()?.split_once('/').map(|(folder, _)| folder)
    }

    /// The path below the folder of crates that it is in.
    pub fn in_crates(&self) -> Option<&str> {
        self.path.strip_prefix(PRODUCT).or_else(|| self.path.strip_prefix(LAB))
    }
}

/// All text files of the repository, by path.
pub struct Workspace {
    files: Vec<WorkspaceFile>,
}

impl Workspace {
    /// Reads everything under `root`. Files that are not UTF-8 have no text.
    pub fn read(root: &Path) -> io::Result<Workspace> {
        let mut files = Vec::new();
        read_folder(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Workspace { files })
    }

    /// A made-up workspace for a test.
    #[cfg(test)]
    pub fn from_files(files: &[(&str, &str)]) -> Workspace {
        Workspace { files: files.iter().map(|(path, text)| WorkspaceFile::new(*path, *text)).collect() }
    }

    /// Every file.
    pub fn files(&self) -> impl Iterator<Item = &WorkspaceFile> {
        self.files.iter()
    }

    /// Every Rust file.
    pub fn rust(&self) -> impl Iterator<Item = &WorkspaceFile> {
        self.files().filter(|f| f.path.ends_with(".rs"))
    }

    /// The text of the file at `path`.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files().find(|f| f.path == path).map(|f| f.text.as_str())
    }

    /// The folders of crates that hold a manifest.
    pub fn crates(&self) -> BTreeSet<&str> {
        let manifests = self.files().filter(|f| f.name() == "Cargo.toml");
        manifests.filter_map(WorkspaceFile::crate_folder).collect()
    }

    /// Is this a crate of the laboratory?
    pub fn is_of_lab(&self, folder: &str) -> bool {
        self.manifest_path(folder).starts_with(LAB)
    }

    /// The path of a crate's manifest.
    pub fn manifest_path(&self, folder: &str) -> String {
        let path = |of: &str| format!("{of}{folder}/Cargo.toml");
        if self.text(&path(LAB)).is_some() { path(LAB) } else { path(PRODUCT) }
    }

    /// The parsed manifest of a crate, or of the workspace when `folder` is none.
    ///
    /// # Panics
    /// If the manifest is missing or not valid TOML; then cargo could not have built this program.
    pub fn manifest(&self, folder: Option<&str>) -> toml::Table {
        let path = folder.map_or("Cargo.toml".to_owned(), |f| self.manifest_path(f));
        let text = self.text(&path).unwrap_or_else(|| panic!("{path} is missing"));
        text.parse().unwrap_or_else(|e| panic!("{path} is not valid TOML: {e}"))
    }
}

/// The line, counted from 1, that holds byte `at`.
pub fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

fn read_folder(folder: &Path, prefix: &str, files: &mut Vec<WorkspaceFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !NOT_OURS.contains(&path.as_str()) {
                read_folder(&entry.path(), &format!("{path}/"), files)?;
            }
        } else if kind.is_file() {
            let text = String::from_utf8(fs::read(entry.path())?).unwrap_or_default();
            files.push(WorkspaceFile::new(path, text));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_a_folder_with_a_manifest() {
        let workspace = Workspace::from_files(&[
            ("Cargo.toml", ""),
            ("crates/a/Cargo.toml", "[package]\nname = \"x-a\""),
            ("crates/notes/readme.md", ""),
            ("crates/a/src/lib.rs", ""),
            ("lab/b/Cargo.toml", "[package]\nname = \"x-b\""),
        ]);
        assert_eq!(workspace.crates().into_iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(["a", "b"].map(|name| workspace.is_of_lab(name)), [false, true]);
        assert_eq!(workspace.rust().count(), 1);
        assert_eq!(workspace.manifest(Some("b"))["package"]["name"].as_str(), Some("x-b"));
        assert_eq!(workspace.manifest(Some("a"))["package"]["name"].as_str(), Some("x-a"));
    }
}
