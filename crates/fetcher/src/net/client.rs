//! One request and its response: the interface to the network.

pub(crate) mod body_memory;
mod http;

pub use http::{HttpNetwork, Post, SetupError, check_authorities};

use crate::net::guard::Guard;
use crate::net::kept_types::KeptTypes;
use bytes::Bytes;
use recrawl_types::outcome::AddressRefusal;
use recrawl_types::{CanonicalUrl, Failure, Outcome, Validators};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Url, Version};
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// A network. Each call is one GET. It follows no redirects and does not retry, so every request
/// that a server sees has passed politeness, robots.txt and address guard.
pub trait Network: Send + Sync + 'static {
    /// Requests one URL. Counts the received bytes, even if the request fails. The caller sets the
    /// time limit.
    fn get<'a>(&'a self, request: &'a Request, received: &'a Meter) -> ReplyFuture<'a>;

    /// The address that a request to this canonical host would go to. If there is none, or the
    /// guard refuses it, [`Network::get`] fails in the same way and sends nothing.
    fn address<'a>(&'a self, host: &'a str) -> AddressFuture<'a>;

    /// Are all requests made that a crawler without a contact may make ([`FirstLook`])?
    fn is_used_up(&self) -> bool {
        false
    }

    /// Has this canonical host a public address, so that [`RequestOptions::is_public_only`] lets a request go there? True
    /// behind a proxy that looks names up.
    fn is_public<'a>(&'a self, host: &'a str) -> PublicFuture<'a> {
        Box::pin(async move { self.address(host).await.is_ok_and(crate::net::guard::is_public) })
    }
}

/// The requests that a crawler without a contact may make beyond loopback. Whoever keeps the count must keep it durably.
pub trait FirstLook: Send + Sync + std::fmt::Debug {
    /// May this host be requested?
    fn admits(&self, host: &str) -> bool;

    /// Counts a request to this host, before it is sent; false if it may not be sent.
    fn take(&self, host: &str) -> bool;

    /// Are all requests made?
    fn is_over(&self) -> bool;
}

/// The result of [`Network::is_public`].
pub type PublicFuture<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

/// The result of a lookup.
pub type AddressFuture<'a> = Pin<Box<dyn Future<Output = Result<IpAddr, NetworkError>> + Send + 'a>>;

/// The result of a request.
pub type ReplyFuture<'a> = Pin<Box<dyn Future<Output = Result<Reply, NetworkError>> + Send + 'a>>;

/// Counts bytes of a body as received, before decompression, and the time that the body waited for memory.
#[derive(Debug, Default)]
pub struct Meter {
    bytes: AtomicU64,
    waits: Mutex<Waits>,
}

#[derive(Debug, Default)]
struct Waits {
    ended: Duration,
    since: Option<Instant>,
}

impl Meter {
    /// Adds received bytes.
    pub fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// All received bytes.
    pub fn total(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The body waits for memory until the result is dropped.
    pub(crate) fn wait(&self) -> Waiting<'_> {
        self.waits().since = Some(Instant::now());
        Waiting(self)
    }

    /// How long the body has waited for memory.
    pub fn waited(&self) -> Duration {
        let waits = self.waits();
        waits.ended + waits.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// The result of a request, unless it takes longer than this. The time that its body waits for memory is
    /// not the server's, so it does not count.
    pub(crate) async fn within<T>(&self, limit: Duration, request: impl Future<Output = T>) -> Option<T> {
        let (start, before) = (Instant::now(), self.waited());
        let mut request = pin!(request);
        loop {
            let end = start + limit + (self.waited() - before);
            match timeout_at(end, &mut request).await {
                Ok(result) => return Some(result),
                Err(_) if start + limit + (self.waited() - before) <= Instant::now() => return None,
                Err(_) => {}
            }
        }
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Meter::wait`].
pub(crate) struct Waiting<'m>(&'m Meter);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut waits = self.0.waits();
        let waited = waits.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        waits.ended += waited;
    }
}

/// URL and cookies of a request behind a redirect to the same page.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// The URL as the server wrote it; its origin is that of [`Request::url`].
    pub url: Url,
    /// The field `Cookie`.
    pub cookies: Option<HeaderValue>,
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The page.
    pub url: CanonicalUrl,
    /// Sent instead of the page's URL.
    pub hop: Option<Hop>,
    /// Sent as If-None-Match and If-Modified-Since.
    pub validators: Validators,
    /// Maximum length of the decoded body in bytes. The rest is not read.
    pub max_body: usize,
    /// Media types of which a body is read; none for all.
    pub types: Option<Arc<KeptTypes>>,
    /// The last known request to this host: its connection need not be kept.
    pub last: bool,
    /// How it differs from the request of a page.
    pub manner: RequestOptions,
}

impl Request {
    /// Is the body of a response with this header read?
    pub(crate) fn reads(&self, status: u16, headers: &HeaderMap) -> bool {
        let types = self.types.as_ref().filter(|_| (200..300).contains(&status));
        types.is_none_or(|types| types.reads(content_type_of(headers).as_deref()))
    }
}

/// How a request differs from that of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestOptions {
    /// Without the credentials that are configured for the host.
    pub is_anonymous: bool,
    /// Only to public addresses: not to those that [`FetchConfig::allow_addresses`](crate::FetchConfig) adds.
    pub is_public_only: bool,
    /// A preflight of CORS: OPTIONS instead of GET.
    pub is_preflight: bool,
    /// Further header fields. They replace the usual ones.
    pub fields: HeaderMap,
    /// Sent if the host's validators are believed.
    pub validators: Validators,
    /// Maximum bytes of the body, where that is less than [`FetchConfig::max_body`](crate::FetchConfig).
    pub max_body: Option<usize>,
    /// How long the body is read, for one without an end; none up to its end.
    pub body_time: Option<Duration>,
}

/// A response.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Status code.
    pub status: u16,
    /// Version of HTTP.
    pub version: Version,
    /// Reason phrase, unless it is the usual one of the status.
    pub reason: Option<Box<[u8]>>,
    /// Header fields as received, so lengths and codings are those of the transfer. Names are in lower
    /// case, and repeated fields stand together.
    pub headers: HeaderMap,
    /// The header as received, without status line; none for HTTP/2.
    pub lines: Option<Box<[u8]>>,
    /// The decoded body, at most [`Request::max_body`] bytes.
    pub body: Bytes,
    /// Why the body may not be all of it.
    pub cut: Option<Cut>,
    /// Was the body not read, since its media type is none of [`Request::types`]?
    pub is_unread: bool,
    /// Address of the server.
    pub peer: Option<SocketAddr>,
    /// The request, with [`FetchConfig::keep_requests`](crate::FetchConfig).
    pub sent: Option<Box<[u8]>>,
}

/// Why a body may not be whole; the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// It is longer than [`Request::max_body`] or [`RequestOptions::body_time`].
    Limit,
    /// It was decoded up to an end, but the connection ended before the announced one.
    Disconnect,
    /// It was decoded up to its end, but its checksum is missing or wrong.
    Checksum,
    /// It was decoded up to damage in its content coding.
    Coding,
}

impl Reply {
    /// A header field as text; the first if there are several. Replaces bytes that are not UTF-8.
    pub fn header(&self, name: HeaderName) -> Option<std::borrow::Cow<'_, str>> {
        self.headers.get(name).map(|v| String::from_utf8_lossy(v.as_bytes()))
    }
}

/// Content-Type as sent; the values of several fields with commas between them.
pub(crate) fn content_type_of(headers: &HeaderMap) -> Option<Box<str>> {
    let values = headers.get_all(CONTENT_TYPE).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let values: Vec<_> = values.collect();
    (!values.is_empty()).then(|| values.join(", ").into())
}

/// Statuses whose Location must be followed (RFC 9110 §15.4): not 300, 304, 305, 306.
pub(crate) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Why there is no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkError {
    /// The guard refuses the address; nothing was sent.
    Refused,
    /// The guard refuses it, as the crawl has no contact; nothing was sent.
    NoContact,
    /// The name did not resolve.
    Dns,
    /// No connection.
    Connect,
    /// No connection, but the name has another address, which [`Network::address`] returns from now
    /// on.
    TryNextAddress,
    /// The server did not process the request: it closed a kept connection, or refused the HTTP/2
    /// stream. The request may be repeated once.
    NotProcessed,
    /// The server answered, but in no sound HTTP/2. From now on its origin is asked over HTTP/1.1, where that cannot happen
    /// again: a GET may be repeated.
    Unsound,
    /// The TLS handshake failed.
    Tls,
    /// The time limit passed.
    Timeout,
    /// This machine has no file descriptor, buffer, port or memory left for a request.
    Exhausted,
    /// The connection broke, or the response was shorter than announced.
    Protocol,
    /// The server answered with a header that is not HTTP. That says nothing about its other pages.
    Malformed,
    /// The body could not be decompressed.
    Encoding,
}

impl NetworkError {
    /// Did no server process the request? Then the error says nothing about the host.
    pub fn reached_no_server(self) -> bool {
        use NetworkError::{Exhausted, NotProcessed, TryNextAddress};
        self.refusal().is_some() || matches!(self, TryNextAddress | NotProcessed | Exhausted)
    }

    /// Is a page asked for again that ends like this?
    pub(crate) fn is_repeated(self) -> bool {
        matches!(self, NetworkError::TryNextAddress | NetworkError::NotProcessed | NetworkError::Unsound)
    }

    /// Why the guard refuses the host, if it does.
    pub(crate) fn refusal(self) -> Option<AddressRefusal> {
        match self {
            NetworkError::Refused => Some(AddressRefusal::Special),
            NetworkError::NoContact => Some(AddressRefusal::NoContact),
            _ => None,
        }
    }

    /// The refusal of this address by this guard.
    fn of_guard(guard: &Guard, address: IpAddr) -> NetworkError {
        if guard.wants_contact(address) { NetworkError::NoContact } else { NetworkError::Refused }
    }

    /// The error if no retry follows.
    pub(crate) fn final_error(self) -> NetworkError {
        match self {
            NetworkError::TryNextAddress => NetworkError::Connect,
            NetworkError::NotProcessed => NetworkError::Protocol,
            other => other,
        }
    }

    /// The outcome of a page with this error. No page ends with [`NetworkError::Exhausted`]: the
    /// run ends instead.
    pub fn outcome(self) -> Outcome {
        Outcome::Failed(match self {
            NetworkError::Refused | NetworkError::NoContact => {
                return Outcome::RefusedAddress(self.refusal());
            }
            NetworkError::Dns => Failure::Dns,
            NetworkError::Connect | NetworkError::TryNextAddress | NetworkError::Exhausted => {
                Failure::Connect
            }
            NetworkError::Tls => Failure::Tls,
            NetworkError::Timeout => Failure::Timeout,
            NetworkError::Protocol
            | NetworkError::Malformed
            | NetworkError::NotProcessed
            | NetworkError::Unsound => Failure::Protocol,
            NetworkError::Encoding => Failure::Encoding,
        })
    }
}
