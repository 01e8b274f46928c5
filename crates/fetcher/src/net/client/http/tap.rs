//! The header of a response as it was received.

use super::body::is_close_delimited;
use super::chunk_lines::ChunkLines;
use crate::net::client::Cut;
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use reqwest::header::HeaderMap;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

/// Maximum bytes of a header that are kept. hyper refuses longer ones.
const MAX_KEPT: usize = 512 << 10;
/// Headers of a connection that no response has taken yet.
const MAX_UNTAKEN: usize = 2;
/// Bytes that are read at a time while a header or a chunked body is open.
const PART: usize = 8 << 10;
/// Bytes at most that hyper reads without a pause. It takes the length of a chunk byte by byte, and zeros or blanks can
/// go on for ever: in a pause other tasks run, and it sees that the request was given up.
const MAX_IN_A_ROW: usize = 256 << 10;

/// A connection.
pub trait Wire: Read + Write + Connection + Send + Unpin {}

impl<T: Read + Write + Connection + Send + Unpin> Wire for T {}

/// The header of a response as received. Empty for HTTP/2.
#[derive(Debug, Default)]
pub struct RawHead {
    pub reason: Option<Box<[u8]>>,
    /// Is it of HTTP/1.0, whatever hyper was told?
    pub is_1_0: bool,
    /// The lines behind the status line.
    pub lines: Option<Box<[u8]>>,
    pub end: WireEnd,
}

/// How the connection ended: many servers close TLS without saying so (no close_notify), and whoever cuts a connection
/// looks the same.
#[derive(Clone, Debug, Default)]
pub struct WireEnd(Arc<AtomicBool>);

impl WireEnd {
    /// Takes an end without close_notify for an end like any.
    fn note(&self, read: io::Result<()>) -> io::Result<()> {
        read.or_else(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                self.0.store(true, Ordering::Relaxed);
                Ok(())
            }
            _ => Err(error),
        })
    }

    /// Why the body that was read may not be all: its end was that of the connection, which may have been cut.
    pub fn cut(&self, headers: &HeaderMap) -> Option<Cut> {
        (self.0.load(Ordering::Relaxed) && is_close_delimited(headers)).then_some(Cut::Disconnect)
    }
}

/// Headers of a connection's HTTP/1 responses. Each has a number, which hyper is told as its reason phrase: so a response
/// finds its own header, even if the next one arrived on the connection meanwhile.
#[derive(Clone, Debug, Default)]
pub struct RawHeads(Arc<Mutex<VecDeque<ResponseHead>>>, WireEnd);

#[derive(Debug, Default)]
struct ResponseHead {
    number: u64,
    /// The status line with its end.
    status: Vec<u8>,
    /// The lines behind it, up to the empty line.
    lines: Vec<u8>,
    /// Where in `lines` the field begins that hyper has not been given yet, and where its last line does.
    field: usize,
    line: usize,
    /// Is `chunked` the last coding of the last `Transfer-Encoding`?
    is_chunked: bool,
    /// The fields of a response of HTTP/1.0, as hyper reads them. They wait for their end: hyper refuses a chunked body of
    /// 1.0, which browsers read, so such a response is told as one of 1.1.
    held: Option<Vec<u8>>,
    is_whole: bool,
}

impl RawHeads {
    fn heads(&self) -> MutexGuard<'_, VecDeque<ResponseHead>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A response follows.
    fn begin(&self, number: u64) {
        let mut heads = self.heads();
        heads.push_back(ResponseHead { number, ..ResponseHead::default() });
        // Those of requests that were given up.
        let excess = heads.len().saturating_sub(MAX_UNTAKEN);
        heads.drain(..excess);
    }

    /// The header whose phrase is `told` by hyper.
    pub fn take(&self, told: &[u8]) -> Option<RawHead> {
        let number: u64 = std::str::from_utf8(told).ok()?.parse().ok()?;
        let mut heads = self.heads();
        let at = heads.iter().position(|head| head.number == number && head.is_whole)?;
        let head = heads.remove(at)?;
        let status = StatusLine::parse(&head.status)?;
        let (reason, is_1_0) = (Some(status.reason.into()), status.is_1_0);
        Some(RawHead { reason, is_1_0, lines: Some(head.lines.into()), end: self.1.clone() })
    }
}

impl ResponseHead {
    /// Nothing follows.
    fn end(&mut self, out: &mut Vec<u8>) {
        if !self.status.ends_with(b"\n") {
            out.extend_from_slice(&self.status);
        }
        self.release(out);
        out.extend_from_slice(&self.lines[self.field..]);
        self.is_whole = true;
    }

    /// Appends what is held to `out`.
    fn release(&mut self, out: &mut Vec<u8>) {
        let Some((fields, status)) = self.held.take().zip(StatusLine::parse(&self.status)) else { return };
        status.write(self.number, self.is_chunked, out);
        if self.is_chunked {
            // As 1.0 means it.
            out.extend_from_slice(b"Connection: close\r\n");
        }
        out.extend_from_slice(&fields);
    }

    /// Adds received bytes up to the empty line. Appends them to `out` as hyper reads them. Returns the others.
    fn add<'p>(&mut self, part: &'p [u8], out: &mut Vec<u8>) -> &'p [u8] {
        for (at, &byte) in part.iter().enumerate() {
            if self.is_whole {
                return &part[at..];
            }
            if !self.status.ends_with(b"\n") {
                // Servers may send empty lines in front (RFC 9112 §2.2).
                if self.status.is_empty() && matches!(byte, b'\r' | b'\n') {
                    continue;
                }
                self.status.push(byte);
                let is_too_long = self.status.len() > MAX_KEPT;
                if byte == b'\n' || is_too_long {
                    match StatusLine::parse(&self.status).filter(|_| !is_too_long) {
                        Some(line) if line.is_1_0 => self.held = Some(Vec::new()),
                        Some(line) => line.write(self.number, false, out),
                        None => out.extend_from_slice(&self.status),
                    }
                }
                self.is_whole = is_too_long;
                continue;
            }
            self.lines.push(byte);
            let is_end = byte == b'\n' && self.end_line(out);
            self.is_whole = is_end || self.lines.len() > MAX_KEPT;
            if self.is_whole && !is_end {
                self.end(out);
            }
            // Another response follows this one (RFC 9110 §15.2).
            if is_end && StatusLine::parse(&self.status).is_some_and(|line| line.is_informational()) {
                *self = ResponseHead { number: self.number, ..ResponseHead::default() };
            }
        }
        &[]
    }

    /// Does a chunked body follow, as hyper sees it?
    fn has_chunks(&self) -> bool {
        let has_body = |line: StatusLine| !matches!(line.code, b"101" | b"204" | b"304");
        self.is_whole && self.is_chunked && StatusLine::parse(&self.status).is_some_and(has_body)
    }

    /// A line is there. Appends the field before it to `out`, unless the line goes on with it. True at the empty line.
    fn end_line(&mut self, out: &mut Vec<u8>) -> bool {
        let line = &self.lines[self.line..];
        let is_end = matches!(line, b"\n" | b"\r\n");
        if !line.starts_with(b" ") && !line.starts_with(b"\t") {
            let field = &self.lines[self.field..self.line];
            write_field(field, self.held.as_mut().unwrap_or(out));
            self.is_chunked = is_chunked(field).unwrap_or(self.is_chunked);
            self.field = self.line;
        }
        if is_end {
            self.release(out);
            out.extend_from_slice(b"\r\n");
        }
        self.line = self.lines.len();
        is_end
    }
}

/// Appends a field as hyper reads it. Without a length that can be read, the body ends with the connection, as in browsers.
/// A carriage return within a line is a space (RFC 9112 §2.2).
fn write_field(field: &[u8], out: &mut Vec<u8>) {
    if is_bad_length(field) {
        return;
    }
    let next = field.iter().skip(1).chain(b"\n");
    out.extend(field.iter().zip(next).map(|(byte, next)| match (byte, next) {
        (b'\r', next) if *next != b'\n' => b' ',
        (byte, _) => *byte,
    }));
}

/// Is `chunked` the last coding? None if the field is no `Transfer-Encoding`.
fn is_chunked(field: &[u8]) -> Option<bool> {
    let (name, value) = field.split_at(memchr::memchr(b':', field)?);
    let last = value[1..].rsplit(|byte| *byte == b',').next()?;
    let is_chunked = || last.trim_ascii().eq_ignore_ascii_case(b"chunked");
    name.trim_ascii_end().eq_ignore_ascii_case(b"transfer-encoding").then(is_chunked)
}

fn is_bad_length(field: &[u8]) -> bool {
    let Some(colon) = memchr::memchr(b':', field) else { return false };
    let (name, value) = (&field[..colon], &field[colon + 1..]);
    let is_number = |text: &[u8]| {
        let text = text.trim_ascii();
        text.iter().all(u8::is_ascii_digit)
            && std::str::from_utf8(text).is_ok_and(|text| text.parse::<u64>().is_ok())
    };
    name.trim_ascii_end().eq_ignore_ascii_case(b"content-length")
        && !value.split(|byte| *byte == b',').all(is_number)
}

/// A status line, read as browsers read it: the name in any case, a version that hyper does not know, other blanks.
struct StatusLine<'l> {
    is_1_0: bool,
    code: &'l [u8],
    reason: &'l [u8],
}

impl<'l> StatusLine<'l> {
    fn parse(line: &'l [u8]) -> Option<StatusLine<'l>> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (_, rest) = line.split_at_checked(4).filter(|(name, _)| name.eq_ignore_ascii_case(b"HTTP"))?;
        let (version, rest) = rest.split_at(rest.iter().position(|byte| matches!(byte, b' ' | b'\t'))?);
        let is_1_0 = match version {
            b"" | b"/1" | b"/1.0" => true,
            [b'/', b'1'..=b'3'] | [b'/', b'1'..=b'3', b'.', ..] => false,
            _ => return None,
        };
        let (code, reason) = rest.trim_ascii_start().split_at_checked(3)?;
        let is_sound = code.iter().all(u8::is_ascii_digit)
            && !reason.first().is_some_and(u8::is_ascii_digit)
            && reason.iter().all(|byte| *byte == b'\t' || !byte.is_ascii_control());
        let reason = reason.strip_prefix(b" ").unwrap_or(reason);
        is_sound.then_some(StatusLine { is_1_0, code, reason })
    }

    /// 101 ends a header, too: nobody asked for another protocol.
    fn is_informational(&self) -> bool {
        self.code.starts_with(b"1") && self.code != b"101"
    }

    /// As hyper reads it, with the number instead of the phrase. hyper empties a phrase with bytes beyond ASCII.
    fn write(&self, number: u64, is_chunked: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.is_1_0 && !is_chunked { b"HTTP/1.0 " } else { b"HTTP/1.1 " });
        out.extend_from_slice(self.code);
        out.extend_from_slice(format!(" {number}\r\n").as_bytes());
    }
}

/// A connection that keeps the header of each response until the next request.
pub struct Tap {
    wire: Box<dyn Wire>,
    /// None for HTTP/2, whose header has no text.
    heads: Option<RawHeads>,
    /// Requests so far.
    number: u64,
    /// The lines of a chunked body, up to its end.
    chunks: Option<ChunkLines>,
    /// Bytes of a header, or of such a body, that hyper has not taken yet.
    left: Vec<u8>,
    /// Bytes, at most, that were read since the last pause.
    in_a_row: usize,
}

impl Tap {
    pub fn new(wire: Box<dyn Wire>) -> Tap {
        let heads = (!wire.connected().is_negotiated_h2()).then(RawHeads::default);
        Tap { wire, heads, number: 0, chunks: None, left: Vec::new(), in_a_row: 0 }
    }
}

impl Connection for Tap {
    fn connected(&self) -> Connected {
        let connected = self.wire.connected();
        match &self.heads {
            Some(heads) => connected.extra(heads.clone()),
            None => connected,
        }
    }
}

impl Read for Tap {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let Tap { wire, heads, chunks, left, in_a_row, .. } = self.get_mut();
        if *in_a_row >= MAX_IN_A_ROW {
            *in_a_row = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        *in_a_row += buf.remaining();
        while left.is_empty() {
            let is_open = || heads.as_ref()?.heads().back().map(|head| !head.is_whole);
            let is_head = is_open() == Some(true);
            // hyper knows whether a response may end there.
            let ended = |read| match &*heads {
                Some(heads) => heads.1.note(read),
                None => read,
            };
            if !is_head && chunks.is_none() {
                let polled = Pin::new(wire).poll_read(cx, buf);
                if polled.is_pending() {
                    *in_a_row = 0;
                }
                return polled.map(ended);
            }
            let mut part = [0; PART];
            let mut read = ReadBuf::new(&mut part);
            ready!(Pin::new(&mut *wire).poll_read(cx, read.unfilled()).map(ended))?;
            let mut rest = read.filled();
            let is_end = rest.is_empty();
            if let Some(heads) = heads.as_ref().filter(|_| is_head)
                && let Some(head) = heads.heads().back_mut()
            {
                rest = head.add(rest, left);
                if is_end {
                    // hyper judges it.
                    head.end(left);
                }
                *chunks = head.has_chunks().then(ChunkLines::default);
            }
            match chunks {
                Some(lines) if is_end => lines.end(left),
                Some(lines) => lines.add(rest, left),
                None => left.extend_from_slice(rest),
            }
            chunks.take_if(|lines| lines.is_at_end());
            if is_end {
                break;
            }
        }
        let count = left.len().min(buf.remaining());
        buf.put_slice(&left[..count]);
        left.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl Write for Tap {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.begin(buf);
        Pin::new(&mut this.wire).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.wire.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.begin(bufs.first().map_or(&[], |buf| buf));
        Pin::new(&mut this.wire).poll_write_vectored(cx, bufs)
    }
}

impl Tap {
    /// A response follows if this is the beginning of a request. The rest of a request may be sent while its response
    /// is already there.
    fn begin(&mut self, sent: &[u8]) {
        let is_request = [&b"GET "[..], b"POST ", b"OPTIONS "].iter().any(|method| sent.starts_with(method));
        if let Some(heads) = self.heads.as_ref().filter(|_| is_request) {
            self.number += 1;
            self.chunks = None;
            heads.begin(self.number);
        }
    }
}
