//! No absolute paths of the author's machine.

use crate::tidy::Complaint;
use crate::workspace::{Workspace, WorkspaceFile};

/// First folders of machine-specific paths.
const FOLDERS: &[&str] = &["home", "root", "Users", "work"];
/// Checked file types: hand-written files, not recorded pages.
const ENDINGS: &[&str] =
    &[".rs", ".toml", ".md", ".sh", ".yaml", ".yml", ".service", "Makefile", "Dockerfile", ".ci/run"];

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let written = workspace.files().filter(|f| ENDINGS.iter().any(|e| f.path.ends_with(e)));
    written.flat_map(in_file).collect()
}

fn in_file(file: &WorkspaceFile) -> Vec<Complaint> {
    let mut found = Vec::new();
    for (i, line) in file.text.lines().enumerate() {
        for folder in FOLDERS {
            let path = format!("/{folder}/");
            if line.match_indices(&path).any(|(at, _)| begins_a_path(line, at)) {
                let text = format!(
                    "`{path}…` is machine-specific; use a path relative to the repository, or a command-line argument"
                );
                found.push(Complaint::at(&file.path, i + 1, text));
            }
        }
    }
    found
}

/// Whether it is not part of a URL or a longer path.
fn begins_a_path(line: &str, at: usize) -> bool {
    line[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || "\"'`(=[<,".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_machine_are_found() {
        let bad = ["home", "work"].map(|f| format!("ok\nlet x = \"/{f}/me/pages\";\n"));
        let url = format!("see https://example.com/{}/page and docs/{}/notes\n", "home", "work");
        let found = check(&Workspace::from_files(&[
            ("crates/a/src/lib.rs", &bad[0]),
            ("docs/a.md", &bad[1]),
            ("docs/b.md", &url),
            ("recording/page.jsonl", &bad[0]),
        ]));
        let places: Vec<_> = found.iter().map(|c| (c.path.as_str(), c.line)).collect();
        assert_eq!(places, [("crates/a/src/lib.rs", Some(2)), ("docs/a.md", Some(2))]);
    }
}
