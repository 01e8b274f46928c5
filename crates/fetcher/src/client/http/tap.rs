//! The header of a response as it was received.

use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

/// Maximum bytes of a header that are kept. hyper refuses longer ones.
const MAX_KEPT: usize = 512 << 10;
/// Bytes that are read at a time while a header is open.
const PART: usize = 8 << 10;

/// A connection.
pub trait Wire: Read + Write + Connection + Send + Unpin {}

impl<T: Read + Write + Connection + Send + Unpin> Wire for T {}

/// The header of the last HTTP/1 response on a connection.
#[derive(Clone, Debug, Default)]
pub struct RawHead(Arc<Mutex<Head>>);

#[derive(Debug, Default)]
struct Head {
    bytes: Vec<u8>,
    is_whole: bool,
}

impl RawHead {
    fn head(&self) -> MutexGuard<'_, Head> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reason phrase as received; empty if there is none.
    pub fn reason(&self) -> Box<[u8]> {
        let head = self.head();
        let line = head.bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        // Version, space, three digits, space.
        line.strip_suffix(b"\r").unwrap_or(line).get(13..).unwrap_or_default().into()
    }
}

impl Head {
    /// Adds received bytes up to the empty line.
    fn add(&mut self, part: &[u8]) {
        for &byte in part {
            // Servers may send empty lines in front (RFC 9112 §2.2).
            if self.is_whole || self.bytes.is_empty() && matches!(byte, b'\r' | b'\n') {
                continue;
            }
            self.bytes.push(byte);
            let is_end = self.bytes.ends_with(b"\n\r\n") || self.bytes.ends_with(b"\n\n");
            // Another response follows this one (RFC 9110 §15.2).
            match self.bytes.get(9) {
                Some(b'1') if is_end => self.bytes.clear(),
                _ => self.is_whole = is_end || self.bytes.len() >= MAX_KEPT,
            }
        }
    }
}

/// A connection that keeps the header of each response until the next request.
pub struct Tap {
    wire: Box<dyn Wire>,
    /// None for HTTP/2, whose header has no text.
    head: Option<RawHead>,
}

impl Tap {
    pub fn new(wire: Box<dyn Wire>) -> Tap {
        let head = (!wire.connected().is_negotiated_h2()).then(RawHead::default);
        Tap { wire, head }
    }
}

impl Connection for Tap {
    fn connected(&self) -> Connected {
        let connected = self.wire.connected();
        match &self.head {
            Some(head) => connected.extra(head.clone()),
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
        let Tap { wire, head } = self.get_mut();
        let Some(head) = head.as_ref().filter(|head| !head.head().is_whole) else {
            return Pin::new(wire).poll_read(cx, buf);
        };
        let mut part = [0; PART];
        let room = buf.remaining().min(PART);
        let mut read = ReadBuf::new(&mut part[..room]);
        ready!(Pin::new(wire).poll_read(cx, read.unfilled()))?;
        head.head().add(read.filled());
        buf.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl Write for Tap {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.begin();
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
        this.begin();
        Pin::new(&mut this.wire).poll_write_vectored(cx, bufs)
    }
}

impl Tap {
    /// A request is sent, so a response follows.
    fn begin(&self) {
        if let Some(head) = &self.head
            && head.head().is_whole
        {
            *head.head() = Head::default();
        }
    }
}
