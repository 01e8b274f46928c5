//! Pages that could not be fetched, for the console.

use super::shared_state::SharedState;
use recrawl_console::view::{ErrorCount, ErrorGroup, ErrorKind, Errors, PageError};
use recrawl_crawl::progress::errors::Missed;
use recrawl_types::{Origin, Outcome, OutcomeEffect};

/// Recent errors.
pub fn list(shared: &SharedState) -> Errors {
    let errors = shared.live.errors();
    let count = |(outcome, pages)| ErrorCount { kind: kind(outcome), group: group(outcome), pages };
    let page = |missed: &Missed| PageError {
        at: missed.at,
        url: missed.url.to_string(),
        host: Origin::from_url(&missed.url).to_string(),
        kind: kind(missed.outcome),
        detail: missed.outcome.to_string(),
    };
    Errors { kinds: errors.kinds().into_iter().map(count).collect(), last: errors.last().map(page).collect() }
}

fn group(outcome: Outcome) -> ErrorGroup {
    match outcome.effect() {
        OutcomeEffect::Refusal => ErrorGroup::Rule,
        OutcomeEffect::Nothing => ErrorGroup::Postponed,
        OutcomeEffect::Visit | OutcomeEffect::Absence | OutcomeEffect::Failure => ErrorGroup::Failure,
    }
}

fn kind(outcome: Outcome) -> ErrorKind {
    ErrorKind { outcome: outcome.name().into(), why: outcome.why().map(Into::into), status: outcome.status() }
}
