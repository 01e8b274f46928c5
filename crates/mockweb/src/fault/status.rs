//! Answers that are no page: an error status, or a request to come back later.

use super::{Action, Kind, number};

/// An error status.
pub const STATUS: Kind = Kind {
    name: "status",
    help: "answers with this status and a short text; value: the code, 500",
    parse: |value| {
        let status: u16 = number(value, 500)?;
        if !(200..600).contains(&status) {
            return Err(format!("{status} is no status from 200 to 599"));
        }
        Ok(Box::new(move |_| Action::Answer { status, fields: Vec::new() }))
    },
};

/// 429 with `Retry-After`.
pub const BUSY: Kind = Kind {
    name: "busy",
    help: "answers 429 with Retry-After; value: the seconds or an HTTP date, 1",
    parse: |value| {
        let retry = value.unwrap_or("1").to_string();
        Ok(Box::new(move |_| Action::Answer { status: 429, fields: vec![("retry-after", retry.clone())] }))
    },
};
