//! Sorts URLs that share one buffer, without comparing each from its beginning.
//!
//! A caching multikey quicksort (Ng and Kakehi 2007): an entry caches eight bytes of its path.
//! Entries are sorted by these alone. Where they are equal, the next eight are loaded and sorted.
//! So each part of a path is loaded from memory once, not at every comparison.

use crate::entry::{CHUNK, FIRST_CHUNK, PathEntry};
use std::thread;

/// Fewer entries than this are not worth a thread.
const MIN_A_THREAD: usize = 1 << 15;
/// Fewer entries than this are compared by all that is left of their paths.
const MIN_BY_CHUNKS: usize = 12;

/// Sorts `entries`, which all cache their first chunk, by key. Not stable.
pub(crate) fn sort(entries: &mut [PathEntry], paths: &[u8], threads: usize) {
    sort_in_parts(entries, paths, threads, MIN_A_THREAD);
}

fn sort_in_parts(entries: &mut [PathEntry], paths: &[u8], threads: usize, min_a_thread: usize) {
    if threads > 1 && entries.len() >= 2 * min_a_thread {
        let (one, other) = (threads / 2, threads - threads / 2);
        let middle = entries.len() / threads * one;
        entries.select_nth_unstable_by(middle, |a, b| a.compare(b, paths));
        let (low, high) = entries.split_at_mut(middle);
        thread::scope(|scope| {
            scope.spawn(|| sort_in_parts(low, paths, one, min_a_thread));
            sort_in_parts(high, paths, other, min_a_thread);
        });
        return;
    }
    entries.sort_unstable_by_key(PathEntry::sort_key);
    for same in entries.chunk_by_mut(|a, b| a.sort_key() == b.sort_key()) {
        sort_by_next_chunk(same, paths, FIRST_CHUNK + CHUNK);
    }
}

/// Sorts entries that are equal up to `depth`.
fn sort_by_next_chunk(same: &mut [PathEntry], paths: &[u8], depth: usize) {
    if same.len() < 2 || same[0].is_at_end() {
        return;
    }
    if same.len() < MIN_BY_CHUNKS {
        same.sort_unstable_by(|a, b| a.path(paths)[depth..].cmp(&b.path(paths)[depth..]));
        return;
    }
    for entry in &mut *same {
        entry.load_chunk(paths, depth);
    }
    same.sort_unstable_by_key(PathEntry::sort_key);
    for same in same.chunk_by_mut(|a, b| a.sort_key() == b.sort_key()) {
        sort_by_next_chunk(same, paths, depth + CHUNK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::touch::Links;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use recrawl_types::Cycle;

    proptest! {
        #[test]
        fn entries_are_sorted_on_any_number_of_threads(
            urls in vec((0u32..4, "/(section/){0,4}[ab!]{0,9}(/page-000[0-2]{0,9})?"), 0..300),
            threads in 1usize..6,
        ) {
            let links = Links { seen: 1, counted: 0, depth: 0, hops: 0, listed: false, seed: false, lastmod: 0, since: Cycle(1), expectation: None };
            let (mut paths, mut entries) = (Vec::new(), Vec::new());
            for (origin, path) in &urls {
                paths.extend_from_slice(path.as_bytes());
                entries.push(PathEntry::link(&paths, path.len(), *origin, &links));
            }
            sort_in_parts(&mut entries, &paths, threads, 4);
            let sorted: Vec<_> = entries.iter().map(|e| (e.origin, e.path(&paths).to_vec())).collect();
            let mut expected: Vec<_> = urls.into_iter().map(|(origin, path)| (origin, path.into_bytes())).collect();
            expected.sort();
            prop_assert_eq!(sorted, expected);
        }
    }
}
