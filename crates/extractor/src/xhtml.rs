//! Reads XHTML by the rules of XML: writes it as HTML that means the same.
//!
//! In XML, `<script/>` is empty, `<h:a xmlns:h="…">` may be a link, and a CDATA section is text. In HTML the
//! first swallows the page, and the others are something else. So each tag and text is written in
//! HTML's syntax, and all that follows reads one language. Browsers show an error page in place of XML
//! that is not well-formed. Here each piece that is not XML stays as it is, to be read as HTML.
//!
//! `xml:base` does not count, as in browsers. Entities are those that the document defines, and HTML's, which include those
//! of XHTML's document types.

use crate::entities::Entities;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::collections::BTreeMap;
use std::ops::Range;

/// Maximum open elements with namespaces of their own. Those of deeper ones do not count.
const MAX_SCOPES: usize = 64;
/// Maximum places at which reading begins anew behind a `<` that begins no tag.
const MAX_RESTARTS: usize = 64;
/// Maximum items before the root element.
const MAX_PROLOGUE: usize = 64;

/// HTML elements without an end tag.
const VOID: [&str; 18] = [
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen",
    "link", "meta", "param", "source", "track", "wbr",
];

/// What a namespace stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamespaceKind {
    Html,
    Svg,
    MathMl,
    Xlink,
    Other,
}

impl NamespaceKind {
    fn from_uri(name: &str) -> NamespaceKind {
        match name.trim() {
            "http://www.w3.org/1999/xhtml" => NamespaceKind::Html,
            "http://www.w3.org/2000/svg" => NamespaceKind::Svg,
            "http://www.w3.org/1998/Math/MathML" => NamespaceKind::MathMl,
            "http://www.w3.org/1999/xlink" => NamespaceKind::Xlink,
            _ => NamespaceKind::Other,
        }
    }
}

/// Whether the root element of a document with this beginning is XHTML's, or SVG's.
pub(crate) fn has_root(head: &[u8], kind: NamespaceKind) -> bool {
    let head = String::from_utf8_lossy(head);
    let mut reader = reader(&head);
    for _ in 0..MAX_PROLOGUE {
        match reader.read_event() {
            Ok(Event::Start(root) | Event::Empty(root)) => {
                let name = root.name();
                let (prefix, local) = parts(name.as_ref());
                let bindings = Bindings::read(&root);
                let name = if kind == NamespaceKind::Svg { "svg" } else { "html" };
                return local == name && bindings.of_prefix(prefix) == Some(kind);
            }
            Ok(Event::Text(text)) if !text.trim().is_empty() => return false,
            Ok(Event::Text(_) | Event::Decl(_) | Event::PI(_) | Event::Comment(_) | Event::DocType(_)) => {}
            _ => return false,
        }
    }
    false
}

/// The document as HTML.
pub(crate) fn to_html(xml: &str) -> String {
    let mut writer = Writer {
        xml,
        html: String::with_capacity(xml.len() + xml.len() / 8),
        scopes: Vec::new(),
        raw: None,
        foreign: 0,
        in_head: false,
        entities: Entities::default(),
        room: xml.len(),
    };
    // XML knows no quirks.
    writer.html.push_str("<!doctype html>");
    let (mut at, mut restarts) = (0, 0);
    while let Err(odd) = writer.read(at) {
        let rest = &xml[odd..];
        restarts += 1;
        at = match &writer.raw {
            Some(raw) => {
                let len = raw.end(rest).unwrap_or(rest.len());
                if raw.has_text {
                    writer.html.push_str(&rest[..len]);
                }
                odd + len
            }
            None if rest.starts_with('<') && restarts <= MAX_RESTARTS => {
                writer.html.push_str("&lt;");
                odd + 1
            }
            None => {
                writer.html.push_str(rest);
                break;
            }
        };
    }
    writer.html
}

/// A lenient reader: a bare `&` is itself, and the caller finds the element that an end tag closes.
pub(crate) fn reader(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    reader
}

/// Prefix and local part of a name.
pub(crate) fn parts(name: &str) -> (&str, &str) {
    name.split_once(':').unwrap_or(("", name))
}

/// Whether this may be the name of an element.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphabetic() || c == '_') && !name.contains('<')
}

/// The prefixes that an element declares; the empty one is that of names without a prefix.
#[derive(Default)]
struct Bindings(BTreeMap<String, NamespaceKind>);

impl Bindings {
    fn read(element: &BytesStart<'_>) -> Bindings {
        let mut attributes = element.attributes();
        let mut declared = BTreeMap::new();
        for attribute in attributes.with_checks(false).flatten() {
            let prefix = match attribute.key.as_ref() {
                "xmlns" => Some(""),
                key => key.strip_prefix("xmlns:"),
            };
            let space = NamespaceKind::from_uri(&attribute.value);
            prefix.map(|prefix| declared.entry(prefix.to_owned()).or_insert(space));
        }
        Bindings(declared)
    }

    fn of_prefix(&self, prefix: &str) -> Option<NamespaceKind> {
        self.0.get(prefix).copied()
    }
}

/// An open element with namespaces of its own.
struct NamespaceScope<'x> {
    name: &'x str,
    /// Open elements of the same name in it.
    nested: usize,
    bindings: Bindings,
}

/// An open element in whose content HTML knows no tags, or whose content is not written.
struct RawElement<'x> {
    name: &'x str,
    /// The name in HTML; empty if it is not written.
    written: String,
    nested: usize,
    /// Whether its text says something.
    has_text: bool,
}

impl RawElement<'_> {
    /// The place of its end tag in a content that is not XML.
    fn end(&self, text: &str) -> Option<usize> {
        let ends = |at: &usize| {
            let name = text.get(at + 2..at + 2 + self.name.len());
            name.is_some_and(|name| name.eq_ignore_ascii_case(self.name))
        };
        memchr::memmem::find_iter(text.as_bytes(), b"</").find(ends)
    }
}

struct Writer<'x> {
    xml: &'x str,
    html: String,
    scopes: Vec<NamespaceScope<'x>>,
    raw: Option<RawElement<'x>>,
    /// Number of open `svg` and `math` elements.
    foreign: usize,
    in_head: bool,
    entities: Entities,
    /// Bytes that the document's entities may add.
    room: usize,
}

impl<'x> Writer<'x> {
    /// Writes what is XML from here on.
    ///
    /// # Errors
    /// The place of what is not.
    fn read(&mut self, from: usize) -> Result<(), usize> {
        // The reader would drop a mark, and not count it.
        let from = self.xml.len() - self.xml[from..].trim_start_matches('\u{feff}').len();
        let mut reader = reader(&self.xml[from..]);
        let place = |reader: &Reader<&[u8]>| from + reader.buffer_position() as usize;
        loop {
            let start = place(&reader);
            let Ok(event) = reader.read_event() else { return Err(start) };
            let source = start..place(&reader);
            match event {
                Event::Start(element) => self.start(&element, source, false)?,
                Event::Empty(element) => self.start(&element, source, true)?,
                Event::End(element) => self.end(&self.xml[start + 2..][..element.name().as_ref().len()]),
                Event::Text(_) | Event::GeneralRef(_) if self.shows_text() => {
                    self.html.push_str(&self.entities.to_html(&self.xml[source], &mut self.room));
                }
                Event::DocType(definitions) => self.entities.define(&definitions),
                Event::CData(text) if self.shows_text() => {
                    self.html.push_str(&text.replace('&', "&amp;").replace('<', "&lt;"));
                }
                Event::Eof => return Ok(()),
                _ => {}
            }
        }
    }

    fn shows_text(&self) -> bool {
        self.raw.as_ref().is_none_or(|raw| raw.has_text)
    }

    /// Writes a start tag, and the end tag of an empty element.
    fn start(&mut self, element: &BytesStart<'_>, source: Range<usize>, is_empty: bool) -> Result<(), usize> {
        let name = &self.xml[source.start + 1..][..element.name().as_ref().len()];
        let mut attributes = element.attributes();
        let is_sound = attributes.with_checks(false).all(|attribute| attribute.is_ok());
        // No tag has a `<` in it. In a script, it is an operator before the end tag.
        let is_tag = is_sound && !self.xml[source.start + 1..source.end].contains('<');
        if !is_name(name) || !is_tag && self.raw.is_some() {
            return Err(source.start);
        }
        self.leave_metadata(name, "body");
        if let Some(raw) = &mut self.raw {
            raw.nested += usize::from(raw.name == name && !is_empty);
            return Ok(());
        }
        let has_scope = self.open_scope(name, element, is_empty);
        let (mut written, space) = self.written(name);
        let is_metadata = self.in_head && space != NamespaceKind::Html;
        match is_sound {
            // It would end the head in HTML.
            _ if is_metadata => written.clear(),
            true => self.write_tag(&written, element),
            // As it is, to be read as HTML.
            false => self.html.push_str(&self.xml[source]),
        }
        if is_empty {
            self.write_end(&written);
            if has_scope {
                self.scopes.pop();
            }
            return Ok(());
        }
        if space == NamespaceKind::Html && matches!(&written[..], "head" | "body") {
            self.in_head = written == "head";
        }
        self.foreign += usize::from(matches!(
            (space, &written[..]),
            (NamespaceKind::Svg, "svg") | (NamespaceKind::MathMl, "math")
        ));
        let has_text = match &written[..] {
            "title" | "textarea" => Some(true),
            "script" | "style" | "iframe" | "noembed" | "noframes" => Some(false),
            _ => is_metadata.then_some(false),
        };
        if let Some(has_text) = has_text.filter(|_| is_metadata || space == NamespaceKind::Html) {
            self.raw = Some(RawElement { name, written, nested: 0, has_text });
        }
        Ok(())
    }

    /// Metadata without an end ends with the head, before this element of HTML.
    fn leave_metadata(&mut self, name: &str, before: &str) {
        let is_open = self.raw.as_ref().is_some_and(|raw| raw.written.is_empty());
        if is_open && parts(name).1 == before && self.written(name).1 == NamespaceKind::Html {
            self.raw = None;
        }
    }

    fn end(&mut self, name: &str) {
        self.leave_metadata(name, "head");
        if let Some(raw) = self.raw.take_if(|raw| raw.name == name && raw.nested == 0) {
            self.write_end(&raw.written);
        } else if let Some(raw) = &mut self.raw {
            raw.nested -= usize::from(raw.name == name);
            return;
        } else {
            let (written, space) = self.written(name);
            self.write_end(&written);
            self.in_head &= written != "head";
            if matches!((space, &written[..]), (NamespaceKind::Svg, "svg") | (NamespaceKind::MathMl, "math"))
            {
                self.foreign = self.foreign.saturating_sub(1);
            }
        }
        if let Some(scope) = self.scopes.last_mut().filter(|scope| scope.name == name) {
            match scope.nested {
                0 => drop(self.scopes.pop()),
                _ => scope.nested -= 1,
            }
        }
    }

    /// Notes an element and the namespaces that it declares. True if those hold within it alone.
    fn open_scope(&mut self, name: &'x str, element: &BytesStart<'_>, is_empty: bool) -> bool {
        let bindings = Bindings::read(element);
        if !bindings.0.is_empty() && self.scopes.len() < MAX_SCOPES {
            self.scopes.push(NamespaceScope { name, nested: 0, bindings });
            return true;
        }
        if let Some(scope) = self.scopes.last_mut().filter(|scope| scope.name == name) {
            scope.nested += usize::from(!is_empty);
        }
        false
    }

    /// What a prefix stands for. A document without namespaces is HTML: its media type says so.
    fn space(&self, prefix: &str) -> Option<NamespaceKind> {
        let bound = self.scopes.iter().rev().find_map(|scope| scope.bindings.of_prefix(prefix));
        bound.or(Some(NamespaceKind::Html).filter(|_| prefix.is_empty()))
    }

    /// The name of an element in HTML. Names of other vocabularies get a prefix that HTML does not know.
    fn written(&self, name: &str) -> (String, NamespaceKind) {
        let (prefix, local) = parts(name);
        let Some(space) = self.space(prefix) else { return (name.to_owned(), NamespaceKind::Other) };
        let written = match (space, local) {
            // Elements that HTML reads in a way of their own.
            (NamespaceKind::Html, "xmp" | "listing") => "pre".to_owned(),
            (NamespaceKind::Html, "plaintext") => "x:plaintext".to_owned(),
            (NamespaceKind::Html, _) | (NamespaceKind::Svg, "svg") | (NamespaceKind::MathMl, "math") => {
                local.to_owned()
            }
            (NamespaceKind::Svg | NamespaceKind::MathMl, _) if self.foreign > 0 => local.to_owned(),
            _ => format!("x:{local}"),
        };
        (written, space)
    }

    fn write_tag(&mut self, written: &str, element: &BytesStart<'_>) {
        self.html.push('<');
        self.html.push_str(written);
        let mut attributes = element.attributes();
        for attribute in attributes.with_checks(false).flatten() {
            let key = attribute.key.as_ref();
            let (prefix, local) = parts(key);
            let name = match prefix {
                "" if local == "xmlns" => continue,
                "xmlns" => continue,
                "xml" if local == "lang" => "lang",
                _ if local == "href" && self.space(prefix) == Some(NamespaceKind::Xlink) => "xlink:href",
                _ => key,
            };
            let quote = if attribute.value.contains('"') { '\'' } else { '"' };
            self.html.extend([" ", name, "="]);
            self.html.push(quote);
            self.html.push_str(&self.entities.to_html(&attribute.value, &mut self.room));
            self.html.push(quote);
        }
        self.html.push('>');
    }

    fn write_end(&mut self, written: &str) {
        if !written.is_empty() && !VOID.contains(&written) {
            self.html.extend(["</", written, ">"]);
        }
    }
}

#[cfg(test)]
mod tests;
