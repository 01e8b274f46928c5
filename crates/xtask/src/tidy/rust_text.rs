//! A small scanner that separates the code of a Rust source from comments and literals. Rules then
//! never find a word in a string, such as in their own tests. A full parser would be the heaviest
//! dependency of the workspace.

/// Two masks of one source text. Each has the length and line breaks of the text, and blanks
/// elsewhere, so that positions agree.
pub struct RustText {
    /// Everything outside comments, and outside the quotes of strings and characters.
    pub code: String,
    /// The comments.
    pub comments: String,
}

impl RustText {
    /// Scans a whole file.
    pub fn of(source: &str) -> RustText {
        let bytes = source.as_bytes();
        let mut code = blank(bytes);
        let mut comments = code.clone();
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let comment = comment_length(rest);
            if comment > 0 {
                comments[at..at + comment].copy_from_slice(&rest[..comment]);
                at += comment;
                continue;
            }
            let behind_word = at > 0 && is_word(bytes[at - 1]);
            let literal = if behind_word && rest[0] != b'"' { 0 } else { literal_length(rest) };
            if literal > 0 {
                at += literal;
                continue;
            }
            code[at] = bytes[at];
            at += 1;
        }
        let text = |bytes| String::from_utf8(bytes).expect("whole characters were kept or blanked");
        RustText { code: text(code), comments: text(comments) }
    }
}

/// The line, counted from 1, that holds byte `at`.
pub fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1
}

/// Whether the byte can be part of an identifier.
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The positions of `word` as a whole word.
pub fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = text.as_bytes();
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let end = at + word.len();
        let starts = at == 0 || !is_word(bytes[at - 1]) || !is_word(bytes[at]);
        let ends = end == bytes.len() || !is_word(bytes[end]) || !is_word(bytes[end - 1]);
        starts && ends
    })
}

fn blank(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|&b| if b == b'\n' { b'\n' } else { b' ' }).collect()
}

/// Bytes of the comment that `rest` begins with; 0 when it begins with none.
fn comment_length(rest: &[u8]) -> usize {
    if rest.starts_with(b"//") {
        return rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }
    if !rest.starts_with(b"/*") {
        return 0;
    }
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Bytes of the string or character that `rest` begins with; 0 when it begins with none.
fn literal_length(rest: &[u8]) -> usize {
    let prefix = rest.iter().take(2).take_while(|b| matches!(b, b'b' | b'c' | b'r')).count();
    let body = &rest[prefix..];
    let raw = prefix > 0 && rest[prefix - 1] == b'r';
    match body.first() {
        Some(b'"') if raw => prefix + raw_length(body, 0),
        Some(b'"') => prefix + quoted_length(body, b'"'),
        Some(b'#') if raw => {
            let hashes = body.iter().take_while(|&&b| b == b'#').count();
            if body.get(hashes) == Some(&b'"') { prefix + raw_length(body, hashes) } else { 0 }
        }
        Some(b'\'') if prefix == 0 || rest[0] == b'b' => match character_length(body) {
            0 => 0,
            n => prefix + n,
        },
        _ => 0,
    }
}

/// A raw string that begins with `hashes` number signs and a quote.
fn raw_length(body: &[u8], hashes: usize) -> usize {
    let mut end = vec![b'"'];
    end.resize(hashes + 1, b'#');
    let start = hashes + 1;
    let found = body[start..].windows(end.len()).position(|w| w == end.as_slice());
    found.map_or(body.len(), |at| start + at + end.len())
}

fn quoted_length(body: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < body.len() {
        match body[at] {
            b'\\' => at += 2,
            b if b == quote => return at + 1,
            _ => at += 1,
        }
    }
    body.len()
}

/// A character literal; 0 for a lifetime, which begins alike.
fn character_length(body: &[u8]) -> usize {
    let Some(&first) = body.get(1) else { return 0 };
    if first == b'\\' {
        return quoted_length(body, b'\'');
    }
    let character = match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    if body.get(1 + character) == Some(&b'\'') { character + 2 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_leave_the_code() {
        for (source, code) in [
            ("a // b", "a"),
            ("a /* b /* c */ d */ e", "a e"),
            (r#"f("x // \" y", 1)"#, "f( , 1)"),
            ("f(r#\"a \" b\"#)", "f( )"),
            ("f(br\"\\\")", "f( )"),
            ("let r#fn = 'x'; // é", "let r#fn = ;"),
            ("fn f<'a>(x: &'a str) -> char { '\\'' }", "fn f<'a>(x: &'a str) -> char { }"),
            ("g('é', b'\"', '\"')", "g( , , )"),
            ("var\"x\"", "var"),
        ] {
            let masked = RustText::of(source).code;
            assert_eq!(masked.len(), source.len(), "{source}");
            assert_eq!(masked.split_whitespace().collect::<Vec<_>>().join(" "), code, "{source}");
        }
    }

    #[test]
    fn comments_are_kept_apart() {
        let text = RustText::of("let x = \"// no\"; // yes\n/* and */ y");
        assert_eq!(text.comments.split_whitespace().collect::<Vec<_>>(), ["//", "yes", "/*", "and", "*/"]);
        assert_eq!(line_of(&text.comments, text.comments.find("and").expect("it is there")), 2);
    }

    #[test]
    fn a_word_is_whole() {
        assert_eq!(words("fn fnord afn fn(", "fn").collect::<Vec<_>>(), [0, 13]);
    }
}
