//! Begins the learner when it is due, and notes its end.

use crate::serve::shared_state::SharedState;
use recrawl_crawl::crawl::Crawl;
use std::path::Path;

/// Begins if it is due, or an operator asked. Only the crawl thread may call this. A learner that cannot be started is
/// logged; the crawl goes on without.
pub fn begin_if_due(crawl: &Crawl, shared: &SharedState, config: Option<&Path>) {
    look(shared);
    let begun = shared.learner.begin(crawl, shared.now(), config);
    let told = begun.and_then(|has_begun| if has_begun { shared.refresh_loop() } else { Ok(()) });
    if let Err(failure) = told {
        tracing::error!("cannot learn from the crawl's visits: {failure}");
        shared.learner.failed(shared.now(), failure.to_string());
    }
}

/// Begins at once if an operator asked. See [`begin_if_due`].
pub fn begin_if_asked(crawl: &Crawl, shared: &SharedState, config: Option<&Path>) {
    if shared.learner.is_asked() {
        begin_if_due(crawl, shared, config);
    }
}

/// Tells how learning ended, if it did.
pub fn look(shared: &SharedState) {
    let noted = shared.learner.look(&shared.store, shared.now());
    let told = noted.and_then(|has_ended| if has_ended { shared.refresh_loop() } else { Ok(()) });
    if let Err(failure) = told {
        tracing::error!("cannot note what the learner left: {failure}");
    }
}
