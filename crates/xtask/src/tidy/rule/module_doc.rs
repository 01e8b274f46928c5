//! Every Rust file except `tests.rs` starts with a `//!` line.

use crate::tidy::Complaint;
use crate::workspace::Workspace;

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let opens_well = |text: &str| text.strip_prefix("//! ").is_some_and(|rest| !rest.trim_start().is_empty());
    workspace
        .rust()
        .filter(|f| f.name() != "tests.rs" && !opens_well(&f.text))
        .map(|f| Complaint::at(&f.path, 1, "describe the module in a first line `//! …`"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_documentation() {
        let found = check(&Workspace::from_files(&[
            ("crates/a/src/good.rs", "//! What it is for.\n"),
            ("crates/a/src/late.rs", "use std::io;\n//! Too late.\n"),
            ("crates/a/src/empty.rs", "//! \n"),
            ("crates/a/src/late/tests.rs", "use super::*;\n"),
            ("docs/notes.md", "no Rust"),
        ]));
        let paths: Vec<&str> = found.iter().map(|c| c.path.as_str()).collect();
        assert_eq!(paths, ["crates/a/src/late.rs", "crates/a/src/empty.rs"]);
    }
}
