//! Reads untrusted input: query, path variable, body and token. Each error is a [`Problem`].

use crate::connection::{LocalUser, Peer};
use crate::console::{ChangesBy, Console};
use crate::guard;
use crate::problem::{Problem, ProblemType};
use crate::view::Actor;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Json, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::header::{ACCEPT, AUTHORIZATION, COOKIE, ORIGIN};
use axum::http::request::Parts;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::time::Instant;
use utoipa::ToSchema;

/// Maximum bytes of a URL, host or pattern in a request. Those of the crawl are shorter.
pub const MAX_NAME_BYTES: usize = 4096;
/// Maximum characters of the path in the log line of an unauthorized request.
const MAX_LOGGED_CHARS: usize = 200;

/// The query, parsed as `T`.
pub struct Params<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Params<T>, Problem> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(ask)) => Ok(Params(ask)),
            Err(e) => Err(Problem::invalid("query", e.body_text(), "see /openapi.json for the parameters")),
        }
    }
}

/// The decoded variable of a path. All [names](name_of_something) share its schema.
#[derive(ToSchema)]
#[schema(as = Name, max_length = 4096, pattern = "^[^\\x00-\\x1f\\x7f-\\x9f]*$")]
pub struct Named(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Named, Problem> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(name)) => name_of_something("path", name).map(Named),
            Err(e) => Err(Problem::invalid("path", e.body_text(), "percent-encode it as UTF-8")),
        }
    }
}

/// Does the client ask for text for people, by `Accept: text/plain`?
pub struct AsText(pub bool);

impl<S: Sync> FromRequestParts<S> for AsText {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<AsText, Infallible> {
        let accepts = parts.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
        Ok(AsText(accepts.is_some_and(|accepts| accepts.trim_start().starts_with("text/plain"))))
    }
}

/// Checks a URL, host or pattern: at most [`MAX_NAME_BYTES`] and no control characters, so that it
/// can be logged and shown.
///
/// # Errors
/// If the text is too long or has control characters.
pub fn name_of_something(at: &str, text: String) -> Result<String, Problem> {
    if text.len() > MAX_NAME_BYTES {
        return Err(Problem::invalid(at, format!("longer than {MAX_NAME_BYTES} bytes"), "shorten it"));
    }
    if text.chars().any(char::is_control) {
        return Err(Problem::invalid(at, "contains control characters", "percent-encode the name"));
    }
    Ok(text)
}

/// A JSON body, parsed as `T`.
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<JsonBody<T>, Problem> {
        match Json::from_request(request, state).await {
            Ok(Json(sent)) => Ok(JsonBody(sent)),
            Err(e) => Err(unread(&e)),
        }
    }
}

fn unread(rejection: &JsonRejection) -> Problem {
    const TODO: &str = "see /openapi.json for the body";
    match rejection {
        JsonRejection::JsonDataError(e) => Problem::invalid("body", e.body_text(), TODO),
        JsonRejection::JsonSyntaxError(e) => {
            Problem::new(ProblemType::Malformed, e.body_text()).at("body").todo(TODO)
        }
        JsonRejection::MissingJsonContentType(_) => {
            Problem::new(ProblemType::MediaType, "the body must be JSON")
                .todo("send `Content-Type: application/json`")
        }
        other if other.status() == StatusCode::PAYLOAD_TOO_LARGE => guard::too_large(),
        other => Problem::new(ProblemType::Malformed, other.body_text()).at("body"),
    }
}

/// The name of an operator with a session. No token has such a name, since it has a space.
const OF_LINK: &str = "one-time link";

/// The authorized sender of a change: a local user, the owner of a token, or of a session. Checked before the body is read.
pub struct Operator(pub Actor);

impl FromRequestParts<Arc<Console>> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, console: &Arc<Console>) -> Result<Operator, Problem> {
        let from = parts.extensions.get::<Peer>().map(|peer| peer.0);
        let from =
            from.ok_or_else(|| Problem::new(ProblemType::Failed, "missing client address (internal error)"))?;
        if let Some(LocalUser(name)) = parts.extensions.get() {
            return Ok(Operator(Actor { name: name.clone(), from }));
        }
        if has_session(parts, console) {
            // Browsers always send it with a change, so the guard has compared it.
            if !parts.headers.contains_key(ORIGIN) {
                let text = "a change by a session needs an Origin header";
                return Err(Problem::new(ProblemType::CrossSite, text).at("Origin"));
            }
            return Ok(Operator(Actor { name: OF_LINK.into(), from }));
        }
        match console.name_of(token(parts)) {
            Ok(name) => Ok(Operator(Actor { name, from })),
            Err(problem) => {
                if let Some(unlogged) = console.traffic.unauthorized(Instant::now()) {
                    let path: String = parts.uri.path().chars().take(MAX_LOGGED_CHARS).collect();
                    tracing::warn!(%from, method = %parts.method, path, unlogged,
                        "console: rejected an unauthorized change");
                }
                Err(problem)
            }
        }
    }
}

/// Has the request the cookie of a session, where a session authorizes changes?
fn has_session(parts: &Parts, console: &Console) -> bool {
    let name = console.cookie_name();
    let cookies = parts.headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut values = cookies
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('=').filter(|(of, _)| *of == name));
    console.changes_by() == ChangesBy::Link && values.any(|(_, value)| console.has_session(value))
}

/// How changes are authorized.
#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
pub struct SessionState {
    /// `token`: by a bearer token. `link`: by the one-time link in the daemon's log. `nothing`: the file of tokens is
    /// empty.
    pub by: &'static str,
    /// May this client change the crawl without a token? True after the one-time link, and at the control socket.
    pub may_change: bool,
}

impl FromRequestParts<Arc<Console>> for SessionState {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        console: &Arc<Console>,
    ) -> Result<SessionState, Infallible> {
        let by = match console.changes_by() {
            ChangesBy::Token => "token",
            ChangesBy::Link => "link",
            ChangesBy::Nothing => "nothing",
        };
        let is_local = parts.extensions.get::<LocalUser>().is_some();
        Ok(SessionState { by, may_change: is_local || has_session(parts, console) })
    }
}

/// The bearer token of a request (RFC 6750 §2.1), if it has exactly one.
fn token(parts: &Parts) -> Option<&[u8]> {
    let mut values = parts.headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, token) = value.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

/// The last time that a number of JavaScript can hold.
pub const LAST_TIME: u64 = (1 << 53) - 1;
/// The last second that may be asked for, in the year 5138. What is beyond it are milliseconds.
pub const LAST_SECOND: u64 = 100_000_000_000;

/// The time from which on a query asks; 0 without one.
pub fn since(asked: Option<u64>, last: u64, todo: &str) -> Result<u64, Problem> {
    match asked.unwrap_or(0) {
        time if time > last => Err(Problem::invalid("since", "invalid time", todo)),
        time => Ok(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::list::{HostsParams, PagesParams};
    use crate::view::{HostSort, HostState};
    use axum::http::Uri;
    use proptest::prelude::*;

    fn hosts(query: &str) -> Result<HostsParams, String> {
        let uri: Uri = format!("/?{query}").parse().map_err(|e| format!("{e}"))?;
        Query::try_from_uri(&uri).map(|Query(ask)| ask).map_err(|e| e.body_text())
    }

    #[test]
    fn a_query_is_read_whole_or_not_at_all() {
        let ask = hosts("sort=latency&state=backed_off&limit=7&cursor=a%20b").unwrap().query().unwrap();
        assert_eq!((ask.sort, ask.state, ask.limit), (HostSort::Latency, Some(HostState::BackedOff), 7));
        assert_eq!(ask.cursor.as_deref(), Some("a b"));
        let none = hosts("").unwrap().query().unwrap();
        assert_eq!((none.sort, none.state, none.limit, none.cursor), (HostSort::Name, None, 100, None));
        for wrong in ["sort=size", "state=", "limit=-1", "limit=1e3", "limit=1&limit=2", "limits=1", "sort"] {
            assert!(hosts(wrong).is_err(), "{wrong}");
        }
        for wrong in ["limit=0", "limit=1001", "cursor=%00", "cursor=%0a"] {
            assert!(hosts(wrong).unwrap().query().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_asked_is_refused_or_within_limits(query in "[a-z=&%0-9.+;\\[\\]{}-]{0,60}") {
            if let Ok(ask) = hosts(&query).and_then(|ask| ask.query().map_err(|e| format!("{e:?}"))) {
                prop_assert!((1..=crate::view::MAX_ROWS).contains(&ask.limit));
                let cursor = ask.cursor.unwrap_or_default();
                prop_assert!(cursor.len() <= crate::view::MAX_CURSOR_BYTES && !cursor.chars().any(char::is_control));
            }
        }

        #[test]
        fn what_is_encoded_comes_back(prefix in "\\PC{0,40}", limit in 1usize..=1000) {
            let encoded: String = prefix.bytes().map(|b| format!("%{b:02X}")).collect();
            let uri: Uri = format!("/?prefix={encoded}&limit={limit}").parse().unwrap();
            let Query(ask) = Query::<PagesParams>::try_from_uri(&uri).unwrap();
            let asked = ask.query();
            prop_assert_eq!(asked.map(|q| (q.prefix, q.limit)), Ok((prefix, limit)));
        }
    }
}
