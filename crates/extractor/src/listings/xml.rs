//! Reads an XML document in one pass: entries with URLs and dates.
//!
//! quick-xml tokenizes. Depth is only a counter, so a million open elements cost nothing. Text is kept only inside
//! a field, up to a length that no URL reaches. Where end tags are missing, entries and their fields end where the
//! next ones begin, or where the end tag of what they stand in is.

use super::bases::Bases;
use super::formats::{EntryField, ListingFormat};
use super::values::{EntryValues, MAX_TEXT, ValueRank, as_html, cut};
use super::{EntryCollector, address};
use crate::entities::Entities;
use crate::xhtml::{parts, reader};
use memchr::memchr_iter;
use quick_xml::events::{BytesStart, Event};
use recrawl_types::url::MAX_URL_BYTES;
use std::borrow::Cow;

/// Maximum bytes of a field's text; longer text is no URL and no date.
const MAX_FIELD: usize = 2 * MAX_URL_BYTES;
/// Maximum depth of a feed's own links: children of Atom's root, or of the channel in RSS.
const MAX_LINK_DEPTH: usize = 3;

/// The types of texts without markup (RFC 4287 §3.1.1, Media RSS).
const PLAIN: [&str; 3] = ["text", "text/plain", "plain"];

/// Elements of HTML without an end tag, in texts that were not escaped.
const VOID: [&str; 12] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "meta", "source", "track", "wbr"];

/// The root element stands beyond the text.
pub(super) struct RootBeyond;

/// The format of a document with this beginning; none if it is of another kind.
pub(super) fn format(head: &str) -> Result<Option<&'static ListingFormat>, RootBeyond> {
    if !head.trim_start().starts_with('<') {
        return if head.trim().is_empty() { Err(RootBeyond) } else { Ok(None) };
    }
    let mut reader = reader(head);
    loop {
        // Where the text ends within a comment or tag, this is an error.
        match reader.read_event().map_err(|_| RootBeyond)? {
            Event::Start(root) | Event::Empty(root) => {
                return Ok(ListingFormat::of_root(parts(root.name().as_ref()).1));
            }
            Event::Eof => return Err(RootBeyond),
            Event::Text(text) if !text.trim().is_empty() => return Ok(None),
            Event::End(_) | Event::CData(_) | Event::GeneralRef(_) => return Ok(None),
            _ => {}
        }
    }
}

/// The text with each `<` escaped that begins no tag, as in `a < b`.
fn with_sound_brackets(text: &str) -> Cow<'_, str> {
    let is_text = |at: &usize| {
        let next = text.as_bytes().get(at + 1);
        next.is_some_and(|b| {
            b.is_ascii() && !b.is_ascii_alphabetic() && !matches!(b, b'/' | b'!' | b'?' | b'_')
        })
    };
    let (mut sound, mut from) = (String::new(), 0);
    for at in memchr_iter(b'<', text.as_bytes()).filter(is_text) {
        sound.push_str(&text[from..at]);
        sound.push_str("&lt;");
        from = at + 1;
    }
    if from == 0 {
        return text.into();
    }
    sound.push_str(&text[from..]);
    sound.into()
}

/// Reads a document of this format to its end, or up to the first damage.
pub(super) fn read(text: &str, format: &ListingFormat, found: &mut EntryCollector<'_>) {
    let text = with_sound_brackets(text);
    let mut reader = reader(&text);
    let mut walk = Walk {
        format,
        depth: 0,
        entry: None,
        child: String::new(),
        alike: 0,
        field: None,
        is_foreign: false,
        is_plain: false,
        text: String::new(),
        is_sound: true,
        entities: Entities::default(),
        bases: Bases::new(found.own.to_url()),
    };
    loop {
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return found.damaged(reader.error_position(), &error.to_string()),
        };
        match event {
            Event::Start(element) => walk.open(&element, found),
            Event::Empty(element) => {
                walk.open(&element, found);
                walk.close(parts(element.name().as_ref()).1, found);
            }
            Event::End(element) => walk.close(parts(element.name().as_ref()).1, found),
            Event::Text(text) => walk.push(&text),
            Event::CData(text) => walk.push(&text),
            Event::GeneralRef(reference) => walk.refer(&reference),
            Event::DocType(text) => walk.entities.define(&text),
            Event::Eof if walk.depth > 0 => {
                return found.damaged(reader.buffer_position(), "it ends within an element");
            }
            Event::Eof => return,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
}

/// State of the pass.
struct Walk<'f> {
    format: &'f ListingFormat,
    /// Number of open elements.
    depth: usize,
    entry: Option<OpenEntry>,
    /// The name of the last child of the entry.
    child: String,
    /// Number of elements of that name that are open in it.
    alike: usize,
    field: Option<EntryField>,
    /// Has the field another prefix than its entry?
    is_foreign: bool,
    /// Says the field that its text is no HTML?
    is_plain: bool,
    /// The text of the open field.
    text: String,
    /// False if the text is too long or has an unknown reference.
    is_sound: bool,
    entities: Entities,
    bases: Bases,
}

/// The open entry.
struct OpenEntry {
    values: EntryValues,
    /// The prefix of its own fields.
    prefix: String,
    /// The depth around it.
    outer: usize,
    /// The depth of its children. A `loc` without an entry around it is the child of one that has no tags.
    children: usize,
    /// Its own text.
    text: String,
}

impl OpenEntry {
    fn new(prefix: &str, outer: usize, children: usize) -> OpenEntry {
        OpenEntry {
            values: EntryValues::default(),
            prefix: prefix.into(),
            outer,
            children,
            text: String::new(),
        }
    }
}

impl Walk<'_> {
    fn open(&mut self, element: &BytesStart<'_>, found: &mut EntryCollector<'_>) {
        let name = element.name();
        let (prefix, name) = parts(name.as_ref());
        let field = self.format.field(name);
        if self.is_void(name) {
            return self.push(" ");
        }
        match &self.entry {
            // The entry before it was not closed.
            Some(_) if self.format.is_entry(name) => self.end_entry(found),
            // Nor was the field before it.
            Some(entry) if entry.children == self.depth && self.field.is_some() && field.is_some() => {
                self.end_field();
                self.bases.close(self.depth);
                self.depth -= 1;
            }
            _ => {}
        }
        if field == Some(EntryField::Group)
            && self.entry.as_ref().is_some_and(|e| e.children == self.depth + 1)
        {
            return;
        }
        self.depth += 1;
        let is_feed = self.format.kind.is_feed();
        if is_feed && element.contains("xml:base") {
            self.bases.open(self.depth, self.attribute(element, "xml:base"));
        }
        self.begin_entry(element, prefix, name, found);
        match &self.entry {
            None if self.depth <= MAX_LINK_DEPTH && name.eq_ignore_ascii_case("link") && is_feed => {
                self.link_of_feed(element, found);
            }
            Some(entry) if entry.children == self.depth => {
                self.is_foreign = entry.prefix != prefix;
                self.is_plain = false;
                self.field = field;
                self.child.clear();
                self.child.push_str(name);
                self.alike = 0;
                self.text.clear();
                self.is_sound = true;
                self.read_attributes(element, found);
            }
            Some(entry) if entry.children < self.depth => {
                self.alike += usize::from(self.child.eq_ignore_ascii_case(name));
                // Markup of the text separates words.
                if self.field.is_some_and(EntryField::is_text) {
                    self.push(" ");
                }
            }
            _ => {}
        }
    }

    /// Does it open nothing, as an element of HTML in a text?
    fn is_void(&self, name: &str) -> bool {
        self.field.is_some_and(EntryField::is_text) && VOID.iter().any(|void| void.eq_ignore_ascii_case(name))
    }

    /// Begins an entry with the element of this name, if it does.
    fn begin_entry(
        &mut self,
        element: &BytesStart<'_>,
        prefix: &str,
        name: &str,
        found: &mut EntryCollector<'_>,
    ) {
        let (depth, is_feed) = (self.depth, self.format.kind.is_feed());
        let is_address = !is_feed && self.format.field(name) == Some(EntryField::Address);
        match &mut self.entry {
            None if depth > 1 && self.format.is_entry(name) => {
                let mut entry = OpenEntry::new(prefix, depth - 1, depth + 1);
                if let Some(about) = self.attribute(element, "rdf:about").filter(|_| is_feed) {
                    entry.values.identifier(true, &about);
                }
                self.entry = Some(entry);
            }
            None if depth > 1 && is_address => self.entry = Some(OpenEntry::new(prefix, depth - 1, depth)),
            // A second URL is one of another page.
            Some(entry)
                if is_address
                    && entry.children == depth
                    && entry.prefix == prefix
                    && entry.values.addresses.has_own() =>
            {
                found.take(&std::mem::take(&mut entry.values));
            }
            _ => {}
        }
    }

    /// Reads a link of the feed itself: its hub, its other pages.
    fn link_of_feed(&self, element: &BytesStart<'_>, found: &mut EntryCollector<'_>) {
        let attribute = |name| self.attribute(element, name);
        if let (Some(rel), Some(href)) = (attribute("rel"), attribute("href"))
            && let Some(href) = self.bases.resolve(&href)
        {
            found.hub.link(&rel, &href);
            let media_type = attribute("type").unwrap_or_default();
            found.link(&rel, &href, attribute("hreflang").is_some(), &media_type);
        }
    }

    /// Reads what a field says in its attributes.
    fn read_attributes(&mut self, element: &BytesStart<'_>, found: &mut EntryCollector<'_>) {
        let attribute = |name| self.attribute(element, name);
        let is_alternate = |rel: &str| {
            rel.split_ascii_whitespace().any(|rel| {
                let rel = rel.strip_prefix("http://www.iana.org/assignments/relation/").unwrap_or(rel);
                rel.eq_ignore_ascii_case("alternate")
            })
        };
        match self.field {
            Some(EntryField::Address) => {
                let Some(href) = attribute("href") else { return };
                // A missing `rel` means the same (RFC 4287 §4.2.7.2).
                if attribute("rel").is_none_or(|rel| is_alternate(&rel)) {
                    let media_type = attribute("type").unwrap_or_default();
                    let rank = if is_page(&media_type) { ValueRank::Page } else { ValueRank::OtherForm };
                    self.address(rank, &href);
                }
                self.field = Some(EntryField::BesideHref);
            }
            Some(EntryField::Title | EntryField::Text) => {
                let (media_type, source) = (attribute("type"), attribute("src"));
                self.is_plain = media_type.is_some_and(|named| PLAIN.contains(&named.trim()));
                if let Some(source) = source {
                    self.address(ValueRank::Content, &source);
                }
            }
            Some(EntryField::Attached) => {
                if let Some(url) = attribute("url") {
                    self.address(ValueRank::Elsewhere, &url);
                }
            }
            Some(EntryField::Alternate) if attribute("rel").is_some_and(|rel| is_alternate(&rel)) => {
                if let Some(href) = attribute("href") {
                    found.alternate(&href);
                }
            }
            Some(EntryField::Permalink)
                if attribute("isPermaLink").is_some_and(|v| v.trim().eq_ignore_ascii_case("false")) =>
            {
                self.field = None;
            }
            _ => {}
        }
    }

    /// Adds a URL of the entry, relative to its base.
    fn address(&mut self, rank: ValueRank, address: &str) {
        let address = address::clean(address);
        // Words in the place of a URL are taken for one if there is no other.
        let rank = if address::is_words(&address) { ValueRank::Elsewhere } else { rank };
        if let (Some(entry), Some(address)) = (&mut self.entry, self.bases.resolve(&address)) {
            entry.values.addresses.add(rank, self.is_foreign, address);
        }
    }

    fn close(&mut self, name: &str, found: &mut EntryCollector<'_>) {
        let is_root = self.format.is_root(name);
        match &self.entry {
            Some(_) if self.format.is_entry(name) => return self.end_entry(found),
            Some(_) if is_root => self.end_entry(found),
            // It closes nothing that is open.
            Some(entry) if self.depth < entry.children => return,
            None if self.depth == 1 && !is_root => return,
            Some(_) if self.is_void(name) => return,
            Some(_) if self.child.eq_ignore_ascii_case(name) && self.alike > 0 => self.alike -= 1,
            // What is open in the child ends with it.
            Some(entry) if self.child.eq_ignore_ascii_case(name) => {
                self.depth = entry.children;
                self.end_field();
            }
            // An end tag too many in the markup of a text.
            Some(entry) if entry.children == self.depth && self.field.is_some_and(EntryField::is_text) => {
                return;
            }
            Some(entry) if entry.children == self.depth => self.end_field(),
            _ => {}
        }
        self.bases.close(self.depth);
        self.depth = self.depth.saturating_sub(1);
    }

    /// Takes the text of the open field, if there is one.
    fn end_field(&mut self) {
        let text = std::mem::take(&mut self.text);
        let Some(field) = self.field.take().filter(|_| self.is_sound) else { return };
        let is_foreign = self.is_foreign;
        if field == EntryField::Address
            || field == EntryField::BesideHref && address::is_whole(&address::clean(&text))
        {
            return self.address(ValueRank::Own, &text);
        }
        let Some(OpenEntry { values, .. }) = &mut self.entry else { return };
        let text = if self.is_plain && field.is_text() { as_html(text.trim()) } else { text };
        let trimmed = text.trim();
        match field {
            EntryField::Permalink => values.identifier(is_foreign, trimmed),
            EntryField::Modified => values.dates.add(ValueRank::Own, is_foreign, trimmed.into()),
            EntryField::Published => values.dates.add(ValueRank::Published, is_foreign, trimmed.into()),
            EntryField::Title => values.titles.add(ValueRank::Own, is_foreign, trimmed.into()),
            EntryField::Text if !trimmed.is_empty() => values.texts.push(trimmed.into()),
            _ => {}
        }
    }

    /// Ends the open entry, with what is open in it.
    fn end_entry(&mut self, found: &mut EntryCollector<'_>) {
        self.end_field();
        let Some(mut entry) = self.entry.take() else { return };
        self.depth = entry.outer;
        self.bases.close(entry.outer + 1);
        if !self.format.kind.is_feed() {
            entry.values.identifier(false, &entry.text);
        }
        found.take(&entry.values);
    }

    fn push(&mut self, text: &str) {
        let Some(entry) = &mut self.entry else { return };
        match self.field {
            Some(field) if field.is_text() => {
                self.text.push_str(cut(text, MAX_TEXT.saturating_sub(self.text.len())));
            }
            // Elements inside a field are not part of its text; URLs and dates have none.
            Some(_) if entry.children != self.depth => {}
            Some(_) if self.text.len() + text.len() > MAX_FIELD => self.is_sound = false,
            Some(_) => self.text.push_str(text),
            None if entry.children == self.depth + 1 && entry.text.len() + text.len() <= MAX_FIELD => {
                entry.text.push_str(text);
            }
            None => {}
        }
    }

    /// Adds the text of `&name;`. HTML's names count too; a text for people is read as HTML later.
    fn refer(&mut self, name: &str) {
        let is_text = self.field.is_some_and(EntryField::is_text);
        match self.entities.text(name) {
            Some(text) => self.push(&text),
            None if is_text && !self.is_plain => self.push(&format!("&{name};")),
            None => match Entities::of_html(name) {
                Some(text) => self.push(&text),
                None if is_text => self.push(&format!("&{name};")),
                None => self.is_sound = false,
            },
        }
    }

    /// The value of an attribute. Duplicates are not checked, so the cost is linear in the number of attributes.
    fn attribute(&self, element: &BytesStart<'_>, name: &str) -> Option<String> {
        let mut attributes = element.attributes();
        let found =
            attributes.with_checks(false).flatten().find(|a| a.key.as_ref().eq_ignore_ascii_case(name))?;
        if found.value.len() > MAX_FIELD {
            return None;
        }
        self.entities.expand(&found.value)
    }
}

/// Is it the type of a page for people? A link without one leads to such a page.
fn is_page(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    ["", "text/html", "application/xhtml+xml"].iter().any(|page| page.eq_ignore_ascii_case(essence))
}
