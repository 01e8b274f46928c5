//! What every request passes before its route, and every answer after it.
//!
//! In this order: `Host`, `Origin`, the limit of its address, the announced length of its body, and a time within which it
//! must be answered. A browser that other pages use against the console has its address: what they ask for must not
//! count as its own. Problems are written out here, and the headers that keep browsers from mischief are added.

pub mod header;
pub mod origin;
pub mod rate;

use crate::connection::Peer;
use crate::console::Console;
use crate::problem::{Kind, Problem};
use axum::extract::{Request, State};
use axum::http::header::{ALLOW, CONTENT_LENGTH};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time;

/// Bytes of a body.
pub const MAX_BODY: usize = 1 << 20;
/// A request, its body included, is answered after so long or told to come back. Streams of events go on.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The way of a request, and of its answer.
pub async fn pass(State(console): State<Arc<Console>>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let mut answer = match check(&console, &request) {
        Err(problem) => problem.into_response(),
        Ok(()) => match time::timeout(ANSWER_TIMEOUT, next.run(request)).await {
            Ok(answer) => answer,
            Err(_) => {
                let text = format!("no answer after {} seconds", ANSWER_TIMEOUT.as_secs());
                Problem::busy(text).into_response()
            }
        },
    };
    if let Some(problem) = answer.extensions_mut().remove::<Problem>() {
        let allow = answer.headers_mut().remove(ALLOW);
        answer = problem.render(&path);
        if let Some(methods) = allow {
            answer.headers_mut().insert(ALLOW, methods);
        }
    }
    header::harden(&path, answer.headers_mut());
    console.traffic.answered(answer.status());
    answer
}

fn check(console: &Console, request: &Request) -> Result<(), Problem> {
    let from = request.extensions().get::<Peer>().map(|peer| peer.0);
    // Only a connection makes requests, and it names its peer; a request without one has no right to anything.
    let from: IpAddr = from.ok_or_else(|| Problem::new(Kind::Failed, "a request from nowhere"))?;
    let host = origin::host(request, &console.names)?;
    origin::same(request, host)?;
    console.admit(from, request.uri().path()).map_err(|seconds| {
        Problem::new(Kind::RateLimit, "more requests a second than serve.requests admits")
            .retry_after(seconds)
    })?;
    // A body that says how long it is need not be read to be refused.
    let announced = request.headers().get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    match announced {
        Some(bytes) if bytes > MAX_BODY as u64 => Err(too_large()),
        _ => Ok(()),
    }
}

/// A body beyond [`MAX_BODY`].
pub fn too_large() -> Problem {
    Problem::new(Kind::TooLarge, format!("the body has more than {MAX_BODY} bytes")).todo("send it in parts")
}
