//! Reads an XML document in one pass: entries with URLs and dates.
//!
//! quick-xml tokenizes and expands nothing. Depth is only a counter, so a million open elements
//! cost nothing. Text is kept only inside a field, up to a length that no URL reaches.

use super::Found;
use super::formats::{Field, Format};
use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};
use recrawl_types::url::MAX_URL_BYTES;
use std::borrow::Cow;

/// Maximum items skipped before the root element.
const MAX_PROLOGUE: usize = 64;
/// Maximum bytes of a field's text; longer text is no URL and no date.
const MAX_FIELD: usize = 2 * MAX_URL_BYTES;
/// Maximum bytes of a field that is text for people, with its markup; the rest is left out.
const MAX_TEXT: usize = 256 << 10;
/// Maximum depth of a feed's own links: children of Atom's root, or of the channel in RSS.
const MAX_LINK_DEPTH: usize = 3;

/// The format of a document with this beginning.
pub(super) fn format(head: &str) -> Option<&'static Format> {
    if !head.trim_start().starts_with('<') {
        return None;
    }
    let mut reader = reader(head);
    for _ in 0..MAX_PROLOGUE {
        match reader.read_event().ok()? {
            Event::Start(root) | Event::Empty(root) => return Format::of_root(root.local_name().as_ref()),
            Event::Text(text) if !text.trim().is_empty() => return None,
            Event::Eof | Event::End(_) | Event::CData(_) | Event::GeneralRef(_) => return None,
            _ => {}
        }
    }
    None
}

/// A lenient reader: a bare `&` in a URL is itself, and a wrong end tag closes what is open.
fn reader(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    reader
}

/// Reads a document of this format to its end, or up to the first damage.
pub(super) fn read(text: &str, format: &Format, found: &mut Found<'_>) {
    let mut reader = reader(text);
    let mut walk = Walk { format, depth: 0, entry: None, field: None, text: String::new(), is_sound: true };
    loop {
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return found.damaged(reader.error_position(), &error.to_string()),
        };
        match event {
            Event::Start(element) => walk.open(&element, found),
            Event::Empty(element) => {
                walk.open(&element, found);
                walk.close(found);
            }
            Event::End(_) => walk.close(found),
            Event::Text(text) => walk.push(&text),
            Event::CData(text) => walk.push(&text),
            Event::GeneralRef(reference) => walk.refer(&reference),
            Event::Eof if walk.depth > 0 => {
                return found.damaged(reader.buffer_position(), "it ends within an element");
            }
            Event::Eof => return,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

/// State of the pass.
struct Walk<'f> {
    format: &'f Format,
    /// Number of open elements.
    depth: usize,
    /// The open entry, and the depth of its children.
    entry: Option<(Entry, usize)>,
    field: Option<Field>,
    /// The text of the open field.
    text: String,
    /// False if the text is too long or has an unknown reference.
    is_sound: bool,
}

/// The values of an entry so far; the first of each counts.
#[derive(Default)]
struct Entry {
    address: Option<String>,
    permalink: Option<String>,
    modified: Option<String>,
    published: Option<String>,
    title: Option<String>,
    /// All that the item says: a summary, then the whole.
    texts: Vec<String>,
}

impl Walk<'_> {
    fn open(&mut self, element: &BytesStart<'_>, found: &mut Found<'_>) {
        self.depth += 1;
        let name = element.local_name();
        match &mut self.entry {
            None if self.depth > 1 && name.as_ref() == self.format.entry => {
                self.entry = Some((Entry::default(), self.depth + 1));
            }
            None if self.depth <= MAX_LINK_DEPTH && name.as_ref() == "link" && self.format.kind.is_feed() => {
                if let (Some(rel), Some(href)) = (attribute(element, "rel"), attribute(element, "href")) {
                    found.hub.link(&rel, &href);
                }
            }
            Some((entry, depth)) if *depth == self.depth => {
                self.field = self.format.field(name.as_ref());
                self.text.clear();
                self.is_sound = true;
                match self.field {
                    Some(Field::Href) if leads_to_the_page(element) => {
                        let href = attribute(element, "href");
                        entry.address = entry.address.take().or(href.map(Cow::into_owned));
                    }
                    Some(Field::Permalink)
                        if attribute(element, "isPermaLink").is_some_and(|v| v == "false") =>
                    {
                        self.field = None;
                    }
                    _ => {}
                }
            }
            // Markup of the text separates words.
            Some(_) if self.field.is_some_and(Field::is_text) => self.push(" "),
            _ => {}
        }
    }

    fn close(&mut self, found: &mut Found<'_>) {
        if let Some((entry, children)) = &mut self.entry {
            if self.depth == *children {
                if let Some(field) = self.field.take() {
                    let text = self.text.trim();
                    if self.is_sound && !text.is_empty() {
                        entry.say(field, text);
                    }
                }
            } else if self.depth < *children {
                let entry = std::mem::take(entry);
                self.entry = None;
                let before = found.listing.entries.len();
                match entry.address.or(entry.permalink) {
                    Some(address) => found.entry(&address, entry.modified.or(entry.published).as_deref()),
                    None => found.refuse(),
                }
                found.item(before, entry.title.as_deref(), &entry.texts);
            }
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn push(&mut self, text: &str) {
        // Elements inside a field are not part of its text; URLs and dates have none.
        let is_inside = self.entry.as_ref().is_some_and(|(_, depth)| *depth == self.depth);
        if self.field.is_some_and(Field::is_text) {
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

    /// Resolves XML's five entities and numeric references. Entities that a document defines are
    /// not expanded: a field that uses one is ignored.
    fn refer(&mut self, reference: &BytesRef<'_>) {
        let character = match &**reference {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => reference.resolve_char_ref().ok().flatten(),
        };
        match character {
            Some(character) => self.push(character.encode_utf8(&mut [0; 4])),
            // One of HTML, which the text is read as.
            None if self.field.is_some_and(Field::is_text) => self.push(&format!("&{};", &**reference)),
            None => self.is_sound = false,
        }
    }
}

impl Entry {
    fn say(&mut self, field: Field, text: &str) {
        let place = match field {
            Field::Address => &mut self.address,
            Field::Permalink => &mut self.permalink,
            Field::Modified => &mut self.modified,
            Field::Published => &mut self.published,
            Field::Title => &mut self.title,
            Field::Text => return self.texts.push(text.to_owned()),
            Field::Href => return,
        };
        place.get_or_insert_with(|| text.to_owned());
    }
}

/// Whether a link leads to the entry's page: `rel` is `alternate` or missing, which means the same
/// (RFC 4287 §4.2.7.2).
fn leads_to_the_page(link: &BytesStart<'_>) -> bool {
    attribute(link, "rel").is_none_or(|rel| rel == "alternate")
}

/// The value of an attribute, resolving only XML's own entities. Duplicates are not checked, so the
/// cost is linear in the number of attributes.
fn attribute<'e>(element: &'e BytesStart<'_>, name: &str) -> Option<Cow<'e, str>> {
    let mut attributes = element.attributes();
    let found = attributes.with_checks(false).flatten().find(|a| a.key.as_ref() == name)?;
    match found.value {
        Cow::Borrowed(value) if value.len() <= MAX_FIELD => quick_xml::escape::unescape(value).ok(),
        _ => None,
    }
}
