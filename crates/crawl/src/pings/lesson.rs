//! What a round tells of pings: which were right, and which changes came without one.

use super::Pings;
use crate::failure::Failure;
use recrawl_types::{CanonicalUrl, LastmodCounts, Origin, Round, Visit};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The lesson of a round. Memory: the pinged pages that it visited, and an entry for each of their origins.
pub struct PingLesson {
    pings: Arc<Pings>,
    /// When the pinged pages were visited, in milliseconds since 1970.
    visited: HashMap<CanonicalUrl, u64>,
    counts: RefCell<BTreeMap<Origin, LastmodCounts>>,
}

impl PingLesson {
    /// An empty lesson.
    pub fn new(pings: Arc<Pings>) -> PingLesson {
        PingLesson { pings, visited: HashMap::new(), counts: RefCell::default() }
    }

    /// Notes a visit of the log.
    pub fn visited(&mut self, visit: &Visit) {
        if !self.pings.is_used.load(Relaxed) || !visit.outcome.is_visit() {
            return;
        }
        let state = self.pings.state();
        if state.waiting.get(&visit.url).is_some_and(|waiting| waiting.ping.is_seen_by(visit.at)) {
            self.visited.insert(visit.url.clone(), visit.at);
        }
    }

    /// Notes what the comparison of a visited page told.
    pub fn compared(&self, url: &CanonicalUrl, changed: bool) {
        if !self.pings.is_used.load(Relaxed) {
            return;
        }
        let origin = Origin::of(url);
        if self.pings.state().origins.contains_key(&origin) {
            let is_pinged = self.visited.contains_key(url);
            self.counts.borrow_mut().entry(origin).or_default().observe(is_pinged, changed);
        }
    }

    /// Adds the counts to the tables, before the commit of the round.
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    pub fn keep(&self, round: Round) -> Result<(), Failure> {
        if self.pings.is_used.load(Relaxed) {
            let counted = self
                .counts
                .borrow()
                .iter()
                .map(|(origin, counts)| (origin.clone(), *counts))
                .collect::<Vec<_>>();
            self.pings.tables.apply_ping_counts(round, counted)?;
        }
        Ok(())
    }

    /// Removes the pings that were answered, after the commit. If that fails, or the program ends before,
    /// a ping is answered twice.
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    pub fn forget(self) -> Result<(), Failure> {
        if !self.pings.is_used.load(Relaxed) {
            return Ok(());
        }
        let mut state = self.pings.state();
        let tables = &self.pings.tables;
        for origin in self.counts.into_inner().into_keys() {
            let counts = tables.ping_counts(&origin)?;
            state.origins.insert(origin, counts);
        }
        for (url, at) in self.visited {
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
