//! The server over real sockets, asked by a client that shares nothing with it.

/// A request that its client gives up.
mod abandoned;
/// A client of a few lines, and the links of a page as a browser reads them.
mod client;
/// Conditional requests, noise, gzip, and what a response looks like.
mod conditional;
/// The control interface says what the handle says.
mod control;
/// What goes wrong on request, and how the log tells it.
mod faults;
/// What no sound server sends, as it goes over the wire.
mod hazards;
/// Held pages, counts, log, manners.
mod ledger;
/// The program: its first line, its end, its complaints.
mod program;
/// Every page is reached by links, every link arrives.
mod reach;
/// What the bundled recording says, page by page and cycle by cycle.
mod truth;
