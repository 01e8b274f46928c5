//! JSON as text: a line for each value, and the members of an object in the order of their keys.
//!
//! So another order of keys, or other white space between values, is no change, and a pattern or a difference of lines
//! sees single values. Numbers stay as written. Strings stay the same strings: only needless escapes go.

use crate::text::of_lines;

/// Deeper documents are read as plain text.
const MAX_DEPTH: usize = 128;
/// A source this many times as long as the longest text is read as plain text.
const MAX_LENGTHS: usize = 4;

/// The text of one or several values, cut at a limit; none if the source is no JSON, or too long.
pub(crate) fn text(source: &str, limit: usize) -> Option<String> {
    if source.len() > limit.saturating_mul(MAX_LENGTHS) {
        return None;
    }
    let mut reader = JsonReader { source, at: 0, out: String::new() };
    reader.space();
    while reader.at < source.len() {
        reader.value(0)?;
        reader.out.push('\n');
        reader.space();
    }
    Some(of_lines(&reader.out, limit))
}

struct JsonReader<'s> {
    source: &'s str,
    at: usize,
    out: String,
}

/// Where a member begins in the text, and where its key ends.
struct Member {
    start: usize,
    key_end: usize,
}

impl JsonReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Passes this byte and the space around it. False if another one stands there.
    fn pass(&mut self, byte: u8) -> bool {
        self.space();
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        self.space();
        is_there
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            _ if depth > MAX_DEPTH => None,
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string(),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        self.pass(b'{');
        self.out.push('{');
        let (start, mut members) = (self.out.len(), Vec::new());
        while !self.pass(b'}') {
            if !members.is_empty() && !self.pass(b',') || self.peek() != Some(b'"') {
                return None;
            }
            let start = self.out.len();
            self.out.push('\n');
            self.string()?;
            members.push(Member { start, key_end: self.out.len() });
            if !self.pass(b':') {
                return None;
            }
            self.out.push_str(": ");
            self.value(depth + 1)?;
        }
        self.sort(start, &members);
        if !members.is_empty() {
            self.out.push('\n');
        }
        self.out.push('}');
        Some(())
    }

    /// Puts the members from `start` on in the order of their keys. Those of one key stay in theirs.
    fn sort(&mut self, start: usize, members: &[Member]) {
        let key = |member: &Member| &self.out[member.start..member.key_end];
        if members.is_sorted_by_key(key) {
            return;
        }
        let ends = members.iter().skip(1).map(|next| next.start).chain([self.out.len()]);
        let mut sorted: Vec<_> = members.iter().zip(ends).collect();
        sorted.sort_by_key(|(member, _)| key(member));
        let text: String = sorted.iter().map(|(member, end)| &self.out[member.start..*end]).collect();
        self.out.truncate(start);
        self.out.push_str(&text);
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        self.pass(b'[');
        self.out.push('[');
        let mut is_empty = true;
        while !self.pass(b']') {
            if !is_empty && !self.pass(b',') {
                return None;
            }
            is_empty = false;
            self.out.push('\n');
            self.value(depth + 1)?;
        }
        if !is_empty {
            self.out.push('\n');
        }
        self.out.push(']');
        Some(())
    }

    /// A number, or one of the words. Any other word is taken too: only its letters matter.
    fn word(&mut self) -> Option<()> {
        let rest = &self.source[self.at..];
        let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
        let word = &rest[..rest.find(|c| !is_of_word(c)).unwrap_or(rest.len())];
        self.at += word.len();
        self.out.push_str(word);
        (!word.is_empty()).then_some(())
    }

    fn string(&mut self) -> Option<()> {
        self.at += 1;
        self.out.push('"');
        loop {
            let rest = &self.source[self.at..];
            let plain = &rest[..rest.find(['"', '\\'])?];
            // A line break within a string is wrong, and must not begin a line.
            self.out.extend(plain.chars().map(|c| if c.is_control() { ' ' } else { c }));
            self.at += plain.len();
            if rest[plain.len()..].starts_with('"') {
                self.at += 1;
                self.out.push('"');
                return Some(());
            }
            self.escape()?;
        }
    }

    /// An escape: the character that it stands for, unless that would end the string or the line.
    fn escape(&mut self) -> Option<()> {
        let escape = self.source.get(self.at..self.at + 2)?;
        self.at += 2;
        let Some(unit) = (if escape == "\\u" { self.unit() } else { None }) else {
            self.out.push_str(if escape == "\\/" { "/" } else { escape });
            return Some(());
        };
        let unescaped = match unit {
            0xd800..0xdc00 if self.source[self.at..].starts_with("\\u") => {
                let before = self.at;
                self.at += 2;
                let pair = self.unit().and_then(|low| char::decode_utf16([unit, low]).next()?.ok());
                if pair.is_none() {
                    self.at = before;
                }
                pair
            }
            _ => char::from_u32(unit.into()),
        };
        match unescaped.filter(|c| !c.is_control() && !matches!(c, '"' | '\\')) {
            Some(c) => self.out.push(c),
            None => self.out.push_str(&format!("\\u{unit:04x}")),
        }
        Some(())
    }

    /// The four digits of an escape.
    fn unit(&mut self) -> Option<u16> {
        let digits = self.source.get(self.at..self.at + 4)?;
        let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
        let unit = u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
        self.at += 4;
        Some(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(source: &str) -> Option<String> {
        text(source, 1 << 20)
    }

    #[test]
    fn values_stand_on_lines_of_their_own_with_keys_in_order() {
        let expected = "{\n\"a\": [\n1.50\n{}\n[]\n]\n\"b\": {\n\"x\": null\n\"y\": \"t u\"\n}\n}";
        for source in [
            r#"{"b":{"y":"t u","x":null},"a":[1.50,{},[]]}"#,
            "{ \"a\" : [ 1.50 , { } , [ ] ] ,\r\n\t\"b\" : { \"x\" : null , \"y\" : \"t u\" } }\n",
        ] {
            assert_eq!(lines(source).as_deref(), Some(expected), "{source}");
        }
        assert_eq!(lines("{\"a\":1}\n{\"b\":2}\n").unwrap(), "{\n\"a\": 1\n}\n{\n\"b\": 2\n}");
        assert_eq!(lines(" \n").as_deref(), Some(""));
        assert_eq!(lines("-12e+300").as_deref(), Some("-12e+300"));
    }

    #[test]
    fn only_the_order_of_keys_and_needless_escapes_do_not_count() {
        let same = |a, b| assert_eq!(lines(a).unwrap(), lines(b).unwrap(), "{a} {b}");
        same(r#"{"a":1,"b":[2,3]}"#, r#"{"b":[2,3],"a":1}"#);
        same(r#"["\u00e9\/\ud83c\udf10"]"#, "[\"\u{e9}/\u{1f310}\"]");
        same(r#"["\u000A\u005C"]"#, r#"["\u000a\u005c"]"#);
        for (a, b) in [
            ("[1,2]", "[2,1]"),
            ("[1]", "[1.0]"),
            ("[10000000000000000000001]", "[10000000000000000000002]"),
            ("[1]", "[\"1\"]"),
            (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#),
            (r#"["\n"]"#, r#"["n"]"#),
            (r#"["\ud800"]"#, r#"["\ud801"]"#),
            (r#"["\ud800\u0041"]"#, r#"["\ud800B"]"#),
            (r#"[{"a":1},{"b":1}]"#, r#"[{"b":1},{"a":1}]"#),
            ("[[1],2]", "[[1,2]]"),
            ("[]", "{}"),
        ] {
            assert_ne!(lines(a).unwrap(), lines(b).unwrap(), "{a} {b}");
        }
    }

    #[test]
    fn what_is_no_json_too_deep_or_too_long_is_left_to_others() {
        for source in
            ["{", "[1", "[1 2]", "{\"a\" 1}", "{a:1}", "[1],", "\"open", "[\"\\", "<p>x", "{}}", "[,]"]
        {
            assert_eq!(lines(source), None, "{source}");
        }
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(lines(&nested(MAX_DEPTH)).is_some() && lines(&nested(100_000)).is_none());
        let long = format!("[{}1]", "1,".repeat(100));
        assert_eq!(text(&long, 40), None);
        assert!((50..=60).contains(&text(&long, 60).unwrap().len()));
        let deep = nested(MAX_DEPTH).replace("[]", &format!("[{}1]", "1,".repeat(10_000)));
        assert!(lines(&deep).unwrap().len() < 6 * deep.len());
    }

    proptest! {
        #[test]
        fn no_input_is_too_hard(source in "[\\[\\]{}\",: \\\\u0-9a-f\u{e9}\n]{0,60}", limit in 1usize..100) {
            if let Some(found) = text(&source, limit) {
                prop_assert!(found.len() <= limit);
            }
        }
    }
}
