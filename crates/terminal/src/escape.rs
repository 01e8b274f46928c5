//! Escapes text for a terminal. Robots.txt files, URLs and header fields come from servers: they
//! must not control the terminal or imitate a line of recrawl's own output.

use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write;

/// Is `c` never printed as it is? True of control characters and of those that change the direction
/// of writing (UAX #9).
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes such characters in the way of JSON (`\u001b`), so that JSON stays JSON. Keeps line ends
/// and tabs.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| steers(c) && !matches!(c, '\n' | '\t'))
}

/// Like [`lines`], but also escapes line ends.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |c| steers(c) && c != '\t')
}

/// Replaces such characters by U+FFFD, and each kind of line end by a line feed, in all texts of a JSON value. Keeps tabs.
/// An escape is of no use where a text is no JSON: it could not be told from one that the page has. Marks of direction stay,
/// and isolates go without a trace: what they steer ends with the text.
pub fn make_plain(value: &mut Value) {
    match value {
        Value::String(text)
            if text.contains(|c| steers(c) && !matches!(c, '\n' | '\t') || is_line_end(c)) =>
        {
            let plain = |c| match c {
                '\n' | '\t' | '\u{61c}' | '\u{200e}' | '\u{200f}' => c,
                c if is_line_end(c) => '\n',
                c if steers(c) => char::REPLACEMENT_CHARACTER,
                c => c,
            };
            let text_of = text.replace("\r\n", "\n");
            let stays = |c: &char| !matches!(c, '\u{2066}'..='\u{2069}');
            *text = text_of.chars().filter(stays).map(plain).collect();
        }
        Value::Array(values) => values.iter_mut().for_each(make_plain),
        Value::Object(fields) => fields.values_mut().for_each(make_plain),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A line end besides the line feed, in the sense of Unicode (UAX #14).
fn is_line_end(c: char) -> bool {
    matches!(c, '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn escaped(text: &str, is_bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_bad) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' if is_bad(c) => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if is_bad(c) => write!(out, "\\u{:04x}", u32::from(c)).expect("writing to a string succeeds"),
            c => out.push(c),
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_would_steer_a_terminal_is_escaped_and_all_else_stays() {
        for (text, shown) in [
            ("caf\u{e9}\t漢字", "caf\u{e9}\t漢字"),
            ("a\nb", "a\nb"),
            ("\u{1b}]0;title\u{7}", "\\u001b]0;title\\u0007"),
            ("over\rwritten\u{8}", "over\\rwritten\\u0008"),
            ("\u{9b}2J\u{7f}", "\\u009b2J\\u007f"),
            ("txt.\u{202e}exe", "txt.\\u202eexe"),
        ] {
            assert_eq!(lines(text), shown);
        }
        assert_eq!(line("a\nrecrawl: all is well"), "a\\nrecrawl: all is well");
    }

    #[test]
    fn values_are_plain_text_with_lines() {
        let mut value = serde_json::json!({
            "a": ["caf\u{e9}\t\u{6f22}", "\u{1b}]0;title\u{7}", "a\r\nb\rc\u{85}d\u{2028}e\n"], "b": {"c": "\u{9b}2J\u{7f}\u{202e}"},
            "d": 7, "e": null
        });
        make_plain(&mut value);
        let expected = serde_json::json!({
            "a": ["caf\u{e9}\t\u{6f22}", "\u{fffd}]0;title\u{fffd}", "a\nb\nc\nd\ne\n"], "b": {"c": "\u{fffd}2J\u{fffd}\u{fffd}"},
            "d": 7, "e": null
        });
        assert_eq!(value, expected);
    }

    proptest! {
        #[test]
        fn json_stays_the_same_json(text in "\\PC*[\\x00-\\x1f\\x7f-\\x9f\\u{202e}]*") {
            let json = serde_json::to_string_pretty(&[&text]).unwrap();
            let shown = lines(&json);
            prop_assert!(!shown.contains(|c| steers(c) && c != '\n'));
            prop_assert_eq!(serde_json::from_str::<Vec<String>>(&shown).unwrap(), [text]);
        }
    }
}
