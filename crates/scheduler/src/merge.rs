//! Merges sorted sources into one sorted stream.

use crate::runs::Spillable;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io::{self, Read};
use std::vec;

/// Items in ascending order.
pub(crate) enum MergeSource<T> {
    /// In memory.
    Memory(vec::IntoIter<T>),
    /// In a run, with the number of unread items.
    Run(Box<dyn Read>, u64),
}

impl<T: Spillable> MergeSource<T> {
    fn next(&mut self) -> io::Result<Option<T>> {
        match self {
            MergeSource::Memory(items) => Ok(items.next()),
            MergeSource::Run(_, 0) => Ok(None),
            MergeSource::Run(bytes, left) => {
                *left -= 1;
                T::read(bytes).map(Some)
            }
        }
    }
}

/// The items of all sources in ascending order. Takes log n steps per item for n sources. Keeps one
/// item per source in memory besides the reader's buffer.
pub(crate) struct Merge<T> {
    /// The next item of each source, with the index of the source.
    heads: BinaryHeap<Reverse<(T, usize)>>,
    sources: Vec<MergeSource<T>>,
}

impl<T: Spillable> Merge<T> {
    pub fn new(sources: Vec<MergeSource<T>>) -> io::Result<Merge<T>> {
        let mut merge = Merge { heads: BinaryHeap::new(), sources };
        for (number, source) in merge.sources.iter_mut().enumerate() {
            merge.heads.extend(source.next()?.map(|item| Reverse((item, number))));
        }
        Ok(merge)
    }

    /// The next item.
    pub fn peek(&self) -> Option<T> {
        self.heads.peek().map(|Reverse((item, _))| *item)
    }

    pub fn pop(&mut self) -> io::Result<Option<T>> {
        let Some(mut head) = self.heads.peek_mut() else { return Ok(None) };
        let Reverse((item, number)) = *head;
        match self.sources[number].next()? {
            Some(next) => head.0.0 = next,
            None => drop(PeekMut::pop(head)),
        }
        Ok(Some(item))
    }

    /// Are all items in memory?
    pub fn is_in_memory(&self) -> bool {
        self.sources.iter().all(|source| matches!(source, MergeSource::Memory(_)))
    }

    /// Adds the rest of another merge.
    pub fn absorb(&mut self, other: Merge<T>) {
        let first = self.sources.len();
        self.heads
            .extend(other.heads.into_iter().map(|Reverse((item, number))| Reverse((item, first + number))));
        self.sources.extend(other.sources);
    }
}
