//! A network without sockets, for tests of this crate.
//!
//! It can return any response, fail with any [`NetworkError`], and take time. It cuts bodies at the
//! limit, as a network must. It does not check addresses (the real network has the guard),
//! decompress, or break inside a body. Tests over real sockets cover those faults.

use crate::net::client::{AddressFuture, Cut, Meter, Network, NetworkError, Reply, ReplyFuture, Request};
use crate::outcome::{FetchedPage, Hold};
use crate::run::clock::WallClock;
use bytes::Bytes;
use recrawl_types::host::literal;
use reqwest::header::{HeaderName, HeaderValue};
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// How to handle a request.
#[derive(Clone, Debug)]
pub struct Script {
    /// The response.
    pub answer: Result<Reply, NetworkError>,
    /// Its latency, on tokio's clock.
    pub latency: Duration,
}

impl From<Reply> for Script {
    fn from(reply: Reply) -> Script {
        Script { answer: Ok(reply), latency: Duration::ZERO }
    }
}

impl From<NetworkError> for Script {
    fn from(error: NetworkError) -> Script {
        Script { answer: Err(error), latency: Duration::ZERO }
    }
}

impl Script {
    /// Adds a latency.
    pub fn after(mut self, latency: Duration) -> Script {
        self.latency = latency;
        self
    }
}

/// A request as the network saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedRequest {
    /// The request.
    pub request: Request,
    /// When it arrived.
    pub start: Instant,
    /// When its response was given; none while it is in flight, or if the caller gave up.
    pub end: Option<Instant>,
}

type TestAnswer = dyn Fn(&Request) -> Script + Send + Sync;
type PeerAddress = dyn Fn(&str) -> Result<IpAddr, NetworkError> + Send + Sync;

/// A network whose responses a function gives, with a log of requests.
pub struct ScriptedNetwork {
    answer: Box<TestAnswer>,
    address: Box<PeerAddress>,
    log: Mutex<Vec<LoggedRequest>>,
}

impl fmt::Debug for ScriptedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedNetwork").field("log", &self.log).finish_non_exhaustive()
    }
}

impl ScriptedNetwork {
    /// Makes a network with this function. Each name has its own address.
    pub fn new(answer: impl Fn(&Request) -> Script + Send + Sync + 'static) -> Arc<ScriptedNetwork> {
        ScriptedNetwork::with_addresses(answer, |host| Ok(own_address(host)))
    }

    /// The same, with a second function that gives the addresses of canonical hosts.
    pub fn with_addresses(
        answer: impl Fn(&Request) -> Script + Send + Sync + 'static,
        address: impl Fn(&str) -> Result<IpAddr, NetworkError> + Send + Sync + 'static,
    ) -> Arc<ScriptedNetwork> {
        let (answer, address) = (Box::new(answer), Box::new(address));
        Arc::new(ScriptedNetwork { answer, address, log: Mutex::default() })
    }

    /// All requests, in order.
    pub fn log(&self) -> Vec<LoggedRequest> {
        self.log.lock().expect("no panic under the lock").clone()
    }

    /// The URLs of all requests, in order.
    pub fn urls(&self) -> Vec<String> {
        self.log().iter().map(|asked| asked.request.url.to_string()).collect()
    }
}

impl Network for ScriptedNetwork {
    fn get<'a>(&'a self, request: &'a Request, received: &'a Meter) -> ReplyFuture<'a> {
        Box::pin(async move {
            let asked = LoggedRequest { request: request.clone(), start: Instant::now(), end: None };
            let at = {
                let mut log = self.log.lock().expect("no panic under the lock");
                log.push(asked);
                log.len() - 1
            };
            let script = (self.answer)(request);
            if !script.latency.is_zero() {
                tokio::time::sleep(script.latency).await;
            }
            self.log.lock().expect("no panic under the lock")[at].end = Some(Instant::now());
            let mut reply = script.answer?;
            if !request.reads(reply.status, &reply.headers) {
                return Ok(Reply { body: Bytes::new(), is_unread: true, ..reply });
            }
            received.add(reply.body.len());
            if reply.body.len() > request.max_body {
                reply.cut = Some(Cut::Limit);
            }
            reply.body.truncate(request.max_body);
            Ok(reply)
        })
    }

    fn address<'a>(&'a self, host: &'a str) -> AddressFuture<'a> {
        Box::pin(std::future::ready((self.address)(host)))
    }
}

/// A unique address of a name: its FNV-1a hash as IPv6.
fn own_address(host: &str) -> IpAddr {
    let step = |hash: u128, byte: u8| (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
    let hashed = || host.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step);
    literal(host).unwrap_or_else(|| IpAddr::V6(hashed().into()))
}

/// A response without header fields.
pub fn reply(status: u16, body: &str) -> Reply {
    Reply { status, body: Bytes::copy_from_slice(body.as_bytes()), ..Reply::default() }
}

/// Adds a header field to a response.
///
/// # Panics
/// The name or value cannot be sent.
pub fn with_header(mut reply: Reply, name: &'static str, value: &str) -> Reply {
    let value = HeaderValue::from_str(value).expect("a header value");
    reply.headers.append(HeaderName::from_static(name), value);
    reply
}

/// A wall clock that follows tokio's clock, so that both can be paused.
pub fn tokio_clock(at_start: u64) -> WallClock {
    let start = Instant::now();
    Arc::new(move || at_start + start.elapsed().as_millis() as u64)
}

/// Receives pages until the channel is closed.
pub async fn collect(mut pages: tokio::sync::mpsc::Receiver<FetchedPage>) -> Vec<FetchedPage> {
    let mut all = Vec::new();
    while let Some(page) = pages.recv().await {
        all.push(FetchedPage { hold: Hold::default(), ..page });
    }
    all
}
