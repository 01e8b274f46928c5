//! Every heading has text below it.

use crate::tidy::Complaint;
use crate::workspace::Workspace;

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let pages = workspace.files().filter(|f| f.path.ends_with(".md"));
    pages
        .flat_map(|f| bare_headings(&f.text).into_iter().map(|(line, title)| complaint(&f.path, line, title)))
        .collect()
}

fn complaint(path: &str, line: usize, title: &str) -> Complaint {
    Complaint::at(path, line, format!("no text below the heading `{title}`; write it or delete the heading"))
}

/// Headings followed by nothing, or by a heading of the same or a higher rank. A heading followed
/// by a lower one depends on that one.
fn bare_headings(page: &str) -> Vec<(usize, &str)> {
    let mut bare = Vec::new();
    let mut open: Option<(usize, &str, usize)> = None;
    let mut in_code = false;
    for (i, line) in page.lines().enumerate() {
        let line = line.trim_end();
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        let rank = line.bytes().take_while(|&b| b == b'#').count();
        let is_heading = !in_code && !is_fence && (1..=6).contains(&rank) && line[rank..].starts_with(' ');
        if is_heading {
            if let Some((at, title, open_rank)) = open
                && open_rank >= rank
            {
                bare.push((at, title));
            }
            open = Some((i + 1, line[rank..].trim(), rank));
        } else if !line.is_empty() {
            open = None;
        }
    }
    bare.extend(open.map(|(at, title, _)| (at, title)));
    bare
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_needs_text() {
        assert_eq!(bare_headings("# A\n\ntext\n## B\n## C\ntext\n# D\n"), [(4, "B"), (7, "D")]);
        assert_eq!(bare_headings("# A\n## B\ntext"), []);
        assert_eq!(bare_headings("# A\n```sh\n# a comment\n```\n"), []);
        assert_eq!(bare_headings("## B\n\n# A\ntext"), [(1, "B")]);
    }

    #[test]
    fn pages_are_named() {
        let found = check(&Workspace::from_files(&[("docs/a.md", "# A\n"), ("docs/b.md", "# B\nb")]));
        assert_eq!(found, [complaint("docs/a.md", 1, "A")]);
    }
}
