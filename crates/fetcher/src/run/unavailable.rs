//! Origins that delivered no page at their last requests, for the next plan.
//!
//! Their pages stay due and get older. Without this, a large host that is down would take more of
//! each cycle's budget, and all its pages would be skipped. One failed cycle changes nothing: the
//! next one plans as many pages as before.

use crate::net::limits::{FetchConfig, MAX_HOST_BACK_OFF};
use crate::robots::policy::refetch_at;
use crate::run::unvisited_hosts;
use recrawl_types::host::{RobotsBody, RobotsState};
use recrawl_types::{Cycle, HostState, Origin};
use std::collections::BTreeMap;

/// Bytes of an origin in [`Unavailable::to_bytes`].
const ENTRY: usize = 24;

/// Origins that a plan must limit. 24 bytes each on disk; empty if all of them respond.
///
/// An origin is stored as a 64-bit hash. If two collide, one of them gets fewer pages per cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unavailable(BTreeMap<u64, OriginEntry>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OriginEntry {
    /// End of the back-off, in milliseconds since 1970.
    back_off_until: u64,
    /// The first cycle in a row in which it failed, and the last one. Cycle 0 if it has not failed.
    since: Cycle,
    last: Cycle,
}

/// Responses of an origin in one run. The stored host state does not say when it was learned.
#[derive(Clone, Copy, Debug, Default)]
pub struct OriginResponses {
    /// Did a request get a response without fault of the host?
    pub succeeded: bool,
    /// Did a request fail?
    pub failed: bool,
}

impl Unavailable {
    /// Does every origin respond?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Maximum number of pages of the origin in a cycle that begins at `now`: 0 during a back-off,
    /// 1 after failures in two cycles until the origin responds again. None if there is no limit.
    pub fn at_most(&self, origin: &Origin, now: u64) -> Option<u64> {
        let entry = self.0.get(&hash(origin))?;
        let left = entry.back_off_until.saturating_sub(now);
        // If the clock ran ahead, the back-off must not exceed its maximum.
        match (1..=MAX_HOST_BACK_OFF.as_millis() as u64).contains(&left) {
            true => Some(0),
            false => (entry.last > entry.since).then_some(1),
        }
    }

    /// The first end of a back-off after `now`, in milliseconds since 1970.
    pub fn first_end(&self, now: u64) -> Option<u64> {
        self.0.values().map(|entry| entry.back_off_until).filter(|end| *end > now).min()
    }

    /// Records the responses of an origin in this cycle. Without responses, its availability stays
    /// as it was.
    pub fn note(
        &mut self,
        origin: &Origin,
        state: &HostState,
        responses: OriginResponses,
        config: &FetchConfig,
        cycle: Cycle,
        now: u64,
    ) {
        let unreachable = state.robots.as_ref().filter(|robots| is_unreachable(robots));
        let refetch_at = unreachable.map_or(0, |robots| refetch_at(robots, config));
        let back_off_until = state.back_off_until.max(refetch_at);
        let is_failing = state.failures >= config.host_failures || unreachable.is_some();
        let known = self.0.get(&hash(origin)).copied();
        let mut entry = OriginEntry { back_off_until, ..known.unwrap_or_default() };
        if is_failing && responses.failed {
            entry.since = if known.is_some_and(|known| known.has_failed()) { entry.since } else { cycle };
            entry.last = cycle;
        } else if !is_failing && responses.succeeded {
            (entry.since, entry.last) = Default::default();
        }
        if entry.has_failed() || back_off_until > now {
            self.0.insert(hash(origin), entry);
        } else if known.is_some() {
            self.0.remove(&hash(origin));
        }
    }

    /// Encodes it for storage.
    pub fn to_bytes(&self) -> Vec<u8> {
        let entry = |(hash, entry): (&u64, &OriginEntry)| {
            let mut bytes = [0; ENTRY];
            bytes[..8].copy_from_slice(&hash.to_le_bytes());
            bytes[8..16].copy_from_slice(&entry.back_off_until.to_le_bytes());
            bytes[16..20].copy_from_slice(&entry.since.0.to_le_bytes());
            bytes[20..].copy_from_slice(&entry.last.0.to_le_bytes());
            bytes
        };
        self.0.iter().flat_map(entry).collect()
    }

    /// Decodes it. Ignores an incomplete entry: the next requests to the origin record it again.
    pub fn from_bytes(bytes: &[u8]) -> Unavailable {
        let entry = |bytes: &[u8]| {
            let (hash, rest) = bytes.split_first_chunk()?;
            let (until, rest) = rest.split_first_chunk()?;
            let (since, rest) = rest.split_first_chunk()?;
            let (last, _) = rest.split_first_chunk()?;
            let [since, last] = [since, last].map(|bytes| Cycle(u32::from_le_bytes(*bytes)));
            let back_off_until = u64::from_le_bytes(*until);
            Some((u64::from_le_bytes(*hash), OriginEntry { back_off_until, since, last }))
        };
        Unavailable(bytes.chunks_exact(ENTRY).filter_map(entry).collect())
    }
}

impl OriginEntry {
    fn has_failed(&self) -> bool {
        self.last != Cycle::default()
    }
}

pub fn is_unreachable(robots: &RobotsState) -> bool {
    matches!(robots.body, RobotsBody::DisallowAll(_))
}

fn hash(origin: &Origin) -> u64 {
    unvisited_hosts::hash(origin.to_string().as_bytes(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Failure, Scheme, Validators};

    const NOW: u64 = 1_790_000_000_000;

    fn origin(host: &str) -> Origin {
        Origin { scheme: Scheme::Https, host: host.into(), port: 443 }
    }

    const GOOD: OriginResponses = OriginResponses { succeeded: true, failed: false };
    const BAD: OriginResponses = OriginResponses { succeeded: false, failed: true };
    const NOTHING: OriginResponses = OriginResponses { succeeded: false, failed: false };

    fn note(
        unavailable: &mut Unavailable,
        state: &HostState,
        responses: OriginResponses,
        cycle: u32,
        now: u64,
    ) {
        unavailable.note(&origin("a.test"), state, responses, &FetchConfig::default(), Cycle(cycle), now);
        assert_eq!(Unavailable::from_bytes(&unavailable.to_bytes()), *unavailable);
        assert_eq!(unavailable.at_most(&origin("b.test"), now), None);
    }

    /// Records a state and these responses in two cycles.
    fn noted(state: &HostState, responses: OriginResponses) -> Unavailable {
        let mut unavailable = Unavailable::default();
        (3..5).for_each(|cycle| note(&mut unavailable, state, responses, cycle, NOW));
        unavailable
    }

    /// Maximum number of pages of the origin.
    fn at_most(noted: &Unavailable, now: u64) -> Option<u64> {
        noted.at_most(&origin("a.test"), now)
    }

    fn failing() -> HostState {
        let failures = FetchConfig::default().host_failures;
        HostState { failures, back_off_until: NOW + 9, ..HostState::default() }
    }

    #[test]
    fn nothing_while_it_is_left_alone_then_one_page_until_it_answers() {
        let mut noted = noted(&failing(), BAD);
        assert_eq!([NOW, NOW + 8, NOW + 9].map(|now| at_most(&noted, now)), [Some(0), Some(0), Some(1)]);
        assert_eq!(at_most(&noted, 0), Some(1), "a clock that was ahead");
        let well = HostState { failures: 0, ..failing() };
        note(&mut noted, &well, GOOD, 5, NOW + 10);
        assert!(noted.is_empty() && noted.to_bytes().is_empty());
    }

    #[test]
    fn a_single_cycle_costs_no_place_of_the_next() {
        let mut noted = Unavailable::default();
        (0..3).for_each(|_| note(&mut noted, &failing(), BAD, 3, NOW));
        assert_eq!([NOW, NOW + 9].map(|now| at_most(&noted, now)), [Some(0), None]);
    }

    #[test]
    fn a_cycle_that_asks_nothing_is_no_failure_and_no_recovery() {
        let mut noted = Unavailable::default();
        note(&mut noted, &failing(), BAD, 3, NOW);
        note(&mut noted, &failing(), NOTHING, 4, NOW + 9);
        assert_eq!(at_most(&noted, NOW + 9), None, "it failed in one cycle");
        note(&mut noted, &failing(), BAD, 5, NOW + 9);
        note(&mut noted, &HostState { failures: 0, ..failing() }, NOTHING, 6, NOW + 10);
        assert_eq!(at_most(&noted, NOW + 10), Some(1), "no response in that cycle");
    }

    #[test]
    fn a_failure_that_is_not_the_last_straw_is_no_recovery() {
        let mut noted = noted(&failing(), BAD);
        note(&mut noted, &HostState { failures: 1, ..failing() }, BAD, 5, NOW + 10);
        assert_eq!(at_most(&noted, NOW + 10), Some(1));
    }

    #[test]
    fn a_retry_after_is_kept_and_starts_no_count() {
        let mut noted = noted(&HostState { back_off_until: NOW + 9, ..HostState::default() }, BAD);
        assert_eq!([NOW, NOW + 9].map(|now| at_most(&noted, now)), [Some(0), None]);
        note(&mut noted, &failing(), BAD, 5, NOW + 9);
        assert_eq!(at_most(&noted, NOW + 9), None, "the first cycle in which it failed");
    }

    #[test]
    fn a_robots_txt_that_cannot_be_had_counts_as_failing() {
        let body = RobotsBody::DisallowAll(Some(Failure::Dns));
        let robots =
            RobotsState { fetched: NOW, unreachable_since: None, body, validators: Validators::default() };
        let noted = noted(&HostState { robots: Some(robots), ..HostState::default() }, BAD);
        assert_eq!([NOW, NOW + 60_000].map(|now| at_most(&noted, now)), [Some(0), Some(1)]);
    }
}
