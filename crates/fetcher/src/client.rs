//! One request, one answer: the seam behind which the network lies.

mod http;

pub use http::{HttpNetwork, SetupError};

use bytes::Bytes;
use recrawl_types::{CanonicalUrl, Failure, Outcome, Validators};
use reqwest::header::{HeaderMap, HeaderName};
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

/// A network. One GET each call; redirects are answers like any other, and nothing is retried, so that
/// every request that a server sees has passed politeness, robots.txt and guard.
pub trait Network: Send + Sync + 'static {
    /// Asks for one URL, and counts what comes, also where it comes to nothing. The caller limits the time.
    fn get<'a>(&'a self, request: &'a Request, received: &'a Meter) -> ReplyFuture<'a>;

    /// The address that a request to this canonical host would go to. Where there is none, or none that
    /// may be connected to, [`Network::get`] fails in the same way without asking anyone anything.
    fn address<'a>(&'a self, host: &'a str) -> AddressFuture<'a>;
}

/// An address being looked up.
pub type AddressFuture<'a> = Pin<Box<dyn Future<Output = Result<IpAddr, NetworkError>> + Send + 'a>>;

/// An answer under way.
pub type ReplyFuture<'a> = Pin<Box<dyn Future<Output = Result<Reply, NetworkError>> + Send + 'a>>;

/// Bytes of a body as they came over the network, before decompression.
#[derive(Debug, Default)]
pub struct Meter(AtomicU64);

impl Meter {
    /// So many came.
    pub fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// All that came.
    pub fn total(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What to ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The page.
    pub url: CanonicalUrl,
    /// Sent as If-None-Match and If-Modified-Since.
    pub validators: Validators,
    /// Bytes of the decoded body after which no more is read.
    pub max_body: usize,
    /// No other request to this host is in sight: its connection need not be kept.
    pub last: bool,
}

/// What came back.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Status code.
    pub status: u16,
    /// Header fields, without those that decompression made wrong.
    pub headers: HeaderMap,
    /// The decoded body, at most [`Request::max_body`] bytes.
    pub body: Bytes,
    /// Was the body longer?
    pub truncated: bool,
    /// Who answered.
    pub peer: Option<SocketAddr>,
}

impl Reply {
    /// A header field as text; the first where there are several. Bytes that are not UTF-8 are replaced.
    pub fn header(&self, name: HeaderName) -> Option<std::borrow::Cow<'_, str>> {
        self.headers.get(name).map(|v| String::from_utf8_lossy(v.as_bytes()))
    }
}

/// Why nothing came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkError {
    /// The guard refuses the address; nothing was sent.
    Refused,
    /// The name did not resolve.
    Dns,
    /// No connection.
    Connect,
    /// No connection, but the name has another address: [`Network::address`] tells it from now on.
    TryNextAddress,
    /// The server did not take the request: it closed a connection that it had kept from an earlier one, or
    /// refused the HTTP/2 stream. The request may be repeated, once.
    NotProcessed,
    /// The TLS handshake failed.
    Tls,
    /// The time limit passed.
    Timeout,
    /// This machine has no file descriptor, buffer, port or memory left for a request.
    Exhausted,
    /// The connection broke, or what came was not HTTP, or was shorter than announced.
    Protocol,
    /// The body could not be decompressed.
    Encoding,
}

impl NetworkError {
    /// Did no server take the request? Then it tells nothing of one.
    pub fn reached_no_server(self) -> bool {
        use NetworkError::{Exhausted, NotProcessed, Refused, TryNextAddress};
        matches!(self, Refused | TryNextAddress | NotProcessed | Exhausted)
    }

    /// The outcome where it is not asked again, though it might be.
    pub(crate) fn final_error(self) -> NetworkError {
        match self {
            NetworkError::TryNextAddress => NetworkError::Connect,
            NetworkError::NotProcessed => NetworkError::Protocol,
            other => other,
        }
    }

    /// The outcome of a page that met this. No page ends with [`NetworkError::Exhausted`]: the run does.
    pub fn outcome(self) -> Outcome {
        Outcome::Failed(match self {
            NetworkError::Refused => return Outcome::RefusedAddress,
            NetworkError::Dns => Failure::Dns,
            NetworkError::Connect | NetworkError::TryNextAddress | NetworkError::Exhausted => {
                Failure::Connect
            }
            NetworkError::Tls => Failure::Tls,
            NetworkError::Timeout => Failure::Timeout,
            NetworkError::Protocol | NetworkError::NotProcessed => Failure::Protocol,
            NetworkError::Encoding => Failure::Encoding,
        })
    }
}
