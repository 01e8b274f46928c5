//! Runs of links: sorted by URL, in blocks with checksums, so that a receiver reads its own range alone.
//!
//! A run is its head. The parts that it names are created before it, so what has a head is whole. A record is what its key
//! shares with the one before, the rest of the key, and a value that only the crawl understands; each length is one or two
//! bytes. The first record of a block has its whole key.

mod read;

pub use read::{ReceivedRun, RefusedParts};

use crate::key;
use recrawl_types::shared_beginning;
use recrawl_vault::{Store, StoreError, VaultError, create_or_find, framed};
use serde::{Deserialize, Serialize};

/// Bytes after which a block is closed.
const BLOCK: usize = 64 << 10;
/// Bytes after which a part is created.
const PART: usize = 8 << 20;
/// Bytes of a value at most.
const MAX_VALUE: usize = 128;

/// Gives the key and the value of the next link; false at the end.
pub type NextLink<'n, E> = dyn FnMut(&mut Vec<u8>, &mut Vec<u8>) -> Result<bool, E> + 'n;

/// Takes the key and the value of a link; false if it refuses it.
pub type EachLink<'e, E> = dyn FnMut(&[u8], &[u8]) -> Result<bool, E> + 'e;

/// The head of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunHeader {
    /// The round whose links it has.
    pub round: u32,
    /// Links.
    pub links: u64,
    pub blocks: Vec<RunBlock>,
}

/// A block, in one of the parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunBlock {
    pub part: usize,
    pub at: u64,
    pub bytes: u64,
    pub crc: u32,
    /// The key of its first record.
    #[serde(with = "hexed")]
    pub first: Vec<u8>,
}

mod hexed {
    use data_encoding::HEXLOWER;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&HEXLOWER.encode(bytes))
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        HEXLOWER.decode(String::deserialize(deserializer)?.as_bytes()).map_err(D::Error::custom)
    }
}

/// Writes a run.
pub struct RunWriter<'s> {
    store: &'s dyn Store,
    partition: u32,
    epoch: u64,
    number: u64,
    head: RunHeader,
    parts: usize,
    part: Vec<u8>,
    /// Where the open block begins in the part.
    block: usize,
    first: Vec<u8>,
    last: Vec<u8>,
}

impl<'s> RunWriter<'s> {
    /// Begins a run of a round.
    pub fn new(store: &'s dyn Store, partition: u32, epoch: u64, number: u64, round: u32) -> RunWriter<'s> {
        let head = RunHeader { round, links: 0, blocks: Vec::new() };
        let (part, first, last) = (Vec::new(), Vec::new(), Vec::new());
        RunWriter { store, partition, epoch, number, head, parts: 0, part, block: 0, first, last }
    }

    /// Adds the links to a URL, whose key comes behind all before.
    ///
    /// # Errors
    /// When the store does not take a part.
    ///
    /// # Panics
    /// For a key that is not behind the last one, and a value that is too long.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), VaultError> {
        assert!(self.head.links == 0 || *self.last < *key, "links of a run come in the order of their keys");
        assert!(value.len() <= MAX_VALUE, "{} bytes of a link", value.len());
        let is_first = self.part.len() == self.block;
        let shared = if is_first { 0 } else { shared_beginning(&self.last, key) };
        if is_first {
            self.first = key.to_vec();
        }
        for length in [shared, key.len() - shared, value.len()] {
            put_length(&mut self.part, length);
        }
        self.part.extend_from_slice(&key[shared..]);
        self.part.extend_from_slice(value);
        self.last.clear();
        self.last.extend_from_slice(key);
        self.head.links += 1;
        if self.part.len() - self.block >= BLOCK {
            self.close_block();
        }
        if self.part.len() >= PART { self.close_part() } else { Ok(()) }
    }

    fn close_block(&mut self) {
        let bytes = &self.part[self.block..];
        if bytes.is_empty() {
            return;
        }
        self.head.blocks.push(RunBlock {
            part: self.parts,
            at: self.block as u64,
            bytes: bytes.len() as u64,
            crc: crc32fast::hash(bytes),
            first: std::mem::take(&mut self.first),
        });
        self.block = self.part.len();
    }

    fn close_part(&mut self) -> Result<(), VaultError> {
        if self.part.is_empty() {
            return Ok(());
        }
        let key = key::part(self.partition, self.epoch, self.number, self.parts);
        create(self.store, &key, &self.part)?;
        self.parts += 1;
        self.part.clear();
        self.block = 0;
        Ok(())
    }

    /// Creates what is left, and then the head. Returns the number of links.
    ///
    /// # Errors
    /// When the store does not take it, or [`VaultError::Lost`] when another process has written that run.
    pub fn finish(mut self) -> Result<u64, VaultError> {
        self.close_block();
        self.close_part()?;
        let key = key::run(self.partition, self.epoch, self.number);
        create(self.store, &key, &framed(&key, &self.head, b""))?;
        Ok(self.head.links)
    }
}

fn create(store: &dyn Store, key: &str, bytes: &[u8]) -> Result<(), VaultError> {
    match create_or_find(store, key, bytes) {
        Err(StoreError::Exists(object)) => Err(VaultError::Lost { object }),
        done => Ok(done?),
    }
}

/// Seven bits in a byte, the low ones first; lengths have fifteen at most.
fn put_length(out: &mut Vec<u8>, length: usize) {
    match length {
        0..128 => out.push(length as u8),
        _ => out.extend([length as u8 & 127 | 128, (length >> 7) as u8]),
    }
}

fn take_length(rest: &mut &[u8]) -> Option<usize> {
    let (&low, after) = rest.split_first()?;
    *rest = after;
    if low < 128 {
        return Some(low.into());
    }
    let (&high, after) = rest.split_first()?;
    *rest = after;
    (high > 0).then_some(usize::from(low & 127) | usize::from(high) << 7)
}
