//! Back-offs of an origin that fails: how long, and what may be tried in one.

use crate::net::limits::{FetchConfig, MAX_HOST_BACK_OFF, MIN_HOST_BACK_OFF};
use crate::robots::policy::refetch_at;
use crate::run::unavailable::is_unreachable;
use crate::run::unvisited_hosts::hash;
use recrawl_types::{CanonicalUrl, HostState};
use std::time::Duration;

/// Minutes in which a page that is told of a host in back-off is tried once.
const TURNS: u64 = 8;

/// The back-off that the failures of an origin began with the last of them; none before there are enough.
pub fn failing_back_off(state: &HostState, config: &FetchConfig) -> Option<Duration> {
    let beyond = state.failures.checked_sub(config.host_failures)?;
    Some(MIN_HOST_BACK_OFF.saturating_mul(1 << beyond.min(16)).min(MAX_HOST_BACK_OFF))
}

/// When pages that somebody asked for, or that have an interval of their own, may be tried in a back-off: once the shortest
/// one is over since the last failure. So it is soon known that a watched host is there again, and each of its pages has
/// the tries after which it is told. A Retry-After holds for them as well. In milliseconds since 1970.
pub fn asked_from(state: &HostState, config: &FetchConfig) -> u64 {
    let millis = |wait: Duration| wait.as_millis() as u64;
    failing_back_off(state, config).map_or(state.back_off_until, |wait| {
        // With it the back-off began, or a page was tried in vain since.
        let last = state.back_off_until.saturating_sub(millis(wait)).max(state.last_request);
        last.saturating_add(millis(MIN_HOST_BACK_OFF)).max(state.hold_until)
    })
}

/// Has the page its turn in this minute, one of [`TURNS`]?
pub fn is_probed(url: &CanonicalUrl, now: u64) -> bool {
    let minute = now / MIN_HOST_BACK_OFF.as_millis() as u64;
    (hash(url.key(), 0) % TURNS + minute).is_multiple_of(TURNS)
}

/// When the next round may try such a page: not before its robots.txt is due again, if that could not be read.
pub fn asked_again_at(state: &HostState, config: &FetchConfig) -> u64 {
    let robots = state.robots.as_ref().filter(|robots| is_unreachable(robots));
    asked_from(state, config).max(robots.map_or(0, |robots| refetch_at(robots, config)))
}
