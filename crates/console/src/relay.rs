//! Reads of a fleet's other partitions: a request about their pages is asked of their owner, whose answer is given on.
//! The owner answers by the same routes.

use crate::connection::Peer;
use crate::console::{Console, IS_RELAYED, is_relayed};
use crate::problem::{Problem, ProblemType};
use crate::view::{FleetAnswer, FleetQuestion, SoughtPages};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Query, Request, State};
use axum::http::header::{ACCEPT, AGE, CONTENT_TYPE, ETAG, HOST, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::future::join_all;
use recrawl_types::Span;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::time;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// The routes that an owner answers for others, all of which only read, and the parameter that says whose pages they
/// are about.
pub const ROUTES: &[(&str, &str)] = &[
    ("/api/v1/page", "url"),
    ("/api/v1/versions", "url"),
    ("/api/v1/version-times", "url"),
    ("/api/v1/version", "url"),
    ("/archived", "url"),
    ("/api/v1/changes", "partition"),
    ("/feed.atom", "partition"),
    ("/api/v1/search", "partition"),
];

/// The header of an answer of another partition that names it.
pub const PARTITION: &str = "recrawl-partition";
/// The header that names the process which answered.
pub const NODE: &str = "recrawl-node";

/// Time for an answer. The asker waits a bit longer.
const LIMIT: Duration = Duration::from_secs(12);

/// Asks the owner, if a request is about pages of another partition.
pub async fn pass(State(console): State<Arc<Console>>, request: Request, next: Next) -> Response {
    let Some(sought) = sought(&request) else { return next.run(request).await };
    let partition = match console.view.elsewhere(&sought) {
        Ok(None) => return next.run(request).await,
        Ok(Some(partition)) => partition,
        Err(refusal) => return Problem::from(refusal).into_response(),
    };
    let path = request.uri().path_and_query().map_or("", |whole| whole.as_str()).to_owned();
    let [accept, known] = [ACCEPT, IF_NONE_MATCH].map(|name| text_of(request.headers(), name));
    let question = FleetQuestion { path, accept, known };
    let asked = Instant::now();
    let given = console.ask_elsewhere(partition, question).await;
    let given = given.and_then(|answer| given_on(answer, partition, asked.elapsed()));
    given.unwrap_or_else(IntoResponse::into_response)
}

fn sought(request: &Request) -> Option<SoughtPages> {
    // Of an answer to HEAD, only the head is sent.
    if !matches!(*request.method(), Method::GET | Method::HEAD) || is_relayed() {
        return None;
    }
    let (_, parameter) = ROUTES.iter().find(|(path, _)| *path == request.uri().path())?;
    let Query(parameters) = Query::<Vec<(String, String)>>::try_from_uri(request.uri()).ok()?;
    let (_, value) = parameters.into_iter().find(|(name, _)| name == parameter)?;
    // The route refuses another text.
    match *parameter {
        "url" => Some(SoughtPages::Page(value)),
        _ => value.parse().ok().map(SoughtPages::Partition),
    }
}

/// An answer as the owner gave it. It is not older than the question, whatever clocks say.
fn given_on(answer: FleetAnswer, partition: u32, age: Duration) -> Result<Response, Problem> {
    let FleetAnswer { status, content_type, tag, body, node } = answer;
    let wrong =
        |_| Problem::new(ProblemType::Failed, format!("partition {partition} gave no answer of HTTP"));
    let status = StatusCode::from_u16(status).map_err(|_| wrong(()))?;
    let text = |text: &str| HeaderValue::from_str(text).map_err(|_| wrong(()));
    let headers = [
        (HeaderName::from_static(PARTITION), HeaderValue::from(partition)),
        (HeaderName::from_static(NODE), text(&node)?),
        (AGE, HeaderValue::from(age.as_secs())),
    ];
    let mut response = (status, headers, body).into_response();
    response.headers_mut().remove(CONTENT_TYPE);
    for (name, value) in [(CONTENT_TYPE, content_type), (ETAG, tag)] {
        if !value.is_empty() {
            response.headers_mut().insert(name, text(&value)?);
        }
    }
    Ok(response)
}

/// The text of a header; empty without one.
fn text_of(headers: &HeaderMap, name: HeaderName) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

/// Answers questions of other partitions by the routes of a console.
pub struct FleetAnswers {
    pub(crate) router: Router,
    pub(crate) runtime: Handle,
    /// The name of this process in the fleet.
    pub(crate) node: String,
}

impl FleetAnswers {
    /// The answers, in the order of the questions; none for one that is longer than `most` bytes. Nobody is answered
    /// once `stop` is cancelled.
    pub fn to(
        &self,
        questions: &[FleetQuestion],
        most: usize,
        stop: &CancellationToken,
    ) -> Vec<Option<FleetAnswer>> {
        let answers = join_all(questions.iter().map(|question| self.one(question, most)));
        self.runtime.block_on(async {
            tokio::select! {
                () = stop.cancelled() => Vec::new(),
                answers = answers => answers,
            }
        })
    }

    async fn one(&self, question: &FleetQuestion, most: usize) -> Option<FleetAnswer> {
        let path = question.path.split('?').next().unwrap_or_default();
        let response = match time::timeout(LIMIT, self.response(question, path)).await {
            Ok(Ok(response)) => response,
            Ok(Err(problem)) => problem.render(path),
            Err(_) => Problem::busy(format!("no response within {}", Span(LIMIT))).render(path),
        };
        let status = response.status().as_u16();
        let [content_type, tag] = [CONTENT_TYPE, ETAG].map(|name| text_of(response.headers(), name));
        let body = to_bytes(response.into_body(), most).await.ok()?;
        // All of these routes write text.
        let body = String::from_utf8_lossy(&body).into_owned();
        Some(FleetAnswer { status, content_type, tag, body, node: self.node.clone() })
    }

    async fn response(&self, question: &FleetQuestion, path: &str) -> Result<Response, Problem> {
        if !ROUTES.iter().any(|(of, _)| *of == path) {
            let text = "a process of a fleet does not answer this for another";
            return Err(Problem::new(ProblemType::NotFound, text));
        }
        let request = Request::get(&question.path)
            .header(HOST, "localhost")
            .header(ACCEPT, &question.accept)
            .header(IF_NONE_MATCH, &question.known)
            .extension(Peer(Ipv4Addr::LOCALHOST.into()))
            .body(Body::empty())
            .map_err(|e| Problem::new(ProblemType::Malformed, e.to_string()))?;
        let response = IS_RELAYED.scope((), self.router.clone().oneshot(request));
        Ok(response.await.unwrap_or_else(|never| match never {}))
    }
}
