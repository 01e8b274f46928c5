//! Answers what pages ask for while they are rendered: by requests of the round.

use crate::admission::loading::LoadRules;
use crate::operator::control::Control;
use recrawl_fetcher::{FetchResult, HeaderMap, HeaderName, HeaderValue, PageLoad, RequestOptions, Response};
use recrawl_renderer::{
    AnswerFuture, Ask, Resource, ResourceAnswer, ResourceKind, ResourceSource, WaitingRequest,
};
use recrawl_types::{CanonicalUrl, Failure, Origin, Outcome, Site, Skip, UrlRules};
use std::sync::{Arc, Mutex, PoisonError};

/// The source of one page.
pub struct PageSource<'p> {
    pub page: &'p CanonicalUrl,
    pub rules: LoadRules<'p>,
    pub rendering: &'p PageLoad,
    pub control: &'p Control,
    /// Collects answers, if they are archived.
    pub loaded: Option<&'p Loaded>,
}

/// Answers to a page's requests, by URL.
pub type Loaded = Mutex<Vec<(CanonicalUrl, FetchResult)>>;

impl ResourceSource for PageSource<'_> {
    fn get<'a>(&'a self, ask: &'a Ask, waiting: WaitingRequest) -> AnswerFuture<'a> {
        Box::pin(self.answer(ask, waiting))
    }
}

impl PageSource<'_> {
    async fn answer(&self, ask: &Ask, waiting: WaitingRequest) -> ResourceAnswer {
        // Other rules than those of pages: a parameter that names no page may name a resource.
        let Ok(url) = UrlRules::keep_all().canonicalize(&ask.url) else { return ResourceAnswer::Refused };
        if self.rules.refuse(&url, &self.control.blocks()) {
            return ResourceAnswer::Refused;
        }
        let is_own_site = Site::from_url(&url) == Site::from_url(self.page);
        let manner = RequestOptions {
            is_anonymous: !ask.is_own,
            is_public_only: self.rules.is_public_only(&url),
            is_preflight: ask.kind == ResourceKind::Preflight,
            fields: header_map(&ask.fields),
            body_time: ask.body_time,
            ..RequestOptions::default()
        };
        let Some(mut asked) = self.rendering.ask(url.clone(), manner).await else {
            return ResourceAnswer::NotNow;
        };
        asked.started().await;
        drop(waiting);
        let result = asked.answer().await;
        if let (Some(loaded), Some(result)) =
            (self.loaded.filter(|_| ask.kind != ResourceKind::Preflight), &result)
        {
            let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
            loaded.push((url.clone(), result.clone()));
        }
        match result {
            None => ResourceAnswer::NotNow,
            Some(result) => match answer_of(result, is_own_site, ask.body_time.is_some()) {
                ResourceAnswer::Response(resource) if self.is_kept_from(ask, &url, &resource) => {
                    ResourceAnswer::Refused
                }
                answer => answer,
            },
        }
    }

    /// Does a server keep an answer that CORS does not check from pages of this origin (the field
    /// Cross-Origin-Resource-Policy)?
    fn is_kept_from(&self, ask: &Ask, url: &CanonicalUrl, resource: &Resource) -> bool {
        if ask.field("origin").is_some() || Origin::from_url(url) == Origin::from_url(self.page) {
            return false;
        }
        match resource.header("cross-origin-resource-policy").map(str::trim) {
            Some("same-origin") => true,
            // Of one site only by the same scheme.
            Some("same-site") => {
                Site::from_url(url) != Site::from_url(self.page) || url.scheme() != self.page.scheme()
            }
            _ => false,
        }
    }
}

fn header_map(fields: &[(&'static str, String)]) -> HeaderMap {
    let field = |(name, value): &(&'static str, String)| {
        Some((HeaderName::from_static(name), HeaderValue::from_str(value).ok()?))
    };
    fields.iter().filter_map(field).collect()
}

/// The answer for the browser. Without what our own limits keep back now, a page of the same site would look
/// emptied; another site's scripts may be missing for ever, and a page must do without them.
fn answer_of(result: FetchResult, is_own_site: bool, takes_parts: bool) -> ResourceAnswer {
    let of_status = |status| ResourceAnswer::Response(Arc::new(Resource { status, ..Resource::default() }));
    match result {
        // Half a script is none.
        FetchResult::Page(response) if response.is_cut() && !takes_parts => ResourceAnswer::Refused,
        FetchResult::Page(response)
        | FetchResult::NotModified(response)
        | FetchResult::Redirect { response, .. } => {
            let (status, headers) = (response.status, fields(&response));
            ResourceAnswer::Response(Arc::new(Resource { status, headers, body: response.body }))
        }
        FetchResult::Nothing(Outcome::NotFound(status) | Outcome::Failed(Failure::Status(status))) => {
            of_status(status)
        }
        FetchResult::Nothing(Outcome::Skipped(Skip::Deadline)) => ResourceAnswer::NotNow,
        FetchResult::Nothing(
            Outcome::Skipped(Skip::HostBackOff | Skip::ByteBudget) | Outcome::RobotsUnreachable(_),
        ) if is_own_site => ResourceAnswer::NotNow,
        FetchResult::Nothing(_) => ResourceAnswer::Refused,
    }
}

/// The header fields of a response as text.
pub fn fields(response: &Response) -> Vec<(String, String)> {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    response.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes()))).collect()
}
