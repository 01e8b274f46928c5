//! Rust files have at most 800 lines; 300 is the aim.

use crate::tidy::Complaint;
use crate::workspace::Workspace;

/// Maximum lines.
const LIMIT: usize = 800;
/// Files with more lines should be rare; the summary counts them.
const AIM: usize = 300;

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    workspace
        .rust()
        .map(|f| (f, f.text.lines().count()))
        .filter(|&(_, lines)| lines > LIMIT)
        .map(|(f, lines)| {
            let text = format!(
                "{lines} lines, but the limit is {LIMIT}; split the file, or move its tests to a sibling file"
            );
            Complaint::of_file(&f.path, text)
        })
        .collect()
}

/// A line about the length of Rust files.
pub fn summary(workspace: &Workspace) -> String {
    let mut lengths: Vec<usize> = workspace.rust().map(|f| f.text.lines().count()).collect();
    lengths.sort_unstable();
    let Some(&longest) = lengths.last() else { return "no Rust files".into() };
    let files = lengths.len();
    let long = lengths.iter().filter(|&&n| n > AIM).count();
    format!(
        "{files} Rust files, {long} ({:.0} %) over {AIM} lines, median {}, 90th percentile {}, longest {longest}",
        100.0 * long as f64 / files as f64,
        lengths[files / 2],
        lengths[files * 9 / 10],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_too_long_is_named() {
        let long = "x\n".repeat(LIMIT + 1);
        let limit = "x\n".repeat(LIMIT);
        let workspace =
            Workspace::from_files(&[("crates/a/src/limit.rs", &limit), ("crates/a/src/long.rs", &long)]);
        let found = check(&workspace);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "crates/a/src/long.rs");
        assert!(found[0].text.contains("801"), "{}", found[0].text);
        assert!(summary(&workspace).contains("2 (100 %) over 300 lines"), "{}", summary(&workspace));
    }
}
