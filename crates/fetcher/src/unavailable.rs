//! Origins that gave no page when they were last asked, for the next plan.
//!
//! Their pages stay due, and grow older: without this a large host that is down would take ever more places of each cycle,
//! and be skipped in all of them. One cycle that fails is no reason: the next one asks for as many pages as ever.

use crate::left_out;
use crate::limits::{FetchConfig, MAX_HOST_BACK_OFF};
use crate::robots::standing::asked_again;
use recrawl_types::host::{RobotsBody, RobotsState};
use recrawl_types::{Cycle, HostState, Origin};
use std::collections::BTreeMap;

/// Bytes of an origin in [`Unavailable::to_bytes`].
const ENTRY: usize = 24;

/// The origins that a plan need not count on. 24 bytes each on disk; nothing where all of them answer.
///
/// An origin is remembered by a 64-bit hash. Should two have the same, one of them has fewer pages in a cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unavailable(BTreeMap<u64, Entry>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// In milliseconds since 1970.
    left_alone_until: u64,
    /// The first cycle in a row in which it failed, and the last one.
    since: Cycle,
    last: Cycle,
}

impl Unavailable {
    /// Does every origin answer?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many pages of the origin a cycle that begins now may choose: none while it is left alone; one after it failed
    /// in two cycles, until it answers again. None where there is no such limit.
    pub fn at_most(&self, origin: &Origin, now: u64) -> Option<u64> {
        let entry = self.0.get(&hash(origin))?;
        let left = entry.left_alone_until.saturating_sub(now);
        // A clock that was ahead must not keep an origin shut for longer than it could have asked for.
        match (1..=MAX_HOST_BACK_OFF.as_millis() as u64).contains(&left) {
            true => Some(0),
            false => (entry.last > entry.since).then_some(1),
        }
    }

    /// Notes what was learned of an origin in this cycle.
    pub fn note(&mut self, origin: &Origin, state: &HostState, config: &FetchConfig, cycle: Cycle, now: u64) {
        let unreachable = state.robots.as_ref().filter(|robots| is_unreachable(robots));
        let asked_again = unreachable.map_or(0, |robots| asked_again(robots, config));
        let left_alone_until = state.back_off_until.max(asked_again);
        let is_failing = state.failures >= config.host_failures || unreachable.is_some();
        if is_failing || left_alone_until > now {
            let new = Entry { left_alone_until, since: cycle, last: cycle };
            let entry = self.0.entry(hash(origin)).or_insert(new);
            entry.left_alone_until = left_alone_until;
            if is_failing {
                entry.last = cycle;
            }
        } else if !self.0.is_empty() {
            self.0.remove(&hash(origin));
        }
    }

    /// For the disk.
    pub fn to_bytes(&self) -> Vec<u8> {
        let entry = |(hash, entry): (&u64, &Entry)| {
            let mut bytes = [0; ENTRY];
            bytes[..8].copy_from_slice(&hash.to_le_bytes());
            bytes[8..16].copy_from_slice(&entry.left_alone_until.to_le_bytes());
            bytes[16..20].copy_from_slice(&entry.since.0.to_le_bytes());
            bytes[20..].copy_from_slice(&entry.last.0.to_le_bytes());
            bytes
        };
        self.0.iter().flat_map(entry).collect()
    }

    /// From the disk. Bytes that are no whole entry are passed over: it is noted again when the origin is next asked.
    pub fn from_bytes(bytes: &[u8]) -> Unavailable {
        let entry = |bytes: &[u8]| {
            let (hash, rest) = bytes.split_first_chunk()?;
            let (until, rest) = rest.split_first_chunk()?;
            let (since, rest) = rest.split_first_chunk()?;
            let (last, _) = rest.split_first_chunk()?;
            let [since, last] = [since, last].map(|bytes| Cycle(u32::from_le_bytes(*bytes)));
            let left_alone_until = u64::from_le_bytes(*until);
            Some((u64::from_le_bytes(*hash), Entry { left_alone_until, since, last }))
        };
        Unavailable(bytes.chunks_exact(ENTRY).filter_map(entry).collect())
    }
}

fn is_unreachable(robots: &RobotsState) -> bool {
    matches!(robots.body, RobotsBody::DisallowAll(_))
}

fn hash(origin: &Origin) -> u64 {
    left_out::hash(origin.to_string().as_bytes(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Failure, Scheme, Validators};

    const NOW: u64 = 1_790_000_000_000;

    fn origin(host: &str) -> Origin {
        Origin { scheme: Scheme::Https, host: host.into(), port: 443 }
    }

    fn note(unavailable: &mut Unavailable, state: &HostState, cycle: u32, now: u64) {
        unavailable.note(&origin("a.test"), state, &FetchConfig::default(), Cycle(cycle), now);
        assert_eq!(Unavailable::from_bytes(&unavailable.to_bytes()), *unavailable);
        assert_eq!(unavailable.at_most(&origin("b.test"), now), None);
    }

    /// What is noted of a state in two cycles.
    fn noted(state: &HostState) -> Unavailable {
        let mut unavailable = Unavailable::default();
        (3..5).for_each(|cycle| note(&mut unavailable, state, cycle, NOW));
        unavailable
    }

    #[test]
    fn nothing_while_it_is_left_alone_then_one_page_until_it_answers() {
        let failures = FetchConfig::default().host_failures;
        let mut state = HostState { failures, back_off_until: NOW + 9, ..HostState::default() };
        let mut failing = noted(&state);
        let at_most = |noted: &Unavailable, now| noted.at_most(&origin("a.test"), now);
        assert_eq!([NOW, NOW + 8, NOW + 9].map(|now| at_most(&failing, now)), [Some(0), Some(0), Some(1)]);
        assert_eq!(at_most(&failing, 0), Some(1), "a clock that was ahead");
        state.failures = 0;
        note(&mut failing, &state, 5, NOW + 10);
        assert!(failing.is_empty() && failing.to_bytes().is_empty());
    }

    #[test]
    fn a_single_cycle_costs_no_place_of_the_next() {
        let failures = FetchConfig::default().host_failures;
        let state = HostState { failures, back_off_until: NOW + 9, ..HostState::default() };
        let mut failing = Unavailable::default();
        (0..3).for_each(|_| note(&mut failing, &state, 3, NOW));
        assert_eq!([NOW, NOW + 9].map(|now| failing.at_most(&origin("a.test"), now)), [Some(0), None]);
    }

    #[test]
    fn a_retry_after_is_kept_and_no_more() {
        let noted = noted(&HostState { back_off_until: NOW + 9, ..HostState::default() });
        let at = |now| noted.at_most(&origin("a.test"), now);
        assert_eq!([at(NOW), at(NOW + 9)], [Some(0), None]);
    }

    #[test]
    fn a_robots_txt_that_cannot_be_had_counts_as_failing() {
        let body = RobotsBody::DisallowAll(Some(Failure::Dns));
        let robots =
            RobotsState { fetched: NOW, unreachable_since: None, body, validators: Validators::default() };
        let noted = noted(&HostState { robots: Some(robots), ..HostState::default() });
        let at = |now| noted.at_most(&origin("a.test"), now);
        assert_eq!([at(NOW), at(NOW + 60_000)], [Some(0), Some(1)]);
    }
}
