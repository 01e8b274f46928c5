//! Response bodies: read up to a limit, and decoded.
//!
//! We decode the content codings ourselves. The client would decode only one of them and no
//! `x-gzip`. It would let a zstd frame use any amount of memory, and would decode input that
//! decodes to nothing for minutes.

mod gzip;
mod layer;

use super::before_the_answer;
use super::downgrade::requires_http1;
use crate::net::client::body_memory::{BodyMemory, MemoryShare};
use crate::net::client::{Cut, Meter, NetworkError, Request};
use crate::net::limits::MAX_CODINGS;
use bytes::{BufMut, Bytes};
use futures_util::{StreamExt, TryStreamExt};
use layer::{BodyDamage, Layer};
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderName, TRANSFER_ENCODING};
use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::task::coop;
use tokio_util::io::StreamReader;

/// Sent as `Accept-Encoding`.
pub const ACCEPTED: &str = "gzip, br, zstd, deflate";

/// The transfer coding that the client decodes.
const CHUNKED: &str = "chunked";
/// Least buffer space for the next part of a body, in bytes. A body that needs more doubles its space.
const BUFFER_GROWTH: usize = 8 << 10;
/// Decoded bytes per unit of tokio's budget.
const READ_SIZE: usize = 64 << 10;

/// A content coding that changes bytes (IANA's HTTP Content Coding Registry).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Also called x-gzip (RFC 9110 §8.4.1.3); one or more members (RFC 1952 §2.2).
    Gzip,
    /// zlib format (RFC 9110 §8.4.1.2), or raw deflate, which some servers send.
    Deflate,
    /// RFC 7932.
    Brotli,
    /// RFC 8878, with a window that RFC 9659 allows.
    Zstd,
}

impl Coding {
    /// The codings of a body by its header, in the order of application: those of the content, then those of
    /// the transfer without `chunked`, which the client has decoded. Like browsers, it ignores values that are
    /// not codings (`utf-8` is a common mistake).
    ///
    /// # Errors
    /// [`NetworkError::Encoding`]: one of them cannot be decoded, or there are too many.
    pub fn from_headers(headers: &HeaderMap) -> Result<Vec<Coding>, NetworkError> {
        let transfer: Vec<String> = names(headers, &TRANSFER_ENCODING).collect();
        // Not the last coding, so the client has not decoded it (RFC 9112 §6.1).
        let is_hidden = transfer.last().is_some_and(|last| last != CHUNKED);
        if is_hidden && transfer.iter().any(|name| name == CHUNKED) {
            return Err(NetworkError::Encoding);
        }
        let mut codings = Vec::new();
        for name in names(headers, &CONTENT_ENCODING).chain(transfer) {
            codings.push(match name.as_str() {
                "gzip" | "x-gzip" => Coding::Gzip,
                "deflate" => Coding::Deflate,
                "br" => Coding::Brotli,
                "zstd" => Coding::Zstd,
                // LZW, which no server sends, and two that need a dictionary that we never offer.
                "compress" | "x-compress" | "dcb" | "dcz" => return Err(NetworkError::Encoding),
                _ => continue,
            });
        }
        if codings.len() > MAX_CODINGS {
            return Err(NetworkError::Encoding);
        }
        Ok(codings)
    }
}

/// Does the body end with the connection (RFC 9112 §6.3)?
pub fn is_close_delimited(headers: &HeaderMap) -> bool {
    !headers.contains_key(CONTENT_LENGTH)
        && names(headers, &TRANSFER_ENCODING).last().as_deref() != Some(CHUNKED)
}

/// The names in a list of codings, in lower case.
fn names(headers: &HeaderMap, field: &HeaderName) -> impl Iterator<Item = String> {
    let lists = headers.get_all(field).iter().filter_map(|list| list.to_str().ok());
    let names = lists.flat_map(|list| list.split(',')).map(|name| name.trim().to_ascii_lowercase());
    names.filter(|name| !name.is_empty())
}

type Reader<'a> = Box<dyn AsyncBufRead + Send + Unpin + 'a>;

/// Reads the decoded bytes up to the request's limits, and returns why there may be more. Counts received bytes. Waits
/// while other bodies have the memory.
///
/// # Errors
/// The connection failed, or nothing can be decoded.
pub async fn read(
    response: reqwest::Response,
    codings: &[Coding],
    request: &Request,
    memory: &BodyMemory,
    received: &Meter,
) -> Result<(Bytes, Option<Cut>), NetworkError> {
    let counted = response.bytes_stream().inspect_ok(|chunk| received.add(chunk.len()));
    let is_late = AtomicBool::new(false);
    let late = async {
        match request.manner.body_time {
            Some(time) => tokio::time::sleep(time).await,
            None => pending().await,
        }
        is_late.store(true, Ordering::Relaxed);
    };
    let wire = counted.map_err(io::Error::other).take_until(Box::pin(late));
    let reader = Box::new(StreamReader::new(wire));
    let read = decode(reader, codings, request.max_body, memory, received).await;
    let (body, cut) = read.map_err(|e| what_broke(&e))?;
    Ok((body, cut.or(is_late.load(Ordering::Relaxed).then_some(Cut::Limit))))
}

async fn decode(
    reader: Reader<'_>,
    codings: &[Coding],
    limit: usize,
    memory: &BodyMemory,
    received: &Meter,
) -> io::Result<(Bytes, Option<Cut>)> {
    let damage = BodyDamage::default();
    let mut reader = reader;
    // An empty body has no coding, whatever its header says.
    if !reader.fill_buf().await?.is_empty() {
        for coding in codings.iter().rev() {
            reader = Box::new(BufReader::new(Layer::new(*coding, reader, &damage).await?));
        }
    }
    let (mut body, mut share) = (Vec::new(), MemoryShare::default());
    while body.len() < limit {
        coop::consume_budget().await;
        let space = body.capacity() - body.len();
        if space < BUFFER_GROWTH && body.capacity() < limit {
            let capacity = (2 * body.capacity()).max(BUFFER_GROWTH).min(limit);
            memory.grow(&mut share, capacity, received).await;
            body.reserve_exact(capacity - body.len());
        }
        let max = (body.capacity() - body.len()).min(limit - body.len()).min(READ_SIZE);
        if reader.read_buf(&mut (&mut body).limit(max)).await? == 0 {
            return match damage.get() {
                Some(Cut::Coding) if body.is_empty() => Err(io::ErrorKind::InvalidData.into()),
                damage => Ok((share.keep(body), damage)),
            };
        }
    }
    // One extra byte shows whether there is more.
    let is_longer = reader.read(&mut [0]).await? > 0;
    let cut = if is_longer { Some(Cut::Limit) } else { damage.get() };
    Ok((share.keep(body), cut))
}

/// An error of the connection passes through decoders unchanged; any other is of a decoder.
fn what_broke(error: &io::Error) -> NetworkError {
    match error.get_ref().and_then(|cause| cause.downcast_ref::<reqwest::Error>()) {
        Some(wire) if wire.is_timeout() => NetworkError::Timeout,
        Some(wire) if before_the_answer(wire) == NetworkError::Exhausted => NetworkError::Exhausted,
        Some(wire) if requires_http1(wire).is_some() => NetworkError::Unsound,
        Some(_) => NetworkError::Protocol,
        None => NetworkError::Encoding,
    }
}

#[cfg(test)]
mod tests;
