//! Errors as problem+json (RFC 9457). Each kind has a page at `/problems/{kind}`.

use crate::view::Refusal;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// Kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemType {
    /// 400: not valid HTTP or JSON.
    Malformed,
    /// 401.
    Unauthorized,
    /// 403: the file of tokens is empty.
    ReadOnly,
    /// 403: cross-origin request.
    CrossSite,
    /// 403: the key of a ping is not on its host.
    WrongKey,
    /// 404.
    NotFound,
    /// 405.
    MethodNotAllowed,
    /// 409.
    Conflict,
    /// 413.
    TooLarge,
    /// 415.
    MediaType,
    /// 421: unknown host name.
    UnknownHost,
    /// 422: invalid parameter or field.
    Invalid,
    /// 429.
    RateLimit,
    /// 500.
    Failed,
    /// 503.
    Busy,
}

/// Facts about a kind.
pub struct ProblemFacts {
    /// Name: the last segment of the type URI.
    pub name: &'static str,
    /// HTTP status.
    pub status: u16,
    /// Title.
    pub title: &'static str,
    /// Meaning and remedy.
    pub meaning: &'static str,
}

impl ProblemType {
    /// All kinds.
    pub const ALL: [ProblemType; 15] = [
        ProblemType::Malformed,
        ProblemType::Unauthorized,
        ProblemType::ReadOnly,
        ProblemType::CrossSite,
        ProblemType::WrongKey,
        ProblemType::NotFound,
        ProblemType::MethodNotAllowed,
        ProblemType::Conflict,
        ProblemType::TooLarge,
        ProblemType::MediaType,
        ProblemType::UnknownHost,
        ProblemType::Invalid,
        ProblemType::RateLimit,
        ProblemType::Failed,
        ProblemType::Busy,
    ];

    /// The facts about this kind.
    pub fn facts(self) -> ProblemFacts {
        let (name, status, title, meaning) = match self {
            ProblemType::Malformed => {
                ("malformed", 400, "Malformed", "The request is not valid HTTP or JSON.")
            }
            ProblemType::Unauthorized => (
                "unauthorized",
                401,
                "Unauthorized",
                "A change needs a bearer token from the file named by serve.tokens; without such a file, the one-time link in the daemon's log.",
            ),
            ProblemType::ReadOnly => (
                "read-only",
                403,
                "Read only",
                "The file named by serve.tokens has no token, so nothing can be changed.",
            ),
            ProblemType::CrossSite => (
                "cross-site",
                403,
                "Cross-site",
                "The request comes from a page of another origin. Open the URL directly.",
            ),
            ProblemType::WrongKey => {
                ("wrong-key", 403, "Wrong key", "The key file of the host does not have the key of the ping.")
            }
            ProblemType::NotFound => ("not-found", 404, "Not found", "The resource does not exist."),
            ProblemType::MethodNotAllowed => {
                ("method-not-allowed", 405, "Method not allowed", "The Allow header lists the methods.")
            }
            ProblemType::Conflict => {
                ("conflict", 409, "Conflict", "The change does not apply in the present state of the crawl.")
            }
            ProblemType::TooLarge => ("too-large", 413, "Too large", "The body is too long."),
            ProblemType::MediaType => {
                ("media-type", 415, "Unsupported media type", "The body must be application/json.")
            }
            ProblemType::UnknownHost => (
                "unknown-host",
                421,
                "Unknown host",
                "The Host must be an address, localhost, or a name in serve.names.",
            ),
            ProblemType::Invalid => ("invalid", 422, "Invalid", "A parameter or field has an invalid value."),
            ProblemType::RateLimit => {
                ("rate-limit", 429, "Too many requests", "Beyond a limit; retry after Retry-After seconds.")
            }
            ProblemType::Failed => ("failed", 500, "Failed", "Internal error; see the log."),
            ProblemType::Busy => {
                ("busy", 503, "Busy", "Temporarily unavailable; retry after Retry-After seconds.")
            }
        };
        ProblemFacts { name, status, title, meaning }
    }
}

/// Why a request failed. The guard around all routes renders it ([`Problem::render`]), because only
/// the guard knows the requested path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    kind: ProblemType,
    detail: String,
    place: Option<String>,
    todo: Option<String>,
    retry_after: Option<u32>,
}

/// A problem as in RFC 9457. `at` and `todo` are extensions.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct Document {
    /// `/problems/KIND`, a page of the console.
    #[serde(rename = "type")]
    kind: String,
    /// Title of the kind.
    title: &'static str,
    /// HTTP status.
    status: u16,
    /// What is wrong.
    detail: String,
    /// Requested path.
    instance: String,
    /// The parameter, the field or the position in a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    todo: Option<String>,
}

impl Problem {
    /// A problem of `kind`; `detail` says what is wrong.
    pub fn new(kind: ProblemType, detail: impl Into<String>) -> Problem {
        Problem { kind, detail: detail.into(), place: None, todo: None, retry_after: None }
    }

    /// A temporary problem; the client may retry after a second.
    pub fn busy(detail: impl Into<String>) -> Problem {
        Problem::new(ProblemType::Busy, detail).retry_after(1)
    }

    /// An invalid parameter or field.
    pub fn invalid(at: &str, what: impl Into<String>, todo: &str) -> Problem {
        Problem::new(ProblemType::Invalid, what).at(at).todo(todo)
    }

    /// Sets the parameter, field or position.
    pub fn at(mut self, place: impl Into<String>) -> Problem {
        self.place = Some(place.into());
        self
    }

    /// Sets what to do.
    pub fn todo(mut self, todo: impl Into<String>) -> Problem {
        self.todo = Some(todo.into());
        self
    }

    /// Sets Retry-After.
    pub fn retry_after(mut self, seconds: u32) -> Problem {
        self.retry_after = Some(seconds);
        self
    }

    /// The response to a request for `instance`.
    pub fn render(self, instance: &str) -> Response {
        let ProblemFacts { name, status, title, .. } = self.kind.facts();
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
        if self.kind == ProblemType::Unauthorized {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"recrawl\""));
        }
        response
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        match refusal {
            Refusal::NotFound(text) => Problem::new(ProblemType::NotFound, text),
            Refusal::Invalid { what, at, todo } => Problem::invalid(&at, what, &todo),
            Refusal::Conflict { what, todo } => Problem::new(ProblemType::Conflict, what).todo(todo),
            Refusal::Busy(text) => Problem::busy(text),
            Refusal::Forbidden(text) => Problem::new(ProblemType::WrongKey, text),
            Refusal::TooMany { what, seconds } => {
                Problem::new(ProblemType::RateLimit, what).retry_after(seconds)
            }
            Refusal::Failed(text) => {
                tracing::error!("console: {text}");
                Problem::new(ProblemType::Failed, text)
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
