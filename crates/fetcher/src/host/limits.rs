//! Limits on open hosts per site or address, and the hosts that wait because of a limit.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;

/// Position of a host in the schedule's list of hosts. Unopened hosts cost only these 4 bytes.
pub type HostIndex = u32;

/// Counts open hosts per key, and queues hosts above the limit. A limit of 0 means no limit.
#[derive(Debug)]
pub struct OpenHostLimits<K> {
    limit: usize,
    open: HashMap<K, usize>,
    waiting: BTreeMap<K, VecDeque<HostIndex>>,
}

impl<K: Clone + Eq + Hash + Ord> OpenHostLimits<K> {
    pub fn new(limit: usize) -> OpenHostLimits<K> {
        OpenHostLimits { limit, open: HashMap::new(), waiting: BTreeMap::new() }
    }

    pub fn is_full(&self, key: &K) -> bool {
        self.limit > 0 && self.open.get(key).is_some_and(|open| *open >= self.limit)
    }

    /// Counts an open host, even above the limit.
    pub fn add(&mut self, key: K) {
        *self.open.entry(key).or_default() += 1;
    }

    /// Removes an open host. Returns the next waiting host that may open now.
    pub fn remove(&mut self, key: &K) -> Option<HostIndex> {
        let open = self.open.get_mut(key).expect("the host was added before");
        *open -= 1;
        if *open == 0 {
            self.open.remove(key);
        }
        self.next_waiting(key)
    }

    /// The next waiting host of this key, if the limit allows it.
    pub fn next_waiting(&mut self, key: &K) -> Option<HostIndex> {
        if self.is_full(key) { None } else { self.dequeue(key) }
    }

    pub fn enqueue(&mut self, key: K, host_index: HostIndex) {
        self.waiting.entry(key).or_default().push_back(host_index);
    }

    /// The next waiting host of any key whose limit allows it.
    pub fn next_waiting_any(&mut self) -> Option<(K, HostIndex)> {
        let key = self.waiting.keys().find(|key| !self.is_full(key))?.clone();
        let host_index = self.dequeue(&key)?;
        Some((key, host_index))
    }

    /// The next waiting host of any key, regardless of limits.
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

    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_ends_lets_a_waiting_one_open() {
        let mut sites = OpenHostLimits::new(2);
        sites.add("a");
        assert!(!sites.is_full(&"a"));
        sites.add("a");
        assert!(sites.is_full(&"a") && !sites.is_full(&"b"));
        sites.enqueue("a", 7);
        sites.enqueue("a", 8);
        // A redirect opened a third host.
        sites.add("a");
        assert_eq!(sites.remove(&"a"), None, "there are still two");
        assert_eq!(sites.remove(&"a"), Some(7));
        assert_eq!((sites.dequeue_any(), sites.dequeue_any(), sites.has_waiting()), (Some(8), None, false));
        assert_eq!((sites.remove(&"a"), sites.open.len()), (None, 0));
        let none = OpenHostLimits::<u8>::new(0);
        assert!(!none.is_full(&1));
    }
}
