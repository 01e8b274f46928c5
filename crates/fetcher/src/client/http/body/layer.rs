//! Decodes one content coding: a reader of decoded bytes over a reader of coded bytes.
//!
//! A coded body need not decode to anything: empty gzip members, empty deflate blocks. Then the
//! limit on decoded bytes never applies, and a decoder with available input never yields. So a
//! [`Layer`] has a credit of coded bytes, which grows with its output. It also uses tokio's budget,
//! so that other tasks run and timeouts work while it decodes.

use super::{Coding, Reader};
use crate::limits::{MAX_CODED_LEAD, MAX_ZSTD_WINDOW_LOG};
use async_compression::tokio::bufread::{
    BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder,
};
use async_compression::zstd::DParameter;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, ReadBuf};
use tokio::task::coop;

/// Coded bytes that a decoder gets at a time, for one unit of tokio's budget. A poll has 128 units.
/// So even if each byte is slow to decode, other tasks wait only milliseconds.
const SLICE: usize = 1 << 10;

/// The first bytes of a gzip member (RFC 1952 §2.3.1).
const MEMBER: &[u8] = &[0x1f, 0x8b];

/// Decodes one coding.
pub struct Layer<'a> {
    coding: Coding,
    decoder: Box<dyn Decoder<'a> + Send + Unpin + 'a>,
    /// Bytes after a gzip member that match [`MEMBER`] so far.
    matched: usize,
}

/// A decoder with access to its input.
trait Decoder<'a>: AsyncRead {
    fn source(&mut self) -> &mut Source<'a>;
}

macro_rules! decoders {
    ($($decoder:ident)*) => {$(
        impl<'a> Decoder<'a> for $decoder<Source<'a>> {
            fn source(&mut self) -> &mut Source<'a> {
                self.get_mut()
            }
        }
    )*};
}

decoders!(BrotliDecoder DeflateDecoder GzipDecoder ZlibDecoder ZstdDecoder);

impl<'a> Layer<'a> {
    /// Decodes the output of `reader`.
    ///
    /// # Errors
    /// The first bytes cannot be read.
    pub async fn new(coding: Coding, mut reader: Reader<'a>) -> io::Result<Layer<'a>> {
        // The first byte of zlib has method deflate (8) and a window of at most 32 KiB (7). As raw
        // deflate, this byte would begin a stored block with garbage before its length.
        let is_zlib = match coding {
            Coding::Deflate => reader.fill_buf().await?.first().is_some_and(|first| first & 0x8f == 8),
            Coding::Gzip | Coding::Brotli | Coding::Zstd => false,
        };
        let source = Source { reader, head: &[], credit: MAX_CODED_LEAD };
        let decoder: Box<dyn Decoder<'a> + Send + Unpin + 'a> = match coding {
            Coding::Gzip => Box::new(GzipDecoder::new(source)),
            Coding::Deflate if is_zlib => Box::new(ZlibDecoder::new(source)),
            Coding::Deflate => Box::new(DeflateDecoder::new(source)),
            Coding::Brotli => Box::new(BrotliDecoder::new(source)),
            Coding::Zstd => {
                let window = [DParameter::window_log_max(MAX_ZSTD_WINDOW_LOG)];
                let mut decoder = ZstdDecoder::with_params(source, &window);
                decoder.multiple_members(true);
                Box::new(decoder)
            }
        };
        Ok(Layer { coding, decoder, matched: 0 })
    }

    /// Starts the next gzip member; false if there is none. Like browsers, it ignores other data
    /// after a member, such as the zeros with which some servers pad.
    fn poll_next_member(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if self.coding != Coding::Gzip {
            return Poll::Ready(Ok(false));
        }
        let source = self.decoder.source();
        while self.matched < MEMBER.len() {
            let next = ready!(Pin::new(&mut *source).poll_fill_buf(cx))?;
            if next.first() != Some(&MEMBER[self.matched]) {
                return Poll::Ready(Ok(false));
            }
            source.consume_coded(1);
            self.matched += 1;
        }
        self.matched = 0;
        let reader = std::mem::replace(&mut source.reader, Box::new(tokio::io::empty()));
        let source = Source { reader, head: MEMBER, credit: source.credit };
        self.decoder = Box::new(GzipDecoder::new(source));
        Poll::Ready(Ok(true))
    }
}

impl AsyncRead for Layer<'_> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        loop {
            ready!(Pin::new(&mut *this.decoder).poll_read(cx, buf))?;
            let given = buf.filled().len() - before;
            this.decoder.source().credit += given;
            if given > 0 || !ready!(this.poll_next_member(cx))? {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

/// Input of a decoder.
struct Source<'a> {
    reader: Reader<'a>,
    /// Read before the reader.
    head: &'static [u8],
    /// Coded bytes that may be read before more output comes.
    credit: usize,
}

impl Source<'_> {
    fn consume_coded(&mut self, amount: usize) {
        self.credit -= amount;
        self.reader.consume(amount);
    }
}

impl AsyncBufRead for Source<'_> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        if !this.head.is_empty() {
            return Poll::Ready(Ok(this.head));
        }
        let budget = ready!(coop::poll_proceed(cx));
        let coded = ready!(Pin::new(&mut this.reader).poll_fill_buf(cx))?;
        budget.made_progress();
        if this.credit == 0 && !coded.is_empty() {
            return Poll::Ready(Err(io::Error::other("a content coding decodes to far less than its input")));
        }
        Poll::Ready(Ok(&coded[..coded.len().min(this.credit).min(SLICE)]))
    }

    fn consume(self: Pin<&mut Self>, amount: usize) {
        let this = self.get_mut();
        match this.head {
            [] => this.consume_coded(amount),
            head => this.head = &head[amount..],
        }
    }
}

impl AsyncRead for Source<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let coded = ready!(self.as_mut().poll_fill_buf(cx))?;
        let amount = coded.len().min(buf.remaining());
        buf.put_slice(&coded[..amount]);
        self.consume(amount);
        Poll::Ready(Ok(()))
    }
}
