//! Connections: how many at a time, how long for a header, how long for a client that does not read, and their end.

mod patience;
#[cfg(test)]
mod tests;

use crate::seat::Seats;
use crate::serve::GRACE;
use axum::Router;
use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use patience::Patient;
use std::io::Write;
use std::net::{IpAddr, Shutdown};
use std::pin::pin;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// The whole header of a request must have come after so long; an idle connection is closed after the same time.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// A client that reads nothing of its answer for so long is left.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of a request's header.
pub const MAX_HEADER_BYTES: usize = 32 << 10;
/// Fields of a request's header.
pub const MAX_HEADERS: usize = 100;
/// How long to wait after the system had no socket left for one more connection.
const BREATH: Duration = Duration::from_millis(100);

/// The address that a request came from.
#[derive(Clone, Copy)]
pub struct Peer(pub IpAddr);

/// What one connection too many is told: all that it would get is an answer that it is too many.
const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\n\
    Content-Type: application/problem+json\r\nContent-Length: 127\r\n\r\n\
    {\"type\":\"/problems/busy\",\"title\":\"Busy\",\"status\":503,\"detail\":\"too many connections; close some, or raise serve.connections\"}  ";

/// Takes connections until `stop`, then waits for those under way, at most [`GRACE`]. `too_many` is told of each
/// that is turned away.
pub async fn accept(
    listener: TcpListener,
    router: Router,
    connections: usize,
    too_many: impl Fn(),
    stop: CancellationToken,
) {
    let seats = Seats::new(connections);
    loop {
        let (stream, from) = tokio::select! {
            () = stop.cancelled() => break,
            taken = listener.accept() => match taken {
                Ok(taken) => taken,
                Err(e) => {
                    tracing::warn!("console: no connection can be taken: {e}");
                    time::sleep(BREATH).await;
                    continue;
                }
            },
        };
        let from = from.ip().to_canonical();
        let Some(seat) = seats.take(from) else {
            too_many();
            turn_away(stream);
            continue;
        };
        let (router, stop) = (router.clone(), stop.clone());
        tokio::spawn(async move {
            talk(stream, from, router, stop).await;
            drop(seat);
        });
    }
    drop(listener);
    // Each connection ends by itself in time: this waits for nothing that could last.
    seats.empty().await;
}

/// One connection, from its first request to its end.
async fn talk(stream: TcpStream, from: IpAddr, router: Router, stop: CancellationToken) {
    // Answers are written whole; waiting for more to send would only delay them.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(Peer(from));
        router.clone().oneshot(request.map(Body::new))
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEADER_BYTES);
    let io = TokioIo::new(Patient::new(stream, WRITE_TIMEOUT));
    let mut connection = pin!(builder.serve_connection(io, service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            match time::timeout(GRACE, connection).await {
                Ok(ended) => ended,
                Err(_) => return tracing::debug!("console: {from} was cut off at the end"),
            }
        }
    };
    if let Err(e) = ended {
        tracing::debug!("console: connection of {from}: {e}");
    }
}

/// Tells a connection that it is one too many, without waiting for it to listen.
fn turn_away(stream: TcpStream) {
    // Whether it reads this is its own affair.
    if let Ok(mut stream) = stream.into_std() {
        let _ = stream.write(TOO_MANY);
        let _ = stream.shutdown(Shutdown::Write);
    }
}
