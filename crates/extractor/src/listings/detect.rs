//! Tells what kind of sitemap or feed a document is: XML by its root element, JSON by its version, plain text if it
//! consists of URLs.

use super::formats::ListingFormat;
use super::{ListingKind, list, xml};
use crate::charset::{self, Syntax};
use crate::media::{BodyKind, MediaType};
use memchr::{memchr_iter, memmem};
use std::borrow::Cow;

/// Bytes that tell of most documents what they are.
const SNIFFED: usize = 4_096;
/// Maximum bytes before the root element: comments such as a licence, the document type, processing instructions.
const MAX_PROLOGUE: usize = 256 << 10;

/// A document that may be a sitemap or feed.
pub(super) struct ListingDocument<'b> {
    pub bytes: &'b [u8],
    pub format: DocumentFormat,
    /// Did others stand before it, such as the warnings of a broken server?
    pub is_behind_others: bool,
}

/// How a document is written.
pub(super) enum DocumentFormat {
    Xml(&'static ListingFormat),
    /// Maybe a JSON Feed: its version is known only when it is read.
    Json,
    /// URLs, one a line.
    List,
}

impl DocumentFormat {
    pub fn kind(&self) -> ListingKind {
        match self {
            DocumentFormat::Xml(format) => format.kind,
            DocumentFormat::Json => ListingKind::Json,
            DocumentFormat::List => ListingKind::Text,
        }
    }

    pub fn syntax(&self) -> Syntax {
        match self {
            DocumentFormat::Xml(_) => Syntax::Xml,
            DocumentFormat::Json | DocumentFormat::List => Syntax::Plain,
        }
    }
}

/// Decodes the bytes of a response.
pub(super) struct ListingDecoder<'m> {
    /// That of the Content-Type.
    pub label: Option<&'m str>,
    pub host: &'m str,
}

impl ListingDecoder<'_> {
    pub fn text<'b>(&self, bytes: &'b [u8], syntax: Syntax) -> Cow<'b, str> {
        charset::decode(bytes, self.label, syntax, self.host).text
    }

    /// The first bytes, as XML declares their encoding.
    fn head<'b>(&self, bytes: &'b [u8], size: usize) -> Cow<'b, str> {
        self.text(&bytes[..bytes.len().min(size)], Syntax::Xml)
    }

    /// The format of XML that begins with this head; none if it is of another kind.
    fn xml(&self, bytes: &[u8], head: &str) -> Option<&'static ListingFormat> {
        xml::format(head).or_else(|_| xml::format(&self.head(bytes, MAX_PROLOGUE))).ok().flatten()
    }
}

/// The sitemap or feed that a body may be; none if it is another document.
pub(super) fn detect<'b>(
    bytes: &'b [u8],
    decoder: &ListingDecoder<'_>,
    media: &MediaType,
) -> Option<ListingDocument<'b>> {
    let document = |format| Some(ListingDocument { bytes, format, is_behind_others: false });
    let head = decoder.head(bytes, SNIFFED);
    if let Some(format) = decoder.xml(bytes, &head) {
        return document(DocumentFormat::Xml(format));
    }
    if head.trim_start().starts_with('{') && memmem::find(bytes, b"jsonfeed.org").is_some() {
        return document(DocumentFormat::Json);
    }
    if list::is_list(&head, bytes.len() > SNIFFED, media.kind == BodyKind::Html) {
        return document(DocumentFormat::List);
    }
    let bytes = behind_others(bytes)?;
    let format = decoder.xml(bytes, &decoder.head(bytes, SNIFFED))?;
    let is_it = media.is_xml || ends_with(bytes, format);
    is_it.then_some(ListingDocument { bytes, format: DocumentFormat::Xml(format), is_behind_others: true })
}

/// XML without the words before it, such as a warning of PHP; none if a page stands there.
fn behind_others(bytes: &[u8]) -> Option<&[u8]> {
    let begins = |at: usize, with: &str| {
        bytes.get(at..at + with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()))
    };
    for at in memchr_iter(b'<', &bytes[..bytes.len().min(SNIFFED)]) {
        if ["<!doctype", "<html", "<head", "<body"].iter().any(|tag| begins(at, tag)) {
            return None;
        }
        if ["<?xml", "<urlset", "<sitemapindex", "<rss", "<rdf:RDF", "<feed"]
            .iter()
            .any(|tag| begins(at, tag))
        {
            return Some(&bytes[at..]);
        }
    }
    None
}

/// Is the end tag of the root the last of the document? If not, it may be the example in a text about sitemaps.
fn ends_with(bytes: &[u8], format: &ListingFormat) -> bool {
    let end = bytes.trim_ascii_end().strip_suffix(b">").unwrap_or_default().trim_ascii_end();
    let name = end.iter().rposition(|b| matches!(b, b'/' | b':')).map_or(end, |at| &end[at + 1..]);
    name.eq_ignore_ascii_case(format.root.as_bytes())
}
