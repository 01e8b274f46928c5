//! Hosts that share something, a site or an address: how many of them are open, and which wait for a place.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;

/// A host of the schedule that is not open, in 4 bytes: its place in the list of hosts.
pub type HostIndex = u32;

/// Counts open hosts by what they share, and sets aside those above the limit. A host that is set aside is a number and
/// nothing more. 0 is for no limit.
#[derive(Debug)]
pub struct OpenHostLimits<K> {
    limit: usize,
    open: HashMap<K, usize>,
    waiting: BTreeMap<K, VecDeque<HostIndex>>,
}

impl<K: Clone + Eq + Hash + Ord> OpenHostLimits<K> {
    /// At most so many open hosts of each.
    pub fn new(limit: usize) -> OpenHostLimits<K> {
        OpenHostLimits { limit, open: HashMap::new(), waiting: BTreeMap::new() }
    }

    /// Is there no place for one more?
    pub fn is_full(&self, key: &K) -> bool {
        self.limit > 0 && self.open.get(key).is_some_and(|open| *open >= self.limit)
    }

    /// A host is open, above the limit or not.
    pub fn add(&mut self, key: K) {
        *self.open.entry(key).or_default() += 1;
    }

    /// A host that entered no longer needs its place; gives the first of those set aside, if it has one now.
    pub fn remove(&mut self, key: &K) -> Option<HostIndex> {
        let open = self.open.get_mut(key).expect("it entered");
        *open -= 1;
        if *open == 0 {
            self.open.remove(key);
        }
        self.next_waiting(key)
    }

    /// The first of those set aside, if there is a place for it.
    pub fn next_waiting(&mut self, key: &K) -> Option<HostIndex> {
        if self.is_full(key) { None } else { self.dequeue(key) }
    }

    /// Sets a host aside until one leaves.
    pub fn enqueue(&mut self, key: K, host_index: HostIndex) {
        self.waiting.entry(key).or_default().push_back(host_index);
    }

    /// The first that was set aside with any key for which there is a place.
    pub fn next_waiting_any(&mut self) -> Option<(K, HostIndex)> {
        let key = self.waiting.keys().find(|key| !self.is_full(key))?.clone();
        let host_index = self.dequeue(&key)?;
        Some((key, host_index))
    }

    /// The first that was set aside with any key, whatever the limit.
    pub fn dequeue_any(&mut self) -> Option<HostIndex> {
        let key = self.waiting.keys().next()?.clone();
        self.dequeue(&key)
    }

    fn dequeue(&mut self, key: &K) -> Option<HostIndex> {
        let queue = self.waiting.get_mut(key)?;
        let first = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(key);
        }
        first
    }

    /// Is a host set aside?
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_leaves_makes_room_for_one_that_waits() {
        let mut sites = OpenHostLimits::new(2);
        sites.add("a");
        assert!(!sites.is_full(&"a"));
        sites.add("a");
        assert!(sites.is_full(&"a") && !sites.is_full(&"b"));
        sites.enqueue("a", 7);
        sites.enqueue("a", 8);
        // A redirect led to a third one.
        sites.add("a");
        assert_eq!(sites.remove(&"a"), None, "there are still two");
        assert_eq!(sites.remove(&"a"), Some(7));
        assert_eq!((sites.dequeue_any(), sites.dequeue_any(), sites.has_waiting()), (Some(8), None, false));
        assert_eq!((sites.remove(&"a"), sites.open.len()), (None, 0));
        let none = OpenHostLimits::<u8>::new(0);
        assert!(!none.is_full(&1));
    }
}
