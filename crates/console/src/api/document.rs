//! The OpenAPI document, generated from the descriptions of the handlers.

use crate::problem;
use crate::relay;
use axum::Extension;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use bytes::Bytes;
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    ComponentsBuilder, ContentBuilder, Header, HeaderBuilder, InfoBuilder, LicenseBuilder, ObjectBuilder,
    OpenApi, Ref, RefOr, ResponseBuilder, Server, Type,
};
use utoipa::{PartialSchema, ToSchema};

/// Description of the whole API.
const DESCRIPTION: &str = "Monitors and controls a running crawl. Reading needs no token; changes need one, or a session. \
    Times are milliseconds since 1970. PUT and DELETE are idempotent: a repeated request returns `already`. \
    Errors are problem+json (RFC 9457).";

/// The document as JSON.
#[derive(Clone)]
pub struct ApiDocument(Bytes);

impl ApiDocument {
    /// The bytes.
    pub fn json(&self) -> &[u8] {
        &self.0
    }

    /// Completes the document that the routes describe.
    pub fn new(described: OpenApi) -> ApiDocument {
        let json = serde_json::to_vec(&complete(described)).expect("the document is plain data");
        ApiDocument(json.into())
    }
}

/// The OpenAPI document.
#[utoipa::path(get, path = "/openapi.json", tag = "pages",
    responses((status = 200, description = "This document", body = Object)))]
pub async fn openapi(Extension(ApiDocument(json)): Extension<ApiDocument>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], json)
}

/// Adds what all routes share: title, authentication, and the error responses.
fn complete(mut described: OpenApi) -> OpenApi {
    described.info = InfoBuilder::new()
        .title("recrawl")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .license(Some(LicenseBuilder::new().name("Apache-2.0 OR MIT").build()))
        .build();
    // The router's sign of a variable that may have slashes.
    for path in described.paths.paths.keys().filter(|path| path.contains("{*")).cloned().collect::<Vec<_>>() {
        if let Some(item) = described.paths.paths.remove(&path) {
            described.paths.paths.insert(path.replace("{*", "{"), item);
        }
    }
    // Relative to the document, which a proxy may serve at a sub-path.
    described.servers = Some(vec![Server::new(".")]);
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A token from the file named by serve.tokens"))
        .build();
    let components = described.components.get_or_insert_with(|| ComponentsBuilder::new().build());
    components.add_security_scheme("token", SecurityScheme::Http(bearer));
    let cookie = "The session of the one-time link in the daemon's log, if serve.tokens is not set";
    let cookie = ApiKeyValue::with_description("recrawl-PORT", cookie);
    components.add_security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    components.schemas.insert(problem::Document::name().into_owned(), problem::Document::schema());
    let refused = ResponseBuilder::new()
        .description("Error")
        .content(
            "application/problem+json",
            ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build(),
        )
        .build();
    components.responses.insert("Refused".into(), RefOr::T(refused));
    // Before any route is chosen, so without a document.
    let too_large = ResponseBuilder::new().description("The request header is too large; no body").build();
    components.responses.insert("HeaderTooLarge".into(), RefOr::T(too_large));
    let operations = described.paths.paths.values_mut().flat_map(|item| {
        [&mut item.get, &mut item.put, &mut item.post, &mut item.delete].into_iter().flatten()
    });
    for operation in operations {
        if let Some(ways) = &mut operation.security {
            ways.push(SecurityRequirement::new::<_, [&str; 0], &str>("session", []));
        }
        let responses = &mut operation.responses.responses;
        responses.insert("default".into(), Ref::from_response_name("Refused").into());
        responses.insert("431".into(), Ref::from_response_name("HeaderTooLarge").into());
    }
    for (path, _) in relay::ROUTES {
        let read = described.paths.paths.get_mut(*path).and_then(|item| item.get.as_mut());
        if let Some(RefOr::T(response)) = read.and_then(|read| read.responses.responses.get_mut("200")) {
            let headers =
                HEADERS_OF_OTHERS.map(|(name, kind, text)| (name.to_owned(), RefOr::T(header(kind, text))));
            response.headers.extend(headers);
        }
    }
    described
}

/// Headers of what the owner of another partition has answered.
const HEADERS_OF_OTHERS: [(&str, Type, &str); 3] = [
    (relay::PARTITION, Type::Integer, "The other partition of the fleet whose owner has answered"),
    (relay::NODE, Type::String, "The process that owns it"),
    ("age", Type::Integer, "Seconds that the answer is old at most"),
];

fn header(kind: Type, text: &str) -> Header {
    let schema = ObjectBuilder::new().schema_type(kind).build();
    HeaderBuilder::new().schema(Some(schema)).description(Some(text)).build()
}
