//! Response bodies: whole, in small pieces, or truncated.

use super::connection::ExchangeLog;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Sleep;

/// How a body is sent.
#[derive(Clone, Copy, Debug)]
pub enum Manner {
    /// All at once.
    Whole,
    /// In pieces, with a pause before each except the first.
    Pieces(usize, Duration),
    /// Up to this many bytes; then the connection fails.
    Until(usize),
}

/// A body that reports when it has been handed over completely.
pub struct PageBody {
    rest: Bytes,
    manner: Manner,
    pause: Option<Pin<Box<Sleep>>>,
    line: Arc<ExchangeLog>,
}

impl PageBody {
    /// A body. An empty one is handed over with its header, which is now.
    pub fn new(bytes: Bytes, manner: Manner, line: Arc<ExchangeLog>) -> PageBody {
        if bytes.is_empty() && !matches!(manner, Manner::Until(_)) {
            line.handed_over();
        }
        PageBody { rest: bytes, manner, pause: None, line }
    }

    fn give(&mut self, bytes: usize) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let piece = self.rest.split_to(bytes.min(self.rest.len()));
        if self.rest.is_empty() {
            self.line.handed_over();
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

impl Body for PageBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(pause) = &mut self.pause {
            std::task::ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        match self.manner {
            Manner::Whole if self.rest.is_empty() => Poll::Ready(None),
            Manner::Whole => self.give(usize::MAX),
            Manner::Pieces(..) if self.rest.is_empty() => Poll::Ready(None),
            Manner::Pieces(piece, pause) => {
                self.pause = Some(Box::pin(tokio::time::sleep(pause)));
                self.give(piece)
            }
            Manner::Until(0) => {
                Poll::Ready(Some(Err(io::Error::other("requested fault: the body ends here"))))
            }
            Manner::Until(bytes) => {
                // Earlier bytes must leave the buffer before the connection fails.
                self.pause = Some(Box::pin(tokio::time::sleep(Duration::from_millis(20))));
                self.manner = Manner::Until(0);
                let length = bytes.min(self.rest.len());
                let piece = self.rest.split_to(length);
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && !matches!(self.manner, Manner::Until(_))
    }

    fn size_hint(&self) -> SizeHint {
        match self.manner {
            Manner::Until(_) => SizeHint::default(),
            _ => SizeHint::with_exact(self.rest.len() as u64),
        }
    }
}
