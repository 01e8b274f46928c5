//! No unfinished code: no missing body, no ignored test, no reminder in a comment.

use crate::tidy::Complaint;
use crate::tidy::rust_text::{RustText, line_of, words};
use crate::tidy::workspace::Workspace;

const IN_CODE: &[(&str, &str)] = &[
    ("todo!", "write the body or remove the function"),
    ("unimplemented!", "write the body or remove the function"),
    ("#[ignore", "make the test pass and fast, or delete it"),
];

const IN_COMMENTS: &[(&str, &str)] = &[
    ("FIXME", "fix it, or open an issue and explain the code here"),
    ("TODO", "do it, or open an issue and explain the code here"),
];

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let mut found = Vec::new();
    for file in workspace.rust() {
        let text = RustText::of(&file.text);
        for (mask, refused) in [(&text.code, IN_CODE), (&text.comments, IN_COMMENTS)] {
            for (word, remedy) in refused {
                for at in words(mask, word) {
                    let message = format!("`{word}` left over; {remedy}");
                    found.push(Complaint::at(&file.path, line_of(mask, at), message));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_found_and_mentions_are_not() {
        let found = check(&Workspace::of(&[
            ("crates/a/src/lib.rs", "fn f() {\n    todo!()\n}\n#[test]\n#[ignore]\nfn g() {}\n"),
            ("crates/a/src/later.rs", "fn f() { unimplemented!(\"x\") } // FIXME: soon\n"),
            ("crates/a/src/reason.rs", "#[ignore = \"slow\"]\nfn h() {}\n"),
            ("crates/a/src/fine.rs", "const WORD: &str = \"todo!\"; // not ToDo\nlet ignored = 1;"),
        ]));
        let places: Vec<_> = found.iter().map(|c| (c.path.as_str(), c.line)).collect();
        assert_eq!(
            places,
            [
                ("crates/a/src/lib.rs", Some(2)),
                ("crates/a/src/lib.rs", Some(5)),
                ("crates/a/src/later.rs", Some(1)),
                ("crates/a/src/later.rs", Some(1)),
                ("crates/a/src/reason.rs", Some(1)),
            ]
        );
    }
}
