//! Sends spans to a collector: a bounded queue, one thread, one request at a time.
//!
//! Plain HTTP by hyper: it connects to the configured collector only, follows no redirect, and
//! ignores the environment's proxies and exporters. reqwest would ask for TLS and certificates.

use super::otlp::{self, Finished};
use hyper::Request;
use hyper::header::{CONTENT_TYPE, USER_AGENT};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use recrawl_types::WrittenHost;
use std::collections::VecDeque;
use std::error::Error;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Maximum number of queued spans.
pub const MAX_WAITING_SPANS: usize = 10_000;
/// Maximum spans of one request.
const BATCH: usize = 500;
/// Time to wait for more spans before sending a request that is not full.
const GATHER: Duration = Duration::from_secs(1);
/// Timeout of a request, from connecting to the header of the response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of connecting, shared by the addresses of a name.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Delay after a failure; doubled after each further one, up to [`LAST_RETRY`].
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// See [`FIRST_RETRY`].
const LAST_RETRY: Duration = Duration::from_secs(60);
/// The default port of OTLP over HTTP.
const PORT: u16 = 4318;

/// The URL of a collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collector {
    /// Name or address, with the port.
    authority: String,
    path: String,
}

/// Why spans were not accepted.
#[derive(Debug)]
enum ExportRefusal {
    /// The collector is down or overloaded: a retry may help.
    Now(String),
    /// It rejects these spans.
    ForGood(String),
}

impl Collector {
    /// Parses `log.otlp`; none if empty.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Option<Collector>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        let wrong = || {
            format!(
                "{text:?} is not a collector URL; write http://127.0.0.1:{PORT} \
                 (plain HTTP only; for TLS, run a local collector that forwards)"
            )
        };
        let rest = text.strip_prefix("http://").ok_or_else(wrong)?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#');
        if path.contains(is_odd) {
            return Err(wrong());
        }
        let host = WrittenHost::parse(authority).map_err(|e| format!("{}: {e}", wrong()))?;
        Ok(Some(Collector {
            authority: format!("{}:{}", host.name(), host.port().unwrap_or(PORT)),
            path: format!("/{path}").trim_end_matches('/').to_owned() + "/v1/traces",
        }))
    }

    fn send(&self, body: String) -> Result<(), ExportRefusal> {
        let status = self.post(body).map_err(|e| ExportRefusal::Now(e.to_string()))?;
        match status {
            200..300 => Ok(()),
            429 | 502..=504 => Err(ExportRefusal::Now(format!("status {status}"))),
            _ => Err(ExportRefusal::ForGood(format!("status {status}"))),
        }
    }

    /// Posts a body; returns the HTTP status. The body of the response is not read.
    fn post(&self, body: String) -> io::Result<u16> {
        let request = Request::post(format!("http://{}{}", self.authority, self.path))
            .header(USER_AGENT, concat!("recrawl/", env!("CARGO_PKG_VERSION")))
            .header(CONTENT_TYPE, "application/json")
            .body(body)
            .map_err(io::Error::other)?;
        // A runtime for each request ends with it, and its connection too.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let answer = runtime.block_on(async {
            let mut connector = HttpConnector::new();
            connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
            let client = Client::builder(TokioExecutor::new()).build(connector);
            let answer = tokio::time::timeout(TIMEOUT, client.request(request)).await?;
            answer.map(|answer| answer.status().as_u16()).map_err(|e| {
                // hyper-util itself says only "client error (Connect)".
                let mut cause: &dyn Error = &e;
                while let Some(deeper) = cause.source() {
                    cause = deeper;
                }
                io::Error::other(cause.to_string())
            })
        });
        // A look-up of a name may hang in a thread of its own; it is not waited for.
        runtime.shutdown_background();
        answer
    }
}

/// The queue of spans.
pub struct SpanQueue {
    state: Mutex<ExportState>,
    changed: Condvar,
}

struct ExportState {
    waiting: VecDeque<Finished>,
    /// Is a request in flight?
    is_sending: bool,
    /// The program ends: stop waiting.
    is_ending: bool,
    /// Spans that were dropped or rejected, and not yet logged.
    lost: u64,
}

impl SpanQueue {
    pub const fn new() -> SpanQueue {
        let state = ExportState { waiting: VecDeque::new(), is_sending: false, is_ending: false, lost: 0 };
        SpanQueue { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, ExportState> {
        self.state.lock().expect("no panic under the lock")
    }

    /// Queues a span, or counts it as lost.
    pub fn put(&self, span: Finished) {
        let mut state = self.state();
        if state.waiting.len() < MAX_WAITING_SPANS {
            state.waiting.push_back(span);
        } else {
            state.lost += 1;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Sends queued spans forever.
    pub fn export(&self, collector: &Collector) -> ! {
        let mut retry = FIRST_RETRY;
        let mut is_heard = true;
        loop {
            let batch = self.next();
            let sent = collector.send(otlp::body(&batch));
            let again = matches!(sent, Err(ExportRefusal::Now(_)));
            let lost = self.sent(batch, matches!(sent, Ok(())), again);
            match sent {
                Ok(()) => {
                    if !is_heard || lost > 0 {
                        tracing::warn!(lost, "the collector accepts spans again");
                    }
                    (retry, is_heard) = (FIRST_RETRY, true);
                }
                Err(ExportRefusal::ForGood(why)) => {
                    tracing::warn!(lost, "the collector rejected spans: {why}")
                }
                Err(ExportRefusal::Now(why)) => {
                    if std::mem::take(&mut is_heard) {
                        tracing::warn!("cannot send spans to the collector (log.otlp), retrying: {why}");
                    }
                    self.pause(retry);
                    retry = (2 * retry).min(LAST_RETRY);
                }
            }
        }
    }

    /// The next spans to send, once there are any, after waiting briefly for more.
    fn next(&self) -> Vec<Finished> {
        let mut state = self.state();
        while state.waiting.is_empty() {
            state = self.changed.wait(state).expect("no panic under the lock");
        }
        let until = Instant::now() + GATHER;
        while state.waiting.len() < BATCH && !state.is_ending {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).expect("no panic under the lock").0;
        }
        state.is_sending = true;
        let batch = state.waiting.len().min(BATCH);
        state.waiting.drain(..batch).collect()
    }

    /// Handles the result of a request; spans to be sent again are requeued as far as they fit.
    /// Returns the number of lost spans to log.
    fn sent(&self, batch: Vec<Finished>, is_taken: bool, again: bool) -> u64 {
        let mut state = self.state();
        state.is_sending = false;
        let room = if again { MAX_WAITING_SPANS - state.waiting.len() } else { 0 };
        let kept = room.min(batch.len());
        state.lost += if is_taken { 0 } else { (batch.len() - kept) as u64 };
        for span in batch.into_iter().take(kept).rev() {
            state.waiting.push_front(span);
        }
        let lost = if again { 0 } else { std::mem::take(&mut state.lost) };
        drop(state);
        self.changed.notify_all();
        lost
    }

    /// Waits for `time`, or until the program ends.
    fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut state = self.state();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            // At the end there is one more try. After it, waiting longer does not matter.
            if left.is_zero() || std::mem::take(&mut state.is_ending) {
                return;
            }
            state = self.changed.wait_timeout(state, left).expect("no panic under the lock").0;
        }
    }

    /// Waits at most `patience` until all spans are sent, and logs how many were lost.
    pub fn settle(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut state = self.state();
        state.is_ending = true;
        self.changed.notify_all();
        while state.is_sending || !state.waiting.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).expect("no panic under the lock").0;
        }
        let lost = state.lost + state.waiting.len() as u64;
        let is_sending = state.is_sending;
        drop(state);
        if lost > 0 || is_sending {
            tracing::warn!(
                lost,
                is_sending,
                "spans lost at shutdown: the collector did not accept them in time"
            );
        }
    }
}

#[cfg(test)]
impl SpanQueue {
    /// Takes all queued spans.
    pub fn waiting(&self) -> Vec<Finished> {
        self.state().waiting.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::otlp::{SpanId, TraceId};
    use super::*;

    fn span(id: u64) -> Finished {
        let (trace, span) = (TraceId(1), SpanId(id));
        Finished { trace, span, parent: None, name: "host", attributes: vec![], began: 1, ended: 2 }
    }

    #[test]
    fn a_collector_is_named_by_a_plain_address() {
        let parsed =
            |text: &str| Collector::parse(text).map(|c| c.map(|c| format!("{} {}", c.authority, c.path)));
        for (text, expected) in [
            ("http://127.0.0.1:4318", "127.0.0.1:4318 /v1/traces"),
            ("http://collector", "collector:4318 /v1/traces"),
            ("http://[::1]:9/otlp/", "[::1]:9 /otlp/v1/traces"),
            ("http://Bücher.example.", "xn--bcher-kva.example:4318 /v1/traces"),
        ] {
            assert_eq!(parsed(text).unwrap().unwrap(), expected);
        }
        assert_eq!(parsed("").unwrap(), None);
        for text in [
            "https://collector",
            "collector:4318",
            "http://",
            "http://u:p@c",
            "http://c/?a",
            "http://c\r\n",
            "http://c:99999",
            "http://c..d",
        ] {
            assert!(parsed(text).unwrap_err().contains("write http://127.0.0.1:4318"), "{text}");
        }
    }

    #[test]
    fn what_finds_no_room_is_counted_and_what_is_to_be_sent_again_comes_first() {
        let queue = SpanQueue::new();
        for id in 0..MAX_WAITING_SPANS as u64 + 3 {
            queue.put(span(id));
        }
        let batch = queue.next();
        assert_eq!((batch.len(), batch[0].span, queue.state().lost), (BATCH, SpanId(0), 3));
        for id in 0..10 {
            queue.put(span(20_000 + id));
        }
        // Ten places are taken meanwhile.
        assert_eq!(queue.sent(batch, false, true), 0, "it is told once they are taken");
        let again = queue.next();
        assert_eq!(again[0].span, SpanId(0));
        assert_eq!(queue.sent(again, true, false), 3 + 10);
        let refused = queue.next();
        let refused_spans = refused.len() as u64;
        assert_eq!(queue.sent(refused, false, false), refused_spans);
        assert_eq!(queue.state().lost, 0);
    }

    #[test]
    fn a_collector_that_is_not_there_is_tried_again_and_one_that_refuses_is_not() {
        use std::io::{Read, Write};
        use std::net::TcpListener;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let collector = Collector::parse(&format!("http://{address}")).unwrap().unwrap();
        for (answer, expected) in [
            ("HTTP/1.1 200 OK\r\n\r\n{}", "taken"),
            ("HTTP/1.1 503 Busy\r\n\r\n", "again"),
            ("HTTP/1.1 429 Many\r\n\r\n", "again"),
            ("HTTP/1.1 400 Bad\r\n\r\n", "refused"),
            ("SSH-2.0-server_of_another_kind", "again"),
            ("", "again"),
        ] {
            let came = std::thread::scope(|scope| {
                let server = scope.spawn(|| {
                    let (mut stream, _) = listener.accept().unwrap();
                    let mut request = [0; 4096];
                    let mut read = 0;
                    while !request[..read].ends_with(b"\r\n\r\nspans") {
                        read += stream.read(&mut request[read..]).unwrap();
                    }
                    stream.write_all(answer.as_bytes()).unwrap();
                });
                let came = match collector.send("spans".into()) {
                    Ok(()) => "taken",
                    Err(ExportRefusal::Now(_)) => "again",
                    Err(ExportRefusal::ForGood(_)) => "refused",
                };
                server.join().unwrap();
                came
            });
            assert_eq!(came, expected, "{answer}");
        }
        drop(listener);
        assert!(matches!(collector.send("spans".into()), Err(ExportRefusal::Now(_))));
    }
}
