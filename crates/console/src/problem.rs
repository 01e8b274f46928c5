//! Refusals as problem+json (RFC 9457): one list of kinds, each with its page at `/problems/{kind}`.

use crate::view::Refusal;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// Kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 400: not understood at all.
    Malformed,
    /// 401.
    Unauthorized,
    /// 403: no tokens are configured.
    ReadOnly,
    /// 403: a page of another origin asks for a change.
    CrossSite,
    /// 404.
    NotFound,
    /// 405.
    MethodNotAllowed,
    /// 413.
    TooLarge,
    /// 415.
    MediaType,
    /// 421: called by a name that is not its own.
    UnknownHost,
    /// 422: understood, and wrong.
    Invalid,
    /// 429.
    RateLimit,
    /// 500.
    Failed,
    /// 503.
    Busy,
}

/// What is said of a kind.
pub struct Facts {
    /// Its name: the last part of its type's URI.
    pub name: &'static str,
    /// Its status.
    pub status: u16,
    /// Its title.
    pub title: &'static str,
    /// What it means, and what to do.
    pub meaning: &'static str,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 13] = [
        Kind::Malformed,
        Kind::Unauthorized,
        Kind::ReadOnly,
        Kind::CrossSite,
        Kind::NotFound,
        Kind::MethodNotAllowed,
        Kind::TooLarge,
        Kind::MediaType,
        Kind::UnknownHost,
        Kind::Invalid,
        Kind::RateLimit,
        Kind::Failed,
        Kind::Busy,
    ];

    /// What is said of it.
    pub fn facts(self) -> Facts {
        let (name, status, title, meaning) = match self {
            Kind::Malformed => ("malformed", 400, "Malformed", "The request is not HTTP or not JSON."),
            Kind::Unauthorized => (
                "unauthorized",
                401,
                "Unauthorized",
                "A change needs the bearer token of someone in serve.tokens.",
            ),
            Kind::ReadOnly => {
                ("read-only", 403, "Read only", "No tokens are configured, so nothing can be changed.")
            }
            Kind::CrossSite => (
                "cross-site",
                403,
                "Cross-site",
                "A page of another origin asked for this; its Origin is not our Host.",
            ),
            Kind::NotFound => ("not-found", 404, "Not found", "There is no such thing."),
            Kind::MethodNotAllowed => (
                "method-not-allowed",
                405,
                "Method not allowed",
                "The header Allow names the methods there are.",
            ),
            Kind::TooLarge => ("too-large", 413, "Too large", "The body is longer than bodies may be."),
            Kind::MediaType => ("media-type", 415, "Unsupported media type", "Bodies are application/json."),
            Kind::UnknownHost => (
                "unknown-host",
                421,
                "Unknown host",
                "The console is called by address, as localhost, or by a name of serve.names, and by no other.",
            ),
            Kind::Invalid => {
                ("invalid", 422, "Invalid", "A parameter or a field holds what makes no sense there.")
            }
            Kind::RateLimit => {
                ("rate-limit", 429, "Too many requests", "More requests a second than serve.requests admits.")
            }
            Kind::Failed => ("failed", 500, "Failed", "The crawl could not do its part; its log says more."),
            Kind::Busy => ("busy", 503, "Busy", "Not now: ask again after Retry-After seconds."),
        };
        Facts { name, status, title, meaning }
    }
}

/// Why a request is refused. The guard around all routes writes it out ([`Problem::render`]), since only that knows
/// what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    kind: Kind,
    detail: String,
    place: Option<String>,
    todo: Option<String>,
    retry_after: Option<u32>,
}

/// A problem as it is sent, by RFC 9457; `at` and `todo` are extensions.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct Document {
    /// `/problems/KIND`, which is a page of the console.
    #[serde(rename = "type")]
    kind: String,
    /// The kind in words.
    title: &'static str,
    /// The status of the answer.
    status: u16,
    /// What is wrong, here.
    detail: String,
    /// The path that was asked for.
    instance: String,
    /// The parameter, field or place in a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    todo: Option<String>,
}

impl Problem {
    /// Of a kind; `detail` says what is wrong here.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Problem {
        Problem { kind, detail: detail.into(), place: None, todo: None, retry_after: None }
    }

    /// Not now.
    pub fn busy(detail: impl Into<String>) -> Problem {
        Problem::new(Kind::Busy, detail).retry_after(1)
    }

    /// A parameter or field that makes no sense.
    pub fn invalid(at: &str, what: impl Into<String>, todo: &str) -> Problem {
        Problem::new(Kind::Invalid, what).at(at).todo(todo)
    }

    /// The place.
    pub fn at(mut self, place: impl Into<String>) -> Problem {
        self.place = Some(place.into());
        self
    }

    /// The remedy.
    pub fn todo(mut self, todo: impl Into<String>) -> Problem {
        self.todo = Some(todo.into());
        self
    }

    /// When to ask again, in seconds.
    pub fn retry_after(mut self, seconds: u32) -> Problem {
        self.retry_after = Some(seconds);
        self
    }

    /// The answer to a request for `instance`.
    pub fn render(self, instance: &str) -> Response {
        let Facts { name, status, title, .. } = self.kind.facts();
        let document = Document {
            kind: format!("/problems/{name}"),
            title,
            status,
            detail: self.detail,
            instance: instance.to_owned(),
            at: self.place,
            todo: self.todo,
        };
        let body = serde_json::to_vec(&document).expect("a problem is plain data");
        let status = StatusCode::from_u16(status).expect("kinds have statuses of HTTP");
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.kind == Kind::Unauthorized {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"recrawl\""));
        }
        response
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        match refusal {
            Refusal::NotFound(text) => Problem::new(Kind::NotFound, text),
            Refusal::Invalid { what, at, todo } => Problem::invalid(&at, what, &todo),
            Refusal::Busy(text) => Problem::busy(text),
            Refusal::Failed(text) => {
                tracing::error!("console: {text}");
                Problem::new(Kind::Failed, text)
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.kind.facts().status).expect("kinds have statuses of HTTP");
        let mut response = status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
