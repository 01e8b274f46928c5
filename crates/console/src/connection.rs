//! Connections: their number, header and write timeouts, and shutdown.

mod listener;
#[cfg(test)]
mod tests;
mod write_timeout;

pub use listener::{Listener, LocalListener};

use crate::client_limit::ClientLimit;
use axum::Router;
use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::net::IpAddr;
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use write_timeout::WriteTimeout;

/// Time limit for a request header, and for an idle connection.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// A connection is closed if its client reads nothing for this long.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for open requests to finish after `stop`.
pub const GRACE: Duration = Duration::from_secs(5);
/// Maximum bytes of a request header.
pub const MAX_HEADER_BYTES: usize = 32 << 10;
/// Maximum fields of a request header.
pub const MAX_HEADERS: usize = 100;
/// Pause after a failed accept, for example when the process has no file descriptor left.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// The client address of a request.
#[derive(Clone, Copy)]
pub struct Peer(pub IpAddr);

/// The user of a request through the local socket, as in the log of changes.
#[derive(Clone)]
pub struct LocalUser(pub String);

/// The response to a connection above the limit.
const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\n\
    Content-Type: application/problem+json\r\nContent-Length: 127\r\n\r\n\
    {\"type\":\"/problems/busy\",\"title\":\"Busy\",\"status\":503,\"detail\":\"too many connections; close some, or raise serve.connections\"}  ";

/// Accepts connections until `stop`, then waits at most [`GRACE`] for open ones. Calls `too_many`
/// for each rejected connection.
pub async fn accept<L: Listener>(
    listener: L,
    router: Router,
    connections: usize,
    too_many: impl Fn(),
    stop: CancellationToken,
) {
    let clients = ClientLimit::new(connections);
    loop {
        let (stream, peer, user) = tokio::select! {
            () = stop.cancelled() => break,
            taken = listener.accept() => match taken {
                Ok(taken) => taken,
                Err(e) => {
                    tracing::warn!("console: cannot accept a connection: {e}");
                    time::sleep(ACCEPT_RETRY).await;
                    continue;
                }
            },
        };
        let Some(slot) = clients.take(peer.0) else {
            too_many();
            L::reject(stream, TOO_MANY);
            continue;
        };
        let (router, stop) = (router.clone(), stop.clone());
        tokio::spawn(async move {
            talk(stream, peer, user, router, stop).await;
            drop(slot);
        });
    }
    drop(listener);
    // Every connection has a time limit, so this ends.
    clients.all_free().await;
}

/// Serves one connection.
async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Peer,
    user: Option<LocalUser>,
    router: Router,
    stop: CancellationToken,
) {
    let from = peer.0;
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(peer);
        if let Some(user) = &user {
            request.extensions_mut().insert(user.clone());
        }
        router.clone().oneshot(request.map(Body::new))
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEADER_BYTES);
    let io = TokioIo::new(WriteTimeout::new(stream, WRITE_TIMEOUT));
    let mut connection = pin!(builder.serve_connection(io, service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            match time::timeout(GRACE, connection).await {
                Ok(ended) => ended,
                Err(_) => return tracing::debug!("console: closed the connection of {from} at shutdown"),
            }
        }
    };
    if let Err(e) = ended {
        tracing::debug!("console: connection of {from}: {e}");
    }
}
