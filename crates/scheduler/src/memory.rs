//! The memory limit of a plan, and its division.

use crate::TopK;
use crate::runs::Spillable;
use recrawl_types::Spill;
use std::io::{self, Read, Write};

/// Bytes of the buffers of one open run, as documented at [`Spill::take`].
const READER: usize = 256 << 10;
/// Maximum number of runs read at a time: each holds a file handle.
const MAX_RUNS: usize = 64;
/// Minimum number of items in a buffer.
const MIN_ITEMS: usize = 4;

/// The memory limit of a plan, and the storage for what exceeds it.
pub struct PlanMemory {
    bytes: f64,
    pub(crate) spill: Box<dyn Spill>,
}

impl PlanMemory {
    /// No limit.
    pub fn unlimited() -> PlanMemory {
        PlanMemory { bytes: f64::INFINITY, spill: Box::new(NoSpill) }
    }

    /// Limits candidates, sample, plan and the buffers for reading runs to `bytes` together.
    /// Writing a run uses the memory of `spill` in addition. Below a few megabytes, readers may use
    /// a few more.
    pub fn new(bytes: u64, spill: Box<dyn Spill>) -> PlanMemory {
        PlanMemory { bytes: bytes as f64, spill }
    }

    /// Divides the memory among buffers that need this many bytes each.
    pub(crate) fn divide(&self, bytes_needed: impl IntoIterator<Item = f64>) -> MemoryDivision {
        let mut bytes_needed: Vec<f64> = bytes_needed.into_iter().collect();
        bytes_needed.sort_unstable_by(f64::total_cmp);
        let (mut left, mut others) = (self.bytes, bytes_needed.len());
        for bytes in bytes_needed {
            let max_per_buffer = left / others as f64;
            if bytes > max_per_buffer {
                return MemoryDivision { max_per_buffer };
            }
            left -= bytes;
            others -= 1;
        }
        MemoryDivision { max_per_buffer: f64::INFINITY }
    }
}

/// A fair division: small needs are met in full, the others get equal parts. So a large discovery
/// does not make a small score buffer spill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryDivision {
    max_per_buffer: f64,
}

impl MemoryDivision {
    /// The quota of a buffer that needs this many bytes.
    pub fn quota(self, bytes_needed: f64) -> MemoryQuota {
        MemoryQuota { bytes: bytes_needed.min(self.max_per_buffer) as usize }
    }
}

/// Maximum number of bytes for keeping the `k` least items.
pub(crate) fn bytes_needed<T: Spillable>(k: u64) -> f64 {
    TopK::<T>::buffer(usize::try_from(k).unwrap_or(usize::MAX)) as f64 * T::BYTES as f64
}

/// The memory of one order of candidates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryQuota {
    bytes: usize,
}

impl MemoryQuota {
    /// Number of items in a buffer.
    pub fn items<T: Spillable>(self) -> usize {
        (self.bytes / T::BYTES).max(MIN_ITEMS)
    }

    /// Number of runs read at a time.
    pub fn fan_in(self) -> usize {
        (self.bytes / READER).clamp(2, MAX_RUNS)
    }
}

/// For a plan without a memory limit: it never spills.
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
    fn small_needs_are_met_in_full() {
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
    fn the_quota_limits_the_runs_read_at_a_time() {
        let fan_in = |bytes| MemoryQuota { bytes }.fan_in();
        assert_eq!((fan_in(0), fan_in(3 << 20), fan_in(1 << 30)), (2, 12, MAX_RUNS));
    }
}
