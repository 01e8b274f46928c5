//! Reads tags and texts from a page without copying them (WHATWG HTML §13.2.5).
//!
//! Comments are skipped. Attributes are kept if some rule reads them.

use super::Slow;
use super::references::{self, CharReference};
use crate::element::{Element, ElementSpace};
use crate::names::{Attr, Name};
use memchr::memmem;
use memchr::{memchr, memchr2};
use std::ops::Range;

/// Maximum attributes of a tag; below the number at which `oversized_tags` ends it.
const MANY: usize = 200;

/// A tag without its attributes.
#[derive(Clone, Copy)]
pub(super) struct Tag<'d> {
    pub(super) name: Name,
    /// The name as written.
    pub(super) spelling: &'d str,
    pub(super) is_closed: bool,
    /// Where the tag begins.
    pub(super) at: usize,
}

/// A part of a text.
pub(super) enum TextToken<'d> {
    Text(&'d str),
    /// Written as a reference.
    Reference(CharReference),
}

impl TextToken<'_> {
    pub(super) fn as_str(&self) -> &str {
        match self {
            TextToken::Text(text) => text,
            TextToken::Reference(reference) => reference.as_str(),
        }
    }
}

pub(super) enum HtmlToken<'d> {
    Text(TextToken<'d>),
    Start(Tag<'d>),
    End(Tag<'d>),
    /// What stands between `<!doctype` and `>`.
    Doctype(&'d str),
    Eof,
}

/// How the content of an element is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentModel {
    /// Elements and texts.
    Markup,
    /// One text, with references.
    RcData,
    /// One text.
    RawText,
    /// One text, in which comments may hide its end.
    Script,
}

pub(super) struct HtmlTokens<'d> {
    text: &'d str,
    at: usize,
    /// Does something look like a tag that is none? Then only `oversized_tags` knows what it does.
    pub(super) has_other_readings: bool,
}

impl<'d> HtmlTokens<'d> {
    pub(super) fn new(text: &'d str) -> HtmlTokens<'d> {
        HtmlTokens { text, at: 0, has_other_readings: false }
    }

    /// The next token. Of a start tag, `element` takes name and attributes.
    pub(super) fn next(&mut self, element: &mut Element<'d>) -> Result<HtmlToken<'d>, Slow> {
        let bytes = self.text.as_bytes();
        loop {
            let start = self.at;
            let Some(&first) = bytes.get(start) else { return Ok(HtmlToken::Eof) };
            match first {
                b'&' => {
                    if let Some((reference, len)) = references::reference(&self.text[start..], false)? {
                        self.at += len;
                        return Ok(HtmlToken::Text(TextToken::Reference(reference)));
                    }
                }
                b'<' => match bytes.get(start + 1) {
                    Some(b'!') => match self.declaration()? {
                        Some(doctype) => return Ok(HtmlToken::Doctype(doctype)),
                        None => continue,
                    },
                    Some(b'/') => match bytes.get(start + 2) {
                        Some(byte) if byte.is_ascii_alphabetic() => {
                            let Some(tag) = self.tag(start + 2, None)? else { return Ok(HtmlToken::Eof) };
                            return Ok(HtmlToken::End(tag));
                        }
                        // An empty end tag is nothing at all (§13.2.5.7).
                        Some(b'>') => {
                            self.at += 3;
                            continue;
                        }
                        // All but a name begins a comment here (§13.2.5.41).
                        Some(_) => {
                            self.skip_to(start + 2, b">");
                            continue;
                        }
                        None => {}
                    },
                    Some(b'?') => {
                        self.skip_to(start + 2, b">");
                        continue;
                    }
                    Some(byte) if byte.is_ascii_alphabetic() => {
                        let Some(tag) = self.tag(start + 1, Some(element))? else {
                            return Ok(HtmlToken::Eof);
                        };
                        return Ok(HtmlToken::Start(tag));
                    }
                    _ => {}
                },
                _ => {}
            }
            // A text; its first byte is one even if it is `<` or `&`.
            let end = memchr2(b'<', b'&', &bytes[start + 1..]).map_or(bytes.len(), |len| start + 1 + len);
            self.at = end;
            return Ok(HtmlToken::Text(TextToken::Text(&self.text[start..end])));
        }
    }

    /// Reads the start tag at `at` once more, and returns its length.
    pub(super) fn reread(&self, at: usize, element: &mut Element<'d>) -> Result<usize, Slow> {
        let mut again = HtmlTokens { text: self.text, at, has_other_readings: false };
        again.next(element)?;
        Ok(again.at - at)
    }

    /// Reads the content of an element up to its end tag, and that. Returns the places of the content.
    pub(super) fn content(&mut self, tag: &Tag<'d>, kind: ContentModel) -> Result<Range<usize>, Slow> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let name = tag.spelling.as_bytes();
        let mut at = start;
        loop {
            at += memchr(b'<', &bytes[at..]).ok_or(Slow("raw text without end"))?;
            let behind = at + 2 + name.len();
            let is_end = bytes.get(at + 1) == Some(&b'/')
                && bytes.get(at + 2..behind).is_some_and(|end| end.eq_ignore_ascii_case(name))
                && bytes.get(behind).is_some_and(|byte| is_space(*byte) || matches!(byte, b'/' | b'>'));
            if is_end {
                break;
            }
            self.note_tag(at);
            at += 1;
        }
        let content = &self.text[start..at];
        if kind == ContentModel::Script
            && let Some(comment) = memmem::find(content.as_bytes(), b"<!--")
            && content.as_bytes()[comment..].windows(7).any(|word| word.eq_ignore_ascii_case(b"<script"))
        {
            return Err(Slow("script in a comment in a script"));
        }
        self.tag(at + 2, None)?.ok_or(Slow("raw text without end"))?;
        Ok(start..at)
    }

    /// The next part of a content, which goes from `at` to `end`.
    pub(super) fn part(
        &self,
        at: &mut usize,
        end: usize,
        kind: ContentModel,
    ) -> Result<Option<TextToken<'d>>, Slow> {
        let start = *at;
        if start == end {
            return Ok(None);
        }
        let content = &self.text[..end];
        if kind != ContentModel::RcData {
            *at = end;
            return Ok(Some(TextToken::Text(&content[start..])));
        }
        if content.as_bytes()[start] == b'&'
            && let Some((reference, len)) = references::reference(&self.text[start..], false)?
        {
            *at = start + len;
            return Ok(Some(TextToken::Reference(reference)));
        }
        *at = memchr(b'&', &content.as_bytes()[start + 1..]).map_or(end, |len| start + 1 + len);
        Ok(Some(TextToken::Text(&content[start..*at])))
    }

    /// Does the text go on with a byte order mark? The tree's tokenizer drops it after a pause.
    pub(super) fn is_at_mark(&self) -> bool {
        self.text.as_bytes()[self.at..].starts_with("\u{feff}".as_bytes())
    }

    /// Skips a comment or reads a doctype.
    fn declaration(&mut self) -> Result<Option<&'d str>, Slow> {
        let start = self.at + 2;
        let bytes = &self.text.as_bytes()[start..];
        if bytes.starts_with(b"--") {
            // `<!-->` and `<!--->` are comments too, `<!--!>` is none.
            let plain = memmem::find(bytes, b"-->").map(|at| at + 3);
            let within = plain.unwrap_or(bytes.len());
            let odd = bytes.get(2..within).and_then(|inner| memmem::find(inner, b"--!>")).map(|at| at + 6);
            let end = start + odd.or(plain).unwrap_or(bytes.len());
            self.note_tags(start, end);
            self.at = end;
            return Ok(None);
        }
        if bytes.starts_with(b"[CDATA[") {
            return Err(Slow("CDATA"));
        }
        let is_doctype = bytes.get(..7).is_some_and(|word| word.eq_ignore_ascii_case(b"doctype"));
        self.skip_to(start, b">");
        match is_doctype {
            true if self.at == start + bytes.len() => Err(Slow("doctype at the end")),
            true => Ok(Some(&self.text[start + 7..self.at - 1])),
            false => Ok(None),
        }
    }

    /// Skips behind the next `end`.
    fn skip_to(&mut self, start: usize, end: &[u8]) {
        let bytes = self.text.as_bytes();
        self.at = memmem::find(&bytes[start..], end).map_or(bytes.len(), |len| start + len + end.len());
        self.note_tags(start, self.at);
    }

    fn note_tags(&mut self, start: usize, end: usize) {
        let bytes = &self.text.as_bytes()[start..end];
        for at in memchr::memchr_iter(b'<', bytes) {
            self.note_tag(start + at);
        }
    }

    /// Notes what looks like a tag at this `<`.
    fn note_tag(&mut self, at: usize) {
        let bytes = &self.text.as_bytes()[at + 1..];
        let name = bytes.strip_prefix(b"/").unwrap_or(bytes);
        self.has_other_readings |= name.first().is_some_and(u8::is_ascii_alphabetic);
    }

    /// Reads a tag whose name begins at `start`; `None` if the page ends in it.
    fn tag(&mut self, start: usize, element: Option<&mut Element<'d>>) -> Result<Option<Tag<'d>>, Slow> {
        let bytes = self.text.as_bytes();
        let begin = self.at;
        let end = end_of(bytes, start, |byte| !is_space(*byte) && !matches!(byte, b'/' | b'>' | b'<'));
        if bytes.get(end) == Some(&b'<') {
            return Err(Slow("tag in a tag"));
        }
        let spelling = &self.text[start..end];
        let name = Name::lookup(spelling.as_bytes());
        let mut tag = Tag { name, spelling, is_closed: false, at: begin };
        let mut element = element;
        if let Some(element) = &mut element {
            (element.name, element.space) = (name, ElementSpace::Html);
            element.attributes.clear();
        }
        let mut at = end;
        let mut count = 0;
        loop {
            let Some(&byte) = bytes.get(at) else {
                // By the standard, a tag that the page ends in is none.
                self.at = bytes.len();
                return Ok(None);
            };
            match byte {
                b'>' => break,
                b'/' if bytes.get(at + 1) == Some(&b'>') => {
                    tag.is_closed = true;
                    at += 1;
                    break;
                }
                b'/' => at += 1,
                _ if is_space(byte) => at += 1,
                _ => {
                    count += 1;
                    // With more, `oversized_tags` may end the tag before a tree is built, so only the tree
                    // knows it.
                    if count > MANY {
                        return Err(Slow("many attributes"));
                    }
                    at = self.attribute(at, element.as_deref_mut())?;
                }
            }
        }
        self.at = at + 1;
        Ok(Some(tag))
    }

    /// Reads the attribute at `start`, and returns its end.
    fn attribute(&mut self, start: usize, element: Option<&mut Element<'d>>) -> Result<usize, Slow> {
        let bytes = self.text.as_bytes();
        let is_name = |byte: &u8| !is_space(*byte) && !matches!(byte, b'/' | b'>' | b'=' | b'<');
        let end = end_of(bytes, start + 1, is_name);
        if bytes[start] == b'<' || bytes.get(end) == Some(&b'<') {
            return Err(Slow("tag in a tag"));
        }
        let mut raw = end..end;
        let mut at = end_of(bytes, end, |byte| is_space(*byte));
        if bytes.get(at) == Some(&b'=') {
            let value = end_of(bytes, at + 1, |byte| is_space(*byte));
            at = match bytes.get(value) {
                Some(quote @ (b'"' | b'\'')) => {
                    let len = memchr(*quote, &bytes[value + 1..]).unwrap_or(bytes.len() - value - 1);
                    raw = value + 1..value + 1 + len;
                    (raw.end + 1).min(bytes.len())
                }
                Some(b'>') | None => value,
                Some(_) => {
                    raw = value..end_of(bytes, value, |byte| !is_space(*byte) && *byte != b'>');
                    raw.end
                }
            };
            self.note_tags(raw.start, at);
        }
        let Some(element) = element else { return Ok(at) };
        let attr = Attr::lookup(&bytes[start..end]);
        // The first of two counts.
        if attr != Attr::Other && element.get(attr).is_none() {
            element.attributes.push((attr, references::value(self.text, raw.start, raw.end)?));
        }
        Ok(at)
    }
}

/// The end of the bytes from `at` on that have a property.
#[inline]
fn end_of(bytes: &[u8], at: usize, has: impl Fn(&u8) -> bool) -> usize {
    let mut end = at;
    while bytes.get(end).is_some_and(&has) {
        end += 1;
    }
    end
}

/// The white space between attributes.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0C)
}
