//! The keys of consecutive pages, in one buffer.

use std::ops::Range;

/// Keys, a row each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyRows {
    bytes: Vec<u8>,
    /// Where each key ends in `bytes`.
    ends: Vec<u32>,
}

impl KeyRows {
    /// Number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Is there no key?
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The key in a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, row: usize) -> &[u8] {
        &self.bytes[self.start(row)..self.ends[row] as usize]
    }

    /// All keys, from the first row on.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// The row of a key among ascending ones.
    pub fn row_of(&self, key: &[u8]) -> Option<usize> {
        let row = self.rows_before(key);
        (row < self.len() && self.get(row) == key).then_some(row)
    }

    /// Rows whose keys come before these bytes, among ascending ones.
    pub fn rows_before(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Removes all keys and keeps their memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Makes room for this many more keys of usual length.
    pub fn reserve(&mut self, rows: usize) {
        self.ends.reserve(rows);
        self.bytes.reserve(rows * 64);
    }

    /// Adds a key.
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.end_row();
    }

    /// Adds a key that begins with the first `shared` bytes of the last one.
    ///
    /// # Panics
    /// If the last one is shorter.
    pub fn push_behind(&mut self, shared: usize, rest: &[u8]) {
        let last = self.ends.len().checked_sub(1).map_or(0, |row| self.start(row));
        self.bytes.extend_from_within(last..last + shared);
        self.bytes.extend_from_slice(rest);
        self.end_row();
    }

    /// Adds rows of others.
    ///
    /// # Panics
    /// If they do not have these rows.
    pub fn extend_from(&mut self, from: &KeyRows, rows: Range<usize>) {
        if rows.is_empty() {
            return;
        }
        let (start, end) = (from.start(rows.start), from.ends[rows.end - 1]);
        let moved = self.bytes.len() as u32;
        self.bytes.extend_from_slice(&from.bytes[start..end as usize]);
        self.ends.extend(from.ends[rows].iter().map(|end| end - start as u32 + moved));
    }

    /// Removes and returns the keys from a row on.
    ///
    /// # Panics
    /// If there are fewer rows.
    pub fn split_off(&mut self, row: usize) -> KeyRows {
        let start = if row == self.len() { self.bytes.len() } else { self.start(row) };
        let mut ends = self.ends.split_off(row);
        ends.iter_mut().for_each(|end| *end -= start as u32);
        KeyRows { bytes: self.bytes.split_off(start), ends }
    }

    fn start(&self, row: usize) -> usize {
        if row == 0 { 0 } else { self.ends[row - 1] as usize }
    }

    fn end_row(&mut self) {
        self.ends.push(u32::try_from(self.bytes.len()).expect("a block has less than 4 GiB of keys"));
    }
}

/// The bytes that both begin with. Neighbouring keys share most of theirs, so they are compared eight at a time.
#[inline]
pub fn shared_beginning(a: &[u8], b: &[u8]) -> usize {
    let mut shared = 0;
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        let differing = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differing != 0 {
            return shared + differing.trailing_zeros() as usize / 8;
        }
        shared += 8;
    }
    shared + a[shared..].iter().zip(&b[shared..]).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_come_back(words in prop::collection::vec("[ab]{0,20}", 0..20), at in 0usize..20) {
            let (mut keys, mut shared) = (KeyRows::default(), KeyRows::default());
            for word in &words {
                keys.push(word.as_bytes());
                let last = shared.len().checked_sub(1).map_or(&b""[..], |row| shared.get(row));
                let common = shared_beginning(last, word.as_bytes());
                prop_assert_eq!(common, last.iter().zip(word.as_bytes()).take_while(|(a, b)| a == b).count());
                shared.push_behind(common, &word.as_bytes()[common..]);
            }
            prop_assert_eq!(&keys, &shared);
            prop_assert!(keys.iter().eq(words.iter().map(|word| word.as_bytes())));
            let at = at.min(words.len());
            let (mut front, mut whole) = (keys.clone(), KeyRows::default());
            let back = front.split_off(at);
            prop_assert_eq!((front.len(), back.len()), (at, words.len() - at));
            whole.extend_from(&front, 0..at);
            whole.extend_from(&keys, at..words.len());
            prop_assert_eq!(&whole, &keys);
            keys.clear();
            prop_assert!(keys.is_empty());
        }
    }
}
