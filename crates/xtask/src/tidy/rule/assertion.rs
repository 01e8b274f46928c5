//! A test asserts something: itself, or through a function of the crate's test code that does.

use crate::tidy::Complaint;
use crate::tidy::rust_text::{RustText, is_word, line_of, words};
use crate::tidy::workspace::{File, Workspace};
use std::collections::{BTreeMap, BTreeSet};

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let mut files_of: BTreeMap<&str, Vec<(&File, String)>> = BTreeMap::new();
    for file in workspace.rust() {
        let code = RustText::of(&file.text).code;
        files_of.entry(file.crate_folder().unwrap_or("")).or_default().push((file, code));
    }
    let mut found = Vec::new();
    for files in files_of.values() {
        let helpers = asserting_helpers(files);
        for (file, code) in files {
            for test in tests(code) {
                if !test.should_panic
                    && !asserts(test.function.body)
                    && !calls_one_of(test.function.body, &helpers)
                {
                    let text = format!(
                        "the test `{}` asserts nothing: assert what it is for, or delete it",
                        test.function.name
                    );
                    found.push(Complaint::at(&file.path, line_of(code, test.function.at), text));
                }
            }
        }
    }
    found
}

struct Function<'a> {
    name: &'a str,
    /// Where its `fn` stands.
    at: usize,
    /// What stands between its braces.
    body: &'a str,
}

struct Test<'a> {
    function: Function<'a>,
    should_panic: bool,
}

/// Every function with a body.
fn functions(code: &str) -> impl Iterator<Item = Function<'_>> {
    words(code, "fn").filter_map(|at| function_at(code, at))
}

fn function_at(code: &str, at: usize) -> Option<Function<'_>> {
    let rest = code[at + 2..].trim_start();
    // `$` for the functions that a macro writes.
    let length = rest.bytes().take_while(|&b| is_word(b) || b == b'$').count();
    let name = &rest[..length];
    let after = code.len() - rest.len() + length;
    let parameters = after + code[after..].find('(')?;
    let after = parameters + matching(&code[parameters..], b'(', b')')?;
    let open = after + code[after..].find(['{', ';'])?;
    let close = open + matching(&code[open..], b'{', b'}')?;
    (length > 0).then(|| Function { name, at, body: &code[open + 1..close] })
}

/// Where the bracket closes that `text` begins with; none when it begins with no such bracket.
fn matching(text: &str, open: u8, close: u8) -> Option<usize> {
    let mut depth = 0usize;
    for (i, b) in text.bytes().enumerate() {
        if b == open {
            depth += 1;
        } else if b == close {
            depth = depth.checked_sub(1)?;
        }
        if depth == 0 {
            return (b == close).then_some(i);
        }
    }
    None
}

/// Every function below an attribute that makes it a test: `#[test]`, `#[tokio::test(…)]`.
fn tests(code: &str) -> impl Iterator<Item = Test<'_>> {
    code.match_indices("#[").filter_map(move |(at, _)| {
        let end = at + 1 + matching(&code[at + 1..], b'[', b']')?;
        let attribute = code[at + 2..end].trim();
        let path = attribute.split('(').next().unwrap_or_default().trim();
        if path != "test" && !path.ends_with("::test") {
            return None;
        }
        let function = functions(&code[end..]).next()?;
        let before = code[..at].rfind(['}', ';', '{']).map_or(0, |i| i + 1);
        let attributes = &code[before..end + function.at];
        let function = Function { at: end + function.at, ..function };
        Some(Test { should_panic: attributes.contains("should_panic"), function })
    })
}

/// Does the body call something that can fail the test by its own judgement?
fn asserts(body: &str) -> bool {
    calls(body).any(|name| name.contains("assert") || ["expect_err", "unwrap_err", "panic"].contains(&name))
}

/// Names of the functions and macros that a body calls.
fn calls(body: &str) -> impl Iterator<Item = &str> {
    body.match_indices(['(', '!']).filter_map(|(at, _)| {
        let before = body[..at].trim_end();
        let length = before.bytes().rev().take_while(|&b| is_word(b)).count();
        (length > 0).then(|| &before[before.len() - length..])
    })
}

fn calls_one_of(body: &str, helpers: &BTreeSet<&str>) -> bool {
    calls(body).any(|name| helpers.contains(name))
}

/// Functions of a crate's test code that assert, themselves or through one another. Functions of the
/// program do not count: their assertions hold in every test, whatever it is for.
fn asserting_helpers<'a>(files: &'a [(&File, String)]) -> BTreeSet<&'a str> {
    let test_modules: BTreeSet<&str> = files.iter().flat_map(|(_, code)| test_modules(code)).collect();
    let mut helpers = BTreeSet::new();
    let mut candidates: Vec<Function<'a>> = Vec::new();
    for (file, code) in files {
        let is_test_file =
            file.path.trim_end_matches(".rs").split('/').any(|part| test_modules.contains(part))
                || file.path.contains("/tests/")
                || file.path.starts_with("tests/");
        let from = if is_test_file { Some(0) } else { code.find("#[cfg(test)]") };
        candidates.extend(functions(code).filter(|f| from.is_some_and(|from| f.at >= from)));
    }
    loop {
        let before = helpers.len();
        for f in &candidates {
            if asserts(f.body) || calls_one_of(f.body, &helpers) {
                helpers.insert(f.name);
            }
        }
        if helpers.len() == before {
            return helpers;
        }
    }
}

/// Modules declared as `#[cfg(test)] mod NAME;`.
fn test_modules(code: &str) -> impl Iterator<Item = &str> {
    let attribute = "#[cfg(test)]";
    code.match_indices(attribute).filter_map(move |(at, _)| {
        let declaration = code[at + attribute.len()..].split([';', '{']).next()?;
        let mut words = declaration.split_whitespace().skip_while(|w| *w != "mod");
        words.next()?;
        words.next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent(files: &[(&str, &str)]) -> Vec<String> {
        let name = |c: Complaint| c.text.split('`').nth(1).unwrap_or_default().to_owned();
        check(&Workspace::of(files)).into_iter().map(name).collect()
    }

    #[test]
    fn a_silent_test_is_found() {
        let source = r#"
            fn produce() { assert!(true) }
            #[test] fn good() { assert_eq!(1, 1); }
            #[test] fn silent() { produce(); let x = "assert!(x)"; /* assert!(x) */ }
            #[tokio::test(flavor = "current_thread")] async fn dropped() { matches!(1, 1); }
            #[test] fn refused() { f().expect_err("no"); }
        "#;
        assert_eq!(silent(&[("crates/a/src/lib.rs", source)]), ["silent", "dropped"]);
    }

    #[test]
    fn panics_macros_and_properties_count() {
        let source = "
            #[test] #[should_panic(expected = \"x\")] fn panics() { f(); }
            #[should_panic] #[test] fn panics_too() { f(); }
            proptest! { #[test] fn property(a in vec(any::<u8>(), 0..9), b in 0..3) { prop_assert!(a); } }
            macro_rules! suite { ($name:ident) => { #[test] fn $name() { run(); } } }
        ";
        assert_eq!(silent(&[("crates/a/src/lib.rs", source)]), ["$name"]);
    }

    #[test]
    fn a_function_of_the_test_code_may_assert() {
        let lib = "#[cfg(test)] mod suite;\nfn go() {}\n#[cfg(test)] mod tests { #[test] fn one() { check(1) } #[test] fn two() { go() } }";
        let suite = "pub fn check(n: u8) { inner(n) } fn inner(n: u8) { assert!(n > 0) }";
        assert_eq!(silent(&[("crates/a/src/lib.rs", lib), ("crates/a/src/suite.rs", suite)]), ["two"]);
        // Another crate's suite is no help.
        assert_eq!(silent(&[("crates/a/src/lib.rs", lib), ("crates/b/src/suite.rs", suite)]), ["one", "two"]);
    }
}
