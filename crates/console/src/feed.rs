//! An Atom feed (RFC 4287) of changes.

use crate::view::{PageChange, PageChangeList};
use jiff::Timestamp;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use ring::digest::{SHA256, digest};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;

/// Bytes of a digest in a name.
const NAME_BYTES: usize = 16;

type Xml = Writer<Vec<u8>>;

/// The feed of a list that was asked for by these pages and further filters, in a URL with this query.
pub fn atom(list: &PageChangeList, pages: &str, filters: &str, query: &str) -> String {
    let mut out = Writer::new(Vec::new());
    put(&mut out, list, pages, filters, query).expect("memory takes all bytes");
    String::from_utf8(out.into_inner()).expect("text is written")
}

/// The strong validator of a feed.
pub fn tag(feed: &str) -> String {
    format!("\"{}\"", name_of(feed))
}

fn name_of(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    digest.as_ref()[..NAME_BYTES].iter().fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}

fn put(out: &mut Xml, list: &PageChangeList, pages: &str, filters: &str, query: &str) -> io::Result<()> {
    out.write_event(Event::Decl(BytesDecl::new("1.0", Some("utf-8"), None)))?;
    let feed = out.create_element("feed").with_attribute(("xmlns", "http://www.w3.org/2005/Atom"));
    feed.write_inner_content(|out| {
        let of = if pages.is_empty() { "all pages" } else { pages };
        text(out, "title", &format!("Changes of {of}"))?;
        text(out, "id", &format!("urn:recrawl:{}", name_of(&format!("{pages}\n{filters}"))))?;
        // Relative to the feed, which a proxy may serve at a sub-path.
        let own = if query.is_empty() { "feed.atom".to_owned() } else { format!("feed.atom?{query}") };
        out.create_element("link")
            .with_attributes([("rel", "self"), ("href", &*valid(&own))])
            .write_empty()?;
        text(out, "updated", &time(list.changes.first().map_or(0, |change| change.time)))?;
        out.create_element("author").write_inner_content(|out| text(out, "name", "recrawl"))?;
        list.changes.iter().try_for_each(|change| entry(out, change))
    })?;
    Ok(())
}

fn entry(out: &mut Xml, change: &PageChange) -> io::Result<()> {
    let PageChange { id, kind, url, time: at, title, difference, no_text, reason, .. } = change;
    let kind = kind.replace('_', " ");
    out.create_element("entry").write_inner_content(|out| {
        text(out, "title", &format!("{}: {kind}", title.as_deref().unwrap_or(url)))?;
        text(out, "id", &format!("urn:recrawl:{id}"))?;
        text(out, "updated", &time(*at))?;
        out.create_element("link")
            .with_attributes([("rel", "alternate"), ("href", &*valid(url))])
            .write_empty()?;
        let said = reason.as_ref().or(no_text.as_ref());
        let said = said.map_or_else(String::new, |said| format!("<p>{}</p>", escaped(said)));
        let shown =
            difference.as_ref().map_or_else(String::new, |text| format!("<pre>{}</pre>", escaped(text)));
        let content = valid(&format!("<p>{kind}: {}</p>{said}{shown}", escaped(url))).into_owned();
        out.create_element("content")
            .with_attribute(("type", "html"))
            .write_text_content(BytesText::new(&content))?;
        Ok(())
    })?;
    Ok(())
}

fn text(out: &mut Xml, element: &str, text: &str) -> io::Result<()> {
    out.create_element(element).write_text_content(BytesText::new(&valid(text)))?;
    Ok(())
}

fn escaped(text: &str) -> Cow<'_, str> {
    quick_xml::escape::escape(text)
}

/// A text without what XML has no way to write: most control characters, and two that are none.
fn valid(text: &str) -> Cow<'_, str> {
    let is_invalid =
        |c: char| matches!(c, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}');
    match text.contains(is_invalid) {
        false => Cow::Borrowed(text),
        true => Cow::Owned(text.replace(is_invalid, "\u{fffd}")),
    }
}

/// A time as RFC 3339 writes it.
fn time(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

#[cfg(test)]
mod tests;
