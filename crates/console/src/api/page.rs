//! The dashboard with its files, and the pages of problem kinds.

use super::read::Named;
use crate::dashboard;
use crate::problem::{Problem, ProblemType};
use axum::Json;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// The dashboard.
#[utoipa::path(get, path = "/", tag = "pages",
    responses((status = 200, description = "The dashboard", body = String, content_type = "text/html")))]
pub async fn dashboard() -> Response {
    file(&dashboard::PAGE)
}

/// A file of the dashboard.
#[utoipa::path(get, path = "/assets/{name}", tag = "pages",
    params(("name" = inline(Named), Path, description = "File name")),
    responses((status = 200, description = "The file", content(
        (String = "text/javascript"), (String = "text/css"), (String = "image/svg+xml")))))]
pub async fn asset(Named(name): Named) -> Result<Response, Problem> {
    match dashboard::ASSETS.iter().find(|asset| asset.name == name) {
        Some(asset) => Ok(file(asset)),
        None => Err(Problem::new(ProblemType::NotFound, "unknown dashboard file")),
    }
}

fn file(asset: &'static dashboard::Asset) -> Response {
    ([(CONTENT_TYPE, asset.kind)], asset.text).into_response()
}

/// A kind of problem.
#[derive(Serialize, ToSchema)]
pub struct ProblemKind {
    /// Title.
    title: &'static str,
    /// HTTP status.
    status: u16,
    /// Meaning and remedy.
    meaning: &'static str,
}

/// Meaning of a problem kind. The `type` of a problem points here.
#[utoipa::path(get, path = "/problems/{kind}", tag = "pages",
    params(("kind" = inline(Named), Path, description = "Last segment of a problem's `type`")),
    responses((status = 200, description = "The kind", body = ProblemKind)))]
pub async fn problems(Named(kind): Named) -> Result<Json<ProblemKind>, Problem> {
    let facts = ProblemType::ALL.iter().map(|kind| kind.facts()).find(|facts| facts.name == kind);
    let facts = facts.ok_or_else(|| Problem::new(ProblemType::NotFound, "unknown problem kind"))?;
    Ok(Json(ProblemKind { title: facts.title, status: facts.status, meaning: facts.meaning }))
}
