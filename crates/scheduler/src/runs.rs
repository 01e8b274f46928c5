//! Sorted runs of spilled items.

use crate::candidate::RankedPage;
use crate::merge::MergeSource;
use recrawl_types::Spill;
use std::io::{self, Read, Write};

/// Bytes written at once.
const CHUNK: usize = 64 << 10;

/// An item that can be spilled: a fixed number of bytes, little-endian.
pub(crate) trait Spillable: Copy + Ord + Send {
    /// Length in bytes.
    const BYTES: usize;

    /// Appends the bytes.
    fn put(self, out: &mut Vec<u8>);

    /// Reads one item.
    fn read(bytes: &mut dyn Read) -> io::Result<Self>;
}

impl Spillable for u64 {
    const BYTES: usize = 8;

    fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn read(bytes: &mut dyn Read) -> io::Result<u64> {
        let mut number = [0; 8];
        bytes.read_exact(&mut number)?;
        Ok(u64::from_le_bytes(number))
    }
}

impl Spillable for RankedPage {
    const BYTES: usize = 2 * u64::BYTES;

    fn put(self, out: &mut Vec<u8>) {
        self.key.put(out);
        self.tie.put(out);
    }

    fn read(bytes: &mut dyn Read) -> io::Result<RankedPage> {
        Ok(RankedPage { key: u64::read(bytes)?, tie: u64::read(bytes)? })
    }
}

/// A sorted run.
#[derive(Debug, Default)]
pub(crate) struct SortedRun {
    number: u32,
    /// Number of items.
    pub length: u64,
}

/// Writes runs, and opens each of them once.
pub(crate) struct Runs {
    spill: Box<dyn Spill>,
    next: u32,
    chunk: Vec<u8>,
}

impl Runs {
    pub fn new(spill: Box<dyn Spill>) -> Runs {
        Runs { spill, next: 0, chunk: Vec::new() }
    }

    /// Writes the ascending items of `next` until it returns none.
    pub fn write<T: Spillable>(
        &mut self,
        mut next: impl FnMut() -> io::Result<Option<T>>,
    ) -> io::Result<SortedRun> {
        let mut run = SortedRun { number: self.next, length: 0 };
        self.next += 1;
        let mut file = self.spill.create(run.number)?;
        self.chunk.clear();
        while let Some(item) = next()? {
            item.put(&mut self.chunk);
            run.length += 1;
            if self.chunk.len() >= CHUNK {
                file.write_all(&self.chunk)?;
                self.chunk.clear();
            }
        }
        file.write_all(&self.chunk)?;
        file.flush()?;
        Ok(run)
    }

    /// Opens a run. It can be read once.
    pub fn open<T: Spillable>(&mut self, run: SortedRun) -> io::Result<MergeSource<T>> {
        Ok(MergeSource::Run(self.spill.take(run.number)?, run.length))
    }
}
