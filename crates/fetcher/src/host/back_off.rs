//! Back-offs of an origin that fails: how long, and what may be tried in one.

use crate::net::limits::{FetchConfig, MAX_HOST_BACK_OFF, MIN_HOST_BACK_OFF};
use crate::robots::policy::refetch_at;
use crate::run::unavailable::is_unreachable;
use recrawl_types::HostState;
use std::time::Duration;

/// The back-off that the failures of an origin began with the last of them; none before there are enough.
pub fn failing_back_off(state: &HostState, config: &FetchConfig) -> Option<Duration> {
    let beyond = state.failures.checked_sub(config.host_failures)?;
    Some(MIN_HOST_BACK_OFF.saturating_mul(1 << beyond.min(16)).min(MAX_HOST_BACK_OFF))
}

/// The end of the shortest back-off after a failure at `failed`, in milliseconds since 1970.
pub fn next_try(failed: u64) -> u64 {
    failed.saturating_add(MIN_HOST_BACK_OFF.as_millis() as u64)
}

/// When pages that somebody asked for, or that have an interval of their own, may be tried in a back-off: once the shortest
/// one is over since the last failure. So it is soon known that a watched host is there again, and each of its pages has
/// the tries after which it is told. A Retry-After holds for them as well. In milliseconds since 1970.
pub fn asked_from(state: &HostState, config: &FetchConfig) -> u64 {
    failing_back_off(state, config).map_or(state.back_off_until, |wait| {
        let failed = state.back_off_until.saturating_sub(wait.as_millis() as u64);
        next_try(failed).max(state.hold_until)
    })
}

/// When the next round may try such a page: not before its robots.txt is due again, if that could not be read.
pub fn asked_again_at(state: &HostState, config: &FetchConfig) -> u64 {
    let robots = state.robots.as_ref().filter(|robots| is_unreachable(robots));
    asked_from(state, config).max(robots.map_or(0, |robots| refetch_at(robots, config)))
}
