//! Renders fetched pages with headless Chromium: a page and a [`ResourceSource`] of resources in, the page after its scripts
//! out.
//!
//! For a crawler that must answer for each request. The browser opens no socket: it talks to us over a pipe, and every
//! request that a page makes is asked of the [`ResourceSource`], which decides by its own rules. What the browser would send
//! past that meets a proxy and a resolver that do not exist (`browser`). The page itself is the response that the
//! caller fetched before.
//!
//! Time is the page's own (`tab`): it passes only while nothing is loaded, so slow servers do not cut a page off,
//! and timers do not make it slow.
//!
//! The crate knows nothing of configuration, politeness or disk. A crate that drives browsers in general
//! (chromiumoxide) was refused: its debugging port is a socket that every local process can reach, and we need twenty
//! of its thousand commands.

mod browser;
mod cache;
mod clock;
mod memory;
mod message;
mod origins;
mod pipe;
mod pool;
mod processes;
mod resources;
mod scroll;
mod tab;

pub use browser::{BrowserError, find, installed, program};
pub use clock::WaitingRequest;
pub use pool::{RenderFigures, RenderOptions, Renderer};
pub use resources::{
    AnswerFuture, Ask, RefusedKind, RefusedResource, Resource, ResourceAnswer, ResourceKind, ResourceSource,
};

use bytes::Bytes;
use std::time::Duration;

/// A page as its server sent it.
#[derive(Clone, Debug)]
pub struct ServedPage {
    /// Its URL.
    pub url: String,
    /// Status and header fields of the response.
    pub status: u16,
    /// Header fields, without those of content coding and length: the body is decoded.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

/// A page after its scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The document as HTML in UTF-8. Open shadow trees stand in their hosts; `noscript` is left out.
    pub html: String,
    /// Where the page's scripts wanted to go: other documents, in the order of their wishes.
    pub navigations: Vec<String>,
    /// Images, fonts and media that scripts asked for, and the browser was refused.
    pub left_out: Vec<RefusedResource>,
    /// From the start of the first attempt.
    pub took: Duration,
}

/// Why a page was not rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// No browser starts, so no page can be rendered.
    #[error("{0}")]
    NoBrowser(String),
    /// The browser, or the page's part of it, ended in each attempt.
    #[error("the browser crashed with the page")]
    Crashed,
    /// The time limit passed.
    #[error("the page did not come to rest in time")]
    Time,
    /// The document exceeds the limit.
    #[error("the rendered page is too large")]
    Size,
    /// The page replaced itself by another document, without a request.
    #[error("the page went away")]
    Left,
    /// The page made more events than are kept.
    #[error("the page made too many requests at a time")]
    Flood,
    /// The browser did not do what was asked.
    #[error("the browser refused a command")]
    Refused,
    /// The browser's message about the page is too long, or cannot be read.
    #[error("the browser's message about the page is too long or cannot be read")]
    Unreadable,
    /// The source could not answer now, so the page would be incomplete.
    #[error("resources cannot be fetched now")]
    NotNow,
}

impl RenderError {
    /// A word for figures.
    pub fn name(&self) -> &'static str {
        match self {
            RenderError::NoBrowser(_) => "no_browser",
            RenderError::Crashed => "crash",
            RenderError::Time => "time",
            RenderError::Size => "size",
            RenderError::Left => "left",
            RenderError::Flood => "flood",
            RenderError::Refused => "command",
            RenderError::Unreadable => "message",
            RenderError::NotNow => "not_now",
        }
    }
}
