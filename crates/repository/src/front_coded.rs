//! The keys of a block as they lie on disk, each as the bytes that it shares with the one before and the rest: searched, spliced
//! and cut without unpacking them.

use crate::bytes::{Malformed, Put, Take};
use crate::codec::{put_key, shared_beginning};
use std::cmp::Ordering;

/// Keys of a block, front-coded and checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FrontCoded {
    bytes: Vec<u8>,
    rows: usize,
}

/// Where a URL belongs in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The page in this row.
    Known(usize),
    /// Not known.
    New(Gap),
}

/// The place of a URL that is not known, between two keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The row of the key behind it.
    pub(crate) row: usize,
    /// Where that key lies.
    at: usize,
    /// Bytes that the URL shares with the key before it, and with the one behind.
    before: usize,
    behind: usize,
}

/// Walks keys from the first to the last.
struct Walk<'k> {
    take: Take<'k>,
    key: Vec<u8>,
    is_first: bool,
}

impl<'k> Walk<'k> {
    fn over(bytes: &'k [u8]) -> Walk<'k> {
        Walk { take: Take(bytes), key: Vec::with_capacity(256), is_first: true }
    }

    /// The next key, as the number of bytes that it shares with the one before and the rest. [`Walk::key`] is all of it.
    #[inline]
    fn step(&mut self) -> Result<(usize, &'k [u8]), Malformed> {
        let shared: usize = self.take.narrow()?;
        let rest = self.take.bytes()?;
        if shared > self.key.len() {
            return Err(Malformed("a key shares more bytes than the last one has"));
        }
        // Greater than the key before, with which it shares `shared` bytes and no more.
        if !self.is_first && rest.first() <= self.key.get(shared) {
            return Err(Malformed("its keys are not in order"));
        }
        self.is_first = false;
        self.key.truncate(shared);
        self.key.extend_from_slice(rest);
        Ok((shared, rest))
    }

    fn left(&self) -> usize {
        self.take.0.len()
    }
}

impl FrontCoded {
    /// Takes `rows` keys, checks them, and finds the places of URLs, which must ascend.
    pub fn take<'u>(
        bytes: Vec<u8>,
        rows: usize,
        urls: impl Iterator<Item = &'u [u8]>,
    ) -> Result<(FrontCoded, Vec<Place>), Malformed> {
        let keys = FrontCoded { bytes, rows };
        let places = keys.find(urls)?;
        Ok((keys, places))
    }

    /// The first key.
    pub fn first(&self) -> &[u8] {
        Walk::over(&self.bytes).step().map_or(&[], |(_, key)| key)
    }

    /// The places of URLs, which must ascend. Of most keys it looks at the number of shared bytes alone: a key that shares more
    /// with the one before than the URL does comes before the URL too; one that shares less comes behind it.
    pub fn find<'u>(&self, urls: impl Iterator<Item = &'u [u8]>) -> Result<Vec<Place>, Malformed> {
        let mut urls = Urls { urls, next: None, shared: 0 };
        let mut places = Vec::with_capacity(urls.urls.size_hint().0);
        urls.advance(usize::MAX);
        let mut walk = Walk::over(&self.bytes);
        for row in 0..self.rows {
            let at = self.bytes.len() - walk.left();
            let (shared, rest) = walk.step()?;
            while let Some(url) = urls.next
                && shared <= urls.shared
            {
                let before = urls.shared;
                let (order, behind) = if shared < before {
                    (Ordering::Greater, shared)
                } else {
                    let url = &url[before..];
                    let common = shared_beginning(rest, url);
                    (rest.get(common).cmp(&url.get(common)), before + common)
                };
                match order {
                    Ordering::Less => {
                        urls.shared = behind;
                        break;
                    }
                    Ordering::Equal => {
                        places.push(Place::Known(row));
                        urls.advance(usize::MAX);
                        break;
                    }
                    Ordering::Greater => {
                        places.push(Place::New(Gap { row, at, before, behind }));
                        urls.advance(before);
                    }
                }
            }
        }
        walk.take.end()?;
        while urls.next.is_some() {
            let (row, at, before) = (self.rows, self.bytes.len(), urls.shared);
            places.push(Place::New(Gap { row, at, before, behind: 0 }));
            urls.advance(before);
        }
        Ok(places)
    }

    /// Puts new keys in their gaps. The result is as if all keys had been packed anew.
    pub fn splice<'n>(&self, new: impl ExactSizeIterator<Item = (&'n [u8], Gap)> + Clone) -> FrontCoded {
        let added: usize = new.clone().map(|(key, gap)| key.len() - gap.before + 4).sum();
        let mut bytes = Vec::with_capacity(self.bytes.len() + added);
        let rows = self.rows + new.len();
        let mut copied = 0;
        let mut new = new.peekable();
        while let Some((first, gap)) = new.next() {
            bytes.extend_from_slice(&self.bytes[copied..gap.at]);
            bytes.put_varint(gap.before as u64);
            bytes.put_bytes(&first[gap.before..]);
            let (mut last, mut behind) = (first, gap.behind);
            while let Some((key, gap)) = new.next_if(|(_, next)| next.at == gap.at) {
                put_key(&mut bytes, last, key);
                (last, behind) = (key, gap.behind);
            }
            let mut take = Take(&self.bytes[gap.at..]);
            if !take.0.is_empty() {
                let (shared, rest): (usize, _) = take_entry(&mut take);
                bytes.put_varint(behind as u64);
                bytes.put_bytes(&rest[behind - shared..]);
            }
            copied = self.bytes.len() - take.0.len();
        }
        bytes.extend_from_slice(&self.bytes[copied..]);
        FrontCoded { bytes, rows }
    }

    /// Cuts the keys before each of these rows, which ascend.
    pub fn cut(&self, before: &[usize]) -> Vec<FrontCoded> {
        let mut pieces = Vec::with_capacity(before.len() + 1);
        let mut walk = Walk::over(&self.bytes);
        let mut piece = FrontCoded::default();
        let mut cuts = before.iter().copied().peekable();
        let mut start = 0;
        for row in 0..self.rows {
            let at = self.bytes.len() - walk.left();
            walk.step().expect("the keys were checked");
            while cuts.next_if_eq(&row).is_some() {
                piece.bytes.extend_from_slice(&self.bytes[start..at]);
                pieces.push(std::mem::take(&mut piece));
                put_key(&mut piece.bytes, &[], &walk.key);
                start = self.bytes.len() - walk.left();
            }
            piece.rows += 1;
        }
        piece.bytes.extend_from_slice(&self.bytes[start..]);
        pieces.push(piece);
        pieces.extend(cuts.map(|_| FrontCoded::default()));
        pieces
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// As they lie in a frame.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn take_entry<'k>(take: &mut Take<'k>) -> (usize, &'k [u8]) {
    let entry = take.narrow().and_then(|shared| Ok((shared, take.bytes()?)));
    entry.expect("the keys were checked")
}

/// Ascending URLs, and how many bytes the next one shares with the key that comes before it in the block.
struct Urls<'u, I> {
    urls: I,
    next: Option<&'u [u8]>,
    shared: usize,
}

impl<'u, I: Iterator<Item = &'u [u8]>> Urls<'u, I> {
    /// Goes to the next URL. The last one shares `shared` bytes with the key before; all, if it is that key.
    fn advance(&mut self, shared: usize) {
        let last = self.next.take();
        self.next = self.urls.next();
        if let (Some(last), Some(next)) = (last, self.next) {
            // What is between two others shares with either at least what these share.
            self.shared = shared_beginning(last, next).min(shared);
        }
    }
}

#[cfg(test)]
mod tests;
