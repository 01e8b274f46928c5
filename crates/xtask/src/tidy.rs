//! Checks the house rules of docs/internals/style.md: `cargo xtask tidy`, and a test.
//!
//! The repository is read once into a [`Workspace`]. Each rule is a function from a workspace to
//! complaints, in its own file, with one line in [`rule::RULES`]. A complaint names its place and
//! its remedy.

mod rule;

use crate::workspace::Workspace;
use rule::{file_length, ratchet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One breach of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Complaint {
    /// File or folder, relative to the repository's root.
    path: String,
    /// Line, counted from 1; none for the whole file.
    line: Option<usize>,
    /// What is wrong, and what to do about it.
    text: String,
}

impl Complaint {
    fn of_file(path: impl Into<String>, text: impl Into<String>) -> Complaint {
        Complaint { path: path.into(), line: None, text: text.into() }
    }

    fn at(path: impl Into<String>, line: usize, text: impl Into<String>) -> Complaint {
        Complaint { path: path.into(), line: Some(line), text: text.into() }
    }
}

/// Runs every rule; one line per complaint, in the order of the rules.
fn complaints(workspace: &Workspace) -> Vec<String> {
    let mut lines = Vec::new();
    for rule in rule::RULES {
        for c in (rule.check)(workspace) {
            let place = c.line.map_or(c.path.clone(), |line| format!("{}:{line}", c.path));
            lines.push(format!("{place}: {} [{}]", c.text, rule.name));
        }
    }
    lines
}

/// Checks the repository at `root` and prints the result. With `fix` it first lowers the figures of
/// the ratchet. True without complaints.
pub fn run(root: &Path, fix: bool) -> io::Result<bool> {
    let mut workspace = Workspace::read(root)?;
    if fix {
        fs::write(root.join(ratchet::KEPT), ratchet::tightened(&workspace))?;
        workspace = Workspace::read(root)?;
    }
    let found = complaints(&workspace);
    for line in &found {
        println!("{line}");
    }
    println!(
        "tidy: {} rules, {} complaints; {}",
        rule::RULES.len(),
        found.len(),
        file_length::summary(&workspace)
    );
    Ok(found.is_empty())
}

/// The root of the repository that this program was built from.
pub fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_keeps_the_house_rules() {
        let workspace = Workspace::read(&repository_root()).expect("the repository can be read");
        let found = complaints(&workspace);
        assert!(found.is_empty(), "cargo xtask tidy has complaints:\n{}", found.join("\n"));
    }
}
