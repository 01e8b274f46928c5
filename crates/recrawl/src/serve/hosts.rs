//! Lists of hosts.

use super::desk::Desk;
use super::view::failed;
use recrawl_console::view::Refusal;
use recrawl_console::view::{HostList, HostQuery, HostRow, HostSort, HostState};
use recrawl_fetcher::control::{HostFigures, HostStanding};
use recrawl_fetcher::promise::Promise;
use recrawl_repository::OriginRun;
use recrawl_types::{HostTable, Origin};
use std::cmp::Reverse;
use std::collections::HashMap;

/// What becomes of a host's queue.
pub fn state(desk: &Desk, host: &str, doing: Option<HostStanding>, is_backed_off: bool) -> HostState {
    let is_forbidden = || {
        desk.control.blocks().cover_host(host).is_some()
            || desk.settings().scope.opt_out().line(host).is_some()
    };
    match doing {
        _ if is_forbidden() => HostState::Blocked,
        _ if desk.steering.is_host_held(host) => HostState::Paused,
        Some(HostStanding::Asking) => HostState::Asking,
        Some(HostStanding::BackedOff) => HostState::BackedOff,
        _ if is_backed_off => HostState::BackedOff,
        Some(HostStanding::Waiting | HostStanding::Held) | None => HostState::Waiting,
    }
}

/// Some hosts, in the order asked for.
pub fn list(desk: &Desk, ask: &HostQuery) -> Result<HostList, Refusal> {
    let from = match &ask.cursor {
        None => 0,
        Some(text) => text.parse::<usize>().map_err(|_| {
            Refusal::invalid(
                "cursor",
                "it is none that a list of hosts gave out",
                "leave it out to begin anew",
            )
        })?,
    };
    let origins = desk.generation().origins().map_err(failed)?;
    let figures = desk.steering.figures();
    let told = |host| (host, figures.standing(host));
    let doing: HashMap<&str, (&HostFigures, HostStanding)> =
        figures.slowest.iter().map(|host| (host.host.as_str(), told(host))).collect();
    let row = |run: &OriginRun| row(desk, run, &doing);
    // Where the order and the choice hang on the repository alone, the rest is looked up for the hosts shown.
    let all = match (ask.sort, ask.state) {
        (HostSort::Name | HostSort::Pages, None) => {
            let mut runs: Vec<&OriginRun> = origins.iter().collect();
            if ask.sort == HostSort::Pages {
                runs.sort_by_key(|run| Reverse(run.pages));
            }
            let shown = runs.iter().skip(from).take(ask.limit).map(|run| row(run));
            return Ok(HostList {
                hosts: shown.collect::<Result<_, _>>()?,
                next: next(from, ask.limit, runs.len()),
            });
        }
        _ => origins.iter().map(row).collect::<Result<Vec<HostRow>, Refusal>>()?,
    };
    let mut all: Vec<HostRow> =
        all.into_iter().filter(|row| ask.state.is_none_or(|s| row.state == s)).collect();
    all.sort_by_key(|row| {
        Reverse(match ask.sort {
            HostSort::Name => 0,
            HostSort::Pages => row.pages,
            HostSort::Queue => row.queue,
            HostSort::Delay => row.delay_ms,
            HostSort::Latency => row.latency_ms.unwrap_or_default(),
            HostSort::Failures => row.failures.into(),
            HostSort::Changes => row.changed,
        })
    });
    let (hosts, total) = (all.iter().skip(from).take(ask.limit).cloned().collect(), all.len());
    Ok(HostList { hosts, next: next(from, ask.limit, total) })
}

fn next(from: usize, limit: usize, total: usize) -> Option<String> {
    from.checked_add(limit).filter(|at| *at < total).map(|at| at.to_string())
}

fn row(
    desk: &Desk,
    run: &OriginRun,
    doing: &HashMap<&str, (&HostFigures, HostStanding)>,
) -> Result<HostRow, Refusal> {
    let origin = Origin::of(&run.home().map_err(failed)?);
    let kept = desk.tables.load(&origin).map_err(failed)?.unwrap_or_default();
    let promise = Promise::of(&kept, &desk.settings().fetch, desk.now());
    let (figures, standing) = doing.get(&*origin.host).copied().unzip();
    let left_alone = promise.left_alone.is_some();
    let latency = figures.map_or(u64::from(kept.latency), |f| f.latency.as_millis() as u64);
    Ok(HostRow {
        state: state(desk, &origin.host, standing, left_alone),
        host: origin.to_string(),
        pages: run.pages,
        visited: run.visited,
        queue: figures.map_or(0, |f| f.queue),
        done: figures.map_or(0, |f| f.done),
        changed: desk.live.changed_at(&origin.host),
        requests: kept.requests,
        robots_denied: kept.robots_denied,
        delay_ms: figures.map_or(promise.delay, |f| f.delay).as_millis() as u64,
        latency_ms: Some(latency).filter(|ms| *ms > 0),
        failures: figures.map_or(kept.failures, |f| f.failures),
    })
}
