//! Lists of hosts.

use super::host_snapshot::Ordered;
use super::shared_state::SharedState;
use crate::fleet;
use recrawl_console::view::Refusal;
use recrawl_console::view::{HostList, HostQuery, HostRow, HostSort, HostState};
use recrawl_crawl::admission::named_host::NamedHost;
use recrawl_fetcher::HostDelay;
use recrawl_fetcher::control::{HostActivity, HostFigures, OriginFigures};
use recrawl_fleet::Partition;
use recrawl_repository::{OriginIndex, OriginRun};
use recrawl_types::{CanonicalUrl, HostTable, Origin};
use std::collections::{HashMap, HashSet};
use std::fmt::Display;

/// That nothing is known of a host; and who knows more, if another partition of the fleet has it.
pub fn unknown_host(shared: &SharedState, host: &NamedHost) -> Refusal {
    let (name, key) = (&host.name, CanonicalUrl::key_of_host(&host.name));
    Refusal::NotFound(match shared.partition.as_deref().filter(|partition| !partition.owns(&key)) {
        Some(partition) => elsewhere(shared, partition, name, &key),
        None => format!("{name}: unknown host; /api/v1/hosts lists the known ones"),
    })
}

/// Where a page or host is, of this key, that another partition has.
pub fn elsewhere(shared: &SharedState, partition: &Partition, what: impl Display, key: &[u8]) -> String {
    let (id, fleet) = (partition.owner_of(key), shared.place.fleet.as_deref());
    fleet::elsewhere(what, id, fleet.and_then(|fleet| fleet.owner_of(id)).as_ref())
}

/// The state of a host's queue.
pub fn state(
    shared: &SharedState,
    host: &str,
    doing: Option<HostActivity>,
    is_backed_off: bool,
) -> HostState {
    let is_forbidden = || {
        shared.control.blocks().cover_host(host).is_some()
            || shared.settings().scope.opt_out().line(host).is_some()
    };
    match doing {
        _ if is_forbidden() => HostState::Blocked,
        _ if shared.steering.is_host_held(host) => HostState::Paused,
        Some(HostActivity::Asking) => HostState::Asking,
        Some(HostActivity::BackedOff) => HostState::BackedOff,
        _ if is_backed_off => HostState::BackedOff,
        Some(HostActivity::Waiting | HostActivity::Held) => HostState::Waiting,
        None => HostState::Idle,
    }
}

/// A page of the list of hosts.
pub fn list(shared: &SharedState, ask: &HostQuery) -> Result<HostList, Refusal> {
    let from = match &ask.cursor {
        None => 0,
        Some(text) => text.parse::<usize>().map_err(|_| {
            Refusal::invalid("cursor", "not a cursor of /api/v1/hosts", "omit it to start over")
        })?,
    };
    let figures = shared.steering.figures();
    let origins =
        figures.slowest.iter().flat_map(|host| host.origins.iter().map(move |origin| (host, origin)));
    let doing: HashMap<&Origin, Doing> = origins
        .map(|(host, of)| (&of.origin, Doing { host, of, activity: figures.activity(of.state) }))
        .collect();
    let row = |run: &OriginRun| row(shared, run, &doing);
    let origins = shared.hosts.origins(&shared.generation())?;
    let search = ask.search.as_deref().filter(|text| !text.is_empty());
    let search = search.map(|text| text.trim_end_matches('/').to_ascii_lowercase());
    let search = search.as_deref();
    let (origins, (places, total)) = match (ask.sort, ask.state) {
        // Order and selection depend on the repository alone.
        (HostSort::Name, None) if search.is_none() => {
            let (from, total) = (from as u64, origins.origins());
            let places = (from..total.min(from.saturating_add(ask.limit as u64))).collect();
            (origins, (places, total as usize))
        }
        (HostSort::Pages, None) => {
            let (mut places, mut runs) =
                (Ordered::new(from, ask.limit), origins.walk_from(0).map_err(Refusal::failed)?);
            let mut place = 0;
            while let Some(run) = runs.next_run().map_err(Refusal::failed)? {
                if is_found(run, search)? {
                    places.add(run.pages, place);
                }
                place += 1;
            }
            (origins, places.finish())
        }
        _ => {
            // Other orders need the state of every host: a snapshot has it for the next requests as well.
            let snapshot = shared.hosts.snapshot(origins, row)?;
            let found = search.map(|_| matching(&snapshot.origins, search)).transpose()?;
            let is_found = |place| found.as_ref().is_none_or(|found| found.contains(&place));
            (snapshot.origins.clone(), snapshot.places(ask, from, is_found))
        }
    };
    let mut rows = Vec::with_capacity(places.len());
    let mut runs = origins.walk_from(from as u64).map_err(Refusal::failed)?;
    for place in places {
        // The next place is mostly the next one, so the walk goes on where it stands.
        if runs.given() != place {
            runs = origins.walk_from(place).map_err(Refusal::failed)?;
        }
        rows.extend(runs.next_run().map_err(Refusal::failed)?.map(row).transpose()?);
    }
    // The state of some may have changed since the scan.
    let hosts = rows.into_iter().filter(|row| ask.state.is_none_or(|state| row.state == state)).collect();
    Ok(HostList { hosts, next: next(from, ask.limit, total) })
}

/// Does the origin of these pages contain the searched text, in lower case?
fn is_found(run: &OriginRun, search: Option<&str>) -> Result<bool, Refusal> {
    let Some(text) = search else { return Ok(true) };
    let origin = Origin::from_url(&run.home().map_err(Refusal::failed)?).to_string();
    Ok(origin.contains(text))
}

/// The places of the origins that contain the searched text.
fn matching(origins: &OriginIndex, search: Option<&str>) -> Result<HashSet<u64>, Refusal> {
    let (mut found, mut runs) = (HashSet::new(), origins.walk_from(0).map_err(Refusal::failed)?);
    let mut place = 0;
    while let Some(run) = runs.next_run().map_err(Refusal::failed)? {
        if is_found(run, search)? {
            found.insert(place);
        }
        place += 1;
    }
    Ok(found)
}

fn next(from: usize, limit: usize, total: usize) -> Option<String> {
    from.checked_add(limit).filter(|at| *at < total).map(|at| at.to_string())
}

/// An origin in the running round.
struct Doing<'f> {
    /// Figures that all origins of its name share: they are asked in turn.
    host: &'f HostFigures,
    of: &'f OriginFigures,
    activity: HostActivity,
}

fn row(
    shared: &SharedState,
    run: &OriginRun,
    doing: &HashMap<&Origin, Doing<'_>>,
) -> Result<HostRow, Refusal> {
    let origin = Origin::from_url(&run.home().map_err(Refusal::failed)?);
    let kept = shared.tables.load(&origin).map_err(Refusal::failed)?.unwrap_or_default();
    let delay = HostDelay::from_state(&kept, &shared.settings().fetch, shared.now());
    let doing = doing.get(&origin);
    let latency = doing.map_or(u64::from(kept.latency), |now| now.host.latency.as_millis() as u64);
    let activity = doing.map(|now| now.activity);
    Ok(HostRow {
        state: state(shared, &origin.host, activity, delay.left_alone.is_some()),
        host: origin.to_string(),
        pages: run.pages,
        visited: run.visited,
        queue: doing.map_or(0, |now| now.of.queue),
        done: doing.map_or(0, |now| now.of.done),
        changed: shared.live.changed_at(&origin),
        requests: kept.requests,
        robots_denied: kept.robots_denied,
        delay_ms: doing.map_or(delay.delay, |now| now.host.delay).as_millis() as u64,
        delay_because: delay.set_by(),
        latency_ms: Some(latency).filter(|ms| *ms > 0),
        failures: doing.map_or(kept.failures, |now| now.of.failures),
        left_alone: delay.left_alone.map(|why| why.to_string()),
        left_alone_until: delay.left_alone.and_then(|why| why.until()),
    })
}
