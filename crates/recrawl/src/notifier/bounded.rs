//! A connection that brings no more than a mail server has to say.

use lettre::transport::smtp::client::AsyncTokioStream;
use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes of all answers together, with those of STARTTLS.
const MAX_RECEIVED: usize = 64 << 10;

/// Bytes that are read at a time.
const PART: usize = 1 << 10;

/// A connection that fails behind [`MAX_RECEIVED`]. The client keeps an answer, and reads it anew by each line, until it
/// ends: so each part waits for its turn, and the time limit of the message holds.
#[derive(Debug)]
pub struct BoundedStream<S> {
    inner: S,
    server: SocketAddr,
    left: usize,
    /// Was the last thing a pause?
    has_paused: bool,
}

impl<S> BoundedStream<S> {
    pub fn new(inner: S, server: SocketAddr) -> BoundedStream<S> {
        BoundedStream { inner, server, left: MAX_RECEIVED, has_paused: false }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BoundedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !std::mem::replace(&mut self.has_paused, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let most = buf.remaining().min(PART);
        let mut part = ReadBuf::new(buf.initialize_unfilled_to(most));
        ready!(Pin::new(&mut self.inner).poll_read(context, &mut part))?;
        let received = part.filled().len();
        buf.advance(received);
        self.has_paused = false;
        Poll::Ready(match self.left.checked_sub(received) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(io::Error::other("its answers have no end")),
        })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BoundedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin + Debug> AsyncTokioStream for BoundedStream<S> {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.server)
    }
}
