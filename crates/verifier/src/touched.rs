//! Consecutive URLs of a batch, without an allocation for each.

use crate::touch::Touch;

/// Consecutive URLs of a batch with what is said of each, in the order of keys.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    keys: Vec<u8>,
    /// Where each key ends, and what is said of it.
    touches: Vec<(usize, Touch)>,
}

impl Touched {
    /// How many URLs there are.
    pub fn len(&self) -> usize {
        self.touches.len()
    }

    pub fn is_empty(&self) -> bool {
        self.touches.is_empty()
    }

    /// Is there a visit among what is said?
    pub fn has_visits(&self) -> bool {
        self.touches.iter().any(|(_, touch)| !touch.visits.is_empty())
    }

    /// The key of URL number `at`.
    pub fn key(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.touches[before].0);
        &self.keys[start..self.touches[at].0]
    }

    /// What is said of URL number `at`.
    pub fn touch(&self, at: usize) -> &Touch {
        &self.touches[at].1
    }

    /// Takes out what is said of URL number `at`; nothing is said of it from then on.
    pub fn take(&mut self, at: usize) -> Touch {
        std::mem::take(&mut self.touches[at].1)
    }

    /// Adds a URL behind all others.
    pub fn push(&mut self, key: &[u8], touch: Touch) {
        debug_assert!(self.is_empty() || self.key(self.len() - 1) < key, "URLs come in ascending order");
        self.keys.extend_from_slice(key);
        self.touches.push((self.keys.len(), touch));
    }
}
