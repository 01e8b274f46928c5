//! docs/SUMMARY.md lists each page of docs/ and docs/internals/ once, and links between pages have
//! targets.

use crate::tidy::Complaint;
use crate::workspace::{Workspace, WorkspaceFile};

const SUMMARY: &str = "docs/SUMMARY.md";

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let mut found = Vec::new();
    let summary = workspace.text(SUMMARY).unwrap_or_default();
    let listed: Vec<&str> = links(summary).map(|(_, target)| target).collect();
    for page in workspace.files().filter_map(page_of_the_book) {
        match listed.iter().filter(|l| **l == page).count() {
            1 => {}
            0 => found
                .push(Complaint::of_file(SUMMARY, format!("docs/{page} is not in SUMMARY.md; add a line"))),
            _ => found.push(Complaint::of_file(
                SUMMARY,
                format!("docs/{page} is listed more than once; keep one line"),
            )),
        }
    }
    let pages = workspace
        .files()
        .filter(|f| f.path == "README.md" || f.path == SUMMARY || page_of_the_book(f).is_some());
    for file in pages {
        let folder = file.path.strip_suffix(file.name()).unwrap_or_default();
        for (line, target) in links(&file.text) {
            if !leads_somewhere(workspace, folder, target) {
                let text = format!("the target `{target}` does not exist; correct or delete the link");
                found.push(Complaint::at(&file.path, line, text));
            }
        }
    }
    found
}

/// The name of a page that belongs in the book.
fn page_of_the_book(file: &WorkspaceFile) -> Option<&str> {
    let name = file.path.strip_prefix("docs/")?;
    let is_listed = !name.strip_prefix("internals/").unwrap_or(name).contains('/');
    (name.ends_with(".md") && is_listed && file.path != SUMMARY).then_some(name)
}

/// Targets of a page's links to other files, without fragments, each with its line.
fn links(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    page.lines().enumerate().flat_map(move |(i, line)| {
        in_code ^= line.trim_start().starts_with("```");
        let pieces = if in_code { "" } else { line };
        pieces.split("](").skip(1).filter_map(move |rest| {
            let target = rest.split_once(')')?.0.split('#').next()?;
            (!target.is_empty() && !target.contains(':')).then_some((i + 1, target))
        })
    })
}

fn leads_somewhere(workspace: &Workspace, folder: &str, target: &str) -> bool {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/').filter(|part| !part.is_empty()) {
        match part {
            ".." => parts.truncate(parts.len().saturating_sub(1)),
            _ => parts.push(part),
        }
    }
    let path = parts.join("/");
    let inside = format!("{path}/");
    workspace.text(&path).is_some() || workspace.files().any(|f| f.path.starts_with(&inside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgotten_and_doubled_pages_and_dead_links_are_found() {
        let found = check(&Workspace::from_files(&[
            ("README.md", "[map](docs/a.md#x) [none](docs/none.md) [web](https://example.com/) [here](#y)\n"),
            (SUMMARY, "- [A](a.md)\n- [B](b.md)\n- [B again](b.md)\n- [D](internals/d.md)\n"),
            (
                "docs/a.md",
                "```\n[not](a link.md)\n```\nsee [b](b.md) and [config](../config/x.toml) and [folder](../deploy)\n",
            ),
            ("docs/b.md", "b\n"),
            ("docs/c.md", "c\n"),
            ("docs/internals/d.md", "[a](../a.md) [config](../../config/x.toml) [none](a.md)\n"),
            ("docs/bench/raw.md", "no page\n"),
            ("config/x.toml", ""),
            ("deploy/Dockerfile", ""),
        ]));
        let told: Vec<_> = found.iter().map(|c| (c.path.as_str(), c.line)).collect();
        assert_eq!(
            told,
            [(SUMMARY, None), (SUMMARY, None), ("README.md", Some(1)), ("docs/internals/d.md", Some(1)),]
        );
        assert!(found[0].text.contains("b.md") && found[1].text.contains("c.md"));
        assert!(found[2].text.contains("none.md"));
    }
}
