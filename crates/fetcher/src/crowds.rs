//! Hosts that share something, a site or an address: how many of them are open, and which wait for a place.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;

/// A host of the schedule that is not open, in 4 bytes: its place in the list of hosts.
pub type Group = u32;

/// Counts open hosts by what they share, and sets aside those above the limit. A host that is set aside is a number and
/// nothing more. 0 is for no limit.
#[derive(Debug)]
pub struct Crowds<K> {
    limit: usize,
    open: HashMap<K, usize>,
    aside: BTreeMap<K, VecDeque<Group>>,
}

impl<K: Clone + Eq + Hash + Ord> Crowds<K> {
    /// At most so many open hosts of each.
    pub fn new(limit: usize) -> Crowds<K> {
        Crowds { limit, open: HashMap::new(), aside: BTreeMap::new() }
    }

    /// Is there no place for one more?
    pub fn is_full(&self, key: &K) -> bool {
        self.limit > 0 && self.open.get(key).is_some_and(|open| *open >= self.limit)
    }

    /// A host is open, above the limit or not.
    pub fn enter(&mut self, key: K) {
        *self.open.entry(key).or_default() += 1;
    }

    /// A host that entered no longer needs its place; gives the first of those set aside, if it has one now.
    pub fn leave(&mut self, key: &K) -> Option<Group> {
        let open = self.open.get_mut(key).expect("it entered");
        *open -= 1;
        if *open == 0 {
            self.open.remove(key);
        }
        self.call(key)
    }

    /// The first of those set aside, if there is a place for it.
    pub fn call(&mut self, key: &K) -> Option<Group> {
        if self.is_full(key) { None } else { self.take(key) }
    }

    /// Sets a host aside until one leaves.
    pub fn set_aside(&mut self, key: K, group: Group) {
        self.aside.entry(key).or_default().push_back(group);
    }

    /// The first that was set aside with any key for which there is a place.
    pub fn call_any(&mut self) -> Option<(K, Group)> {
        let key = self.aside.keys().find(|key| !self.is_full(key))?.clone();
        let group = self.take(&key)?;
        Some((key, group))
    }

    /// The first that was set aside with any key, whatever the limit.
    pub fn take_any(&mut self) -> Option<Group> {
        let key = self.aside.keys().next()?.clone();
        self.take(&key)
    }

    fn take(&mut self, key: &K) -> Option<Group> {
        let line = self.aside.get_mut(key)?;
        let first = line.pop_front();
        if line.is_empty() {
            self.aside.remove(key);
        }
        first
    }

    /// Is a host set aside?
    pub fn has_aside(&self) -> bool {
        !self.aside.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_leaves_makes_room_for_one_that_waits() {
        let mut sites = Crowds::new(2);
        sites.enter("a");
        assert!(!sites.is_full(&"a"));
        sites.enter("a");
        assert!(sites.is_full(&"a") && !sites.is_full(&"b"));
        sites.set_aside("a", 7);
        sites.set_aside("a", 8);
        // A redirect led to a third one.
        sites.enter("a");
        assert_eq!(sites.leave(&"a"), None, "there are still two");
        assert_eq!(sites.leave(&"a"), Some(7));
        assert_eq!((sites.take_any(), sites.take_any(), sites.has_aside()), (Some(8), None, false));
        assert_eq!((sites.leave(&"a"), sites.open.len()), (None, 0));
        let none = Crowds::<u8>::new(0);
        assert!(!none.is_full(&1));
    }
}
