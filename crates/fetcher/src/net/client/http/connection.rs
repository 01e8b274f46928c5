//! Detects requests that a healthy server did not process: sent on an idle connection that the
//! server was closing, or HTTP/2 streams that it reports as unprocessed.
//!
//! A server may close an idle connection at any time, even while the next request is on its way
//! (RFC 9112 §9.5). Such a request may be repeated on a fresh connection, since GET is idempotent
//! (RFC 9110 §9.2.2). It must not count against the page. The server may have seen it, so the
//! repetition keeps the delay.

use super::sources;
use std::cell::Cell;
use std::error::Error;
use std::io::ErrorKind;

tokio::task_local! {
    /// Was a new connection made for this request?
    static CONNECTS: Cell<bool>;
}

/// Sends a request, and returns whether a new connection was made for it. If not, it used an idle
/// connection.
pub async fn with_connect_flag<T>(request: impl Future<Output = T>) -> (T, bool) {
    let both = async { (request.await, CONNECTS.with(Cell::get)) };
    CONNECTS.scope(Cell::new(false), both).await
}

/// Tells [`with_connect_flag`] of a new connection.
pub fn note_connect() {
    // Outside of a request, the client connects for no request in particular.
    let _ = CONNECTS.try_with(|connects| connects.set(true));
}

/// Did the request fail without being processed? `connected`: a new connection was made for it.
pub fn was_not_processed(error: &(dyn Error + 'static), connected: bool) -> bool {
    sources(error).any(|cause| {
        if let Some(h2) = cause.downcast_ref::<h2::Error>() {
            // A stream after the last one of a GOAWAY, or a refused one, was not processed (RFC
            // 9113 §6.8, §8.7).
            let unprocessed = h2.is_go_away() && h2.reason() == Some(h2::Reason::NO_ERROR)
                || h2.is_reset() && h2.reason() == Some(h2::Reason::REFUSED_STREAM);
            return h2.is_remote() && unprocessed || !connected && h2.is_go_away();
        }
        if let Some(hyper) = cause.downcast_ref::<hyper::Error>() {
            return !connected && (hyper.is_incomplete_message() || hyper.is_canceled() || hyper.is_closed());
        }
        let io = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let closed = matches!(
            io,
            Some(
                ErrorKind::ConnectionReset
                    | ErrorKind::ConnectionAborted
                    | ErrorKind::BrokenPipe
                    | ErrorKind::NotConnected
                    | ErrorKind::UnexpectedEof
            )
        );
        !connected && closed
    })
}
