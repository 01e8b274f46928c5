//! Reports for site owners.

use super::hosts::unknown_host;
use super::shared_state::SharedState;
use crate::action::named_host;
use crate::report::host_report::{HostReport, HostSources};
use recrawl_console::view::Refusal;
use recrawl_repository::StoredRounds;

/// The report of a host.
pub fn host(shared: &SharedState, name: &str, cycles: usize) -> Result<HostReport, Refusal> {
    let (named, decided) = (named_host(name)?, shared.control.decided());
    let _scan = shared.begin_report()?;
    let generation = shared.generation();
    let sources = HostSources {
        settings: &shared.settings(),
        tables: &shared.tables,
        generation: &generation,
        kept: &StoredRounds::new(shared.storage.clone(), generation.number()),
        decided: &decided,
        now: shared.now(),
    };
    HostReport::for_host(&sources, &named, cycles)
        .map_err(Refusal::failed)?
        .ok_or_else(|| unknown_host(shared, &named))
}
