//! A connection that always has more to read lets other tasks run.

use super::super::tap::Tap;
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A connection full of zeros, as behind the header of a chunked body.
struct Zeros;

impl Read for Zeros {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let zeros = vec![b'0'; buf.remaining()];
        buf.put_slice(&zeros);
        Poll::Ready(Ok(()))
    }
}

impl Write for Zeros {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Connection for Zeros {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn an_endless_length_of_a_chunk_holds_no_thread() {
    let (mut tap, wakes) = (Tap::new(Box::new(Zeros)), Arc::<Wakes>::default());
    let waker = Waker::from(wakes.clone());
    let mut read = 0;
    for pauses in 1..=3 {
        loop {
            let mut part = [0; 16 << 10];
            let mut part = ReadBuf::new(&mut part);
            match Pin::new(&mut tap).poll_read(&mut Context::from_waker(&waker), part.unfilled()) {
                Poll::Ready(result) => result.unwrap(),
                Poll::Pending => break,
            }
            read += part.filled().len();
            assert!(read <= pauses * (256 << 10), "it reads without a pause");
        }
        assert_eq!(wakes.0.load(Ordering::SeqCst), pauses, "it goes on by itself");
    }
    assert!(read > 0);
}
