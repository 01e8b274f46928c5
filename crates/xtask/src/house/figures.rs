//! Figures that are counted, not drawn: lines, functions, items, comments and words.

use super::House;
use super::source::Source;
use crate::workspace::File;
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

    /// Functions that are named `of`.
    pub fn functions_named_of(&self, name: &str) -> usize {
        self.files(name).flat_map(|f| &f.functions).filter(|(name, _)| name == "of").count()
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
        let is_page =
            |f: &&File| f.path.ends_with(".md") && (f.path.starts_with("docs/") || !f.path.contains('/'));
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

/// The doc comments of a file, each line without its mark.
fn docs<'a>(file: &'a Source) -> Vec<Vec<&'a str>> {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let runs = lines.chunk_by(|a, b| is_doc(a) == is_doc(b)).filter(|run| is_doc(run[0]));
    runs.map(|run| run.iter().map(|line| line[3..].trim_start()).collect()).collect()
}

/// Doc comments that begin with What, Who or Whose.
pub fn riddles(file: &Source) -> usize {
    let first =
        |doc: &Vec<&str>| doc[0].split(|c: char| !c.is_alphabetic()).next().unwrap_or_default().to_owned();
    docs(file).iter().map(first).filter(|word| ["What", "Who", "Whose"].contains(&&**word)).count()
}

/// Examples in doc comments that `cargo test` compiles.
pub fn doc_tests(file: &Source) -> usize {
    let is_rust =
        |info: &str| info.split(',').all(|w| ["", "rust", "no_run", "should_panic"].contains(&w.trim()));
    let opened = |doc: &Vec<&str>| {
        let fences = doc.iter().filter_map(|line| line.strip_prefix("```"));
        fences.step_by(2).filter(|info| is_rust(info)).count()
    };
    docs(file).iter().map(opened).sum()
}
