//! The functions, tests and inline modules of a source text, found in
//! [`RustText::code`](super::rust_text::RustText::code).

use super::rust_text::{is_word, words};

/// A function with a body.
pub struct Function<'a> {
    /// Name.
    pub name: &'a str,
    /// Position of its `fn`.
    pub at: usize,
    /// Text between its braces.
    pub body: &'a str,
}

/// A test function.
pub struct Test<'a> {
    /// The function itself.
    pub function: Function<'a>,
    /// Whether it should panic.
    pub should_panic: bool,
}

/// Every function with a body.
pub fn functions(code: &str) -> impl Iterator<Item = Function<'_>> {
    words(code, "fn").filter_map(|at| function_at(code, at))
}

fn function_at(code: &str, at: usize) -> Option<Function<'_>> {
    let rest = code[at + 2..].trim_start();
    // `$` for functions in macros.
    let length = rest.bytes().take_while(|&b| is_word(b) || b == b'$').count();
    let name = &rest[..length];
    let after = code.len() - rest.len() + length;
    let parameters = after + code[after..].find('(')?;
    let after = parameters + matching(&code[parameters..], b'(', b')')?;
    let open = after + code[after..].find(['{', ';'])?;
    let close = open + matching(&code[open..], b'{', b'}')?;
    (length > 0).then(|| Function { name, at, body: &code[open + 1..close] })
}

/// Position of the bracket that closes the first one of `text`; none if `text` starts with no
/// bracket.
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
pub fn tests(code: &str) -> impl Iterator<Item = Test<'_>> {
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

/// The inline modules around a position, outermost first.
pub fn modules_around(code: &str, at: usize) -> Vec<&str> {
    let around = words(code, "mod").take_while(|&module| module < at).filter_map(|module| {
        let rest = code[module + 3..].trim_start();
        let name = &rest[..rest.bytes().take_while(|&b| is_word(b)).count()];
        let open = code.len() - rest.len() + name.len();
        let open = open + code[open..].len() - code[open..].trim_start().len();
        let close = open + matching(&code[open..], b'{', b'}')?;
        (at < close).then_some(name)
    });
    around.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_lies_in_the_modules_that_are_open() {
        let code = "mod a; mod b { mod c { #[test] fn one() {} } mod d {} #[test] fn two() {} } #[test] fn three() {}";
        let found: Vec<_> =
            tests(code).map(|t| (modules_around(code, t.function.at), t.function.name)).collect();
        assert_eq!(found, [(vec!["b", "c"], "one"), (vec!["b"], "two"), (vec![], "three")]);
    }
}
