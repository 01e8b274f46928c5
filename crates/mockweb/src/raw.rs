//! Raw bytes instead of an HTTP response, for faults.

use std::time::Duration;

/// Bytes to send instead of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawResponse {
    /// Sent first.
    pub first: Vec<u8>,
    /// Sent after that, repeatedly until the client disconnects; nothing if empty.
    pub again: Vec<u8>,
    /// Pause before each repetition.
    pub pause: Duration,
    /// What follows without a repetition.
    pub end: End,
}

/// What happens to the connection after the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It is closed.
    Close,
    /// It is reset.
    Reset,
    /// It stays open silently until the client disconnects.
    Keep,
}

impl RawResponse {
    /// These bytes, then this end.
    pub fn once(first: impl Into<Vec<u8>>, end: End) -> RawResponse {
        RawResponse { first: first.into(), again: Vec::new(), pause: Duration::ZERO, end }
    }

    /// These bytes, then the others endlessly, as fast as the client reads.
    pub fn endless(first: impl Into<Vec<u8>>, again: impl Into<Vec<u8>>) -> RawResponse {
        RawResponse { first: first.into(), again: again.into(), pause: Duration::ZERO, end: End::Close }
    }

    /// The status that a client reads from it; 0 if none.
    pub fn status(&self) -> u16 {
        let digits = self.first.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
        digits.and_then(|d| std::str::from_utf8(d).ok()).and_then(|d| d.parse().ok()).unwrap_or(0)
    }
}
