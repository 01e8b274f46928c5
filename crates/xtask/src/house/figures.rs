//! Figures that are counted, not drawn: lines, functions, items, comments and words.

use super::House;
use super::source::RustSource;
use crate::workspace::WorkspaceFile;
use std::collections::{BTreeMap, BTreeSet};

/// Functions should have at most this many lines between their braces.
pub const LONG: usize = 70;
/// Functions with more lines than this need comments that say why.
const NEEDS_COMMENTS: usize = 40;

impl House<'_> {
    /// Each crate that `recrawl` links, itself included: lines of the product, and all other lines
    /// of Rust in its folder.
    pub fn lines(&self) -> BTreeMap<&str, (usize, usize)> {
        let mut open: Vec<&str> = self.plans.keys().copied().filter(|folder| *folder == "recrawl").collect();
        let mut linked: BTreeSet<&str> = open.iter().copied().collect();
        while let Some(name) = open.pop() {
            let manifest = self.workspace.manifest(Some(name));
            let named =
                manifest.get("dependencies").and_then(|d| d.as_table()).into_iter().flat_map(|d| d.keys());
            for name in named.filter_map(|key| key.strip_prefix("recrawl-")) {
                let ours = self.plans.keys().find(|folder| **folder == name);
                open.extend(ours.filter(|folder| linked.insert(folder)));
            }
        }
        let all = |name| {
            let files = self.workspace.rust().filter(|f| f.crate_folder() == Some(name));
            files.map(|f| f.text.lines().count()).sum::<usize>()
        };
        let product = |name| self.files(name).map(|f| f.text.lines().count() - f.test_lines).sum::<usize>();
        linked.into_iter().map(|name| (name, (product(name), all(name) - product(name)))).collect()
    }

    /// Functions of a crate with more than [`LONG`] lines: `path:line name`, and the lines.
    pub fn long_functions(&self, name: &str) -> Vec<(String, usize)> {
        let functions =
            self.files(name).flat_map(|f| f.functions.iter().map(move |function| (f.path, function)));
        let functions = functions.map(|(path, (name, lines))| {
            (format!("{path}:{} {name}", lines.start() - 1), lines.clone().count())
        });
        functions.filter(|(_, lines)| *lines > LONG).collect()
    }

    /// Functions of a crate that are named `of`, each as `path:line`.
    pub fn functions_named_of(&self, name: &str) -> Vec<String> {
        let functions =
            self.files(name).flat_map(|f| f.functions.iter().map(move |function| (f.path, function)));
        let of = functions.filter(|(_, (name, _))| name == "of");
        of.map(|(path, (_, lines))| format!("{path}:{}", lines.start() - 1)).collect()
    }

    /// Doc comments of a crate that begin with What, Who or Whose, each as `path:line`.
    pub fn doc_openings(&self, name: &str) -> Vec<String> {
        let first =
            |doc: &[&str]| doc[0].split(|c: char| !c.is_alphabetic()).next().unwrap_or_default().to_owned();
        let docs =
            self.files(name).flat_map(|f| docs(f).into_iter().map(move |(line, doc)| (f.path, line, doc)));
        let doc_openings = docs.filter(|(.., doc)| ["What", "Who", "Whose"].contains(&&*first(doc)));
        doc_openings.map(|(path, line, _)| format!("{path}:{line}")).collect()
    }

    /// Examples in doc comments of a crate that `cargo test` compiles.
    pub fn doc_tests(&self, name: &str) -> usize {
        let is_rust =
            |info: &str| info.split(',').all(|w| ["", "rust", "no_run", "should_panic"].contains(&w.trim()));
        let opened = |(_, doc): (usize, Vec<&str>)| {
            let fences = doc.iter().filter_map(|line| line.strip_prefix("```"));
            fences.step_by(2).filter(|info| is_rust(info)).count()
        };
        self.files(name).flat_map(docs).map(opened).sum()
    }

    /// How many structs, enums and traits have each name, in all crates.
    pub fn types(&self) -> BTreeMap<&str, usize> {
        let mut types = BTreeMap::new();
        for name in self.plans.values().flat_map(|plan| &plan.files).flat_map(|f| &f.types) {
            *types.entry(name.as_str()).or_default() += 1;
        }
        types
    }

    /// Plain comments on lines of their own, for 100 lines of functions with more than 40.
    pub fn comments_in_long_functions(&self) -> f64 {
        let (mut comments, mut lines) = (0, 0);
        for file in self.plans.values().flat_map(|plan| &plan.files) {
            let text: Vec<&str> = file.text.lines().map(str::trim_start).collect();
            for (_, body) in file.functions.iter().filter(|(_, l)| l.clone().count() > NEEDS_COMMENTS) {
                let body = &text[body.start() - 1..*body.end()];
                let is_comment = |line: &str| line.starts_with("//") && !is_doc(line);
                lines += body.len();
                let runs = body.chunk_by(|a, b| is_comment(a) == is_comment(b));
                comments += runs.filter(|run| is_comment(run[0])).count();
            }
        }
        100.0 * comments as f64 / lines.max(1) as f64
    }

    /// Words between spaces in the Markdown of docs/ and of the root.
    pub fn words(&self) -> usize {
        let is_page = |f: &&WorkspaceFile| {
            f.path.ends_with(".md") && (f.path.starts_with("docs/") || !f.path.contains('/'))
        };
        self.workspace.files().filter(is_page).map(|f| f.text.split_whitespace().count()).sum()
    }

    /// Bytes of text in docs/bench.
    pub fn bench_bytes(&self) -> usize {
        self.workspace.files().filter(|f| f.path.starts_with("docs/bench/")).map(|f| f.text.len()).sum()
    }
}

fn is_doc(line: &str) -> bool {
    (line.starts_with("///") && !line.starts_with("////")) || line.starts_with("//!")
}

/// The doc comments of a file: the line, and the text without its marks.
fn docs<'a>(file: &RustSource<'a>) -> Vec<(usize, Vec<&'a str>)> {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let mut next = 1;
    let runs = lines.chunk_by(|a, b| is_doc(a) == is_doc(b)).map(|run| {
        let line = next;
        next += run.len();
        (line, run)
    });
    let docs = runs.filter(|(_, run)| is_doc(run[0]));
    docs.map(|(line, run)| (line, run.iter().map(|text| text[3..].trim_start()).collect())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn figures_are_counted_outside_tests() {
        let filler = "    work();\n".repeat(68);
        let code = format!(
            "/// Whose it is.\n/// What counts is the first line.\npub fn of() {{\n    // why,\n    // and why\n\
             {filler}    g(); // beside\n}}\n/// Whatever.\n/// ```\n/// f();\n/// ```\n/// ```text\n/// x\n/// ```\n\
             pub(crate) struct S {{ pub field: fn() }}\nimpl S {{\n    pub const fn f() {{}}\n}}\n\
             #[cfg(test)]\nmod tests {{\n    pub fn of() {{}}\n}}\n"
        );
        let workspace = Workspace::from_files(&[
            (
                "crates/recrawl/Cargo.toml",
                "[dependencies]\nserde = '1'\nrecrawl-a = '1'\n[dev-dependencies]\nrecrawl-b = '1'",
            ),
            ("crates/a/Cargo.toml", ""),
            ("crates/b/Cargo.toml", ""),
            ("crates/a/src/lib.rs", "mod x;\nstruct S;\n"),
            ("crates/a/src/x.rs", &code),
            ("crates/a/src/x/tests.rs", "one\n"),
            ("crates/b/src/lib.rs", "mod x;\n"),
            ("crates/recrawl/src/main.rs", "mod x;\n"),
            ("tests/main.rs", "one\ntwo\n"),
            ("docs/a/b.md", "- one two\n"),
        ]);
        let house = House::read(&workspace);
        assert_eq!(house.lines(), BTreeMap::from([("a", (88, 5)), ("recrawl", (1, 2))]));
        assert_eq!(house.long_functions("a"), [("crates/a/src/x.rs:3 of".to_owned(), 71)]);
        assert_eq!(house.functions_named_of("a"), ["crates/a/src/x.rs:3"]);
        assert_eq!(house.types(), BTreeMap::from([("S", 2)]));
        assert_eq!(house.files("a").map(|f| f.public_items).sum::<usize>(), 2);
        assert_eq!(house.doc_openings("a"), ["crates/a/src/x.rs:1"]);
        assert_eq!(house.doc_tests("a"), 1);
        assert_eq!(house.comments_in_long_functions(), 100.0 / 71.0);
        assert_eq!(house.words(), 3);
    }
}
