//! One Rust file as the measures see it: paths, imports, functions and items outside its tests.

use crate::rust_tokens::{group, is_mark, is_word};
use crate::workspace::WorkspaceFile;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Names of modules or of what is in them, outermost first.
pub type Path = Vec<String>;

/// A Rust file below `src/` of a crate.
#[derive(Default)]
pub struct RustSource<'a> {
    /// Path from the root of the repository.
    pub path: &'a str,
    /// Content.
    pub text: &'a str,
    /// The module whose file it is; the crate's root has none.
    pub module: Path,
    /// The module and all inline modules in it.
    pub modules: BTreeSet<Path>,
    /// The modules that only tests have.
    pub test_modules: Vec<Path>,
    /// Paths of two names or more, with the module that they stand in.
    pub paths: Vec<(Path, Path)>,
    /// Module, name and path of each import.
    pub imports: Vec<(Path, String, Path)>,
    /// Functions with the lines between their braces.
    pub functions: Vec<(String, RangeInclusive<usize>)>,
    /// Names of structs, enums and traits.
    pub types: Vec<String>,
    /// Items that are `pub` without a restriction; no modules, imports and fields.
    pub public_items: usize,
    /// Lines of items with `#[cfg(test)]`.
    pub test_lines: usize,
    /// Whether there is more than modules and imports.
    pub defines: bool,
}

impl<'a> RustSource<'a> {
    /// Reads `file` if it is part of a library or program.
    pub fn read(file: &'a WorkspaceFile) -> Option<RustSource<'a>> {
        let inside = file.in_crates()?.split_once("/src/")?.1.strip_suffix(".rs")?;
        let module: Path =
            inside.split('/').filter(|n| !["lib", "main"].contains(n)).map(Into::into).collect();
        let mut source = RustSource { path: &file.path, text: &file.text, module, ..RustSource::default() };
        let module = source.module.clone();
        source.modules.insert(module.clone());
        source.walk(file.tokens(), &module);
        Some(source)
    }

    fn walk(&mut self, tokens: TokenStream, module: &Path) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest = &tokens[..];
        while !rest.is_empty() {
            rest = &rest[self.step(rest, module)..];
        }
    }

    /// Reads the first tokens of `rest`; says how many.
    fn step(&mut self, rest: &[TokenTree], module: &Path) -> usize {
        let next = rest.get(1);
        if let Some(group) = group(&rest[0]) {
            self.walk(group.stream(), module);
        } else if is_mark(&rest[0], '#') && next.and_then(group).is_some() {
            let is_test = next.is_some_and(|n| n.to_string().replace(' ', "") == "[cfg(test)]");
            return if is_test { self.leave_out(rest, module) } else { 2 };
        } else if is_word(&rest[0], "use") {
            if let Some(end) = rest.iter().position(|t| is_mark(t, ';')) {
                self.import(&rest[1..end], &Path::new(), module);
                return end + 1;
            }
        } else if is_word(&rest[0], "mod") {
            if let [_, name, TokenTree::Group(body), ..] = rest {
                let inner: Path = module.iter().cloned().chain([name.to_string()]).collect();
                self.modules.insert(inner.clone());
                self.walk(body.stream(), &inner);
                return 3;
            }
        } else if let (TokenTree::Ident(word), Some(TokenTree::Ident(name))) = (&rest[0], next) {
            self.define(&word.to_string(), name.to_string(), rest);
        } else if let (TokenTree::Ident(_), Some(TokenTree::Punct(_))) = (&rest[0], next) {
            let (path, length) = path(rest);
            if path.len() > 1 {
                self.paths.push((module.clone(), path));
            }
            return length;
        }
        1
    }

    /// Passes over an item for tests.
    fn leave_out(&mut self, rest: &[TokenTree], module: &Path) -> usize {
        let end = rest.iter().position(is_end).unwrap_or(rest.len() - 1);
        self.test_lines += rest[end].span().end().line - rest[0].span().start().line + 1;
        if let Some(at) = rest[..end].iter().position(|t| is_word(t, "mod")) {
            self.test_modules.push(module.iter().cloned().chain([rest[at + 1].to_string()]).collect());
        }
        end + 1
    }

    /// Notes the item that begins with these two words, if any.
    fn define(&mut self, word: &str, name: String, rest: &[TokenTree]) {
        const ITEMS: [&str; 7] = ["fn", "struct", "enum", "trait", "const", "static", "type"];
        self.defines |= ITEMS.contains(&word);
        match word {
            "struct" | "enum" | "trait" => self.types.push(name),
            "fn" => {
                if let Some(TokenTree::Group(body)) = rest.iter().find(|t| is_end(t)) {
                    let lines = body.span_open().end().line + 1..=body.span_close().start().line - 1;
                    self.functions.push((name, lines));
                }
            }
            "pub" => {
                let mut words = rest[1..].iter().skip_while(|t| is_word(t, "unsafe") || is_word(t, "async"));
                let item = words.next().map(ToString::to_string).unwrap_or_default();
                self.public_items += usize::from(ITEMS.contains(&&*item));
            }
            _ => {}
        }
    }

    /// Notes the names of one tree of imports below `prefix`.
    fn import(&mut self, tree: &[TokenTree], prefix: &Path, module: &Path) {
        let (steps, length) = path(tree);
        let mut whole = prefix.clone();
        whole.extend(steps);
        match &tree[length..] {
            [.., TokenTree::Group(group)] => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for branch in inner.split(|t| is_mark(t, ',')).filter(|branch| !branch.is_empty()) {
                    self.import(branch, &whole, module);
                }
            }
            rest => {
                if whole.len() > 1 && whole.last().is_some_and(|last| last == "self") {
                    whole.pop();
                }
                let is_glob = rest.last().is_some_and(|t| is_mark(t, '*'));
                let name = if is_glob {
                    None
                } else {
                    rest.last().map(ToString::to_string).or(whole.last().cloned())
                };
                self.imports.extend(name.map(|name| (module.clone(), name, whole.clone())));
                self.paths.push((module.clone(), whole));
            }
        }
    }
}

/// The end of an item: `;` or braces.
fn is_end(token: &TokenTree) -> bool {
    is_mark(token, ';') || group(token).is_some_and(|g| g.delimiter() == Delimiter::Brace)
}

/// The names joined by `::` at the beginning, and how many tokens that takes, at least one.
fn path(tokens: &[TokenTree]) -> (Path, usize) {
    let mut names = Path::new();
    let mut at = 0;
    while let Some(TokenTree::Ident(name)) = tokens.get(at) {
        names.push(name.to_string());
        at += 1;
        match &tokens[at..] {
            [a, b, TokenTree::Ident(_), ..] if is_mark(a, ':') && is_mark(b, ':') => at += 2,
            _ => break,
        }
    }
    (names, at.max(1).min(tokens.len()))
}
