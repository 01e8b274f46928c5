//! The table of crates in docs/architecture.md has a row for every crate and no other, and the page
//! mentions no unknown `crates/NAME`.

use crate::tidy::Complaint;
use crate::workspace::{Workspace, line_of};

const MAP: &str = "docs/architecture.md";

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let Some(map) = workspace.text(MAP) else {
        return vec![Complaint::of_file(
            MAP,
            "the page is missing; write it with a table whose first column is `crate`",
        )];
    };
    let crates = workspace.crates();
    let mut found = Vec::new();
    for folder in &crates {
        if !rows(map).any(|(_, name)| name == *folder) {
            let text = format!("the table of crates has no row for `{folder}`: add one");
            found.push(Complaint::of_file(MAP, text));
        }
    }
    let mut places: Vec<(usize, &str)> = rows(map).chain(mentions(map)).collect();
    places.sort_unstable();
    for (line, name) in places {
        if !crates.contains(name) {
            let text = format!("unknown crate `{name}`: remove it from the page or add the crate");
            found.push(Complaint::at(MAP, line, text));
        }
    }
    found
}

/// The names in the first column of the table with the first title `crate`, each with its line.
fn rows(map: &str) -> impl Iterator<Item = (usize, &str)> {
    let first_cell =
        |line: &'_ str| -> Option<String> { Some(line.strip_prefix('|')?.split('|').next()?.trim().into()) };
    let lines = map.lines().enumerate();
    let table = lines.skip_while(move |(_, l)| first_cell(l).as_deref() != Some("crate"));
    let table = table.take_while(|(_, l)| l.starts_with('|')).skip(2);
    table.filter_map(|(i, l)| Some((i + 1, l.split('`').nth(1)?)))
}

/// Every `crates/NAME` on the page, with its line. `NAME` begins with a small letter.
fn mentions(map: &str) -> impl Iterator<Item = (usize, &str)> {
    map.match_indices("crates/").filter_map(|(at, prefix)| {
        let rest = &map[at + prefix.len()..];
        let length =
            rest.bytes().take_while(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'_').count();
        (length > 0).then(|| (line_of(map, at), &rest[..length]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_is_compared_both_ways() {
        let manifest = "[package]";
        let map = "# Map\n| outcome | rule |\n|---|---|\n| `gone` | x |\n\n\
                   | crate | idea |\n|---|---|\n| `a` | one |\n| `c` | none |\n\ncrates/d/src, crates/NAME, crates/*\n";
        let found = check(&Workspace::from_files(&[
            ("crates/a/Cargo.toml", manifest),
            ("crates/b/Cargo.toml", manifest),
            (MAP, map),
        ]));
        let texts: Vec<(Option<usize>, &str)> =
            found.iter().map(|c| (c.line, c.text.split(':').next().unwrap_or_default())).collect();
        assert_eq!(
            texts,
            [
                (None, "the table of crates has no row for `b`"),
                (Some(9), "unknown crate `c`"),
                (Some(11), "unknown crate `d`")
            ]
        );
    }

    #[test]
    fn a_missing_map_is_a_complaint() {
        assert_eq!(check(&Workspace::from_files(&[])).len(), 1);
    }
}
