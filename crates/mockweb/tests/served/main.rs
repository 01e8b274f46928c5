//! Tests of the server over real sockets, with a client that shares no code with it.

/// Requests that their client gives up.
mod abandoned;
/// A minimal client.
mod client;
/// Conditional requests, noise, gzip, and sizes of responses.
mod conditional;
/// The control interface returns the same as the handle.
mod control;
/// Faults, and their log entries.
mod faults;
/// Responses that no valid server sends.
mod hazards;
/// Held pages, counts, log, politeness.
mod ledger;
/// The program: first line, exit, error messages.
mod program;
/// Every page is reachable, and every link has a page.
mod reach;
/// The bundled recording, page by page and cycle by cycle.
mod truth;
