//! Raw bytes instead of an HTTP response, for faults.

use std::time::Duration;

/// What goes over the wire in place of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    /// Sent first.
    pub first: Vec<u8>,
    /// Sent behind it, again and again until the client goes away; nothing when empty.
    pub again: Vec<u8>,
    /// The time before each repetition.
    pub pause: Duration,
    /// What follows when there is nothing to repeat.
    pub end: End,
}

/// How a connection goes on behind the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It is closed.
    Close,
    /// It is reset.
    Reset,
    /// It stays open and says nothing more, whatever the client asks, until the client goes away.
    Keep,
}

impl Raw {
    /// These bytes, then this end.
    pub fn once(first: impl Into<Vec<u8>>, end: End) -> Raw {
        Raw { first: first.into(), again: Vec::new(), pause: Duration::ZERO, end }
    }

    /// These bytes, then the others for ever, as fast as they are taken.
    pub fn endless(first: impl Into<Vec<u8>>, again: impl Into<Vec<u8>>) -> Raw {
        Raw { first: first.into(), again: again.into(), pause: Duration::ZERO, end: End::Close }
    }

    /// The status that a client reads out of it; 0 where it reads none.
    pub fn status(&self) -> u16 {
        let digits = self.first.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
        digits.and_then(|d| std::str::from_utf8(d).ok()).and_then(|d| d.parse().ok()).unwrap_or(0)
    }
}
