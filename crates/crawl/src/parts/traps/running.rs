//! The evidence of patterns from a running cycle's visits, before the merge counts them.

use super::evidence::TrapRule;
use super::{OriginTraps, TrapPattern};
use recrawl_types::{CanonicalUrl, DatedRound};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// Maximum patterns in memory over all origins while a cycle is fetched, about 15 MB. Beyond this,
/// the half of the origins with the oldest last first visit is dropped.
const MAX_RUNNING: usize = 100_000;

/// The evidence of the origins visited last. It depends only on the order of the visits in the log,
/// so a resumed cycle gets the same from its log.
#[derive(Default)]
pub struct RunningEvidence {
    /// By the key of an origin.
    origins: HashMap<Box<[u8]>, CountedOrigin>,
    /// Number of patterns of all origins.
    patterns: usize,
    /// First visits so far.
    visits: u64,
}

struct CountedOrigin {
    known: Arc<OriginTraps>,
    /// Is something of it cut off or suspected? Asked for every few links, changed by few visits.
    has_signs: bool,
    /// Number of its last first visit.
    last: u64,
}

impl RunningEvidence {
    /// The evidence of an origin to which this cycle added something; within it, none if nothing is cut off
    /// or suspected.
    pub fn signs(&self, origin_key: &[u8]) -> Option<Option<&Arc<OriginTraps>>> {
        self.origins.get(origin_key).map(|counted| Some(&counted.known).filter(|_| counted.has_signs))
    }

    /// Adds a first visit and returns the patterns that it cut off. `load` returns the evidence of
    /// the origin at the start of the cycle.
    ///
    /// # Errors
    /// Those of `load`.
    pub fn observe(
        &mut self,
        url: &CanonicalUrl,
        simhash: u64,
        dated: DatedRound,
        rule: &TrapRule,
        load: impl FnOnce() -> io::Result<OriginTraps>,
    ) -> io::Result<Vec<TrapPattern>> {
        let key = url.origin_key();
        if !self.origins.contains_key(key) {
            let known = load()?;
            self.patterns += known.patterns();
            let has_signs = known.has_signs(rule);
            self.origins.insert(key.into(), CountedOrigin { known: Arc::new(known), has_signs, last: 0 });
        }
        let counted = self.origins.get_mut(key).expect("it was put there");
        self.visits += 1;
        counted.last = self.visits;
        // An earlier run of this round completed its merge, so the visit is already counted.
        if counted.known.as_of >= dated.round {
            return Ok(Vec::new());
        }
        let before = counted.known.patterns();
        let news = Arc::make_mut(&mut counted.known).observe_and_judge(url, simhash, dated.cycle, rule);
        if counted.has_signs || !news.is_empty() || counted.known.suspects(url, rule) {
            counted.has_signs = counted.known.has_signs(rule);
        }
        self.patterns = self.patterns + counted.known.patterns() - before;
        if self.patterns > MAX_RUNNING {
            self.forget_half();
        }
        Ok(news)
    }

    /// The origins of which something is cut off or suspected.
    pub fn all_signs(&self) -> impl Iterator<Item = (&[u8], &Arc<OriginTraps>)> {
        let signs = self.origins.iter().filter(|(_, counted)| counted.has_signs);
        signs.map(|(key, counted)| (&**key, &counted.known))
    }

    fn forget_half(&mut self) {
        let mut order: Vec<u64> = self.origins.values().map(|counted| counted.last).collect();
        let middle = order.len() / 2;
        let oldest_kept = *order.select_nth_unstable(middle).1;
        self.origins.retain(|_, counted| counted.last >= oldest_kept);
        self.patterns = self.origins.values().map(|counted| counted.known.patterns()).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Cycle, UrlRules};

    const RULE: TrapRule = TrapRule { min_pages: 20, near_duplicates: 0.95, max_distance: 3 };

    fn visit(running: &mut RunningEvidence, url: &str) -> Vec<TrapPattern> {
        let url = UrlRules::default().canonicalize(url).unwrap();
        running.observe(&url, 7, DatedRound::only_of(Cycle(3)), &RULE, || Ok(OriginTraps::default())).unwrap()
    }

    #[test]
    fn memory_is_bounded_and_who_was_visited_last_stays() {
        let mut running = RunningEvidence::default();
        for host in 0..MAX_RUNNING {
            visit(&mut running, &format!("http://h{host}.example/a/b"));
            assert!(running.patterns <= MAX_RUNNING);
        }
        let origins = running.origins.len();
        assert!((MAX_RUNNING / 8..=MAX_RUNNING / 2).contains(&origins), "{origins}");
        let is_there = |host: usize| {
            let url = UrlRules::default().canonicalize(&format!("http://h{host}.example/")).unwrap();
            running.signs(url.origin_key()).is_some()
        };
        assert!(is_there(MAX_RUNNING - 1) && !is_there(0));
    }

    #[test]
    fn a_trap_is_told_at_the_visit_that_is_one_too_many() {
        let mut running = RunningEvidence::default();
        let told: Vec<u32> = (1..=40)
            .filter(|month| !visit(&mut running, &format!("http://a.example/cal/{month}")).is_empty())
            .collect();
        // The first page has nothing to be similar to: 19 of 20 are .95.
        assert_eq!(told, [20]);
        assert_eq!(running.all_signs().count(), 1);
        visit(&mut running, "http://b.example/cal/1");
        assert_eq!(running.all_signs().count(), 1);
    }

    #[test]
    fn an_origin_that_cannot_be_read_is_told() {
        let mut running = RunningEvidence::default();
        let url = UrlRules::default().canonicalize("http://a.example/").unwrap();
        let load = || Err(io::Error::other("the disk"));
        assert!(running.observe(&url, 7, DatedRound::only_of(Cycle(3)), &RULE, load).is_err());
        assert!(running.origins.is_empty());
    }
}
