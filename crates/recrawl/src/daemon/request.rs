//! One request over a Unix socket, with a time limit.

use bytes::Bytes;
use hyper::Request;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use recrawl_console::local;
use recrawl_types::{Size, Span};
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;
use tokio::net::UnixStream;

/// Maximum bytes of an answer. The longest is the document of a page with many visits.
pub const MAX_ANSWER_BYTES: usize = 64 << 20;

/// An answer.
pub struct DaemonResponse {
    pub status: u16,
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum RequestError {
    /// The socket cannot be connected.
    Connect(io::Error),
    /// The daemon ended, or it is no HTTP server.
    Broken(hyper::Error),
    /// It did not answer in this time.
    Late(Duration),
    TooLong,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestError::Connect(e) => write!(f, "cannot connect: {e}"),
            RequestError::Broken(e) if e.is_parse() => write!(f, "not the answer of a daemon: {e}"),
            RequestError::Broken(e) => write!(f, "it stopped before it answered: {e}"),
            RequestError::Late(limit) => write!(f, "no answer within {}; is it stopped?", Span(*limit)),
            RequestError::TooLong => {
                write!(f, "the answer is too long (limit: {})", Size(MAX_ANSWER_BYTES as u64))
            }
        }
    }
}

/// Sends a request and waits for the whole answer, at most for `limit`.
pub fn send(
    socket: &Path,
    method: &str,
    path: &str,
    accept: &str,
    body: Option<String>,
    limit: Duration,
) -> Result<DaemonResponse, RequestError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RequestError::Connect)?;
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, "localhost")
        .header(ACCEPT, accept)
        .header(CONTENT_TYPE, "application/json")
        .body(body.unwrap_or_default())
        .expect("encoded paths are valid");
    runtime.block_on(async {
        let answered = tokio::time::timeout(limit, exchange(socket, request)).await;
        answered.unwrap_or(Err(RequestError::Late(limit)))
    })
}

async fn exchange(socket: &Path, request: Request<String>) -> Result<DaemonResponse, RequestError> {
    let stream = local::connect(socket).map_err(RequestError::Connect)?;
    stream.set_nonblocking(true).map_err(RequestError::Connect)?;
    let stream = UnixStream::from_std(stream).map_err(RequestError::Connect)?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(RequestError::Broken)?;
    let answer = async move {
        let (head, mut incoming) =
            sender.send_request(request).await.map_err(RequestError::Broken)?.into_parts();
        let mut body = Vec::new();
        while let Some(part) = next_part(&mut incoming).await? {
            if body.len() + part.len() > MAX_ANSWER_BYTES {
                return Err(RequestError::TooLong);
            }
            body.extend_from_slice(&part);
        }
        Ok(DaemonResponse { status: head.status.as_u16(), body })
    };
    // The connection only carries the answer, which has its errors.
    let (answer, _) = tokio::join!(answer, connection);
    answer
}

/// The next part of a body; none at its end.
async fn next_part(body: &mut Incoming) -> Result<Option<Bytes>, RequestError> {
    if body.size_hint().lower() > MAX_ANSWER_BYTES as u64 {
        return Err(RequestError::TooLong);
    }
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
        if let Ok(data) = frame.map_err(RequestError::Broken)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}
