//! No file, folder or module has an unspecific name such as `util`.

use crate::tidy::Complaint;
use crate::workspace::Workspace;

const REFUSED: &[&str] = &["common", "helper", "helpers", "misc", "util", "utils"];
const REMEDY: &str = "name it after its purpose, or move its parts to where they are used";

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let mut found = Vec::new();
    for file in workspace.rust() {
        let parts = file.path.trim_end_matches(".rs").split('/');
        if let Some(part) = parts.into_iter().find(|p| REFUSED.contains(p)) {
            found.push(Complaint::of_file(&file.path, format!("`{part}` is unspecific; {REMEDY}")));
        }
        // `mod name;` has a file, whose path is checked above.
        for module in file.items().iter().filter(|item| item.is_module && item.body.is_some()) {
            if REFUSED.contains(&&*module.name) {
                let text = format!("module `{}` is unspecific; {REMEDY}", module.name);
                found.push(Complaint::at(&file.path, module.line, text));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_nothing_are_refused() {
        let found = check(&Workspace::from_files(&[
            ("crates/a/src/utils.rs", ""),
            ("crates/common/src/lib.rs", ""),
            ("crates/a/src/lib.rs", "mod utils;\nmod helpers { fn f() {} }\n// mod misc {"),
            ("crates/a/src/utility_pole.rs", "mod commonplace {}"),
        ]));
        let places: Vec<_> = found.iter().map(|c| (c.path.as_str(), c.line)).collect();
        assert_eq!(
            places,
            [
                ("crates/a/src/utils.rs", None),
                ("crates/common/src/lib.rs", None),
                ("crates/a/src/lib.rs", Some(2))
            ]
        );
    }
}
