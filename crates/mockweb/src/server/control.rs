//! The control interface: JSON over HTTP on a separate port.

use super::Core;
use crate::fault::{FaultRule, KINDS};
use crate::ledger::{HeldChanges, PATIENCE};
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Maximum bytes of a request body.
const MAX_BODY_BYTES: usize = 1 << 20;
/// Lines per chunk.
const LINES_A_CHUNK: usize = 500;

/// A response: one JSON document, or lines produced while they are sent.
pub enum ControlBody {
    /// A document.
    Document(Option<Bytes>),
    /// Chunks of lines.
    Lines(Box<dyn Iterator<Item = Bytes> + Send>),
}

impl Body for ControlBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut *self {
            ControlBody::Document(bytes) => bytes.take(),
            ControlBody::Lines(chunks) => chunks.next(),
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// A failed request: status and message.
struct FailedRequest(StatusCode, String);

impl FailedRequest {
    fn bad(why: impl ToString) -> FailedRequest {
        FailedRequest(StatusCode::BAD_REQUEST, why.to_string())
    }

    fn broken(why: impl ToString) -> FailedRequest {
        FailedRequest(StatusCode::INTERNAL_SERVER_ERROR, why.to_string())
    }
}

/// Handles a request to the control interface.
pub async fn answer(
    core: Arc<Core>,
    request: Request<Incoming>,
) -> Result<Response<ControlBody>, Infallible> {
    let (head, body) = request.into_parts();
    let query = Query(head.uri.query().unwrap_or(""));
    // Asynchronous sleep: the awaited task may run on this thread.
    for _ in 0..PATIENCE.0 {
        if core.ledger.is_settled() {
            break;
        }
        tokio::time::sleep(PATIENCE.1).await;
    }
    let outcome = match read(body).await {
        Ok(body) => route(&core, &head.method, head.uri.path(), &query, &body),
        Err(refusal) => Err(refusal),
    };
    let (status, body) = match outcome {
        Ok(body) => (StatusCode::OK, body),
        Err(FailedRequest(status, why)) => (status, document(&json!({ "error": why }))),
    };
    let kind = match body {
        ControlBody::Document(_) => "application/json",
        ControlBody::Lines(_) => "application/x-ndjson",
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}

fn route(
    core: &Arc<Core>,
    method: &Method,
    path: &str,
    query: &Query<'_>,
    body: &[u8],
) -> Result<ControlBody, FailedRequest> {
    let get = Method::GET;
    let post = Method::POST;
    let clock = |core: &Core| json!({ "cycle": core.clock(), "last_cycle": core.web.last_cycle() });
    match (method, path) {
        (m, "/info") if m == get => Ok(document(&core.info())),
        (m, "/clock") if m == get => Ok(document(&clock(core))),
        (m, "/clock") if m == post => {
            let asked: Value = serde_json::from_slice(body).map_err(FailedRequest::bad)?;
            let cycle =
                asked["cycle"].as_u64().ok_or_else(|| FailedRequest::bad("send {\"cycle\": NUMBER}"))?;
            core.set_clock(cycle).map_err(FailedRequest::bad)?;
            Ok(document(&clock(core)))
        }
        (m, "/advance") if m == post => {
            core.set_clock(u64::from(core.clock()) + 1).map_err(FailedRequest::bad)?;
            Ok(document(&clock(core)))
        }
        (m, "/truth") if m == get => {
            let from = query.number("from", 0)?;
            let to = query.number("to", core.web.last_cycle().unwrap_or_else(|| core.clock()))?;
            let shared = Arc::clone(core);
            Ok(lines((0..core.web.pages()).map(move |page| shared.truth(page, from, to))))
        }
        (m, "/held") if m == get => {
            let held = core.held();
            Ok(document(&json!({ "cycle": held.cycle, "all": held.all, "fixed": held.fixed })))
        }
        (m, "/held/pages") if m == get => Ok(lines(core.held().pages.into_iter())),
        (m, "/missed") if m == get => {
            let hosts = core.changes();
            let sum = |of: fn(&HeldChanges) -> u64| hosts.iter().map(of).sum::<u64>();
            let all = HeldChanges {
                seen: sum(|host| host.seen),
                missed: sum(|host| host.missed),
                waiting: sum(|host| host.waiting),
                lost: sum(|host| host.lost),
            };
            Ok(document(&json!({ "cycle": core.clock(), "all": all, "hosts": hosts })))
        }
        (m, "/log") if m == get => {
            let log = core.ledger.log(query.number("from", 0)?).map_err(FailedRequest::broken)?;
            // An unreadable line ends the list; the client notices by the number of lines.
            Ok(lines(log.map_while(Result::ok)))
        }
        (m, "/violations") if m == get => {
            let delay = Duration::from_millis(query.number("delay_ms", 0)?);
            Ok(document(&core.violations(delay)))
        }
        (m, "/counts") if m == get => Ok(lines(core.counts().into_iter())),
        (m, "/faults") if m == get => {
            let faults = core.faults.read().expect("no thread panics with the faults open");
            let rules: Vec<String> = faults.iter().map(FaultRule::to_string).collect();
            let kinds: Vec<Value> = KINDS.iter().map(|k| json!({ "name": k.name, "help": k.help })).collect();
            Ok(document(&json!({ "rules": rules, "kinds": kinds })))
        }
        (m, "/faults") if m == post => {
            let texts: Vec<String> = serde_json::from_slice(body).map_err(FailedRequest::bad)?;
            let rules: Vec<FaultRule> = texts
                .iter()
                .map(|text| text.parse())
                .collect::<Result<_, String>>()
                .map_err(FailedRequest::bad)?;
            *core.faults.write().expect("no thread panics with the faults open") = rules;
            Ok(document(&json!({ "rules": texts })))
        }
        (m, "/reset-log") if m == post => {
            core.ledger.reset().map_err(FailedRequest::broken)?;
            Ok(document(&json!({})))
        }
        _ => Err(FailedRequest(
            StatusCode::NOT_FOUND,
            format!("unknown request {method} {path}; see docs/internals/mockweb.md"),
        )),
    }
}

fn document<T: serde::Serialize>(value: &T) -> ControlBody {
    let mut bytes = serde_json::to_vec(value).expect("an answer is plain data");
    bytes.push(b'\n');
    ControlBody::Document(Some(bytes.into()))
}

fn lines<T: serde::Serialize>(mut values: impl Iterator<Item = T> + Send + 'static) -> ControlBody {
    ControlBody::Lines(Box::new(std::iter::from_fn(move || {
        let mut chunk = Vec::new();
        for value in values.by_ref().take(LINES_A_CHUNK) {
            serde_json::to_writer(&mut chunk, &value).expect("a line is plain data");
            chunk.push(b'\n');
        }
        (!chunk.is_empty()).then(|| chunk.into())
    })))
}

async fn read(mut body: Incoming) -> Result<Vec<u8>, FailedRequest> {
    let mut bytes = Vec::new();
    let next = |body: &mut Incoming, cx: &mut Context<'_>| Pin::new(body).poll_frame(cx);
    while let Some(frame) = std::future::poll_fn(|cx| Poll::Ready(ready!(next(&mut body, cx)))).await {
        if let Ok(data) = frame.map_err(FailedRequest::bad)?.into_data() {
            bytes.extend_from_slice(&data);
        }
        if bytes.len() > MAX_BODY_BYTES {
            return Err(FailedRequest(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("send at most {MAX_BODY_BYTES} bytes"),
            ));
        }
    }
    Ok(bytes)
}

/// The query of a URL; all parameters are numbers.
struct Query<'a>(&'a str);

impl Query<'_> {
    fn number<T: std::str::FromStr>(&self, name: &str, default: T) -> Result<T, FailedRequest> {
        let pairs = self.0.split('&').filter_map(|pair| pair.split_once('='));
        match pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).next() {
            None => Ok(default),
            Some(value) => {
                value.parse().map_err(|_| FailedRequest::bad(format!("{name}={value} is not a valid number")))
            }
        }
    }
}
