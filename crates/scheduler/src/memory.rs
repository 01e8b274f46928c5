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
const MIN_ITEMS: usize = 4;

/// How much memory a plan may take, and where to what is beyond that goes.
pub struct PlanMemory {
    bytes: f64,
    pub(crate) spill: Box<dyn Spill>,
}

impl PlanMemory {
    /// As much as it asks for.
    pub fn unlimited() -> PlanMemory {
        PlanMemory { bytes: f64::INFINITY, spill: Box::new(NoSpill) }
    }

    /// So many bytes for candidates, sample and plan together, and for reading runs of them again. A run that is being
    /// written takes what `spill` does for it besides. For less than some megabytes readers may take as many more.
    pub fn new(bytes: u64, spill: Box<dyn Spill>) -> PlanMemory {
        PlanMemory { bytes: bytes as f64, spill }
    }

    /// Divides it among those who want so many bytes each.
    pub(crate) fn divide(&self, bytes_needed: impl IntoIterator<Item = f64>) -> MemoryDivision {
        let mut bytes_needed: Vec<f64> = bytes_needed.into_iter().collect();
        bytes_needed.sort_unstable_by(f64::total_cmp);
        let (mut left, mut others) = (self.bytes, bytes_needed.len());
        for bytes in bytes_needed {
            let most = left / others as f64;
            if bytes > most {
                return MemoryDivision { most };
            }
            left -= bytes;
            others -= 1;
        }
        MemoryDivision { most: f64::INFINITY }
    }
}

/// Who wants little gets it whole, the others get equally much: so a large discovery does not make a small
/// score spill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryDivision {
    most: f64,
}

impl MemoryDivision {
    /// The part of one who wants so many bytes.
    pub fn quota(self, bytes_needed: f64) -> MemoryQuota {
        MemoryQuota { bytes: bytes_needed.min(self.most) as usize }
    }
}

/// How many bytes it takes at most to keep the `k` least items.
pub(crate) fn bytes_needed<T: Item>(k: u64) -> f64 {
    TopK::<T>::buffer(usize::try_from(k).unwrap_or(usize::MAX)) as f64 * T::BYTES as f64
}

/// The memory of one order of candidates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryQuota {
    bytes: usize,
}

impl MemoryQuota {
    /// How many items a buffer has.
    pub fn items<T: Item>(self) -> usize {
        (self.bytes / T::BYTES).max(MIN_ITEMS)
    }

    /// How many runs are read at a time.
    pub fn fan_in(self) -> usize {
        (self.bytes / READER).clamp(2, MAX_RUNS)
    }
}

/// The disk of a plan that needs none.
struct NoSpill;

impl Spill for NoSpill {
    fn create(&mut self, _run: u32) -> io::Result<Box<dyn Write>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn take(&mut self, _run: u32) -> io::Result<Box<dyn Read>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_little_gets_it_whole() {
        let rooms = |bytes: f64, bytes_needed: &[f64]| -> Vec<usize> {
            let division =
                PlanMemory { bytes, ..PlanMemory::unlimited() }.divide(bytes_needed.iter().copied());
            bytes_needed.iter().map(|&bytes_needed| division.quota(bytes_needed).bytes).collect()
        };
        let all = f64::INFINITY;
        assert_eq!(rooms(100.0, &[10.0, 20.0, all]), [10, 20, 70]);
        assert_eq!(rooms(100.0, &[1e30, 10.0, all]), [45, 10, 45]);
        assert_eq!(rooms(100.0, &[30.0, 20.0]), [30, 20]);
        assert_eq!(rooms(0.0, &[10.0, all]), [0, 0]);
        assert_eq!(rooms(all, &[10.0, all]), [10, usize::MAX]);
    }

    #[test]
    fn as_many_runs_are_read_at_a_time_as_the_room_has_for_their_readers() {
        let fan_in = |bytes| MemoryQuota { bytes }.fan_in();
        assert_eq!((fan_in(0), fan_in(3 << 20), fan_in(1 << 30)), (2, 6, MAX_RUNS));
    }
}
