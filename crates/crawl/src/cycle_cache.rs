//! Values of sites and origins that are read from the tables once per cycle and then cached.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::io;
use std::sync::Mutex;

/// Maximum entries in memory; beyond this the cache is cleared.
const CACHED_ENTRIES: usize = 10_000;

/// Values by key. The tables change only between cycles, so all pages of a cycle are judged by the
/// same values, in any order.
pub struct CycleCache<K: ToOwned + ?Sized, V>(Mutex<HashMap<K::Owned, V>>);

impl<K: ToOwned + ?Sized, V> Default for CycleCache<K, V> {
    fn default() -> Self {
        CycleCache(Mutex::default())
    }
}

impl<K, V: Clone> CycleCache<K, V>
where
    K: Hash + Eq + ToOwned + ?Sized,
    K::Owned: Borrow<K> + Hash + Eq,
{
    /// The cached value of `key`, or else the result of `load`.
    ///
    /// # Errors
    /// Those of `load`; then nothing is cached.
    pub fn get_or_load(&self, key: &K, load: impl FnOnce() -> io::Result<V>) -> io::Result<V> {
        let mut cache = self.0.lock().expect("no panic under the lock");
        if let Some(value) = cache.get(key) {
            return Ok(value.clone());
        }
        let value = load()?;
        if cache.len() >= CACHED_ENTRIES {
            cache.clear();
        }
        cache.insert(key.to_owned(), value.clone());
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_loaded_once_unless_there_are_too_many() {
        let cache = CycleCache::<str, usize>::default();
        let asked = std::cell::Cell::new(0);
        let load = || {
            asked.set(asked.get() + 1);
            Ok(asked.get())
        };
        assert!(cache.get_or_load("a", || Err(io::Error::other("the disk"))).is_err());
        assert_eq!((cache.get_or_load("a", load).unwrap(), cache.get_or_load("a", load).unwrap()), (1, 1));
        (1..CACHED_ENTRIES).for_each(|n| drop(cache.get_or_load(&n.to_string(), load)));
        assert_eq!((cache.get_or_load("a", load).unwrap(), asked.get()), (1, CACHED_ENTRIES));
        cache.get_or_load("b", load).unwrap();
        assert_eq!(cache.get_or_load("a", load).unwrap(), CACHED_ENTRIES + 2, "it started afresh");
    }
}
