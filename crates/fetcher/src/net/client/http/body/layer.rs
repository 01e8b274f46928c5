//! Decodes one content coding: a reader of decoded bytes over a reader of coded bytes.
//!
//! A coded body need not decode to anything: empty gzip members, empty deflate blocks. Then the
//! limit on decoded bytes never applies, and a decoder with available input never yields. So a
//! [`Layer`] has a credit of coded bytes, which grows with its output. It also uses tokio's budget,
//! so that other tasks run and timeouts work while it decodes.
//!
//! Like browsers, a layer ends where its input is damaged: what was decoded counts, and [`BodyDamage`] says that it
//! may not be all.

use super::gzip::{GzipHead, Trailer};
use super::{Coding, Reader};
use crate::net::client::Cut;
use crate::net::limits::{MAX_CODED_LEAD, MAX_ZSTD_WINDOW_LOG};
use async_compression::tokio::bufread::{BrotliDecoder, DeflateDecoder, ZlibDecoder, ZstdDecoder};
use async_compression::zstd::DParameter;
use flate2::Crc;
use std::io;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, ReadBuf};
use tokio::task::coop;

/// Coded bytes that a decoder gets at a time, for one unit of tokio's budget. A poll has 128 units.
/// So even if each byte is slow to decode, other tasks wait only milliseconds.
const SLICE: usize = 1 << 10;

/// The worst damage of all layers of a body.
#[derive(Default)]
pub struct BodyDamage(Mutex<Option<Cut>>);

impl BodyDamage {
    fn note(&self, cut: Cut) {
        let mut worst = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *worst = (*worst).max(Some(cut));
    }

    pub fn get(&self) -> Option<Cut> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a body is given up, whatever was decoded.
#[derive(Debug, thiserror::Error)]
#[error("a content coding decodes to far less than its input")]
struct TooLittle;

/// Decodes one coding.
pub struct Layer<'a> {
    decoder: Box<dyn Decoder<'a> + Send + Unpin + 'a>,
    /// Where in a gzip member it is; none for other codings.
    gzip: Option<Gzip>,
    damage: &'a BodyDamage,
    is_ended: bool,
}

/// A part of a gzip member.
enum Gzip {
    Head { head: GzipHead, is_first: bool },
    Data(Crc),
    Trailer(Crc, Trailer),
}

/// A decoder with access to its input.
trait Decoder<'a>: AsyncRead {
    fn source(&mut self) -> &mut DecoderInput<'a>;
}

macro_rules! decoders {
    ($($decoder:ident)*) => {$(
        impl<'a> Decoder<'a> for $decoder<DecoderInput<'a>> {
            fn source(&mut self) -> &mut DecoderInput<'a> {
                self.get_mut()
            }
        }
    )*};
}

decoders!(BrotliDecoder DeflateDecoder ZlibDecoder ZstdDecoder);

impl<'a> Layer<'a> {
    /// Decodes the output of `reader`.
    ///
    /// # Errors
    /// The first bytes cannot be read.
    pub async fn new(
        coding: Coding,
        mut reader: Reader<'a>,
        damage: &'a BodyDamage,
    ) -> io::Result<Layer<'a>> {
        // The first byte of zlib has method deflate (8) and a window of at most 32 KiB (7). As raw
        // deflate, this byte would begin a stored block with garbage before its length.
        let is_zlib = match coding {
            Coding::Deflate => reader.fill_buf().await?.first().is_some_and(|first| first & 0x8f == 8),
            Coding::Gzip | Coding::Brotli | Coding::Zstd => false,
        };
        let source = DecoderInput { reader, credit: MAX_CODED_LEAD };
        let decoder: Box<dyn Decoder<'a> + Send + Unpin + 'a> = match coding {
            Coding::Deflate if is_zlib => Box::new(ZlibDecoder::new(source)),
            Coding::Gzip | Coding::Deflate => Box::new(DeflateDecoder::new(source)),
            Coding::Brotli => Box::new(BrotliDecoder::new(source)),
            Coding::Zstd => {
                let window = [DParameter::window_log_max(MAX_ZSTD_WINDOW_LOG)];
                let mut decoder = ZstdDecoder::with_params(source, &window);
                decoder.multiple_members(true);
                Box::new(decoder)
            }
        };
        let gzip = (coding == Coding::Gzip).then(|| Gzip::Head { head: GzipHead::default(), is_first: true });
        Ok(Layer { decoder, gzip, damage, is_ended: false })
    }

    /// Decodes the next bytes; none at the end.
    fn poll_decode(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        loop {
            match &mut self.gzip {
                Some(Gzip::Head { .. }) => match ready!(self.poll_head(cx))? {
                    true => self.gzip = Some(Gzip::Data(Crc::new())),
                    false => return Poll::Ready(Ok(())),
                },
                Some(Gzip::Trailer(..)) => {
                    ready!(self.poll_trailer(cx))?;
                    self.gzip = Some(Gzip::Head { head: GzipHead::default(), is_first: false });
                    let source = self.decoder.source();
                    let reader = std::mem::replace(&mut source.reader, Box::new(tokio::io::empty()));
                    let source = DecoderInput { reader, credit: source.credit };
                    self.decoder = Box::new(DeflateDecoder::new(source));
                }
                data => {
                    ready!(Pin::new(&mut *self.decoder).poll_read(cx, buf))?;
                    let given = &buf.filled()[before..];
                    self.decoder.source().credit += given.len();
                    match data {
                        Some(Gzip::Data(crc)) if given.is_empty() => {
                            let crc = std::mem::take(crc);
                            self.gzip = Some(Gzip::Trailer(crc, Trailer::default()));
                        }
                        Some(Gzip::Data(crc)) => {
                            crc.update(given);
                            return Poll::Ready(Ok(()));
                        }
                        _ => return Poll::Ready(Ok(())),
                    }
                }
            }
        }
    }

    /// Reads up to the data of the next gzip member; false if there is none. Like browsers, it ignores other
    /// data after a member, such as the zeros with which some servers pad.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let source = self.decoder.source();
        let Some(Gzip::Head { head, is_first }) = &mut self.gzip else { return Poll::Ready(Ok(true)) };
        loop {
            let may_end = !*is_first && head.is_open();
            let next = match ready!(Pin::new(&mut *source).poll_fill_buf(cx)) {
                // The header announces more than the member, as where it tells the length of the decoded body.
                Err(error) if may_end && is_of_wire(&error) => {
                    self.damage.note(Cut::Disconnect);
                    return Poll::Ready(Ok(false));
                }
                next => next?.first().copied(),
            };
            let is_end = match next {
                Some(byte) => head.add(byte),
                None => Err(io::ErrorKind::UnexpectedEof.into()),
            };
            if may_end && is_end.is_err() {
                return Poll::Ready(Ok(false));
            }
            let is_end = is_end?;
            source.consume_coded(1);
            if is_end {
                return Poll::Ready(Ok(true));
            }
        }
    }

    /// Reads the end of a gzip member. If its checksum is missing or wrong, there is no further member.
    fn poll_trailer(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let source = self.decoder.source();
        let Some(Gzip::Trailer(crc, trailer)) = &mut self.gzip else { return Poll::Ready(Ok(())) };
        while !trailer.is_whole() {
            let coded = ready!(Pin::new(&mut *source).poll_fill_buf(cx))?;
            if coded.is_empty() {
                break;
            }
            let amount = trailer.add(coded);
            source.consume_coded(amount);
        }
        Poll::Ready(if trailer.fits(crc) { Ok(()) } else { Err(io::Error::other(NoChecksum)) })
    }
}

/// The checksum of a gzip member is missing or wrong.
#[derive(Debug, thiserror::Error)]
#[error("the checksum of a gzip member is missing or wrong")]
struct NoChecksum;

/// Did the connection break?
fn is_of_wire(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|cause| cause.is::<reqwest::Error>())
}

impl AsyncRead for Layer<'_> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.is_ended {
            return Poll::Ready(Ok(()));
        }
        let result = ready!(this.poll_decode(cx, buf));
        let Err(error) = result else { return Poll::Ready(Ok(())) };
        let cause = error.get_ref();
        if is_of_wire(&error) || cause.is_some_and(|cause| cause.is::<TooLittle>()) {
            return Poll::Ready(Err(error));
        }
        let is_checksum = cause.is_some_and(|cause| cause.is::<NoChecksum>());
        this.damage.note(if is_checksum { Cut::Checksum } else { Cut::Coding });
        this.is_ended = true;
        Poll::Ready(Ok(()))
    }
}

/// Input of a decoder.
struct DecoderInput<'a> {
    reader: Reader<'a>,
    /// Coded bytes that may be read before more output comes.
    credit: usize,
}

impl DecoderInput<'_> {
    fn consume_coded(&mut self, amount: usize) {
        self.credit -= amount;
        self.reader.consume(amount);
    }
}

impl AsyncBufRead for DecoderInput<'_> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        let budget = ready!(coop::poll_proceed(cx));
        let coded = ready!(Pin::new(&mut this.reader).poll_fill_buf(cx))?;
        budget.made_progress();
        if this.credit == 0 && !coded.is_empty() {
            return Poll::Ready(Err(io::Error::other(TooLittle)));
        }
        Poll::Ready(Ok(&coded[..coded.len().min(this.credit).min(SLICE)]))
    }

    fn consume(self: Pin<&mut Self>, amount: usize) {
        self.get_mut().consume_coded(amount);
    }
}

impl AsyncRead for DecoderInput<'_> {
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
