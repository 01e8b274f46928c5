//! How much memory a plan may take, and how it is divided.

use crate::TopK;
use crate::runs::Item;
use recrawl_types::Spill;
use std::io::{self, Read, Write};

/// The buffers of one open run: what [`Spill::take`] promises.
const READER: usize = 512 << 10;
/// Runs that are read at a time, whatever the memory: each holds a file handle.
const MAX_RUNS: usize = 64;
/// A buffer holds at least so many items.
const LEAST_ITEMS: usize = 4;

/// How much memory a plan may take, and where to what is beyond that goes.
pub struct PlanMemory {
    bytes: f64,
    pub(crate) spill: Box<dyn Spill>,
}

impl PlanMemory {
    /// As much as it asks for.
    pub fn unlimited() -> PlanMemory {
        PlanMemory { bytes: f64::INFINITY, spill: Box::new(Nowhere) }
    }

    /// So many bytes for candidates, sample and plan together, and for reading runs of them again. A run that is being
    /// written takes what `spill` does for it besides. What is less than a megabyte may be passed by as much.
    pub fn new(bytes: u64, spill: Box<dyn Spill>) -> PlanMemory {
        PlanMemory { bytes: bytes as f64, spill }
    }

    /// Divides it among those who want so many bytes together.
    pub(crate) fn divide(&self, wanted: f64) -> Division {
        Division(self.bytes / wanted)
    }
}

/// Bytes for each byte that is wanted. What is never used is not taken from the system, so nobody gets more where
/// another needs less than it might have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Division(f64);

impl Division {
    /// The part of one who wants so many bytes.
    pub fn room(self, wanted: f64) -> Room {
        Room { bytes: (self.0 * wanted) as usize }
    }
}

/// How many bytes it takes at most to keep the `k` least items.
pub(crate) fn wanted<T: Item>(k: u64) -> f64 {
    TopK::<T>::buffer(usize::try_from(k).unwrap_or(usize::MAX)) as f64 * T::BYTES as f64
}

/// The memory of one order of candidates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    bytes: usize,
}

impl Room {
    /// How many items a buffer has.
    pub fn items<T: Item>(self) -> usize {
        (self.bytes / T::BYTES).max(LEAST_ITEMS)
    }

    /// How many runs are read at a time.
    pub fn fan_in(self) -> usize {
        (self.bytes / READER).clamp(2, MAX_RUNS)
    }
}

/// The disk of a plan that needs none.
struct Nowhere;

impl Spill for Nowhere {
    fn create(&mut self, _run: u32) -> io::Result<Box<dyn Write>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn take(&mut self, _run: u32) -> io::Result<Box<dyn Read>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
