//! The states of all pages after the warm-up, equal for all formulas that read the same fields.

use super::pages::RowMembers;
use super::states::States;
use recrawl_types::Reads;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// All pages after the warm-up.
#[derive(Debug)]
pub(super) struct WarmStart {
    pub states: States,
    pub pages: RowMembers,
}

impl WarmStart {
    /// Without the spare capacity of the warm-up.
    pub fn packed(mut self) -> WarmStart {
        self.states.forget_arrivals();
        self.pages = self.pages.packed();
        self
    }

    /// Approximate memory in bytes.
    fn bytes(&self) -> usize {
        // A page has a list entry and a mark; a row has a history, columns and list entries.
        8 * self.pages.mark_of.len() + 400 * self.states.counts.len()
    }
}

/// Computed starts, by the fields that distinguish states.
#[derive(Debug, Default)]
pub(super) struct Starts(Mutex<KnownPages>);

#[derive(Debug, Default)]
struct KnownPages {
    starts: HashMap<Reads, Arc<WarmStart>>,
    bytes: usize,
}

impl Starts {
    /// Maximum bytes kept. There can be thousands of sets of fields; when the limit is reached all
    /// are dropped, since each takes only the time of a few cycles.
    const MAX_BYTES: usize = 256 << 20;

    /// The start for a set of fields; two threads may compute the same one concurrently.
    pub fn get(&self, reads: Reads, compute: impl FnOnce() -> WarmStart) -> Arc<WarmStart> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(start) = lock().starts.get(&reads) {
            return start.clone();
        }
        let start = Arc::new(compute());
        let mut known = lock();
        if known.bytes + start.bytes() > Self::MAX_BYTES {
            *known = KnownPages::default();
        }
        if known.starts.insert(reads, start.clone()).is_none() {
            known.bytes += start.bytes();
        }
        start
    }
}
