//! Responses that never arrive or stay incomplete.

use super::{Action, FaultKind, number};
use std::time::Duration;

/// Silence.
pub const TIMEOUT: FaultKind = FaultKind {
    name: "timeout",
    help: "accepts the request, sends nothing, then closes; value: seconds, default 3600",
    parse: |value| {
        let seconds = number(value, 3_600)?;
        Ok(Box::new(move |_| Action::Silence(Duration::from_secs(seconds))))
    },
};

/// A reset connection.
pub const RESET: FaultKind = FaultKind {
    name: "reset",
    help: "resets the connection; value: bytes of the body sent before, default 0 (no header either)",
    parse: |value| {
        let after = number(value, 0)?;
        Ok(Box::new(move |_| Action::Reset { after }))
    },
};

/// A keep-alive connection that closes early.
pub const IDLE: FaultKind = FaultKind {
    name: "idle",
    help: "closes a connection that was idle this long when the next request arrives, else sends the correct \
           response; value: milliseconds, default 1000",
    parse: |value| {
        let time = Duration::from_millis(number(value, 1_000)?);
        Ok(Box::new(move |_| Action::CloseIdle(time)))
    },
};

/// A body that ends early.
pub const TRUNCATED: FaultKind = FaultKind {
    name: "truncated",
    help: "closes before Content-Length bytes are sent; value: bytes sent, default half",
    parse: |value| {
        let after = value.map(|text| number(Some(text), 0)).transpose()?;
        Ok(Box::new(move |_| Action::Truncate { after }))
    },
};
