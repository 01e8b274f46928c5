//! The kind of a body: by its `Content-Type`, or by its first bytes if the header is missing or a
//! value that servers send by default (WHATWG MIME Sniffing §5 and §7).
//!
//! Two rules go beyond the standard, which protects browsers from running what was sent as text.
//! Nothing is run here, so a document that can only be HTML is read as HTML under `text/plain` and
//! `application/octet-stream` too, unless the server sends `nosniff`. And a PDF or an image is
//! opaque, whatever its type says.

use crate::BodyFields;
use crate::charset::Syntax;
use crate::xhtml::{self, NamespaceKind};
use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};
use recrawl_types::media_types::{format_of, is_json};
use recrawl_types::{ContentType, MediaTypes};

/// How a body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyKind {
    /// Links and text.
    Html,
    /// The same, as XML.
    Xhtml,
    /// Text without links.
    Plain,
    /// Not read.
    Opaque,
}

/// The parts of a media type that matter here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MediaType {
    pub(crate) kind: BodyKind,
    /// The `charset` parameter.
    pub(crate) charset: Option<String>,
    /// Is it JSON, by its type?
    pub(crate) is_json: bool,
    /// Is it XML, by its type?
    pub(crate) is_xml: bool,
}

const HTML: &str = "text/html";
const XHTML: &str = "application/xhtml+xml";
const SVG: &str = "image/svg+xml";
const TEXT: &str = "text/plain";
const BINARY: &str = "application/octet-stream";

/// Bytes used to detect a kind (§5.2).
const SNIFFED: usize = 1_445;

impl MediaType {
    pub(crate) fn detect(fields: &BodyFields<'_>, body: &[u8], types: &MediaTypes) -> MediaType {
        let declared = ContentType::of_fields(fields.content_type.unwrap_or_default());
        let head = &body[..body.len().min(SNIFFED)];
        // Text in UTF-16 has bytes that count as binary elsewhere.
        let labelled = declared.charset.as_deref().and_then(|label| Encoding::for_label(label.as_bytes()));
        let is_wide = labelled.is_some_and(|encoding| encoding == UTF_16LE || encoding == UTF_16BE);
        let essence = essence(&declared, head, fields.nosniff);
        let kind = match essence {
            _ if !types.admits(essence) => BodyKind::Opaque,
            HTML => BodyKind::Html,
            XHTML => BodyKind::Xhtml,
            // Only where the crawl asks for the type.
            SVG if xhtml::has_root(&narrow(head), NamespaceKind::Svg) => BodyKind::Xhtml,
            _ if !is_wide && is_binary(head) => BodyKind::Opaque,
            _ => BodyKind::Plain,
        };
        let is_xml = essence == "text/xml" || format_of(essence) == "application/xml";
        MediaType { kind, is_json: is_json(essence), is_xml, charset: declared.charset.clone() }
    }

    /// How a body of this kind declares its encoding.
    pub(crate) fn syntax(&self) -> Syntax {
        match self.kind {
            BodyKind::Html => Syntax::Html,
            BodyKind::Xhtml => Syntax::Xml,
            BodyKind::Plain if self.is_xml => Syntax::Xml,
            BodyKind::Plain | BodyKind::Opaque => Syntax::Plain,
        }
    }
}

/// The media type of a body: the declared one, or else that of its first bytes.
pub fn media_type(content_type: Option<&str>, body: &[u8]) -> String {
    let declared = ContentType::of_fields(content_type.unwrap_or_default());
    match declared.is_declared() {
        true => declared.essence,
        false => essence(&declared, &body[..body.len().min(SNIFFED)], false).to_owned(),
    }
}

/// The type of a body, from its declared type and its content.
fn essence<'c>(declared: &'c ContentType, head: &[u8], nosniff: bool) -> &'c str {
    if let Some(known) = signature(head) {
        return known;
    }
    if !declared.is_declared() {
        return sniff(head);
    }
    match declared.essence.as_str() {
        TEXT | BINARY | "binary/octet-stream" if !nosniff && is_document(head) => HTML,
        called if is_xml(called) && xhtml::has_root(&narrow(head), NamespaceKind::Html) => XHTML,
        called => called,
    }
}

/// Whether bodies of this type are XML (§4.6). What they contain is told by their root.
fn is_xml(called: &str) -> bool {
    matches!(called, "text/xml" | "application/xml") || called.ends_with("+xml")
}

/// The type of a body without a declared one (§7.1).
fn sniff(head: &[u8]) -> &'static str {
    match head {
        _ if starts_as_html(head) => HTML,
        _ if narrow(head).starts_with(b"<?xml") && xhtml::has_root(&narrow(head), NamespaceKind::Html) => {
            XHTML
        }
        _ if is_document(head) => HTML,
        _ if is_binary(head) => BINARY,
        _ => TEXT,
    }
}

/// Signatures of formats that no text begins with (§6 and §7.1).
fn signature(head: &[u8]) -> Option<&'static str> {
    const SIGNATURES: [(&[u8], &str); 13] = [
        (b"%PDF-", "application/pdf"),
        (b"%!PS-Adobe-", "application/postscript"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"\0\0\x01\0", "image/x-icon"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x1f\x8b\x08", "application/gzip"),
        (b"Rar!\x1a\x07", "application/x-rar-compressed"),
        (b"OggS\0", "application/ogg"),
        (b"\x1a\x45\xdf\xa3", "video/webm"),
        (b"wOF2\0\x01\0\0", "font/woff2"),
    ];
    if head.starts_with(b"RIFF")
        && head.get(8..12).is_some_and(|kind| kind == b"WEBP" || kind == b"AVI " || kind == b"WAVE")
    {
        return Some("application/x-riff");
    }
    SIGNATURES.iter().find(|(bytes, _)| head.starts_with(bytes)).map(|(_, essence)| *essence)
}

/// Whether there are bytes that no text has (§3); not for UTF-16 with a byte order mark.
fn is_binary(head: &[u8]) -> bool {
    let is_utf16 = head.starts_with(&[0xFE, 0xFF]) || head.starts_with(&[0xFF, 0xFE]);
    !is_utf16 && head.iter().any(|b| matches!(b, 0x00..=0x08 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F))
}

/// The tags that make an untyped body HTML (§7.1).
const TAGS: [&[u8]; 17] = [
    b"!doctype html",
    b"html",
    b"head",
    b"script",
    b"iframe",
    b"h1",
    b"div",
    b"font",
    b"table",
    b"a",
    b"style",
    b"title",
    b"b",
    b"body",
    b"br",
    b"p",
    b"meta",
];

fn starts_as_html(head: &[u8]) -> bool {
    let text = narrow(head);
    let text = text.trim_ascii_start();
    text.starts_with(b"<!--") || TAGS.iter().any(|tag| starts_with_tag(text, tag))
}

/// Whether it begins as only an HTML document does: with its doctype or root, possibly after an XML
/// declaration and comments.
fn is_document(head: &[u8]) -> bool {
    let text = narrow(head);
    let mut text = text.trim_ascii_start();
    loop {
        let end = match text {
            [b'<', b'?', ..] => position(text, b"?>").map(|at| at + 2),
            [b'<', b'!', b'-', b'-', ..] => position(text, b"-->").map(|at| at + 3),
            _ => return starts_with_tag(text, b"!doctype html") || starts_with_tag(text, b"html"),
        };
        let Some(end) = end else { return false };
        text = text[end..].trim_ascii_start();
    }
}

fn position(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// Whether it begins with `<`, the tag, and a terminator.
fn starts_with_tag(text: &[u8], tag: &[u8]) -> bool {
    let Some(rest) = text.strip_prefix(b"<") else { return false };
    rest.split_at_checked(tag.len()).is_some_and(|(name, behind)| {
        name.eq_ignore_ascii_case(tag) && behind.first().is_none_or(|b| b.is_ascii_whitespace() || *b == b'>')
    })
}

/// The head as ASCII: without byte order mark, and every other byte of UTF-16, which shows by its mark or its XML
/// declaration.
fn narrow(head: &[u8]) -> Vec<u8> {
    match head {
        [0xEF, 0xBB, 0xBF, rest @ ..] => rest.to_vec(),
        [0xFF, 0xFE, rest @ ..] | rest @ [b'<', 0, b'?', 0, ..] => rest.iter().copied().step_by(2).collect(),
        [0xFE, 0xFF, rest @ ..] | rest @ [0, b'<', 0, b'?', ..] => {
            rest.iter().copied().skip(1).step_by(2).collect()
        }
        _ => head.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect_media(header: Option<&str>, body: &[u8]) -> MediaType {
        MediaType::detect(
            &BodyFields { content_type: header, ..BodyFields::default() },
            body,
            &MediaTypes::default(),
        )
    }

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn the_header_decides_where_it_may_and_the_bytes_where_it_may_not() {
        use BodyKind::{Html, Opaque, Plain, Xhtml};
        for (header, body, kind, charset) in [
            (Some("text/html"), &b""[..], Html, None),
            (Some("Text/HTML ; Charset=\"ISO-8859-1\"; x=y"), b"", Html, Some("ISO-8859-1")),
            (Some("application/xhtml+xml;charset=utf-8"), b"", Xhtml, Some("utf-8")),
            (Some("text/plain, text/html; charset=gbk"), b"", Html, Some("gbk")),
            (Some("text/markdown"), b"", Plain, None),
            (Some("application/json"), b"{}", Plain, None),
            (Some("application/ld+json; charset=utf-8"), b"{}", Plain, Some("utf-8")),
            (Some("application/xml"), b"<rates>", Plain, None),
            (Some("application/gpx+xml"), b"<gpx>", Plain, None),
            (Some("application/x-yaml"), b"a: 1", Plain, None),
            (Some("text/csv"), b"a,b", Plain, None),
            (Some("image/svg+xml"), b"<svg>", Opaque, None),
            (Some("application/json"), b"\0\x01", Opaque, None),
            (Some("image/png"), b"<html>", Opaque, None),
            // No type, or a meaningless one.
            (None, b" \n<!doctype html>", Html, None),
            (None, b"\xEF\xBB\xBF<p>x", Html, None),
            (None, b"\xFF\xFE<\0h\0t\0m\0l\0>\0", Html, None),
            (None, b"\xFE\xFF\0<\0P\0>", Html, None),
            (None, b"<?xml version='1.0'?>\n<!-- x -->\n<html xmlns='y'>", Html, None),
            (None, b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>", Xhtml, None),
            (None, b"<html xmlns='http://www.w3.org/1999/xhtml'>", Html, None),
            (None, b"<?xml version='1.0'?><rss>", Plain, None),
            (None, b"<paper>", Plain, None),
            (None, b"<!-- never closed", Html, None),
            (Some("; charset=x"), b"plain words", Plain, None),
            (Some("text/html charset=x"), b"<p>", Html, None),
            (Some("nonsense"), b"\x01\x02", Opaque, None),
            (Some("/"), b"<html>", Html, None),
            (Some("*/*"), b"<HTML lang=en>", Html, None),
            (Some("unknown/unknown"), b"<title>x", Html, None),
            (None, b"", Plain, None),
            // Types that servers send by default.
            (Some("text/plain"), b"<!DOCTYPE html><p>", Html, None),
            (Some("text/plain; charset=UTF-8"), b"  <html>", Html, Some("UTF-8")),
            (Some("text/plain"), b"<p>some markup is spoken of", Plain, None),
            (Some("text/plain"), b"#include <html>", Plain, None),
            (Some("text/plain"), b"MZ\0\x01", Opaque, None),
            (Some("text/plain; charset=utf-16le"), b"a\0b\0", Plain, Some("utf-16le")),
            (Some("text/plain; charset=unicode"), b"a\0b\0", Plain, Some("unicode")),
            (Some("application/octet-stream"), b"<!doctype HTML >", Html, None),
            (Some("application/octet-stream"), b"words", Opaque, None),
            // XML is what its root is.
            (Some("text/xml"), b"<html xmlns='http://www.w3.org/1999/xhtml'>", Xhtml, None),
            (
                Some("application/xml"),
                b"<!-- x --><h:html xmlns:h='http://www.w3.org/1999/xhtml'>",
                Xhtml,
                None,
            ),
            (
                Some("application/vnd.wap.xhtml+xml"),
                b"<html xmlns='http://www.w3.org/1999/xhtml'>",
                Xhtml,
                None,
            ),
            (Some("application/xml"), b"\xFE\xFF\0<\0h\0t\0m\0l\0>", Plain, None),
            (
                Some("application/xml"),
                &wide("<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>"),
                Xhtml,
                None,
            ),
            (Some("application/xml"), b"<html>", Plain, None),
            (Some("text/xml"), b"<html>", Plain, None),
            (Some("text/xml"), b"<rss>", Plain, None),
            (Some("image/svg+xml"), b"<svg xmlns='http://www.w3.org/2000/svg'>", Opaque, None),
            (
                Some("text/html"),
                b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>",
                Html,
                None,
            ),
            // Signatures and binary bytes.
            (Some("text/html"), b"%PDF-1.7\n", Opaque, None),
            (Some("text/html; charset=utf-8"), b"\x89PNG\r\n\x1a\n\0", Opaque, Some("utf-8")),
            (Some("text/plain"), b"RIFF\0\0\0\0WEBPVP8 ", Opaque, None),
            (None, b"PK\x03\x04", Opaque, None),
            (Some("text/html"), b"\0\0<p>zeros in front", Html, None),
        ] {
            let media = detect_media(header, body);
            assert_eq!((media.kind, media.charset.as_deref()), (kind, charset), "{header:?} {body:?}");
        }
    }

    #[test]
    fn a_server_that_insists_on_text_is_believed() {
        let fields = BodyFields { content_type: Some("text/plain"), nosniff: true, ..BodyFields::default() };
        let kind = |body: &[u8]| MediaType::detect(&fields, body, &MediaTypes::default()).kind;
        assert_eq!(kind(b"<!doctype html>"), BodyKind::Plain);
        assert_eq!(kind(b"%PDF-1.4"), BodyKind::Opaque);
    }

    #[test]
    fn only_the_types_asked_for_are_read() {
        let types = MediaTypes::new(["text/HTML", "application/json", "image/*"]).unwrap();
        let kind = |header: &str, body: &[u8]| {
            MediaType::detect(
                &BodyFields { content_type: Some(header), ..BodyFields::default() },
                body,
                &types,
            )
            .kind
        };
        assert_eq!(kind("text/html", b""), BodyKind::Html);
        assert_eq!(kind("application/xhtml+xml", b""), BodyKind::Opaque);
        assert_eq!(kind("text/plain", b"words"), BodyKind::Opaque);
        assert_eq!(kind("text/plain", b"<!doctype html>"), BodyKind::Html);
        assert_eq!(kind("application/json", b"{}"), BodyKind::Plain);
        assert_eq!(kind("application/xml", b"<a/>"), BodyKind::Opaque);
        assert_eq!(kind("image/svg+xml", b"<svg>"), BodyKind::Plain);
        assert_eq!(kind("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'>"), BodyKind::Xhtml);
        assert_eq!(kind("image/png", b"\x89PNG\r\n\x1a\n\0"), BodyKind::Opaque, "binary is no text");
    }
}
