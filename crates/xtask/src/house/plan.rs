//! The plan of a crate: which file uses which, and the rooms of a folder with their arrows.

use super::graph::Graph;
use super::source::{Path, RustSource};
use std::collections::{BTreeMap, BTreeSet};

/// The product's files of a crate, with the arrows between them.
pub struct CrateGraph<'a> {
    /// The files, without those that only tests have.
    pub files: Vec<RustSource<'a>>,
    /// The node of a file is its place in `files`. A file that holds nothing but modules and
    /// imports has no arrows: names are followed through it.
    pub uses: Graph,
}

/// The rooms of a folder: each entry of the folder is a room, a file with its folder is one. The
/// file of the folder itself is a room if it holds more than modules and imports.
pub struct Rooms {
    /// Names of the nodes.
    pub names: Vec<String>,
    /// Arrows between them.
    pub graph: Graph,
    /// The node of each file of the plan, if it is inside.
    pub rooms: Vec<Option<usize>>,
}

impl<'a> CrateGraph<'a> {
    /// Draws the plan of the crate with these files.
    pub fn draw(mut files: Vec<RustSource<'a>>) -> CrateGraph<'a> {
        let tests: BTreeSet<Path> = files.iter().flat_map(|f| f.test_modules.clone()).collect();
        let is_test = |module: &Path| (1..=module.len()).any(|n| tests.contains(&module[..n]));
        files.retain(|f| !is_test(&f.module) && f.module.last().is_none_or(|last| last != "tests"));
        let names = ModuleNames::read(&files);
        let mut arrows = BTreeMap::new();
        for (from, file) in files.iter().enumerate().filter(|(_, file)| file.defines) {
            let targets =
                file.paths.iter().filter_map(|(module, path)| names.file(names.absolute(module, path)?));
            for to in targets.filter(|&to| to != from) {
                *arrows.entry((from, to)).or_default() += 1;
            }
        }
        let uses = Graph { nodes: files.len(), arrows };
        CrateGraph { files, uses }
    }

    /// Circles of files, without the arrows between a module and those inside it: a type and what
    /// it is made of are one thing in several files.
    pub fn circles(&self) -> Vec<Vec<usize>> {
        let mut graph = Graph { nodes: self.uses.nodes, arrows: self.uses.arrows.clone() };
        let holds = |a: usize, b: usize| self.files[b].module.starts_with(&self.files[a].module);
        graph.arrows.retain(|&(a, b), _| !holds(a, b) && !holds(b, a));
        graph.circles()
    }

    /// The rooms of the folder of a module.
    pub fn rooms(&self, folder: &[String]) -> Rooms {
        let own = folder.last().map_or("lib", String::as_str);
        let name = |file: &RustSource| match file.module.strip_prefix(folder)?.first() {
            Some(entry) => Some(entry.clone()),
            None => file.defines.then(|| own.to_owned()),
        };
        let names: BTreeSet<String> = self.files.iter().filter_map(name).collect();
        let names: Vec<String> = names.into_iter().collect();
        let node = |file| names.binary_search(&name(file)?).ok();
        let rooms: Vec<Option<usize>> = self.files.iter().map(node).collect();
        let mut arrows = BTreeMap::new();
        for (&(from, to), uses) in &self.uses.arrows {
            if let (Some(from), Some(to)) = (rooms[from], rooms[to])
                && from != to
            {
                *arrows.entry((from, to)).or_default() += uses;
            }
        }
        Rooms { graph: Graph { nodes: names.len(), arrows }, names, rooms }
    }
}

/// The modules of a crate and the names that they import.
struct ModuleNames<'a> {
    modules: BTreeMap<&'a [String], usize>,
    imports: BTreeMap<(&'a [String], &'a str), &'a Path>,
}

impl<'a> ModuleNames<'a> {
    fn read(files: &'a [RustSource]) -> ModuleNames<'a> {
        // Backwards, so that `crate` is lib.rs and not main.rs in a crate with both.
        let files = || files.iter().enumerate().rev();
        let modules = files().flat_map(|(at, f)| f.modules.iter().map(move |m| (&m[..], at)));
        let imports =
            files().flat_map(|(_, f)| &f.imports).map(|(m, name, path)| ((&m[..], &name[..]), path));
        ModuleNames { modules: modules.collect(), imports: imports.collect() }
    }

    /// The path from the crate's root; none if it leads out of the crate, or is the name of an item
    /// in the module itself.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Path> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([module, rest].concat()),
            "super" => {
                let (_, parent) = module.split_last()?;
                match rest.first().map(String::as_str) {
                    Some("super") => self.absolute(parent, rest),
                    _ => Some([parent, rest].concat()),
                }
            }
            name => {
                let inner = [module, path].concat();
                let is_here = self.modules.contains_key(&inner[..=module.len()])
                    || self.imports.contains_key(&(module, name));
                is_here.then_some(inner)
            }
        }
    }

    /// The file in which a path from the root ends, followed through imports.
    fn file(&self, mut path: Path) -> Option<usize> {
        // `use serde;` imports the name from where it stands, and would lead round for ever.
        for _ in 0..8 {
            let depth = (0..=path.len()).rev().find(|&n| self.modules.contains_key(&path[..n]))?;
            let (module, rest) = path.split_at(depth);
            let import = rest.first().and_then(|name| self.imports.get(&(module, name)));
            let Some(import) = import else { return self.modules.get(module).copied() };
            let target = self.absolute(module, import)?;
            path = [&target, &rest[1..]].concat();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn names_are_followed_to_their_files() {
        let workspace = Workspace::from_files(&[
            (
                "crates/x/src/lib.rs",
                "mod a;\nmod b;\n#[cfg(test)]\nmod c;\npub use b::{Inner as I, Thing};\nuse serde;",
            ),
            (
                "crates/x/src/a.rs",
                "use crate::{I, serde::De};\nuse std::fmt;\nfn f(t: &crate::Thing) { b::no(); fmt::x(); }\n\
                 #[cfg(test)]\nmod tests { use crate::b::deep::d; }",
            ),
            ("crates/x/src/b.rs", "mod deep;\nmod inner;\npub use inner::Inner;\npub struct Thing(deep::D);"),
            (
                "crates/x/src/b/inner.rs",
                "mod k { fn g() { super::super::super::a::f(); vec![super::D] } }\nuse super::*;",
            ),
            ("crates/x/src/b/deep.rs", "struct D(super::Thing);"),
            ("crates/x/src/c.rs", "use crate::a::f;"),
            ("crates/x/src/b/tests.rs", "use crate::a::f;"),
        ]);
        let plan = CrateGraph::draw(workspace.rust().filter_map(RustSource::read).collect());
        let name = |node: usize| plan.files[node].path.trim_start_matches("crates/x/src/");
        let uses: Vec<_> = plan.uses.arrows.iter().map(|(&(a, b), n)| (name(a), name(b), *n)).collect();
        assert_eq!(
            uses,
            [
                ("a.rs", "b.rs", 1),
                ("a.rs", "b/inner.rs", 1),
                ("b.rs", "b/inner.rs", 1),
                ("b.rs", "b/deep.rs", 1),
                ("b/inner.rs", "a.rs", 1),
                ("b/inner.rs", "b.rs", 1),
                ("b/deep.rs", "b.rs", 1),
            ]
        );
        let circles: Vec<Vec<&str>> =
            plan.circles().iter().map(|circle| circle.iter().map(|&node| name(node)).collect()).collect();
        assert_eq!(circles, [["a.rs", "b/inner.rs"]]);
        assert_eq!(plan.uses.circles()[0].len(), 4);
        let rooms = plan.rooms(&[]);
        assert_eq!(rooms.names, ["a", "b"]);
        assert_eq!(rooms.graph.arrows, BTreeMap::from([((0, 1), 2), ((1, 0), 1)]));
        assert_eq!(plan.rooms(&["b".to_owned()]).names, ["b", "deep", "inner"]);
    }

    #[test]
    fn the_root_of_a_library_with_a_program_is_the_library() {
        let workspace = Workspace::from_files(&[
            ("crates/x/src/a.rs", "use crate::L;\nstruct A;"),
            ("crates/x/src/lib.rs", "mod a;\npub struct L;"),
            ("crates/x/src/main.rs", "fn main() {}"),
        ]);
        let plan = CrateGraph::draw(workspace.rust().filter_map(RustSource::read).collect());
        assert_eq!(plan.uses.arrows, BTreeMap::from([((0, 1), 1)]));
    }
}
