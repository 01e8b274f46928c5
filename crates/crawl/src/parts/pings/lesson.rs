//! The lesson of a round about pings: which were right, and which changes came without one.

use super::Pings;
use crate::failure::Failure;
use crate::lesson::RoundLesson;
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, DatedRound, LastmodCounts, Origin, Visit};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The lesson of a round. Memory: the pinged pages that it visited, and an entry for each of their origins.
pub struct PingLesson {
    pings: Arc<Pings>,
    /// When the pinged pages were visited, in milliseconds since 1970.
    visited: HashMap<CanonicalUrl, u64>,
    counts: BTreeMap<Origin, LastmodCounts>,
}

impl PingLesson {
    /// An empty lesson.
    pub fn new(pings: Arc<Pings>) -> PingLesson {
        PingLesson { pings, visited: HashMap::new(), counts: BTreeMap::new() }
    }
}

impl RoundLesson for PingLesson {
    fn visited(&mut self, visit: &Visit) {
        if !self.pings.is_used.load(Relaxed) || !visit.outcome.is_visit() {
            return;
        }
        let state = self.pings.state();
        if state.waiting.get(&visit.url).is_some_and(|waiting| waiting.ping.is_seen_by(visit.at)) {
            self.visited.insert(visit.url.clone(), visit.at);
        }
    }

    fn compared(&mut self, url: &CanonicalUrl, _is_newer: Option<bool>, is_changed: bool) {
        if !self.pings.is_used.load(Relaxed) {
            return;
        }
        let origin = Origin::from_url(url);
        if self.pings.state().origins.contains_key(&origin) {
            let is_pinged = self.visited.contains_key(url);
            self.counts.entry(origin).or_default().observe(is_pinged, is_changed);
        }
    }

    fn store(&mut self, tables: &SledTables, round: DatedRound) -> Result<(), Failure> {
        if self.pings.is_used.load(Relaxed) {
            let counted: Vec<_> =
                self.counts.iter().map(|(origin, counts)| (origin.clone(), *counts)).collect();
            tables.apply_ping_counts(round.round, counted)?;
        }
        Ok(())
    }

    /// Removes the pings that were answered. A ping that stays is answered twice.
    fn committed(&mut self, tables: &SledTables) -> Result<(), Failure> {
        if !self.pings.is_used.load(Relaxed) {
            return Ok(());
        }
        let mut state = self.pings.state();
        for origin in std::mem::take(&mut self.counts).into_keys() {
            let counts = tables.ping_counts(&origin)?;
            state.origins.insert(origin, counts);
        }
        for (url, at) in std::mem::take(&mut self.visited) {
            let Some(waiting) = state.waiting.get_mut(&url) else { continue };
            let left = waiting.ping.after(at);
            tables.keep_ping(&url, left)?;
            match left {
                Some(ping) => waiting.ping = ping,
                None => _ = state.waiting.remove(&url),
            }
        }
        Ok(())
    }
}
