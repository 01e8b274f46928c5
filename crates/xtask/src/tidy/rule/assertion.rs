//! Every test asserts something, itself or through a function of the crate's test code.

use crate::tidy::Complaint;
use crate::tidy::rust_functions::{Function, functions, tests};
use crate::tidy::rust_text::{RustText, is_word, line_of};
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
                        "test `{}` asserts nothing; add an assertion or delete it",
                        test.function.name
                    );
                    found.push(Complaint::at(&file.path, line_of(code, test.function.at), text));
                }
            }
        }
    }
    found
}

/// Whether the body calls something that can fail the test.
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

/// Functions of a crate's test code that assert, directly or indirectly. Functions of the program
/// do not count: their assertions test nothing specific.
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
