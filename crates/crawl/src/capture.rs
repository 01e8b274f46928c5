//! A fetched response as the head of an archive record.

use recrawl_archive::{HttpVersion, RecordHead, Truncation};
use recrawl_fetcher::{Cut, Response, Version};
use recrawl_types::Round;

/// The head of the record of a response that came at `at`, and its header fields.
pub fn head<'a>(
    url: &'a str,
    at: u64,
    response: &'a Response,
    round: Option<Round>,
) -> (RecordHead<'a>, impl Iterator<Item = (&'a str, &'a [u8])>) {
    let head = RecordHead {
        url,
        at,
        peer: response.peer.map(|peer| peer.ip()),
        status: response.status,
        reason: response.reason(),
        lines: response.lines.as_deref(),
        http: match response.version {
            Version::HTTP_2 => HttpVersion::Http2,
            Version::HTTP_09 | Version::HTTP_10 => HttpVersion::Http10,
            _ => HttpVersion::Http11,
        },
        round: round.map(|round| round.0),
        request: response.sent.as_deref(),
    };
    (head, response.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))
}

/// Why a part of the body is missing, in the words of an archive.
pub fn truncation(cut: Cut) -> Truncation {
    match cut {
        Cut::Limit => Truncation::Length,
        Cut::Disconnect => Truncation::Disconnect,
        Cut::Checksum | Cut::Coding => Truncation::Unspecified,
    }
}
