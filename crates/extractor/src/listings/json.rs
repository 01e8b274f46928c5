//! JSON Feed (jsonfeed.org, versions 1 and 1.1), in one pass: only one item is in memory.
//!
//! The reader is as lenient as feeds are wrong, so that an odd item costs no other one: half a surrogate pair, a line break
//! in a string, a member twice, a number beyond all limits, a comma too many, `items` with keys.

use super::EntryCollector;
use super::values::{EntryValues, MAX_TEXT, ValueRank, as_html, cut};

/// Values in each other at most.
const MAX_DEPTH: usize = 128;

/// Reads a feed to its end, or up to the first damage. False if it is none.
pub(super) fn read(text: &str, found: &mut EntryCollector<'_>) -> bool {
    let mut reader = FeedReader { text, at: 0, depth: 0 };
    let mut is_feed = false;
    if reader.peek() != Some(b'{') {
        return false;
    }
    let end = reader.each(&mut |reader, key| {
        match key {
            "version" => is_feed = is_version(&reader.text()?),
            "next_url" => found.link("next", &reader.text()?, false, ""),
            "feed_url" => found.hub.link("self", &reader.text()?),
            "hubs" => reader.each(&mut |reader, _| {
                let (mut kind, mut url) = (String::new(), String::new());
                reader.each(&mut |reader, key| {
                    match key {
                        "type" => kind = reader.text()?,
                        "url" => url = reader.text()?,
                        _ => reader.skip()?,
                    }
                    Some(())
                })?;
                if kind.eq_ignore_ascii_case("WebSub") {
                    found.hub.link("hub", &url);
                }
                Some(())
            })?,
            "items" => reader.each(&mut |reader, _| {
                match reader.peek()? {
                    b'{' => found.take(&item(reader)?),
                    _ => reader.skip()?,
                }
                Some(())
            })?,
            _ => reader.skip()?,
        }
        Some(())
    });
    if end.is_none() {
        found.damaged(reader.at as u64, "JSON cannot be read from here on");
    }
    is_feed
}

/// Whatever the spelling of the address, it is that of the specification.
fn is_version(text: &str) -> bool {
    let address = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    address.is_some_and(|address| {
        address.strip_prefix("www.").unwrap_or(address).starts_with("jsonfeed.org/version/")
    })
}

fn item(reader: &mut FeedReader<'_>) -> Option<EntryValues> {
    let mut values = EntryValues::default();
    let (mut summary, mut html, mut plain) = (String::new(), String::new(), String::new());
    reader.each(&mut |reader, key| {
        match key {
            "url" => values.addresses.add(ValueRank::Own, false, reader.text()?),
            "id" => values.identifier(false, &reader.text()?),
            "external_url" => values.addresses.add(ValueRank::Elsewhere, false, reader.text()?),
            "date_modified" => values.dates.add(ValueRank::Own, false, reader.text()?),
            "date_published" => values.dates.add(ValueRank::Published, false, reader.text()?),
            "title" => values.titles.add(ValueRank::Own, false, as_html(&reader.text()?)),
            "summary" => summary = as_html(&reader.text()?),
            "content_html" => html = cut(&reader.text()?, MAX_TEXT).into(),
            "content_text" => plain = as_html(&reader.text()?),
            _ => reader.skip()?,
        }
        Some(())
    })?;
    values.texts = vec![summary, if html.is_empty() { plain } else { html }];
    Some(values)
}

struct FeedReader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl FeedReader<'_> {
    /// The first byte of the next token.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_ascii_start().len();
        self.text.as_bytes().get(self.at).copied()
    }

    fn pass(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    /// Gives away each member of an object with its key, and each element of an array with an empty one. `take` reads the
    /// value. Another value has none. None at damage.
    fn each(&mut self, take: &mut dyn FnMut(&mut Self, &str) -> Option<()>) -> Option<()> {
        let (has_keys, end) = match self.peek()? {
            b'{' => (true, b'}'),
            b'[' => (false, b']'),
            _ => return self.skip(),
        };
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        self.at += 1;
        while !self.pass(end) {
            let key = if has_keys { self.string()? } else { String::new() };
            if has_keys && !self.pass(b':') {
                return None;
            }
            take(self, &key)?;
            if !self.pass(b',') && self.peek()? != end {
                return None;
            }
        }
        self.depth -= 1;
        Some(())
    }

    /// The string that stands here; empty if it is another value, as `null` or a number.
    fn text(&mut self) -> Option<String> {
        match self.peek()? {
            b'"' => Some(self.string()?.trim().into()),
            _ => self.skip().map(|()| String::new()),
        }
    }

    fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'{' | b'[' => self.each(&mut |reader, _| reader.skip()),
            b'"' => self.string().map(drop),
            _ => {
                let rest = &self.text[self.at..];
                let is_end = |c: char| c.is_ascii_whitespace() || ",:{}[]\"".contains(c);
                let word = rest.find(is_end).unwrap_or(rest.len());
                self.at += word;
                (word > 0).then_some(())
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        if !self.pass(b'"') {
            return None;
        }
        let mut string = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = memchr::memchr2(b'"', b'\\', rest.as_bytes())?;
            string.push_str(&rest[..plain]);
            self.at += plain + 1;
            if rest.as_bytes()[plain] == b'"' {
                return Some(string);
            }
            string.push(self.escape()?);
        }
    }

    /// The character of an escape behind its backslash.
    fn escape(&mut self) -> Option<char> {
        let escape = self.text[self.at..].chars().next()?;
        self.at += escape.len_utf8();
        Some(match escape {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let unit = self.unit()?;
                let low = self.text[self.at..].starts_with("\\u") && (0xd800..0xdc00).contains(&unit);
                let before = self.at;
                self.at += if low { 2 } else { 0 };
                let low = if low { self.unit() } else { None };
                let pair = char::decode_utf16([Some(unit), low].into_iter().flatten()).next()?.ok();
                if pair.is_none() {
                    self.at = before;
                }
                pair.unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            other => other,
        })
    }

    fn unit(&mut self) -> Option<u16> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        self.at += 4;
        u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
    }
}
