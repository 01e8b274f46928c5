//! A socket with a write timeout, for peers that read too slowly.
//!
//! hyper limits the time for a header, and routes limit the time for a body. But a client that does
//! not read its response, or reads a byte now and then, would keep its connection forever.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{self, Instant, Sleep};

/// Bytes that a peer must read before the timeout restarts.
pub const MIN_READ_BYTES: usize = 16 << 10;

/// A socket whose writes have a time limit.
pub struct WriteTimeout<S> {
    socket: S,
    timeout: Duration,
    /// Runs from the first pending write until the peer has read [`MIN_READ_BYTES`] bytes or
    /// everything.
    left: Pin<Box<Sleep>>,
    /// Bytes read since the timer started.
    taken: Option<usize>,
}

impl<S> WriteTimeout<S> {
    /// Wraps `socket`; writes wait for at most `timeout`.
    pub fn new(socket: S, timeout: Duration) -> WriteTimeout<S> {
        WriteTimeout { socket, timeout, left: Box::pin(time::sleep(timeout)), taken: None }
    }

    /// The result of a write, or the timeout.
    fn write(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => {
                self.taken = self.taken.map(|taken| taken + bytes).filter(|taken| *taken < MIN_READ_BYTES);
                written
            }
            _ => self.bounded(cx, written),
        }
    }

    /// The result of a flush or shutdown, or the timeout.
    fn bounded<T>(&mut self, cx: &mut Context<'_>, ended: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if ended.is_ready() {
            self.taken = None;
            return ended;
        }
        if self.taken.is_none() {
            self.taken = Some(0);
            self.left.as_mut().reset(Instant::now() + self.timeout);
        }
        ready!(self.left.as_mut().poll(cx));
        self.taken = None;
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read the response")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.write(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, bytes);
        self.write(cx, written)
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

    const TIMEOUT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_nothing_is_left() {
        let (near, far) = tokio::io::duplex(16);
        let begun = Instant::now();
        let error = WriteTimeout::new(near, TIMEOUT).write_all(&[0; 100]).await.unwrap_err();
        assert_eq!((error.kind(), begun.elapsed().as_secs()), (io::ErrorKind::TimedOut, 30));
        drop(far);
    }

    /// Sends `bytes` to a peer that reads `part` bytes every 29 seconds; returns the result and the
    /// bytes read.
    async fn read_in_parts(bytes: usize, part: usize) -> (io::Result<()>, usize) {
        let (near, mut far) = tokio::io::duplex(part);
        let reader = tokio::spawn(async move {
            let (mut read, mut some) = (0, vec![0; part]);
            while let Ok(n @ 1..) = far.read(&mut some).await {
                read += n;
                time::sleep(TIMEOUT - Duration::from_secs(1)).await;
            }
            read
        });
        let mut patient = WriteTimeout::new(near, TIMEOUT);
        let written = patient.write_all(&vec![0; bytes]).await;
        drop(patient);
        (written, reader.await.unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_slowly_is_not() {
        let (written, read) = read_in_parts(10 * MIN_READ_BYTES, MIN_READ_BYTES).await;
        assert!(written.is_ok() && read == 10 * MIN_READ_BYTES, "{written:?}, {read} bytes");
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_trickles_is() {
        let (written, read) = read_in_parts(MIN_READ_BYTES, 16).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(read < 100, "{read} bytes");
    }

    #[tokio::test(start_paused = true)]
    async fn each_answer_has_its_own_time() {
        let (near, mut far) = tokio::io::duplex(16);
        let mut patient = WriteTimeout::new(near, TIMEOUT);
        for _ in 0..5 {
            let reader = async {
                time::sleep(TIMEOUT - Duration::from_secs(1)).await;
                far.read_exact(&mut [0; 20]).await
            };
            let writer = async {
                patient.write_all(&[0; 20]).await?;
                patient.flush().await
            };
            let (read, written) = tokio::join!(reader, writer);
            assert!(read.is_ok() && written.is_ok());
        }
    }
}
