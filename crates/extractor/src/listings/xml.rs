//! Reads an XML document in one pass: entries with URLs and dates.
//!
//! quick-xml tokenizes. Depth is only a counter, so a million open elements cost nothing. Text is kept only inside
//! a field, up to a length that no URL reaches. Where end tags are missing, entries and their fields end where the
//! next ones begin.

use super::entities::Entities;
use super::formats::{EntryField, ListingFormat};
use super::{EntryCollector, address};
use crate::xhtml::reader;
use quick_xml::events::{BytesStart, Event};
use recrawl_types::url::MAX_URL_BYTES;
use url::Url;

/// Maximum items skipped before the root element.
const MAX_PROLOGUE: usize = 64;
/// Maximum bytes of a field's text; longer text is no URL and no date.
const MAX_FIELD: usize = 2 * MAX_URL_BYTES;
/// Maximum bytes of a field that is text for people, with its markup; the rest is left out.
const MAX_TEXT: usize = 256 << 10;
/// Maximum depth of a feed's own links: children of Atom's root, or of the channel in RSS.
const MAX_LINK_DEPTH: usize = 3;

/// Maximum elements of a document whose `xml:base` is read.
const MAX_BASES: usize = 10_000;

/// The format of a document with this beginning.
pub(super) fn format(head: &str) -> Option<&'static ListingFormat> {
    if !head.trim_start().starts_with('<') {
        return None;
    }
    let mut reader = reader(head);
    for _ in 0..MAX_PROLOGUE {
        match reader.read_event().ok()? {
            Event::Start(root) | Event::Empty(root) => {
                return ListingFormat::of_root(root.local_name().as_ref());
            }
            Event::Text(text) if !text.trim().is_empty() => return None,
            Event::Eof | Event::End(_) | Event::CData(_) | Event::GeneralRef(_) => return None,
            _ => {}
        }
    }
    None
}

/// Reads a document of this format to its end, or up to the first damage.
pub(super) fn read(text: &str, format: &ListingFormat, found: &mut EntryCollector<'_>) {
    let mut reader = reader(text);
    let mut walk = Walk {
        format,
        depth: 0,
        entry: None,
        field: None,
        text: String::new(),
        is_sound: true,
        entities: Entities::default(),
        bases: Bases { document: found.own.to_url(), open: Vec::new(), read: 0 },
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
                walk.close(element.local_name().as_ref(), found);
            }
            Event::End(element) => walk.close(element.local_name().as_ref(), found),
            Event::Text(text) => walk.push(&text),
            Event::CData(text) => walk.push(&text),
            Event::GeneralRef(reference) => match walk.entities.text(&reference) {
                Some(text) => walk.push(&text),
                // One of HTML, which the text is read as.
                None if walk.field.is_some_and(EntryField::is_text) => {
                    walk.push(&format!("&{};", &*reference))
                }
                None => walk.is_sound = false,
            },
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
    /// The open entry, and the depth of its children.
    entry: Option<(XmlEntry, usize)>,
    field: Option<EntryField>,
    /// The text of the open field.
    text: String,
    /// False if the text is too long or has an unknown reference.
    is_sound: bool,
    entities: Entities,
    bases: Bases,
}

/// The values of an entry so far; the first of each counts.
#[derive(Default)]
struct XmlEntry {
    address: Option<String>,
    permalink: Option<String>,
    modified: Option<String>,
    published: Option<String>,
    title: Option<String>,
    /// All that the item says: a summary, then the whole.
    texts: Vec<String>,
}

impl Walk<'_> {
    fn open(&mut self, element: &BytesStart<'_>, found: &mut EntryCollector<'_>) {
        let name = element.local_name();
        match &self.entry {
            // The entry before it was not closed.
            Some(_) if name.as_ref() == self.format.entry => self.end_entry(found),
            // Nor was the field before it.
            Some((_, children))
                if *children == self.depth
                    && self.field.is_some()
                    && self.format.field(name.as_ref()).is_some() =>
            {
                self.end_field();
                self.bases.close(self.depth);
                self.depth -= 1;
            }
            _ => {}
        }
        self.depth += 1;
        let is_feed = self.format.kind.is_feed();
        if is_feed && element.contains("xml:base") {
            self.bases.open(self.depth, self.attribute(element, "xml:base"));
        }
        match &self.entry {
            None if self.depth > 1 && name.as_ref() == self.format.entry => {
                self.entry = Some((XmlEntry::default(), self.depth + 1));
            }
            None if self.depth <= MAX_LINK_DEPTH && name.as_ref() == "link" && is_feed => {
                if let (Some(rel), Some(href)) =
                    (self.attribute(element, "rel"), self.attribute(element, "href"))
                    && let Some(href) = self.bases.resolve(&href)
                {
                    found.hub.link(&rel, &href);
                }
            }
            Some((_, children)) if *children == self.depth => {
                self.field = self.format.field(name.as_ref());
                self.text.clear();
                self.is_sound = true;
                self.read_attributes(element, found);
            }
            // Markup of the text separates words.
            Some(_) if self.field.is_some_and(EntryField::is_text) => self.push(" "),
            _ => {}
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
            // A missing `rel` means the same (RFC 4287 §4.2.7.2). Some items of RSS have no link but such a one.
            Some(field @ (EntryField::Href | EntryField::Address))
                if attribute("rel").is_none_or(|rel| is_alternate(&rel)) =>
            {
                let href = attribute("href").and_then(|href| self.bases.resolve(&href));
                if let Some((entry, _)) = &mut self.entry {
                    let place =
                        if field == EntryField::Href { &mut entry.address } else { &mut entry.permalink };
                    *place = place.take().or(href);
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

    fn close(&mut self, name: &str, found: &mut EntryCollector<'_>) {
        match &self.entry {
            Some(_) if name == self.format.entry => return self.end_entry(found),
            // It closes nothing that is open.
            Some((_, children)) if self.depth < *children && name != self.format.root => return,
            None if self.depth == 1 && name != self.format.root => return,
            Some((_, children)) if self.depth < *children => self.end_entry(found),
            Some((_, children)) if self.depth == *children => self.end_field(),
            _ => {}
        }
        self.bases.close(self.depth);
        self.depth = self.depth.saturating_sub(1);
    }

    /// Takes the text of the open field, if there is one.
    fn end_field(&mut self) {
        let Some(field) = self.field.take().filter(|_| self.is_sound) else { return };
        let text = match field.is_text() {
            true => self.text.trim().into(),
            false => address::clean(&self.text),
        };
        if let Some((entry, _)) = &mut self.entry
            && !text.is_empty()
        {
            let text = match field {
                EntryField::Address => self.bases.resolve(&text),
                // An identifier without a scheme of the Web is no URL, whatever it says.
                EntryField::Permalink => address::is_whole(&text).then(|| text.into_owned()),
                _ => Some(text.into_owned()),
            };
            if let Some(text) = text {
                entry.say(field, text);
            }
        }
    }

    /// Ends the open entry, with what is open in it.
    fn end_entry(&mut self, found: &mut EntryCollector<'_>) {
        if self.entry.as_ref().is_some_and(|(_, children)| self.depth == *children) {
            self.end_field();
        }
        let Some((entry, children)) = self.entry.take() else { return };
        self.field = None;
        self.depth = children - 2;
        self.bases.close(children - 1);
        let before = found.listing.entries.len();
        match entry.address.or(entry.permalink) {
            Some(address) => found.entry(&address, entry.modified.or(entry.published).as_deref()),
            None => found.refuse(),
        }
        found.item(before, entry.title.as_deref(), &entry.texts);
    }

    fn push(&mut self, text: &str) {
        // Elements inside a field are not part of its text; URLs and dates have none.
        let is_inside = self.entry.as_ref().is_some_and(|(_, depth)| *depth == self.depth);
        if self.field.is_some_and(EntryField::is_text) {
            let room = MAX_TEXT.saturating_sub(self.text.len()).min(text.len());
            let end = (0..=room).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            self.text.push_str(&text[..end]);
            return;
        }
        if self.field.is_none() || !is_inside {
            return;
        }
        if self.text.len() + text.len() > MAX_FIELD {
            self.is_sound = false;
        } else {
            self.text.push_str(text);
        }
    }

    /// The value of an attribute. Duplicates are not checked, so the cost is linear in the number of attributes.
    fn attribute(&self, element: &BytesStart<'_>, name: &str) -> Option<String> {
        let mut attributes = element.attributes();
        let found = attributes.with_checks(false).flatten().find(|a| a.key.as_ref() == name)?;
        if found.value.len() > MAX_FIELD {
            return None;
        }
        self.entities.expand(&found.value)
    }
}

impl XmlEntry {
    fn say(&mut self, field: EntryField, text: String) {
        let place = match field {
            EntryField::Address => &mut self.address,
            EntryField::Permalink => &mut self.permalink,
            EntryField::Modified => &mut self.modified,
            EntryField::Published => &mut self.published,
            EntryField::Title => &mut self.title,
            EntryField::Text => return self.texts.push(text),
            EntryField::Href | EntryField::Alternate => return,
        };
        place.get_or_insert(text);
    }
}

/// The bases that `xml:base` gives to open elements (RFC 4287 §2, XML Base).
struct Bases {
    document: Url,
    /// Depth of the element, and its base; none if that is no URL.
    open: Vec<(usize, Option<Url>)>,
    /// How many were read.
    read: usize,
}

impl Bases {
    fn open(&mut self, depth: usize, base: Option<String>) {
        self.read += 1;
        let outer = self.open.last().map_or(Some(&self.document), |(_, base)| base.as_ref());
        let base = base.filter(|_| self.read <= MAX_BASES).and_then(|base| {
            let base = address::clean(&base).into_owned();
            match outer {
                Some(outer) => outer.join(&base).ok(),
                None => Url::parse(&base).ok(),
            }
        });
        self.open.push((depth, base.filter(|base| base.as_str().len() <= MAX_FIELD)));
    }

    fn close(&mut self, depth: usize) {
        while self.open.last().is_some_and(|(open, _)| *open >= depth) {
            self.open.pop();
        }
    }

    /// A reference in the innermost element with a base. A whole URL stays as it is written.
    fn resolve(&self, href: &str) -> Option<String> {
        match self.open.last() {
            Some((_, base)) if Url::parse(href).is_err() => base.as_ref()?.join(href).ok().map(String::from),
            _ => Some(href.to_owned()),
        }
    }
}
