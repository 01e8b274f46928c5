//! Responses that are not valid HTTP.

use super::{Action, FaultKind};
use crate::raw::{End, RawResponse};

/// Invalid HTTP.
pub const BROKEN: FaultKind = FaultKind {
    name: "broken",
    help: "invalid HTTP; value: head (reset within the header), blank (closed without a byte), \
           noise (random bytes), version (HTTP/9.9), status (000), switch (unrequested 101), field (with a NUL), \
           fold (a field without a name), chunk (with an invalid size) or overflow (a chunk of 2^64 bytes), \
           default head",
    parse: |value| {
        let ok = |rest: &str| format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n{rest}");
        let raw = match value.unwrap_or("head") {
            "head" => RawResponse::once(ok("x-more: an"), End::Reset),
            "blank" => RawResponse::once("", End::Close),
            "noise" => RawResponse::once((0..=255_u8).cycle().take(10_000).collect::<Vec<u8>>(), End::Close),
            "version" => RawResponse::once("HTTP/9.9 200 OK\r\ncontent-length: 0\r\n\r\n", End::Close),
            "status" => RawResponse::once("HTTP/1.1 000 Nothing\r\ncontent-length: 0\r\n\r\n", End::Close),
            "switch" => {
                RawResponse::once("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n", End::Keep)
            }
            "field" => RawResponse::once(ok("x-more: a\0b\r\n\r\n<p>text</p>"), End::Close),
            "fold" => RawResponse::once(ok(": nameless\r\n\r\n<p>text</p>"), End::Close),
            "chunk" => {
                RawResponse::once(ok("transfer-encoding: chunked\r\n\r\nmany\r\n<p>text</p>"), End::Close)
            }
            "overflow" => RawResponse::once(
                ok("transfer-encoding: chunked\r\n\r\n10000000000000000\r\n<p>text</p>"),
                End::Close,
            ),
            other => return Err(format!("unknown part {other:?}")),
        };
        Ok(Box::new(move |_| Action::Raw(raw.clone())))
    },
};
