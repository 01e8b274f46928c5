//! Answers what pages ask for while they are rendered: by requests of the round.

use crate::admission::scope::Scope;
use crate::operator::control::Control;
use recrawl_fetcher::{FetchResult, Manner, Rendering, Response};
use recrawl_renderer::{Answer, AnswerFuture, Ask, Resource, Source, Waiting};
use recrawl_types::{CanonicalUrl, Failure, Outcome, Site, Skip, UrlRules};
use std::sync::Arc;

/// The source of one page.
pub struct PageSource<'p> {
    pub page: &'p CanonicalUrl,
    pub rendering: &'p Rendering,
    pub scope: &'p Scope,
    pub control: &'p Control,
}

impl Source for PageSource<'_> {
    fn get<'a>(&'a self, ask: &'a Ask, waiting: Waiting) -> AnswerFuture<'a> {
        Box::pin(self.answer(ask, waiting))
    }
}

impl PageSource<'_> {
    async fn answer(&self, ask: &Ask, waiting: Waiting) -> Answer {
        // Other rules than those of pages: a parameter that names no page may name a resource.
        let Ok(url) = UrlRules::keep_all().canonicalize(&ask.url) else { return Answer::Refused };
        // It needs no place in the scope, but what the operator refuses is refused.
        if self.scope.forbids_resource(&url) || self.control.blocks().cover(&url).is_some() {
            return Answer::Refused;
        }
        let is_own_site = Site::of(&url) == Site::of(self.page);
        let manner = Manner { is_anonymous: !ask.is_own, accept: ask.accept.as_deref().map(Into::into) };
        let Some(mut asked) = self.rendering.ask(url, manner) else { return Answer::NotNow };
        asked.started().await;
        drop(waiting);
        match asked.answer().await {
            None => Answer::NotNow,
            Some(result) => answer_of(result, is_own_site),
        }
    }
}

/// What the browser is told. Without what our own limits keep back now, a page of the same site would look emptied;
/// another site's scripts may be missing for ever, and a page must do without them.
fn answer_of(result: FetchResult, is_own_site: bool) -> Answer {
    let of_status = |status| Answer::Response(Arc::new(Resource { status, ..Resource::default() }));
    match result {
        // Half a script is none.
        FetchResult::Page(response) if response.truncated => Answer::Refused,
        FetchResult::Page(response)
        | FetchResult::NotModified(response)
        | FetchResult::Redirect { response, .. } => {
            let (status, headers) = (response.status, fields(&response));
            Answer::Response(Arc::new(Resource { status, headers, body: response.body }))
        }
        FetchResult::Nothing(Outcome::NotFound(status) | Outcome::Failed(Failure::Status(status))) => {
            of_status(status)
        }
        FetchResult::Nothing(Outcome::Skipped(Skip::Deadline)) => Answer::NotNow,
        FetchResult::Nothing(
            Outcome::Skipped(Skip::HostBackOff | Skip::ByteBudget) | Outcome::RobotsUnreachable(_),
        ) if is_own_site => Answer::NotNow,
        FetchResult::Nothing(_) => Answer::Refused,
    }
}

/// The header fields of a response as text.
pub fn fields(response: &Response) -> Vec<(String, String)> {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    response.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes()))).collect()
}
