//! The keys of a block as they lie on disk, each as the bytes that it shares with the one before and the rest: searched and spliced
//! without unpacking them.

use crate::file::bytes::{Malformed, Put, Take};
use crate::generation::symbols::Symbols;
use recrawl_types::{KeyRows, shared_beginning};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// Keys whose rests have fewer bytes together lie there without symbols, which would take more room than they save.
const MIN_CODED: usize = 4 << 10;
/// Symbols are chosen by about this much of the rests.
const SAMPLE: usize = 8 << 10;

/// Keys of a block, front-coded and checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FrontCoded {
    /// Symbols, if there are any, and then the keys.
    bytes: Vec<u8>,
    /// Where the keys begin.
    start: usize,
    rows: usize,
    symbols: Arc<Symbols>,
    /// Bytes of the rests as text.
    text: usize,
}

/// Where a URL belongs in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// The page in this row.
    Known(usize),
    /// Not known.
    New(KeyGap),
}

/// The place of a URL that is not known, between two keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyGap {
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
    symbols: &'k Symbols,
    key: Vec<u8>,
    /// Bytes of the rests so far.
    text: usize,
    is_first: bool,
}

impl<'k> Walk<'k> {
    fn over(bytes: &'k [u8], symbols: &'k Symbols) -> Walk<'k> {
        Walk { take: Take(bytes), symbols, key: Vec::with_capacity(256), text: 0, is_first: true }
    }

    /// Goes to the next key, which is [`Walk::key`] then; gives the number of bytes that it shares with the one before.
    #[inline]
    fn step(&mut self) -> Result<usize, Malformed> {
        let (shared, rest) = take_entry(&mut self.take)?;
        if shared > self.key.len() {
            return Err(Malformed("a key shares more bytes than the last one has"));
        }
        let before = self.key.get(shared).copied();
        self.key.truncate(shared);
        put_rest(self.symbols, rest, &mut self.key)?;
        // Greater than the key before, with which it shares `shared` bytes and no more.
        if !self.is_first && self.key.get(shared).copied() <= before {
            return Err(Malformed("its keys are not in order"));
        }
        self.is_first = false;
        self.text += self.key.len() - shared;
        Ok(shared)
    }

    fn left(&self) -> usize {
        self.take.0.len()
    }
}

#[inline]
fn take_entry<'k>(take: &mut Take<'k>) -> Result<(usize, &'k [u8]), Malformed> {
    Ok((take.narrow()?, take.bytes()?))
}

/// Appends the rest of a key as text.
#[inline]
fn put_rest(symbols: &Symbols, rest: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    if symbols.is_empty() {
        out.extend_from_slice(rest);
        return Ok(());
    }
    symbols.decode(rest, out)
}

/// The symbols that a block's keys begin with: none if the first byte is 0, the bytes that the first key shares with none.
fn take_symbols(take: &mut Take<'_>) -> Result<Symbols, Malformed> {
    if take.0.first().is_none_or(|&count| count == 0) { Ok(Symbols::default()) } else { Symbols::take(take) }
}

/// Checks the keys of a block and adds them to others.
pub(crate) fn take_keys(payload: &[u8], rows: usize, keys: &mut KeyRows) -> Result<(), Malformed> {
    let mut take = Take(payload);
    let symbols = take_symbols(&mut take)?;
    let mut walk = Walk::over(take.0, &symbols);
    keys.reserve(rows);
    for _ in 0..rows {
        let shared = walk.step()?;
        keys.push_behind(shared, &walk.key[shared..]);
    }
    walk.take.end()
}

/// The same, of all keys that are there.
pub(crate) fn take_all_keys(payload: &[u8]) -> Result<KeyRows, Malformed> {
    let (mut take, mut keys) = (Take(payload), KeyRows::default());
    let symbols = take_symbols(&mut take)?;
    let mut walk = Walk::over(take.0, &symbols);
    while walk.left() > 0 {
        walk.step()?;
        keys.push(&walk.key);
    }
    Ok(keys)
}

impl FrontCoded {
    /// Takes `rows` keys, checks them, and finds the places of URLs, which must ascend.
    pub fn take<'u>(
        bytes: Vec<u8>,
        rows: usize,
        urls: impl Iterator<Item = &'u [u8]>,
    ) -> Result<(FrontCoded, Vec<KeyPlace>), Malformed> {
        let mut take = Take(&bytes);
        let symbols = Arc::new(take_symbols(&mut take)?);
        let start = bytes.len() - take.0.len();
        let keys = FrontCoded { bytes, start, rows, symbols, text: 0 };
        let (places, text) = keys.read(urls)?;
        Ok((FrontCoded { text, ..keys }, places))
    }

    /// Packs keys, which ascend: with the symbols of keys nearby if these halve them, else with their own.
    pub fn packed(keys: &KeyRows, rows: Range<usize>, nearby: &Arc<Symbols>) -> FrontCoded {
        let last = |row: usize| if row == rows.start { &[][..] } else { keys.get(row - 1) };
        let rest = |row: usize| &keys.get(row)[shared_beginning(last(row), keys.get(row))..];
        let text: usize = rows.clone().map(|row| rest(row).len()).sum();
        if text < MIN_CODED {
            return FrontCoded::with(keys, rows, Arc::default());
        }
        if !nearby.is_empty() {
            let packed = FrontCoded::with(keys, rows.clone(), nearby.clone());
            if packed.bytes.len() - packed.start <= text / 2 + 2 * packed.rows {
                return packed;
            }
        }
        let (step, mixed) =
            (text.div_ceil(SAMPLE) as u32, |row: usize| (row as u32).wrapping_mul(0x9e37_79b9) >> 16);
        // Addresses come in patterns, so each so many-th key would not do.
        let sample: Vec<&[u8]> = rows.clone().filter(|row| mixed(*row) % step == 0).map(rest).collect();
        FrontCoded::with(keys, rows, Arc::new(Symbols::from_texts(&sample)))
    }

    /// Packs keys with these symbols.
    fn with(keys: &KeyRows, rows: Range<usize>, symbols: Arc<Symbols>) -> FrontCoded {
        let mut packed = FrontCoded::empty(symbols);
        let mut last = &[][..];
        for row in rows {
            packed.put(last, keys.get(row));
            last = keys.get(row);
        }
        packed
    }

    fn empty(symbols: Arc<Symbols>) -> FrontCoded {
        let mut bytes = Vec::new();
        if !symbols.is_empty() {
            symbols.put(&mut bytes);
        }
        FrontCoded { start: bytes.len(), bytes, rows: 0, symbols, text: 0 }
    }

    /// Appends a key.
    fn put(&mut self, last: &[u8], key: &[u8]) {
        let shared = shared_beginning(last, key);
        self.put_entry(shared, &key[shared..]);
        self.rows += 1;
    }

    fn put_entry(&mut self, shared: usize, rest: &[u8]) {
        self.text += rest.len();
        self.bytes.put_varint(shared as u64);
        if self.symbols.is_empty() {
            return self.bytes.put_bytes(rest);
        }
        let at = self.bytes.len();
        self.bytes.push(0);
        self.symbols.encode(rest, &mut self.bytes);
        match self.bytes.len() - at - 1 {
            length @ 0..0x80 => self.bytes[at] = length as u8,
            _ => {
                let coded = self.bytes.split_off(at + 1);
                self.bytes.pop();
                self.bytes.put_bytes(&coded);
            }
        }
    }

    fn walk(&self) -> Walk<'_> {
        Walk::over(&self.bytes[self.start..], &self.symbols)
    }

    /// The first key; empty if there is none.
    pub fn first(&self) -> Vec<u8> {
        let mut walk = self.walk();
        // A walk over all keys tells of damage.
        let _ = walk.step();
        walk.key
    }

    /// The places of URLs, which must ascend.
    pub fn find<'u>(&self, urls: impl Iterator<Item = &'u [u8]>) -> Result<Vec<KeyPlace>, Malformed> {
        self.read(urls).map(|(places, _)| places)
    }

    /// The places of URLs, and the bytes of the rests as text. Of most keys it looks at the number of shared bytes alone: a key that shares more
    /// with the one before than the URL does comes before the URL too; one that shares less comes behind it.
    fn read<'u>(&self, urls: impl Iterator<Item = &'u [u8]>) -> Result<(Vec<KeyPlace>, usize), Malformed> {
        let mut urls = Urls { urls, next: None, shared: 0 };
        let mut places = Vec::with_capacity(urls.urls.size_hint().0);
        urls.advance(usize::MAX);
        let mut walk = self.walk();
        for row in 0..self.rows {
            let at = self.bytes.len() - walk.left();
            let shared = walk.step()?;
            while let Some(url) = urls.next
                && shared <= urls.shared
            {
                let before = urls.shared;
                // The key leaves what they share earlier than the URL does, so it comes behind it.
                let (order, behind) = if shared < before {
                    (Ordering::Greater, shared)
                } else {
                    let (rest, url) = (&walk.key[shared..], &url[before..]);
                    let common = shared_beginning(rest, url);
                    (rest.get(common).cmp(&url.get(common)), before + common)
                };
                match order {
                    Ordering::Less => {
                        urls.shared = behind;
                        break;
                    }
                    Ordering::Equal => {
                        places.push(KeyPlace::Known(row));
                        urls.advance(usize::MAX);
                        break;
                    }
                    Ordering::Greater => {
                        places.push(KeyPlace::New(KeyGap { row, at, before, behind }));
                        urls.advance(before);
                    }
                }
            }
        }
        walk.take.end()?;
        while urls.next.is_some() {
            let (row, at, before) = (self.rows, self.bytes.len(), urls.shared);
            places.push(KeyPlace::New(KeyGap { row, at, before, behind: 0 }));
            urls.advance(before);
        }
        Ok((places, walk.text))
    }

    /// Puts new keys in their gaps. The result is as if all keys had been packed with these symbols. But all keys get symbols of
    /// their own if they have none and there are enough of them, or if the symbols do not suit the new keys: if they make the
    /// text longer.
    pub fn splice<'n>(&self, new: impl ExactSizeIterator<Item = (&'n [u8], KeyGap)> + Clone) -> FrontCoded {
        let added: usize = new.clone().map(|(key, gap)| key.len() - gap.before + 4).sum();
        let mut bytes = Vec::with_capacity(self.bytes.len() + added);
        bytes.extend_from_slice(&self.bytes[..self.start]);
        let rows = self.rows + new.len();
        let (start, symbols) = (self.start, self.symbols.clone());
        let mut spliced = FrontCoded { bytes, start, rows, symbols, text: self.text };
        let (mut copied, mut text) = (self.start, Vec::new());
        let mut new = new.peekable();
        while let Some((first, gap)) = new.next() {
            spliced.bytes.extend_from_slice(&self.bytes[copied..gap.at]);
            spliced.put_entry(gap.before, &first[gap.before..]);
            let (mut last, mut behind) = (first, gap.behind);
            while let Some((key, gap)) = new.next_if(|(_, next)| next.at == gap.at) {
                let shared = shared_beginning(last, key);
                spliced.put_entry(shared, &key[shared..]);
                (last, behind) = (key, gap.behind);
            }
            let mut take = Take(&self.bytes[gap.at..]);
            if !take.0.is_empty() {
                let checked = "the keys were checked";
                let (shared, rest) = take_entry(&mut take).expect(checked);
                text.clear();
                put_rest(&self.symbols, rest, &mut text).expect(checked);
                spliced.text -= text.len();
                spliced.put_entry(behind, &text[behind - shared..]);
            }
            copied = self.bytes.len() - take.0.len();
        }
        spliced.bytes.extend_from_slice(&self.bytes[copied..]);
        let is_due = if spliced.symbols.is_empty() {
            spliced.bytes.len() >= MIN_CODED
        } else {
            spliced.is_longer_than_text()
        };
        if is_due { FrontCoded::packed(&spliced.keys(), 0..rows, &Arc::default()) } else { spliced }
    }

    /// Do the symbols make the keys longer? Without them, most have two bytes beside their text.
    fn is_longer_than_text(&self) -> bool {
        self.bytes.len() - self.start > self.text + 2 * self.rows
    }

    /// Cuts the keys before each of these rows, which ascend.
    pub fn cut(&self, before: &[usize]) -> Vec<FrontCoded> {
        let (keys, mut start) = (self.keys(), 0);
        let ends = before.iter().copied().chain([self.rows]);
        let piece = |end| FrontCoded::packed(&keys, std::mem::replace(&mut start, end)..end, &self.symbols);
        ends.map(piece).collect()
    }

    fn keys(&self) -> KeyRows {
        let mut keys = KeyRows::default();
        take_keys(&self.bytes, self.rows, &mut keys).expect("the keys were checked");
        keys
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// The symbols that shorten them.
    pub fn symbols(&self) -> &Arc<Symbols> {
        &self.symbols
    }

    /// As they lie in a frame.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
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
