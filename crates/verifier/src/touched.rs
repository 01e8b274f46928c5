//! Consecutive URLs of a batch, without an allocation for each.

use crate::touch::Touch;
use recrawl_types::{OutcomeEffect, Visit};

/// Consecutive touched URLs, in key order.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    keys: Vec<u8>,
    /// End of each key, and its links and visits.
    touches: Vec<(usize, Touch)>,
    /// Memory of the touches.
    bytes: usize,
}

impl Touched {
    pub fn len(&self) -> usize {
        self.touches.len()
    }

    /// Memory in bytes, by an estimate.
    pub fn bytes(&self) -> usize {
        self.keys.len() + self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.touches.is_empty()
    }

    pub fn has_visits(&self) -> bool {
        self.touches.iter().any(|(_, touch)| !touch.visits.is_empty())
    }

    /// Is there nothing but scheduled pages, which are known, that were not visited?
    pub fn is_skipped(&self) -> bool {
        let is_skipped =
            |visit: &Visit| visit.index.is_some() && visit.outcome.effect() == OutcomeEffect::Nothing;
        self.touches.iter().all(|(_, touch)| touch.links.is_none() && touch.visits.iter().all(is_skipped))
    }

    pub fn key(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.touches[before].0);
        &self.keys[start..self.touches[at].0]
    }

    /// All keys, in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|at| self.key(at))
    }

    /// The links and visits of URL number `at`.
    pub fn touch(&self, at: usize) -> &Touch {
        &self.touches[at].1
    }

    /// Takes the links and visits of URL number `at` and leaves none.
    pub fn take(&mut self, at: usize) -> Touch {
        std::mem::take(&mut self.touches[at].1)
    }

    /// Appends a URL.
    pub fn push(&mut self, key: &[u8], touch: Touch) {
        debug_assert!(self.is_empty() || self.key(self.len() - 1) < key, "URLs come in ascending order");
        self.keys.extend_from_slice(key);
        self.bytes += size_of::<usize>() + touch.bytes();
        self.touches.push((self.keys.len(), touch));
    }
}
