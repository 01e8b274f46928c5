//! Endless responses: endless body, header, or a part between them.

use super::{Action, FaultKind, number};
use crate::raw::{End, RawResponse};
use std::time::Duration;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\n";
const CHUNKED: &str = "transfer-encoding: chunked\r\n\r\n10\r\n<p>Once upon</p>\r\n";
const TEXT: &str = "<p>and so on and on, and so on and on</p>\n";

/// An endless part of a response.
pub const ENDLESS: FaultKind = FaultKind {
    name: "endless",
    help: "one part never ends; value: body, status (the status line), head (fields), field (one field), interim \
           (100 responses), extension (of a chunk) or trailers, default body",
    parse: |value| {
        let raw = match value.unwrap_or("body") {
            "body" => RawResponse::endless(format!("{HEAD}\r\n<!DOCTYPE html>\n"), TEXT.repeat(100)),
            "status" => RawResponse::endless("HTTP/1.1 200 ", "well and ".repeat(100)),
            "head" => RawResponse::endless("HTTP/1.1 200 OK\r\n", "x-more: and so on\r\n".repeat(100)),
            "field" => RawResponse::endless("HTTP/1.1 200 OK\r\nx-more: ", "and so on ".repeat(100)),
            "interim" => RawResponse::endless("", "HTTP/1.1 100 Continue\r\n\r\n".repeat(100)),
            "extension" => RawResponse::endless(format!("{HEAD}{CHUNKED}10;x="), "andsoon".repeat(100)),
            "trailers" => {
                RawResponse::endless(format!("{HEAD}{CHUNKED}0\r\n"), "x-more: and so on\r\n".repeat(100))
            }
            other => return Err(format!("unknown part {other:?}")),
        };
        Ok(Box::new(move |_| Action::Raw(raw.clone())))
    },
};

/// The slowest drip, in bytes per second: one byte in an hour and a half.
const MIN_RATE: f64 = 0.0002;

/// A header sent byte by byte.
pub const DRIP: FaultKind = FaultKind {
    name: "drip",
    help: "an endless header field, byte by byte; value: bytes per second, default 1",
    parse: |value| {
        let rate: f64 = number(value, 1.0)?;
        if !(MIN_RATE..=1e9).contains(&rate) {
            return Err(format!(
                "{rate} bytes per second: use {MIN_RATE} to 1000000000, or timeout for silence"
            ));
        }
        let pause = Duration::from_secs_f64(1.0 / rate);
        let first = b"HTTP/1.1 200 OK\r\nx-more: ".to_vec();
        Ok(Box::new(move |_| {
            Action::Raw(RawResponse { first: first.clone(), again: b"a".to_vec(), pause, end: End::Close })
        }))
    },
};
