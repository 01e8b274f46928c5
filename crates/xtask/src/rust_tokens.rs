//! The tokens of Rust sources, so that rules never find a word in a string or comment, such as in
//! their own tests.
//!
//! syn's trees do not serve: they hold the content of macros unread, and many tests stand in
//! `proptest!` and `macro_rules!`.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};

/// A function or module.
#[derive(Default)]
pub struct RustItemTokens {
    /// Whether it is a module.
    pub is_module: bool,
    /// Name; in a macro, with its `$`.
    pub name: String,
    /// Line of its `fn` or `mod`.
    pub line: usize,
    /// The inline modules around it, outermost first.
    pub modules: Vec<String>,
    /// Contents of its attributes except documentation, without spaces.
    pub attributes: Vec<String>,
    /// Whether it, or something around it, has the attribute `cfg(test)`.
    pub is_for_tests: bool,
    /// Content of its braces, if any.
    pub body: Option<TokenStream>,
}

impl RustItemTokens {
    /// Whether an attribute makes it a test: `#[test]`, `#[tokio::test(…)]`.
    pub fn is_test(&self) -> bool {
        let mut paths = self.attributes.iter().filter_map(|attribute| attribute.split('(').next());
        paths.any(|path| path == "test" || path.ends_with("::test"))
    }
}

/// The tokens outside all brackets, then those in each bracket.
pub fn levels(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut levels: Vec<Vec<TokenTree>> = vec![tokens.into_iter().collect()];
    let mut at = 0;
    while at < levels.len() {
        let inner: Vec<_> =
            levels[at].iter().filter_map(group).map(|g| g.stream().into_iter().collect()).collect();
        levels.extend(inner);
        at += 1;
    }
    levels
}

/// The bracket with its content, if the token is one.
pub fn group(token: &TokenTree) -> Option<&Group> {
    if let TokenTree::Group(group) = token { Some(group) } else { None }
}

/// Whether the token is this identifier or keyword.
pub fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

/// Whether the token is this punctuation mark.
pub fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

/// Names of the called functions, and of the called macros with their `!`, each with its place.
pub fn calls(tokens: TokenStream) -> Vec<(String, Span)> {
    let mut calls = Vec::new();
    for level in levels(tokens) {
        for (at, name) in level.iter().enumerate().filter(|(_, token)| matches!(token, TokenTree::Ident(_))) {
            match &level[at + 1..] {
                [TokenTree::Group(group), ..] if group.delimiter() == Delimiter::Parenthesis => {
                    calls.push((name.to_string(), name.span()));
                }
                [mark, TokenTree::Group(_), ..] if is_mark(mark, '!') => {
                    calls.push((format!("{name}!"), name.span()));
                }
                _ => {}
            }
        }
    }
    calls
}

/// All functions and modules, also those in macros and in each other.
pub fn items(tokens: TokenStream) -> Vec<RustItemTokens> {
    let mut found = Vec::new();
    collect(tokens, &[], false, &mut found);
    found
}

fn collect(tokens: TokenStream, modules: &[String], is_for_tests: bool, found: &mut Vec<RustItemTokens>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let begin = || RustItemTokens { modules: modules.to_vec(), is_for_tests, ..RustItemTokens::default() };
    let mut item = begin();
    for (at, token) in tokens.iter().enumerate() {
        if item.name.is_empty() && (is_word(token, "fn") || is_word(token, "mod")) {
            // No name follows the `fn` of a pointer's type.
            item.name = match &tokens[at + 1..] {
                [TokenTree::Ident(name), ..] => name.to_string(),
                [mark, TokenTree::Ident(name), ..] if is_mark(mark, '$') => format!("${name}"),
                _ => String::new(),
            };
            (item.is_module, item.line) = (is_word(token, "mod"), token.span().start().line);
        }
        let body = group(token).filter(|group| group.delimiter() == Delimiter::Brace).map(Group::stream);
        if let Some(group) = group(token) {
            let is_doc = group.stream().into_iter().next().is_some_and(|first| is_word(&first, "doc"));
            if at > 0 && is_mark(&tokens[at - 1], '#') && !is_doc {
                let attribute = group.stream().to_string().replace(' ', "");
                item.is_for_tests |= attribute == "cfg(test)";
                item.attributes.push(attribute);
            }
            let within = item.is_module.then(|| item.name.clone());
            let inside: Vec<String> = modules.iter().cloned().chain(within).collect();
            collect(group.stream(), &inside, item.is_for_tests, found);
        }
        if body.is_some() || is_mark(token, ';') {
            let ended = std::mem::replace(&mut item, begin());
            if !ended.name.is_empty() {
                found.push(RustItemTokens { body, ..ended });
            }
        }
    }
}

/// The lines of comments, doc comments among them, with their numbers. There are brackets as well.
pub fn comments(text: &str, tokens: TokenStream) -> Vec<(usize, &str)> {
    let levels = levels(tokens);
    let leaves = levels.iter().flatten().filter(|token| group(token).is_none());
    // The tokens of a doc comment, `#[doc = "…"]`, all lie where it lies.
    let is_code = |range: &std::ops::Range<usize>| {
        !["//", "/*"].iter().any(|mark| text[range.clone()].starts_with(mark))
    };
    let mut code: Vec<_> = leaves.map(|token| token.span().byte_range()).filter(is_code).collect();
    code.sort_unstable_by_key(|range| range.start);
    let ends = code.iter().map(|range| range.start).chain([text.len()]);
    let starts = [0].into_iter().chain(code.iter().map(|range| range.end));
    let mut line = 1;
    let mut before = 0;
    let mut lines = Vec::new();
    for (start, end) in starts.zip(ends) {
        line += text[before..start].matches('\n').count();
        before = start;
        let between = text[start..end].split('\n').enumerate();
        lines.extend(between.map(|(i, text)| (line + i, text)).filter(|(_, text)| !text.trim().is_empty()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> TokenStream {
        text.parse().expect("the code is Rust")
    }

    #[test]
    fn a_test_lies_in_the_modules_that_are_open() {
        let code = "mod a; mod b { mod c { #[test] fn one() {} } mod d {} #[test] fn two() {} } #[test] fn three() {}";
        let items = items(tokens(code));
        let found: Vec<_> =
            items.iter().filter(|i| i.is_test()).map(|i| (i.modules.join(" "), &*i.name)).collect();
        assert_eq!(found, [("b c".into(), "one"), ("b".into(), "two"), (String::new(), "three")]);
    }

    #[test]
    fn attributes_belong_to_the_next_item() {
        let code = "#[cfg(test)] mod a;\nstruct B(fn(u8));\n#[cfg(test)]\nimpl B { fn c() {} }\n\
                    /// Unlike `#[tokio::test()]`\nfn d() -> [u8; 2] {}";
        let items = items(tokens(code));
        let found: Vec<_> =
            items.iter().map(|i| (&*i.name, i.line, i.is_for_tests, i.body.is_some())).collect();
        assert_eq!(found, [("a", 1, true, false), ("c", 4, true, true), ("d", 6, false, true)]);
        assert!(!items.iter().any(RustItemTokens::is_test));
    }

    #[test]
    fn calls_in_strings_and_comments_do_not_count() {
        let code = "a(b![c(\"d(1)\")]); // e()\nlet f = g != (h) && x::<u8>(r#\"i()\"#);";
        let called: Vec<_> = calls(tokens(code)).into_iter().map(|(name, _)| name).collect();
        assert_eq!(called, ["a", "b!", "c"]);
    }

    #[test]
    fn comments_are_kept_apart() {
        let text = "let x = \"// no\"; // yes é\n/* and\n */ f(y) /// doc\n";
        let found = comments(text, tokens(text));
        let found: Vec<_> = found.iter().map(|(line, text)| (*line, text.trim())).collect();
        assert_eq!(found, [(1, "// yes é"), (2, "/* and"), (3, "*/"), (3, "("), (3, ") /// doc")]);
    }
}
