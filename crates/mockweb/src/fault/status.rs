//! Error statuses, and 429 with `Retry-After`.

use super::{Action, FaultKind, number};

/// An error status.
pub const STATUS: FaultKind = FaultKind {
    name: "status",
    help: "this status and a short text; value: code, default 500",
    parse: |value| {
        let status: u16 = number(value, 500)?;
        if !(200..600).contains(&status) {
            return Err(format!("invalid status {status}; use 200 to 599"));
        }
        Ok(Box::new(move |_| Action::Answer { status, fields: Vec::new() }))
    },
};

/// 429 with `Retry-After`.
pub const BUSY: FaultKind = FaultKind {
    name: "busy",
    help: "429 with Retry-After; value: seconds or an HTTP date, default 1",
    parse: |value| {
        let retry = value.unwrap_or("1").to_string();
        Ok(Box::new(move |_| Action::Answer { status: 429, fields: vec![("retry-after", retry.clone())] }))
    },
};
