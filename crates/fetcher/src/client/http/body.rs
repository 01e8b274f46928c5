//! Bodies: read up to a limit, and freed from their content codings.
//!
//! We undo the codings ourselves, since the client would undo one of them only, would know no `x-gzip`,
//! would let a zstd frame ask for any amount of memory, and would decode for minutes what decodes to nothing.

mod layer;

use super::before_the_answer;
use crate::client::{Meter, NetworkError};
use crate::limits::MAX_CODINGS;
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::TryStreamExt;
use layer::Layer;
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap};
use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::task::coop;
use tokio_util::io::StreamReader;

/// Sent as `Accept-Encoding`.
pub const ACCEPTED: &str = "gzip, br, zstd, deflate";

/// Room made for the next piece of a body.
const PIECE: usize = 8 << 10;
/// Decoded bytes that are taken at a time, for one unit of tokio's budget.
const BITE: usize = 64 << 10;

/// A content coding that changes bytes (IANA's HTTP Content Coding Registry).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Also called x-gzip (RFC 9110 §8.4.1.3); one member or several (RFC 1952 §2.2).
    Gzip,
    /// zlib's format (RFC 9110 §8.4.1.2), or deflate without it, which some servers send.
    Deflate,
    /// RFC 7932.
    Brotli,
    /// RFC 8878, with a window that RFC 9659 admits.
    Zstd,
}

impl Coding {
    /// Takes the codings of a body out of its header, in the order in which they were applied. What is no
    /// coding at all (`utf-8` is a usual mistake) changes nothing, as in browsers.
    ///
    /// # Errors
    /// [`NetworkError::Encoding`] where one of them cannot be undone, or there are too many.
    pub fn take(headers: &mut HeaderMap) -> Result<Vec<Coding>, NetworkError> {
        let mut codings = Vec::new();
        let lists = headers.get_all(CONTENT_ENCODING).iter().filter_map(|list| list.to_str().ok());
        for name in lists.flat_map(|list| list.split(',')) {
            codings.push(match name.trim().to_ascii_lowercase().as_str() {
                "gzip" | "x-gzip" => Coding::Gzip,
                "deflate" => Coding::Deflate,
                "br" => Coding::Brotli,
                "zstd" => Coding::Zstd,
                // LZW, which nobody sends; and two that need a dictionary that we never offered.
                "compress" | "x-compress" | "dcb" | "dcz" => return Err(NetworkError::Encoding),
                _ => continue,
            });
        }
        if codings.len() > MAX_CODINGS {
            return Err(NetworkError::Encoding);
        }
        if !codings.is_empty() {
            headers.remove(CONTENT_ENCODING);
            headers.remove(CONTENT_LENGTH);
        }
        Ok(codings)
    }
}

type Reader<'a> = Box<dyn AsyncBufRead + Send + Unpin + 'a>;

/// Reads up to `limit` decoded bytes, and tells whether there was more; counts what came.
///
/// # Errors
/// What broke: the connection, or a coding.
pub async fn read(
    response: reqwest::Response,
    codings: &[Coding],
    limit: usize,
    received: &Meter,
) -> Result<(Bytes, bool), NetworkError> {
    let counted = response.bytes_stream().inspect_ok(|chunk| received.add(chunk.len()));
    let wire = counted.map_err(io::Error::other);
    decode(Box::new(StreamReader::new(wire)), codings, limit).await.map_err(|e| what_broke(&e))
}

async fn decode(mut reader: Reader<'_>, codings: &[Coding], limit: usize) -> io::Result<(Bytes, bool)> {
    // An empty body is under no coding, whatever its header says.
    if !reader.fill_buf().await?.is_empty() {
        for coding in codings.iter().rev() {
            reader = Box::new(BufReader::new(Layer::new(*coding, reader).await?));
        }
    }
    let mut body = BytesMut::new();
    // One byte more than is kept tells whether there is more.
    while body.len() <= limit {
        coop::consume_budget().await;
        body.reserve(PIECE);
        let room = (limit + 1 - body.len()).min(BITE);
        if reader.read_buf(&mut (&mut body).limit(room)).await? == 0 {
            return Ok((body.freeze(), false));
        }
    }
    body.truncate(limit);
    Ok((body.freeze(), true))
}

/// A decoder's complaint is its own, the connection's comes through the decoders as it was.
fn what_broke(error: &io::Error) -> NetworkError {
    match error.get_ref().and_then(|cause| cause.downcast_ref::<reqwest::Error>()) {
        Some(wire) if wire.is_timeout() => NetworkError::Timeout,
        Some(wire) if before_the_answer(wire) == NetworkError::Exhausted => NetworkError::Exhausted,
        Some(_) => NetworkError::Protocol,
        None => NetworkError::Encoding,
    }
}

#[cfg(test)]
mod tests;
