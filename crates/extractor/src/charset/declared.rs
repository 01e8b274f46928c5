//! The encoding that a document declares (WHATWG HTML §13.2.3.2, "prescan a byte stream to determine
//! its encoding", and §13.2.3.4, "changing the encoding while parsing").
//!
//! Browsers read the first bytes twice. The prescan knows tags and attributes, but not that a script
//! or a title has no tags. The parser knows, and corrects the prescan if it meets a `<meta>` later. Both
//! are one scan here, with and without such contents.

use crate::stream::attribute_value;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::memmem;

/// Bytes of the prescan.
const PRESCAN: usize = 1_024;
/// Elements whose content has no tags (§13.2.6.4.4, §13.2.6.4.7).
const WITHOUT_TAGS: [&[u8]; 9] =
    [b"script", b"style", b"title", b"textarea", b"xmp", b"iframe", b"noembed", b"noframes", b"noscript"];

/// The encoding that an HTML document declares: that of the first `<meta>` that the parser meets, however
/// late, or else the result of the prescan.
pub(super) fn in_html(body: &[u8]) -> Option<&'static Encoding> {
    let head = &body[..body.len().min(PRESCAN)];
    wide(head)
        .or_else(|| MetaScan { bytes: body, at: 0, knows_contents: true }.meta())
        .or_else(|| MetaScan { bytes: head, at: 0, knows_contents: false }.meta())
        .or_else(|| in_declaration(head))
}

/// The encoding that an XML document declares.
pub(super) fn in_xml(body: &[u8]) -> Option<&'static Encoding> {
    let head = &body[..body.len().min(PRESCAN)];
    wide(head).or_else(|| in_declaration(head))
}

/// UTF-16, if an XML declaration begins in it.
fn wide(head: &[u8]) -> Option<&'static Encoding> {
    match head {
        [b'<', 0, b'?', 0, b'x', 0, ..] => Some(UTF_16LE),
        [0, b'<', 0, b'?', 0, b'x', ..] => Some(UTF_16BE),
        _ => None,
    }
}

/// The encoding of an XML declaration ("get an XML encoding").
fn in_declaration(head: &[u8]) -> Option<&'static Encoding> {
    let rest = head.strip_prefix(b"<?xml")?;
    let rest = &rest[..memchr::memchr(b'>', rest)?];
    let rest = &rest[memmem::find(rest, b"encoding")? + b"encoding".len()..];
    let rest = after_controls(after_controls(rest).strip_prefix(b"=")?);
    let quote = *rest.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    let label = &rest[1..];
    let label = &label[..memchr::memchr(quote, label)?];
    match label.iter().any(|byte| *byte <= b' ') {
        true => None,
        false => Encoding::for_label(label).map(not_wide),
    }
}

fn after_controls(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().take_while(|byte| **byte <= b' ').count()..]
}

/// Text that could be read this far is not in UTF-16, whatever it says.
fn not_wide(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16BE || encoding == UTF_16LE { UTF_8 } else { encoding }
}

/// What a `<meta>` means. `x-user-defined` there is what old pages with a font of their own called windows-1252.
fn of_meta(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == X_USER_DEFINED { WINDOWS_1252 } else { not_wide(encoding) }
}

/// A scan for a `<meta>`.
struct MetaScan<'b> {
    bytes: &'b [u8],
    at: usize,
    /// Whether contents without tags are skipped, as the parser does.
    knows_contents: bool,
}

/// Name and value of an attribute, in lower case.
#[derive(Default)]
struct Attribute {
    name: Vec<u8>,
    value: Vec<u8>,
}

impl MetaScan<'_> {
    /// The encoding of the first `<meta>` that has one; `None` at the end of the bytes.
    fn meta(&mut self) -> Option<&'static Encoding> {
        loop {
            self.at += memchr::memchr(b'<', &self.bytes[self.at..])?;
            let rest = &self.bytes[self.at..];
            let is_meta = rest.get(1..5).is_some_and(|name| name.eq_ignore_ascii_case(b"meta"));
            match rest {
                [b'<', b'!', b'-', b'-', ..] => self.at += self.comment_len(rest)? - 1,
                [_, _, _, _, _, byte, ..] if is_meta && (is_space(*byte) || *byte == b'/') => {
                    self.at += 5;
                    if let Some(encoding) = self.encoding_of_meta()? {
                        return Some(encoding);
                    }
                }
                [b'<', b'/', byte, ..] | [b'<', byte, ..] if byte.is_ascii_alphabetic() => {
                    let is_end = rest[1] == b'/';
                    let start = self.at + 1;
                    // A `/` ends the name for the parser alone.
                    let ends =
                        |byte: &u8| is_space(*byte) || *byte == b'>' || self.knows_contents && *byte == b'/';
                    self.at = start + 1 + self.bytes[start + 1..].iter().position(ends)?;
                    let name = start..self.at;
                    while self.attribute(false)?.is_some() {}
                    if self.knows_contents && !is_end {
                        self.skip_content(name)?;
                    }
                }
                [b'<', b'!' | b'/' | b'?', ..] => self.at += memchr::memchr(b'>', rest)?,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Bytes of the comment that these begin with.
    fn comment_len(&self, bytes: &[u8]) -> Option<usize> {
        memchr::memchr_iter(b'>', bytes).map(|end| end + 1).find(|len| {
            let comment = &bytes[..*len];
            // The dashes that begin a comment may end it: `<!-->`. Only the parser takes `--!>` for an end.
            comment[2..].ends_with(b"-->") || self.knows_contents && comment[4..].ends_with(b"--!>")
        })
    }

    /// Skips the content of an element that has no tags in it, to its end tag.
    fn skip_content(&mut self, name: std::ops::Range<usize>) -> Option<()> {
        let name = &self.bytes[name];
        if name.eq_ignore_ascii_case(b"plaintext") {
            return None;
        }
        if WITHOUT_TAGS.iter().all(|other| !name.eq_ignore_ascii_case(other)) {
            return Some(());
        }
        loop {
            self.at += memmem::find(&self.bytes[self.at..], b"</")?;
            let end = self.bytes.get(self.at + 2..self.at + 3 + name.len())?;
            let (end, behind) = end.split_at(name.len());
            if end.eq_ignore_ascii_case(name) && (is_space(behind[0]) || matches!(behind[0], b'/' | b'>')) {
                // The scan goes on behind the byte that it stands at.
                self.at -= 1;
                return Some(());
            }
            self.at += 2;
        }
    }

    /// The encoding that the attributes from here on declare, if they do.
    fn encoding_of_meta(&mut self) -> Option<Option<&'static Encoding>> {
        let (mut charset, mut pragma, mut is_pragma) = (None, None, false);
        let mut names: Vec<Vec<u8>> = Vec::new();
        while let Some(Attribute { name, value }) = self.attribute(true)? {
            // Only these are read, so no others are remembered; of two, the first counts.
            if !matches!(&name[..], b"http-equiv" | b"content" | b"charset") || names.contains(&name) {
                continue;
            }
            let value = if self.knows_contents { without_references(value) } else { value };
            match &name[..] {
                b"http-equiv" => is_pragma = value == b"content-type",
                b"content" => pragma = of_content(&value),
                _ => charset = Some(Encoding::for_label(&value)),
            }
            names.push(name);
        }
        let pragma = pragma.filter(|_| is_pragma);
        let encoding = match charset {
            // The parser tries the other one if the first is unknown.
            Some(charset) if self.knows_contents => charset.or(pragma),
            Some(charset) => charset,
            None => pragma,
        };
        Some(encoding.map(of_meta))
    }

    /// The next attribute of the tag ("get an attribute"), kept if it is wanted. None within at its end; None outside at
    /// the end of the bytes.
    fn attribute(&mut self, is_kept: bool) -> Option<Option<Attribute>> {
        let mut found = Attribute::default();
        let keep = |into: &mut Vec<u8>, byte: u8| {
            if is_kept {
                into.push(byte.to_ascii_lowercase());
            }
        };
        while is_space(self.byte()?) || self.byte()? == b'/' {
            self.at += 1;
        }
        if self.byte()? == b'>' {
            return Some(None);
        }
        let start = self.at;
        // A name may begin with `=`, by the standard.
        loop {
            match self.byte()? {
                b'=' if self.at > start => break,
                byte if is_space(byte) => break,
                b'/' | b'>' => return Some(Some(found)),
                byte => keep(&mut found.name, byte),
            }
            self.at += 1;
        }
        self.skip_spaces()?;
        if self.byte()? != b'=' {
            return Some(Some(found));
        }
        self.at += 1;
        self.skip_spaces()?;
        let quote = self.byte()?;
        if matches!(quote, b'"' | b'\'') {
            // Without the other quote, the tag does not end within these bytes, and says nothing.
            let len = memchr::memchr(quote, &self.bytes[self.at + 1..])?;
            let value = &self.bytes[self.at + 1..self.at + 1 + len];
            value.iter().filter(|_| is_kept).for_each(|byte| keep(&mut found.value, *byte));
            self.at += len + 2;
            return Some(Some(found));
        }
        while !is_space(self.byte()?) && self.byte()? != b'>' {
            keep(&mut found.value, self.byte()?);
            self.at += 1;
        }
        Some(Some(found))
    }

    fn skip_spaces(&mut self) -> Option<()> {
        while is_space(self.byte()?) {
            self.at += 1;
        }
        Some(())
    }

    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }
}

/// The value of an attribute as the parser reads it: `&#107;oi8-r` is `koi8-r`. The prescan knows no references.
fn without_references(value: Vec<u8>) -> Vec<u8> {
    if !value.contains(&b'&') {
        return value;
    }
    // A reference at the end is told by what follows it.
    let text = String::from_utf8_lossy(&value) + "\"";
    match attribute_value(&text, 0, text.len() - 1) {
        Ok(value) => value.into_owned().into_bytes(),
        Err(_) => value,
    }
}

/// The encoding in `text/html; charset=x` ("extracting a character encoding from a meta element"); the content is in
/// lower case.
fn of_content(content: &[u8]) -> Option<&'static Encoding> {
    let mut rest = content;
    loop {
        rest = rest[memmem::find(rest, b"charset")? + b"charset".len()..].trim_ascii_start();
        if let Some(value) = rest.strip_prefix(b"=") {
            let value = value.trim_ascii_start();
            let label = match value.first()? {
                quote @ (b'"' | b'\'') => &value[1..1 + memchr::memchr(*quote, &value[1..])?],
                _ => {
                    let ends = |byte: &u8| is_space(*byte) || *byte == b';';
                    &value[..value.iter().position(ends).unwrap_or(value.len())]
                }
            };
            return Encoding::for_label(label);
        }
    }
}

/// ASCII white space of the standard.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0C | b'\r')
}

#[cfg(test)]
mod tests;
