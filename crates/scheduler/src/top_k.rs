//! The k least items of a stream, in one pass.

use rayon::slice::ParallelSliceMut;

/// Keeps the k least items of a stream in amortised O(1) time per item. The buffer has at most 2k
/// (and at least [`TopK::MIN_BUFFER`]) items. When it is full, its k least items are selected and
/// the rest dropped. From then on, items not below the k-th are rejected at once.
#[derive(Clone, Debug)]
pub struct TopK<T> {
    kept: Vec<T>,
    k: usize,
    /// Maximum length of the buffer.
    max_len: usize,
    /// The k-th least item at the last selection.
    threshold: Option<T>,
}

impl<T: Copy + Ord + Send> TopK<T> {
    /// Minimum buffer length, even for a small k, so that selections are rare.
    pub const MIN_BUFFER: usize = 64;

    /// For the `k` least items. Memory grows with the stream, so k may exceed its length.
    pub fn new(k: u64) -> TopK<T> {
        TopK::within(k, usize::MAX)
    }

    /// The same with a buffer of at most `capacity` items. If that is less than 2k, the caller must
    /// empty the buffer when [`TopK::must_spill`] says so.
    pub(crate) fn within(k: u64, capacity: usize) -> TopK<T> {
        let k = usize::try_from(k).unwrap_or(usize::MAX);
        let max_len = Self::buffer(k).min(capacity);
        TopK { kept: Vec::new(), k, max_len, threshold: None }
    }

    /// Maximum buffer length for the `k` least items.
    pub(crate) fn buffer(k: usize) -> usize {
        k.saturating_mul(2).max(Self::MIN_BUFFER)
    }

    /// Is the buffer full, and too small for a selection?
    pub(crate) fn must_spill(&self) -> bool {
        self.kept.len() == self.max_len && self.max_len < Self::buffer(self.k)
    }

    /// Could the item be among the k least? If not, it need not be offered.
    pub fn admits(&self, item: &T) -> bool {
        self.k > 0 && self.threshold.as_ref().is_none_or(|threshold| item < threshold)
    }

    /// Adds an item of the stream.
    pub fn offer(&mut self, item: T) {
        if !self.admits(&item) {
            return;
        }
        if self.kept.len() == self.max_len {
            self.select(self.k);
            self.threshold = self.kept.last().copied();
        }
        if self.kept.len() == self.kept.capacity() {
            // Doubles, but never exceeds the limit.
            let growth = self.kept.len().max(Self::MIN_BUFFER).min(self.max_len - self.kept.len());
            self.kept.reserve_exact(growth);
        }
        self.kept.push(item);
    }

    /// Keeps only the `n` least items, with the greatest of them last.
    fn select(&mut self, n: usize) {
        if n == 0 {
            self.kept.clear();
        } else if self.kept.len() > n {
            self.kept.select_nth_unstable(n - 1);
            self.kept.truncate(n);
        }
    }

    /// New items must be less than this; none while every item is accepted.
    pub fn threshold(&self) -> Option<&T> {
        self.threshold.as_ref()
    }

    /// The `n` least of the k least items, in any order. Then it is empty and ready for the next
    /// stream, with its memory kept.
    pub fn drain(&mut self, n: u64) -> impl Iterator<Item = T> + '_ {
        self.select(usize::try_from(n).unwrap_or(usize::MAX).min(self.k));
        self.threshold = None;
        self.kept.drain(..)
    }

    /// The whole buffer in ascending order; the threshold stays.
    pub(crate) fn drain_sorted(&mut self) -> impl Iterator<Item = T> + '_ {
        self.kept.par_sort_unstable();
        self.kept.drain(..)
    }

    /// Frees the buffer, which must be empty.
    pub(crate) fn release(&mut self) {
        debug_assert!(self.kept.is_empty(), "the buffer must be empty");
        self.kept = Vec::new();
    }

    pub(crate) fn set_threshold(&mut self, threshold: Option<T>) {
        self.threshold = threshold;
    }

    /// The k least items in ascending order.
    pub fn into_sorted(mut self) -> Vec<T> {
        self.select(self.k);
        self.kept.par_sort_unstable();
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_item_is_the_least_of_none() {
        let mut top = TopK::new(0);
        (0..1000).for_each(|i| top.offer(i));
        assert!(!top.admits(&0));
        assert_eq!(top.into_sorted(), [0; 0]);
    }

    #[test]
    fn the_buffer_never_passes_twice_k() {
        let mut top = TopK::new(1000);
        for i in (0..50_000u64).rev() {
            top.offer(i);
            assert!(top.kept.capacity() <= 2000, "{}", top.kept.capacity());
        }
        assert_eq!(top.into_sorted(), (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn k_beyond_all_items_takes_no_more_memory_than_they() {
        let mut top = TopK::new(u64::MAX);
        (0..100).for_each(|i| top.offer(i));
        assert!(top.kept.capacity() < 1000);
        assert_eq!(top.into_sorted().len(), 100);
    }

    proptest! {
        #[test]
        fn one_pass_equals_a_full_sort(items in prop::collection::vec(0u32..500, 0..600), k in 0u64..200) {
            let mut top = TopK::new(k);
            items.iter().for_each(|&i| top.offer(i));
            let mut sorted = items;
            sorted.sort_unstable();
            sorted.truncate(k as usize);
            prop_assert_eq!(top.into_sorted(), sorted);
        }

        #[test]
        fn a_drained_one_serves_the_next_stream(
            streams in prop::collection::vec(prop::collection::vec(0u32..500, 0..200), 1..5),
            k in 0u64..50,
            n in 0u64..60,
        ) {
            let mut top = TopK::new(k);
            for stream in streams {
                stream.iter().for_each(|&i| top.offer(i));
                let mut drained: Vec<_> = top.drain(n).collect();
                drained.sort_unstable();
                let mut sorted = stream;
                sorted.sort_unstable();
                sorted.truncate(k.min(n) as usize);
                prop_assert_eq!(drained, sorted);
            }
        }
    }
}
