//! Promises of a running crawl.

use super::shared_state::SharedState;
use crate::report::promises::{CYCLES, PromiseSources, Promises};
use recrawl_console::view::{PromiseFigures, Refusal};
use recrawl_crawl::report::RoundReport;
use recrawl_repository::StoredRounds;

/// Promises, as counted now.
pub fn now(shared: &SharedState) -> Result<Promises, Refusal> {
    let _scan = shared.begin_report()?;
    let generation = shared.generation();
    let sources = PromiseSources {
        settings: &shared.settings(),
        tables: &shared.tables,
        generation: &generation,
        kept: &StoredRounds::new(shared.storage.clone(), generation.number()),
        decided: &shared.control.decided(),
        reports: shared.reports(CYCLES),
        random_seed: shared.random_seed,
        now: shared.now(),
    };
    Promises::count(sources).map_err(Refusal::failed)
}

/// How many are broken, as the last cycle that counted found; none without promises.
pub fn figures(reports: &[RoundReport]) -> Option<PromiseFigures> {
    let last = reports.iter().find(|report| report.is_of_crawl())?;
    let count = |is: &dyn Fn(&recrawl_crawl::parts::promises::account::PromiseAccount) -> bool| {
        last.promises.iter().filter(|account| is(account)).count() as u64
    };
    (!last.promises.is_empty()).then(|| PromiseFigures {
        made: last.promises.len() as u64,
        broken: count(&|account| !account.is_kept()),
        limited: count(&|account| account.limit.is_some()),
    })
}
