//! Checks before every route, and headers after it.
//!
//! A request passes, in order: `Host`, `Origin`, the rate limit of its address, the
//! `Content-Length` limit, and a response timeout. `Origin` comes before the rate limit: requests
//! of a foreign page come from the address of the operator's browser and must not use up its rate.
//! The guard also renders problems and adds security headers.

pub mod header;
pub mod origin;

use crate::connection::{LocalUser, Peer};
use crate::console::{Console, is_relayed};
use crate::problem::{Problem, ProblemType};
use axum::extract::{Request, State};
use axum::http::header::{ALLOW, CONTENT_LENGTH};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use recrawl_types::{Size, Span};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time;

/// Maximum bytes of a request body.
pub const MAX_BODY: usize = 1 << 20;
/// Time limit for a response, including the time to read the body. Event streams may last longer.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Checks a request, runs its route and completes the response.
pub async fn pass(State(console): State<Arc<Console>>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let mut answer = match check(&console, &request) {
        Err(problem) => problem.into_response(),
        Ok(()) => match time::timeout(ANSWER_TIMEOUT, next.run(request)).await {
            Ok(answer) => answer,
            Err(_) => {
                let text = format!("no response within {}", Span(ANSWER_TIMEOUT));
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
    // Every connection sets its peer, so this fails only by a bug.
    let from: IpAddr =
        from.ok_or_else(|| Problem::new(ProblemType::Failed, "missing client address (internal error)"))?;
    if !origin::is_old_probe(request) {
        let host = origin::host(request, &console.names)?;
        origin::same(request, host)?;
    }
    // Clients of the network must not use up the rate of the crawl's user, or of the fleet.
    if request.extensions().get::<LocalUser>().is_none() && !is_relayed() {
        console.admit(from, request.uri().path()).map_err(|seconds| {
            Problem::new(ProblemType::RateLimit, "more requests per second than serve.requests")
                .retry_after(seconds)
        })?;
    }
    // A body with a Content-Length is rejected without reading it.
    let announced = request.headers().get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    match announced {
        Some(bytes) if bytes > MAX_BODY as u64 => Err(too_large()),
        _ => Ok(()),
    }
}

/// The problem for a body above [`MAX_BODY`].
pub fn too_large() -> Problem {
    Problem::new(ProblemType::TooLarge, format!("the body is larger than {}", Size(MAX_BODY as u64)))
        .todo("send several smaller requests")
}
