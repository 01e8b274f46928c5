//! A socket that is left when its peer reads nothing for too long.
//!
//! hyper bounds the time for a header, and a route that for a body; but an answer to a client that does not read would
//! hold its connection for ever.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{self, Instant, Sleep};

/// A socket with a limit to how long a write may wait.
pub struct Patient<S> {
    socket: S,
    patience: Duration,
    /// Runs while a write waits.
    left: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl<S> Patient<S> {
    /// `socket`, whose writes wait for at most `patience`.
    pub fn new(socket: S, patience: Duration) -> Patient<S> {
        Patient { socket, patience, left: Box::pin(time::sleep(patience)), is_waiting: false }
    }

    /// What a write came to, or that it waited for too long.
    fn bounded<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.is_waiting = false;
            return written;
        }
        if !self.is_waiting {
            self.is_waiting = true;
            self.left.as_mut().reset(Instant::now() + self.patience);
        }
        ready!(self.left.as_mut().poll(cx));
        self.is_waiting = false;
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read its answer")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.bounded(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, bytes);
        self.bounded(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.socket).poll_flush(cx);
        self.bounded(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.socket).poll_shutdown(cx);
        self.bounded(cx, shut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const PATIENCE: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_nothing_is_left() {
        let (near, far) = tokio::io::duplex(16);
        let begun = Instant::now();
        let error = Patient::new(near, PATIENCE).write_all(&[0; 100]).await.unwrap_err();
        assert_eq!((error.kind(), begun.elapsed().as_secs()), (io::ErrorKind::TimedOut, 30));
        drop(far);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_slowly_is_not() {
        let (near, mut far) = tokio::io::duplex(16);
        let reader = tokio::spawn(async move {
            let mut read = Vec::new();
            let mut some = [0; 16];
            while let Ok(n @ 1..) = far.read(&mut some).await {
                read.extend_from_slice(&some[..n]);
                time::sleep(PATIENCE - Duration::from_secs(1)).await;
            }
            read.len()
        });
        let mut patient = Patient::new(near, PATIENCE);
        patient.write_all(&[0; 100]).await.unwrap();
        drop(patient);
        assert_eq!(reader.await.unwrap(), 100);
    }
}
