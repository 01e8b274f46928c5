//! Every test asserts something, itself or through a function of the crate's test code.

use crate::rust_tokens::{RustItemTokens, calls};
use crate::tidy::Complaint;
use crate::workspace::{Workspace, WorkspaceFile};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let mut files_of: BTreeMap<&str, Vec<(&WorkspaceFile, Vec<Caller>)>> = BTreeMap::new();
    for file in workspace.rust() {
        let callers = file.items().iter().map(Caller::new).collect();
        files_of.entry(file.crate_folder().unwrap_or("")).or_default().push((file, callers));
    }
    let mut found = Vec::new();
    for files in files_of.values() {
        let helpers = asserting_helpers(files);
        for (file, callers) in files {
            for caller in callers.iter().filter(|caller| caller.item.is_test()) {
                let item = caller.item;
                let panics = item.attributes.iter().any(|a| a.starts_with("should_panic"));
                if !panics && !asserts(caller.calls(), &helpers) {
                    let text = format!("test `{}` asserts nothing; add an assertion or delete it", item.name);
                    found.push(Complaint::at(&file.path, item.line, text));
                }
            }
        }
    }
    found
}

/// A function with the names of what it calls, or a module.
struct Caller<'a> {
    item: &'a RustItemTokens,
    /// Read for tests and their helpers only.
    calls: OnceCell<Vec<String>>,
}

impl<'a> Caller<'a> {
    fn new(item: &'a RustItemTokens) -> Caller<'a> {
        Caller { item, calls: OnceCell::new() }
    }

    fn calls(&self) -> &[String] {
        self.calls.get_or_init(|| {
            let body = self.item.body.clone().filter(|_| !self.item.is_module);
            body.map(calls).unwrap_or_default().into_iter().map(|(name, _)| name).collect()
        })
    }
}

/// Whether something that is called can fail the test.
fn asserts(calls: &[String], helpers: &BTreeSet<&str>) -> bool {
    calls.iter().any(|name| {
        name.contains("assert")
            || ["expect_err", "unwrap_err", "panic!"].contains(&&**name)
            || helpers.contains(&**name)
    })
}

/// Functions of a crate's test code that assert, directly or indirectly. Functions of the program
/// do not count: their assertions test nothing specific.
fn asserting_helpers<'a>(files: &'a [(&WorkspaceFile, Vec<Caller>)]) -> BTreeSet<&'a str> {
    let all = files.iter().flat_map(|(_, callers)| callers);
    let test_modules = all.filter(|c| c.item.is_module && c.item.attributes.iter().any(|a| a == "cfg(test)"));
    let test_modules: BTreeSet<&str> = test_modules.map(|c| &*c.item.name).collect();
    let mut candidates: Vec<&Caller> = Vec::new();
    for (file, callers) in files {
        let is_test_file =
            file.path.trim_end_matches(".rs").split('/').any(|part| test_modules.contains(part))
                || file.path.contains("/tests/")
                || file.path.starts_with("tests/");
        candidates
            .extend(callers.iter().filter(|c| !c.item.is_module && (is_test_file || c.item.is_for_tests)));
    }
    let mut helpers = BTreeSet::new();
    loop {
        let before = helpers.len();
        for caller in &candidates {
            if asserts(caller.calls(), &helpers) {
                helpers.insert(&*caller.item.name);
            }
        }
        if helpers.len() == before {
            return helpers;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent(files: &[(&str, &str)]) -> Vec<String> {
        let name = |c: Complaint| c.text.split('`').nth(1).unwrap_or_default().to_owned();
        check(&Workspace::from_files(files)).into_iter().map(name).collect()
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
