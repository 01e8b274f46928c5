//! The routes. `/openapi.json` is generated from the description of each handler. A handler missing
//! from [`routes()`] is neither served nor described.

pub mod change;
mod document;
mod event;
pub mod formula;
mod health;
mod improve;
mod list;
mod memento;
mod overview;
mod page;
mod page_change;
mod ping;
mod promise;
mod read;
mod report;
mod search;
mod session;
mod version;
mod websub;

use crate::console::Console;
use crate::guard;
use crate::problem::{Problem, ProblemType};
use crate::relay;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// All routes of the console.
fn routes() -> OpenApiRouter<Arc<Console>> {
    OpenApiRouter::new()
        .routes(routes!(health::health))
        .routes(routes!(health::ready))
        .routes(routes!(overview::metrics))
        .routes(routes!(document::openapi))
        .routes(routes!(page::dashboard))
        .routes(routes!(page::asset))
        .routes(routes!(page::problems))
        .routes(routes!(overview::status))
        .routes(routes!(overview::recent))
        .routes(routes!(overview::cycles))
        .routes(routes!(overview::errors))
        .routes(routes!(overview::controls))
        .routes(routes!(list::hosts))
        .routes(routes!(list::host))
        .routes(routes!(report::host_report))
        .routes(routes!(promise::promises))
        .routes(routes!(list::pages))
        .routes(routes!(list::page))
        .routes(routes!(page_change::changes))
        .routes(routes!(page_change::feed_atom))
        .routes(routes!(search::search))
        .routes(routes!(version::versions))
        .routes(routes!(version::times))
        .routes(routes!(version::version))
        .routes(routes!(version::archived))
        .routes(routes!(memento::timegate))
        .routes(routes!(memento::timemap))
        .routes(routes!(memento::memento))
        .routes(routes!(event::events))
        .routes(routes!(formula::formulas))
        .routes(routes!(formula::check))
        .routes(routes!(formula::compare))
        .routes(routes!(improve::improve))
        .routes(routes!(improve::history))
        .routes(routes!(improve::candidate))
        .routes(routes!(improve::what_if))
        .routes(routes!(improve::savings))
        .routes(routes!(improve::hold, improve::release))
        .routes(routes!(improve::promote))
        .routes(routes!(improve::take_back))
        .routes(routes!(improve::learn))
        .routes(routes!(ping::one, ping::several))
        .routes(routes!(websub::verify, websub::notify))
        .routes(routes!(session::session, session::begin))
        .routes(routes!(change::pause, change::resume))
        .routes(routes!(change::pause_host, change::resume_host))
        .routes(routes!(change::seeds))
        .routes(routes!(change::block, change::unblock))
        .routes(routes!(change::recrawl))
        .routes(routes!(change::use_formula, change::roll_back))
        .routes(routes!(change::reload))
        .routes(routes!(change::step_aside))
}

/// The OpenAPI document.
pub fn openapi() -> Vec<u8> {
    document::ApiDocument::new(routes().into_openapi()).json().to_vec()
}

/// The router of `console`, with the guard.
pub fn router(console: Arc<Console>) -> Router {
    let (router, described) = routes().split_for_parts();
    router
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        .layer(axum::Extension(document::ApiDocument::new(described)))
        .layer(DefaultBodyLimit::max(guard::MAX_BODY))
        .layer(middleware::from_fn_with_state(console.clone(), relay::pass))
        .layer(middleware::from_fn_with_state(console.clone(), guard::pass))
        .with_state(console)
}

async fn no_such_route() -> Problem {
    Problem::new(ProblemType::NotFound, "unknown route").todo("see /openapi.json")
}

async fn no_such_method() -> Problem {
    Problem::new(ProblemType::MethodNotAllowed, "method not allowed for this route")
}
