//! The OpenAPI document, made from the handlers' own descriptions.

use crate::problem;
use axum::Extension;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use bytes::Bytes;
use std::fmt::Write;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, ContentBuilder, InfoBuilder, LicenseBuilder, OpenApi, Ref, RefOr, ResponseBuilder,
};
use utoipa::{PartialSchema, ToSchema};

/// What of the whole document no handler can say.
const DESCRIPTION: &str = "Looks at a running crawl and steers it. Reading needs no token; changes do. Times are \
    milliseconds since 1970. PUT and DELETE may be repeated: what is so already stays so, and the answer says `already`. \
    Errors are problem+json (RFC 9457).";

/// The document as it is sent.
#[derive(Clone)]
pub struct Document(Bytes);

impl Document {
    /// Of the routes as they were described.
    pub fn of(described: OpenApi) -> Document {
        let json = serde_json::to_vec(&complete(described)).expect("the document is plain data");
        Document(json.into())
    }
}

/// The OpenAPI document.
#[utoipa::path(get, path = "/openapi.json", tag = "pages",
    responses((status = 200, description = "This document", body = Object)))]
pub async fn openapi(Extension(Document(json)): Extension<Document>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], json)
}

/// With what is the same for all routes: title, the way to prove who one is, and that any of them may be refused.
fn complete(mut described: OpenApi) -> OpenApi {
    described.info = InfoBuilder::new()
        .title("recrawl")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .license(Some(LicenseBuilder::new().name("Apache-2.0 OR MIT").build()))
        .build();
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A token from the file of serve.tokens"))
        .build();
    let components = described.components.get_or_insert_with(|| ComponentsBuilder::new().build());
    components.add_security_scheme("token", SecurityScheme::Http(bearer));
    components.schemas.insert(problem::Document::name().into_owned(), problem::Document::schema());
    let refused = ResponseBuilder::new()
        .description("Refused")
        .content(
            "application/problem+json",
            ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build(),
        )
        .build();
    components.responses.insert("Refused".into(), RefOr::T(refused));
    let operations = described.paths.paths.values_mut().flat_map(|item| {
        [&mut item.get, &mut item.put, &mut item.post, &mut item.delete].into_iter().flatten()
    });
    for operation in operations {
        operation.responses.responses.insert("default".into(), Ref::from_response_name("Refused").into());
    }
    described
}

/// A row for each operation, in the order of paths.
pub fn table(described: &OpenApi) -> String {
    let mut table = String::from("| route | what | token |\n|---|---|---|\n");
    for (path, item) in &described.paths.paths {
        let methods =
            [("GET", &item.get), ("PUT", &item.put), ("POST", &item.post), ("DELETE", &item.delete)];
        for (method, operation) in methods {
            let Some(operation) = operation else { continue };
            let what = operation.summary.as_deref().unwrap_or_default();
            let token = if operation.security.is_some() { "yes" } else { "" };
            writeln!(table, "| `{method} {path}` | {what} | {token} |").expect("text takes all");
        }
    }
    table
}
