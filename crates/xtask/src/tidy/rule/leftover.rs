//! No unfinished code: no missing body, no ignored test, no reminder in a comment.

use crate::rust_tokens::{calls, comments, group, is_mark, is_word, levels};
use crate::tidy::Complaint;
use crate::workspace::Workspace;
use proc_macro2::TokenTree;

const CALLS: &[(&str, &str)] = &[
    ("todo!", "write the body or remove the function"),
    ("unimplemented!", "write the body or remove the function"),
];

const IN_COMMENTS: &[(&str, &str)] = &[
    ("FIXME", "fix it, or open an issue and explain the code here"),
    ("TODO", "do it, or open an issue and explain the code here"),
];

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let mut found = Vec::new();
    for file in workspace.rust() {
        let mut refuse = |line: usize, word: &str, remedy: &str| {
            found.push(Complaint::at(&file.path, line, format!("`{word}` left over; {remedy}")));
        };
        // Tokens and comments are read slowly, and few files have such words.
        let has = |words: &[(&str, &str)]| words.iter().any(|(word, _)| file.text.contains(word));
        for (name, span) in if has(CALLS) { calls(file.tokens()) } else { Vec::new() } {
            for (word, remedy) in CALLS.iter().filter(|(word, _)| *word == name) {
                refuse(span.start().line, word, remedy);
            }
        }
        for level in if file.text.contains("ignore") { levels(file.tokens()) } else { Vec::new() } {
            for pair in level.windows(2).filter(|pair| is_mark(&pair[0], '#') && is_ignore(&pair[1])) {
                refuse(pair[0].span().start().line, "#[ignore", "make the test pass and fast, or delete it");
            }
        }
        for (line, text) in if has(IN_COMMENTS) { comments(&file.text, file.tokens()) } else { Vec::new() } {
            for comment_word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
                for (word, remedy) in IN_COMMENTS.iter().filter(|(word, _)| *word == comment_word) {
                    refuse(line, word, remedy);
                }
            }
        }
    }
    found
}

fn is_ignore(attribute: &TokenTree) -> bool {
    let content = group(attribute).and_then(|group| group.stream().into_iter().next());
    content.is_some_and(|first| is_word(&first, "ignore"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_found_and_mentions_are_not() {
        let found = check(&Workspace::from_files(&[
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
