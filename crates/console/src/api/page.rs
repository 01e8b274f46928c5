//! Pages for people: the dashboard with its files, and what kinds of problems there are.

use super::read::Named;
use crate::dashboard;
use crate::problem::{Kind, Problem};
use axum::Json;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// The dashboard.
#[utoipa::path(get, path = "/", tag = "pages",
    responses((status = 200, description = "A page", body = String, content_type = "text/html")))]
pub async fn dashboard() -> Response {
    file(&dashboard::PAGE)
}

/// A file of the dashboard.
#[utoipa::path(get, path = "/assets/{name}", tag = "pages",
    params(("name" = inline(Named), Path, description = "Its name, as the dashboard has it")),
    responses((status = 200, description = "The file", content(
        (String = "text/javascript"), (String = "text/css"), (String = "image/svg+xml")))))]
pub async fn asset(Named(name): Named) -> Result<Response, Problem> {
    match dashboard::ASSETS.iter().find(|asset| asset.name == name) {
        Some(asset) => Ok(file(asset)),
        None => Err(Problem::new(Kind::NotFound, "the dashboard has no such file")),
    }
}

fn file(asset: &'static dashboard::Asset) -> Response {
    ([(CONTENT_TYPE, asset.kind)], asset.text).into_response()
}

/// A kind of problem.
#[derive(Serialize, ToSchema)]
pub struct ProblemKind {
    /// Its title.
    title: &'static str,
    /// The status that it comes with.
    status: u16,
    /// What it means, and what to do.
    meaning: &'static str,
}

/// What a kind of problem means. This is where the `type` of a problem leads.
#[utoipa::path(get, path = "/problems/{kind}", tag = "pages",
    params(("kind" = inline(Named), Path, description = "The last part of a problem's type")),
    responses((status = 200, description = "The kind", body = ProblemKind)))]
pub async fn problems(Named(kind): Named) -> Result<Json<ProblemKind>, Problem> {
    let facts = Kind::ALL.iter().map(|kind| kind.facts()).find(|facts| facts.name == kind);
    let facts = facts.ok_or_else(|| Problem::new(Kind::NotFound, "there is no such kind of problem"))?;
    Ok(Json(ProblemKind { title: facts.title, status: facts.status, meaning: facts.meaning }))
}
