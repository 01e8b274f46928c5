//! Records of a fetch: its response, or a revisit in place of it, and its request.

use super::records::{MAX_HEAD, name_and_value};
use super::spelling::{payload_digest, record_id, timestamp};
use libdeflater::CompressionLvl;
use recrawl_types::ArchivePosition;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::IpAddr;

/// The kind of a WARC record, with its content.
pub enum Record<'a> {
    /// A response with its body.
    Response {
        /// Why a part of the body is missing, if one is.
        truncated: Option<Truncation>,
        /// Decoded body.
        body: &'a [u8],
        /// Position of the page's previous body, if its record named it.
        before: Option<ArchivePosition>,
    },
    /// A response whose body is already archived.
    Same {
        /// Decoded body, for its digest.
        body: &'a [u8],
        /// The capture that holds it.
        of: EarlierCapture,
    },
    /// The server answered 304.
    NotModified {
        /// The capture of the body that it confirmed; none if that is not archived.
        of: Option<EarlierCapture>,
    },
}

/// Why a record holds less than the server meant to send (WARC 1.1, §5.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// The body is longer than `fetch.max_body`.
    Length,
    /// The connection ended before the announced end.
    Disconnect,
    /// The body is damaged, so nobody knows what is missing.
    Unspecified,
}

impl Truncation {
    fn name(self) -> &'static str {
        match self {
            Truncation::Length => "length",
            Truncation::Disconnect => "disconnect",
            Truncation::Unspecified => "unspecified",
        }
    }
}

/// An earlier capture of the same page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlierCapture {
    /// Time of its fetch, in milliseconds since 1970; 0 if it is unknown.
    pub at: u64,
}

impl EarlierCapture {
    /// The fields by which a revisit names it (WARC 1.1, §5.11 to 5.13).
    fn fields(self, url: &str) -> String {
        let mut fields = format!("WARC-Refers-To-Target-URI: {url}\r\n");
        if self.at > 0 {
            let (date, id) = (timestamp(self.at), record_id(url, self.at));
            let _ = write!(fields, "WARC-Refers-To-Date: {date}\r\nWARC-Refers-To: <{id}>\r\n");
        }
        fields
    }
}

/// Field with the position of the page's previous body, as number of the file and byte: `1 1234`. WARC 1.1
/// permits extension fields (§4), and forbids `WARC-Refers-To` in a `response` (§5.11).
pub const BODY_BEFORE: &str = "X-Recrawl-Body-Before";

/// Field with the number of the round that fetched a response, for crawls that notify of changes or archive requisites.
pub const ROUND: &str = "X-Recrawl-Round";

/// Bytes of an HTTP response's head that are written: readers find its end, with the fields of the record before it.
/// Fields beyond are left out.
pub(super) const MAX_HTTP_HEAD: usize = MAX_HEAD - (16 << 10);

const REVISIT: &str = "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/";

/// The parts common to all records.
#[derive(Clone, Copy)]
pub struct RecordHead<'a> {
    /// Canonical URL of the page.
    pub url: &'a str,
    /// Time of the fetch, in milliseconds since 1970.
    pub at: u64,
    /// Address of the server.
    pub peer: Option<IpAddr>,
    /// HTTP status.
    pub status: u16,
    /// Reason phrase of the status line; may be empty.
    pub reason: &'a [u8],
    /// The header as received, without status line; none if only its fields are known.
    pub lines: Option<&'a [u8]>,
    /// Version of HTTP. A response of HTTP/2 has no text form, so it is written as one of HTTP/1.1.
    pub http: HttpVersion,
    /// Number of the round, if its responses are told apart by it.
    pub round: Option<u32>,
    /// The request as sent: request line and header fields, with the empty line. It becomes a record of
    /// its own.
    pub request: Option<&'a [u8]>,
}

/// Version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0 or earlier.
    Http10,
    /// HTTP/1.1.
    #[default]
    Http11,
    /// HTTP/2.
    Http2,
}

impl<'a> RecordHead<'a> {
    /// Of a response of HTTP/1.1 without a reason phrase, from an unknown address.
    pub fn new(url: &'a str, at: u64, status: u16) -> RecordHead<'a> {
        RecordHead {
            url,
            at,
            peer: None,
            status,
            reason: b"",
            lines: None,
            http: HttpVersion::Http11,
            round: None,
            request: None,
        }
    }

    /// The fields that all records of the fetch have.
    fn fields(&self, kind: &str, id: &str) -> String {
        let mut warc = String::with_capacity(512);
        let (url, date) = (self.url, timestamp(self.at));
        let _ = write!(warc, "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n");
        let _ = write!(warc, "WARC-Date: {date}\r\nWARC-Record-ID: <{id}>\r\n");
        if let Some(peer) = self.peer {
            let _ = write!(warc, "WARC-IP-Address: {peer}\r\n");
        }
        if self.http == HttpVersion::Http2 {
            warc.push_str("WARC-Protocol: h2\r\n");
        }
        warc
    }

    /// Status line and headers as received, or in the order given, with a `Content-Length` that fits the body. Fields that
    /// describe the body as it was transferred get the prefix `X-Archive-Orig-`. `length` is none for a
    /// response that stands for another one.
    fn response<'h>(
        &self,
        headers: impl Iterator<Item = (&'h str, &'h [u8])>,
        length: Option<usize>,
    ) -> Vec<u8> {
        let version = if self.http == HttpVersion::Http10 { "1.0" } else { "1.1" };
        let mut text = format!("HTTP/{version} {} ", self.status).into_bytes();
        text.extend(one_line(self.reason).take(MAX_HTTP_HEAD / 2));
        text.extend_from_slice(b"\r\n");
        let length = length.map(|length| length.to_string());
        let mut is_told = length.is_none();
        let mut add = |line: &[u8]| {
            // With the longest prefix, the line end, and the length at the end.
            if text.len() + line.len() + 62 > MAX_HTTP_HEAD {
                return;
            }
            let (name, value) = name_and_value(line).unwrap_or_default();
            let is = |of: &str| name.eq_ignore_ascii_case(of.as_bytes());
            let is_length = is("content-length");
            let fits = is_length && !is_told && length.as_deref().map(str::as_bytes) == Some(value);
            if is("content-encoding") || is("transfer-encoding") || is_length && !fits {
                text.extend_from_slice(b"X-Archive-Orig-");
            }
            is_told |= fits;
            text.extend(one_line(line));
            text.extend_from_slice(b"\r\n");
        };
        match self.lines {
            Some(lines) => lines_of(lines).for_each(add),
            None => headers.for_each(|(name, value)| add(&[name.as_bytes(), b": ", value].concat())),
        }
        if let Some(length) = length.filter(|_| !is_told) {
            let _ = write!(text, "Content-Length: {length}\r\n");
        }
        text.extend_from_slice(b"\r\n");
        text
    }
}

/// The lines of a header, without their ends, but for blank ones.
fn lines_of(header: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = header.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| !line.trim_ascii().is_empty())
}

/// Without line ends, which would begin a new field.
fn one_line(value: &[u8]) -> impl Iterator<Item = u8> {
    value.iter().copied().filter(|byte| *byte != b'\r' && *byte != b'\n')
}

impl Record<'_> {
    /// The record as one gzip member, ready to append, and the record of the request as another one behind
    /// it. So a crash loses the request before the response.
    pub fn compress<'h>(
        &self,
        compressor: &mut Compressor,
        head: &RecordHead<'_>,
        headers: impl Iterator<Item = (&'h str, &'h [u8])>,
    ) -> Vec<u8> {
        let (body, length, kind, extra) = match self {
            Record::Response { body, truncated, before } => {
                let mut extra = format!("WARC-Payload-Digest: sha1:{}\r\n", payload_digest(body));
                if let Some(cause) = truncated {
                    let _ = write!(extra, "WARC-Truncated: {}\r\n", cause.name());
                }
                if let Some(before) = before {
                    let _ = write!(extra, "{BODY_BEFORE}: {} {}\r\n", before.file, before.offset);
                }
                if let Some(round) = head.round {
                    let _ = write!(extra, "{ROUND}: {round}\r\n");
                }
                (*body, Some(body.len()), "response", extra)
            }
            Record::Same { body, of } => {
                let (digest, of) = (payload_digest(body), of.fields(head.url));
                // Of a block without the payload, the standard wants to be told so (§6.7.2).
                let extra = format!(
                    "{REVISIT}identical-payload-digest\r\nWARC-Payload-Digest: sha1:{digest}\r\n{of}WARC-Truncated: length\r\n"
                );
                (&b""[..], Some(body.len()), "revisit", extra)
            }
            Record::NotModified { of } => {
                let of = of.map(|of| of.fields(head.url)).unwrap_or_default();
                (&b""[..], None, "revisit", format!("{REVISIT}server-not-modified\r\n{of}"))
            }
        };
        let http = head.response(headers, length);
        let id = record_id(head.url, head.at);
        let mut warc = head.fields(kind, &id);
        warc.push_str(&extra);
        block_fields(&mut warc, "response", http.len() + body.len());
        let mut member = compressor.member(&[warc.as_bytes(), &http, body, b"\r\n\r\n"]);
        if let Some(request) = head.request {
            let mut warc = head.fields("request", &record_id(&format!("request {}", head.url), head.at));
            let _ = write!(warc, "WARC-Concurrent-To: <{id}>\r\n");
            block_fields(&mut warc, "request", request.len());
            member.append(&mut compressor.member(&[warc.as_bytes(), request, b"\r\n\r\n"]));
        }
        member
    }
}

/// A `conversion` record with the document that a browser made of the response at `at`, as one gzip member. A
/// `resource` of the URL would be what the server sent (WARC 1.1, §6.4), and replay programs would show it.
pub fn rendered(compressor: &mut Compressor, url: &str, at: u64, document: &[u8]) -> Vec<u8> {
    let head = RecordHead::new(url, at, 200);
    let mut warc = head.fields("conversion", &record_id(&format!("rendered:{url}"), at));
    let _ = write!(
        warc,
        "WARC-Refers-To: <{}>\r\nWARC-Payload-Digest: sha1:{}\r\n\
         Content-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n",
        record_id(url, at),
        payload_digest(document),
        document.len()
    );
    compressor.member(&[warc.as_bytes(), document, b"\r\n\r\n"])
}

/// The last fields of a record of HTTP.
fn block_fields(warc: &mut String, message: &str, length: usize) {
    let _ =
        write!(warc, "Content-Type: application/http; msgtype={message}\r\nContent-Length: {length}\r\n\r\n");
}

/// Makes gzip members. Each page worker keeps one: clearing a new compressor's tables takes longer
/// than compressing a page.
pub struct Compressor {
    deflate: libdeflater::Compressor,
    /// The parts of a member, one behind the other.
    whole: Vec<u8>,
    /// Room for the longest member that they can give.
    room: Vec<u8>,
}

/// Bytes that are kept between two members for the next one.
const KEPT_ROOM: usize = 1 << 20;

impl Default for Compressor {
    fn default() -> Compressor {
        Compressor::new()
    }
}

impl Compressor {
    /// Level 1 takes as long as that of zlib for members that are a quarter smaller (docs/internals/measurements.md).
    pub fn new() -> Compressor {
        let level = CompressionLvl::new(1).expect("a level from 0 to 12");
        let deflate = libdeflater::Compressor::new(level);
        Compressor { deflate, whole: Vec::new(), room: Vec::new() }
    }

    /// Compresses all parts into one member.
    pub(super) fn member(&mut self, parts: &[&[u8]]) -> Vec<u8> {
        self.whole.clear();
        parts.iter().for_each(|part| self.whole.extend_from_slice(part));
        let longest = self.deflate.gzip_compress_bound(self.whole.len());
        if self.room.len() < longest {
            self.room.resize(longest, 0);
        }
        let length = self.deflate.gzip_compress(&self.whole, &mut self.room);
        let member = self.room[..length.expect("there is room for the longest")].to_vec();
        for kept in [&mut self.whole, &mut self.room].into_iter().filter(|kept| kept.capacity() > KEPT_ROOM) {
            *kept = Vec::new();
        }
        member
    }
}
