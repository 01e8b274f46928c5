//! Bodies whose length differs from `Content-Length`.

use super::{Action, FaultKind, page};
use crate::raw::{End, RawResponse};

/// Sent after a body that is longer than announced. A client that takes it for the response to its
/// next request counts that page as gone.
const POISON: &str = "HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\ngone\n";

/// A wrong length.
pub const LENGTH: FaultKind = FaultKind {
    name: "length",
    help: "a body with a wrong length; value: short (half of it is announced, and a 404 for the next request \
           follows), none (204 with a body, and the same), long (one byte is missing, and the connection stays \
           open), vast (one tebibyte is announced, then closed), negative, overflow, two (different lengths) or \
           both (a length and chunks), default short",
    parse: |value| {
        let body = page("Length", "<p>The length of this page is not what it seems.</p>");
        let whole = body.len();
        let answer = |status: &str, length: &str, body: &str| {
            format!("HTTP/1.1 {status}\r\ncontent-type: text/html\r\n{length}\r\n\r\n{body}")
        };
        let says = |length: String| answer("200 OK", &format!("content-length: {length}"), &body);
        let raw = match value.unwrap_or("short") {
            "short" => RawResponse::once(says((whole / 2).to_string()) + POISON, End::Keep),
            "none" => RawResponse::once(answer("204 No Content", "x-none: 0", &body) + POISON, End::Keep),
            "long" => RawResponse::once(says((whole + 1).to_string()), End::Keep),
            "vast" => RawResponse::once(says((1_u64 << 40).to_string()), End::Close),
            "negative" => RawResponse::once(says("-1".into()), End::Close),
            "overflow" => RawResponse::once(says("18446744073709551616".into()), End::Close),
            "two" => RawResponse::once(says(format!("{whole}\r\ncontent-length: 5")), End::Close),
            "both" => {
                let chunked = format!("{whole:x}\r\n{body}\r\n0\r\n\r\n");
                let fields = "content-length: 5\r\ntransfer-encoding: chunked";
                RawResponse::once(answer("200 OK", fields, &chunked), End::Close)
            }
            other => return Err(format!("unknown length {other:?}")),
        };
        Ok(Box::new(move |_| Action::Raw(raw.clone())))
    },
};
