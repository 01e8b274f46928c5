//! Figures of this process from Linux: bytes moved, CPU time and memory. None on other systems.

use std::fs;
use std::ops::Sub;

/// Bytes read and written by system calls so far, from disk or from its cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

impl Moved {
    /// The current figures; none if the system does not report them.
    pub fn now() -> Option<Moved> {
        let text = fs::read_to_string("/proc/self/io").ok()?;
        Some(Moved { read: number(&text, "rchar:")?, written: number(&text, "wchar:")? })
    }
}

impl Sub for Moved {
    type Output = Moved;

    fn sub(self, before: Moved) -> Moved {
        Moved { read: self.read - before.read, written: self.written - before.written }
    }
}

/// Ticks per second in Linux' CPU times, equal on every machine.
const TICKS: f64 = 100.0;

/// CPU seconds of all threads so far, including the kernel; none if the system does not report
/// them.
pub fn processor_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    ticks(&text).map(|ticks| ticks as f64 / TICKS)
}

/// User and system time: fields 12 and 13 after the name, which may contain blanks and ends with a
/// bracket.
fn ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// Resets the peak memory. False if this is not permitted; then [`peak_bytes`] includes the time
/// before.
pub fn reset_peak() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// Peak resident memory; none if the system does not report it.
pub fn peak_bytes() -> Option<u64> {
    Some(number(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")? << 10)
}

fn number(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_names() {
        let text = "rchar: 17\nwchar: 4\nVmHWM:\t  2048 kB\n";
        assert_eq!(
            (number(text, "wchar:"), number(text, "VmHWM:"), number(text, "x:")),
            (Some(4), Some(2048), None)
        );
    }

    #[test]
    fn processor_time_is_found_behind_a_name_with_blanks() {
        let stat = "17 (a (b) c) S 1 1 1 0 -1 4194304 90 0 0 0 150 25 0 0 20 0 1 0 100";
        assert_eq!((ticks(stat), ticks("17 (a) S 1")), (Some(175), None));
    }

    #[test]
    fn what_is_written_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        if let Some(before) = Moved::now() {
            fs::write(dir.path().join("file"), [7; 5000]).unwrap();
            assert!((Moved::now().unwrap() - before).written >= 5000);
        }
    }
}
