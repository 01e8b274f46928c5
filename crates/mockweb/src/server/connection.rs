//! One connection, and the log entry of its current exchange.
//!
//! HTTP/1.1 without pipelining has one exchange at a time. Its entry stays open until its end is
//! known. *Complete* means that the operating system accepted every byte of the response: the body
//! (or the header, if there is no body) was handed over to the HTTP layer completely, and then the
//! buffer of that layer was flushed into the socket. An exchange that is not complete when the next
//! one starts, or when the connection closes, stays incomplete.
//!
//! A client that closes its side, even only for writing, has given up. The HTTP layer sees that
//! while a response is pending or being sent, and `Wire::wait` after that. Both end connection and
//! exchange at once.

use super::{Core, control, respond};
use crate::ledger::AccessEntry;
use crate::raw::{End, RawResponse};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// Maximum bytes of a request header.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// Idle timeout of a persistent connection.
const KEPT: Duration = Duration::from_secs(3_600);

/// Which of the two servers a connection belongs to.
#[derive(Clone, Copy, Debug)]
pub enum ServerSide {
    /// The web, on the listener with this number.
    Web {
        /// The listener.
        address: usize,
    },
    /// The control interface.
    Control,
}

/// Serves a connection until it ends or fails.
pub async fn serve(stream: TcpStream, side: ServerSide, core: Arc<Core>) {
    // Responses are written whole, so Nagle's algorithm would only delay them.
    stream.set_nodelay(true).ok();
    let mut http = http1::Builder::new();
    http.max_buf_size(MAX_HEAD_BYTES);
    // The log records the end of the connection; no other report is needed.
    match side {
        ServerSide::Control => {
            let answer = service_fn(|request| control::answer(Arc::clone(&core), request));
            http.serve_connection(TokioIo::new(stream), answer).await.ok();
        }
        ServerSide::Web { address } => {
            core.ledger.connected(address);
            let line = Arc::new(ExchangeLog { core, address, open: Mutex::new(OpenConnection::default()) });
            let wire = Wire { io: TokioIo::new(stream), line: Arc::clone(&line) };
            let answer = service_fn(|request| respond::respond(Arc::clone(&line), request));
            let mut connection = http.serve_connection(wire, answer);
            (&mut connection).await.ok();
            let mut wire = connection.into_parts().io;
            if let Some(raw) = line.take_raw() {
                // An error means that the client disconnected.
                wire.send(raw).await.ok();
            }
            drop(wire);
            line.core.ledger.disconnected(address);
        }
    }
}

/// The log entries of a connection.
pub struct ExchangeLog {
    pub(super) core: Arc<Core>,
    pub(super) address: usize,
    open: Mutex<OpenConnection>,
}

#[derive(Default)]
struct OpenConnection {
    exchange: Option<AccessEntry>,
    bytes: u64,
    is_handed_over: bool,
    /// When the last response was completely sent.
    idle_since: Option<Instant>,
    must_reset: bool,
    raw: Option<RawResponse>,
}

impl ExchangeLog {
    fn open(&self) -> MutexGuard<'_, OpenConnection> {
        self.open.lock().expect("no thread panics with a line open")
    }

    /// Begins an exchange; one that is still open has failed.
    pub(super) fn begin(&self, exchange: AccessEntry) {
        self.end(false);
        let mut open = self.open();
        open.bytes = 0;
        open.exchange = Some(exchange);
    }

    /// Changes the log entry of the current exchange.
    pub(super) fn note(&self, change: impl FnOnce(&mut AccessEntry)) {
        if let Some(exchange) = &mut self.open().exchange {
            change(exchange);
        }
    }

    /// The whole response was handed over to the HTTP layer.
    pub(super) fn handed_over(&self) {
        let mut open = self.open();
        if open.exchange.is_some() && !open.is_handed_over {
            open.is_handed_over = true;
            self.core.ledger.handed_over();
        }
    }

    /// Idle time of the connection; `None` before the first response.
    pub(super) fn idle(&self) -> Option<Duration> {
        self.open().idle_since.map(|since| since.elapsed())
    }

    /// Makes the connection end with a reset.
    pub(super) fn reset(&self) {
        self.open().must_reset = true;
    }

    /// Sends these bytes after the HTTP layer has finished. Such an exchange is never complete.
    pub(super) fn send_raw(&self, raw: RawResponse) {
        self.open().raw = Some(raw);
    }

    fn take_raw(&self) -> Option<RawResponse> {
        self.open().raw.take()
    }

    fn written(&self, bytes: usize) {
        self.open().bytes += bytes as u64;
    }

    fn flushed(&self) {
        if self.open().is_handed_over {
            self.end(true);
        }
    }

    fn end(&self, complete: bool) {
        let mut open = self.open();
        let Some(mut exchange) = open.exchange.take() else { return };
        let was_handed_over = std::mem::take(&mut open.is_handed_over);
        exchange.complete = complete;
        open.idle_since = complete.then(Instant::now);
        exchange.bytes = open.bytes;
        if open.bytes == 0 {
            exchange.status = 0;
        }
        drop(open);
        self.core.ledger.settle(self.address, exchange, &*self.core.web, was_handed_over);
    }
}

/// The monitored socket.
struct Wire {
    io: TokioIo<TcpStream>,
    line: Arc<ExchangeLog>,
}

impl Wire {
    async fn send(&mut self, raw: RawResponse) -> io::Result<()> {
        self.write_all(&raw.first).await?;
        while !raw.again.is_empty() {
            self.wait(raw.pause).await?;
            self.write_all(&raw.again).await?;
        }
        match raw.end {
            End::Close => poll_fn(|cx| Pin::new(&mut *self).poll_shutdown(cx)).await,
            End::Reset => {
                // Flush written bytes before the connection fails.
                tokio::time::sleep(Duration::from_millis(20)).await;
                self.line.reset();
                Ok(())
            }
            End::Keep => self.wait(KEPT).await,
        }
    }

    /// Waits and ignores what the client sends meanwhile. Fails as soon as the client disconnects:
    /// its request is over then, and the check of its next request must use this moment, not that
    /// of a failed write.
    async fn wait(&mut self, time: Duration) -> io::Result<()> {
        let socket = self.io.inner_mut();
        let gone = async {
            let mut heard = [0; 1024];
            while socket.read(&mut heard).await? > 0 {}
            Err(io::ErrorKind::UnexpectedEof.into())
        };
        tokio::time::timeout(time, gone).await.unwrap_or(Ok(()))
    }

    async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = poll_fn(|cx| Pin::new(&mut *self).poll_write(cx, bytes)).await?;
            bytes = &bytes[written..];
        }
        Ok(())
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.line.open().must_reset {
            self.io.inner().set_zero_linger().ok();
        }
        self.line.end(false);
    }
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl Write for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write(cx, buf))?;
        self.line.written(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.io).poll_flush(cx))?;
        self.line.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.line.open().must_reset {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write_vectored(cx, bufs))?;
        self.line.written(written);
        Poll::Ready(Ok(written))
    }
}
