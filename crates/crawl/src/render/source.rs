//! Answers what pages ask for while they are rendered: by requests of the round.

use crate::operator::control::Control;
use recrawl_fetcher::{FetchResult, Rendering, Response};
use recrawl_renderer::{Answer, AnswerFuture, Ask, Resource, Source};
use recrawl_types::{CanonicalUrl, Failure, Outcome, Skip, UrlRules};
use std::sync::Arc;

/// The source of one page.
pub struct PageSource<'p> {
    pub rendering: &'p Rendering,
    pub control: &'p Control,
}

impl Source for PageSource<'_> {
    fn get<'a>(&'a self, ask: &'a Ask) -> AnswerFuture<'a> {
        Box::pin(self.answer(ask))
    }
}

impl PageSource<'_> {
    async fn answer(&self, ask: &Ask) -> Answer {
        // Other rules than those of pages: a parameter that names no page may name a resource.
        let Ok(url) = UrlRules::keep_all().canonicalize(&ask.url) else { return Answer::Refused };
        if self.is_blocked(&url) {
            return Answer::Refused;
        }
        match self.rendering.get(url, !ask.is_own).await {
            None => Answer::NotNow,
            Some(result) => answer_of(result),
        }
    }

    fn is_blocked(&self, url: &CanonicalUrl) -> bool {
        self.control.blocks().cover(url).is_some()
    }
}

/// What the browser is told.
fn answer_of(result: FetchResult) -> Answer {
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
        FetchResult::Nothing(_) => Answer::Refused,
    }
}

/// The header fields of a response as text.
pub fn fields(response: &Response) -> Vec<(String, String)> {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    response.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes()))).collect()
}
