//! Limits the requests that scan all pages, and those that wait for a scan.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Maximum simultaneous scans.
const MAX_SCANS: usize = 2;
/// Maximum requests that wait for a scan to end.
const MAX_SCANS_WAITING: usize = 4;
/// Maximum time that a request waits.
const SCAN_PATIENCE: Duration = Duration::from_secs(5);

/// Running scans.
#[derive(Default)]
pub struct Scans {
    now: Mutex<ScanCounts>,
    ended: Condvar,
}

#[derive(Default)]
struct ScanCounts {
    running: usize,
    waiting: usize,
}

/// The permission to scan all pages.
pub struct ScanPermit<'s>(&'s Scans);

impl Scans {
    /// Permission for a scan; none if too many requests wait, or it takes too long.
    pub fn begin(&self) -> Option<ScanPermit<'_>> {
        self.begin_within(SCAN_PATIENCE)
    }

    fn begin_within(&self, patience: Duration) -> Option<ScanPermit<'_>> {
        let mut now = self.now();
        if now.running >= MAX_SCANS {
            if now.waiting >= MAX_SCANS_WAITING {
                return None;
            }
            now.waiting += 1;
            let wait = self.ended.wait_timeout_while(now, patience, |now| now.running >= MAX_SCANS);
            now = wait.expect("no panic under the lock").0;
            now.waiting -= 1;
            if now.running >= MAX_SCANS {
                return None;
            }
        }
        now.running += 1;
        Some(ScanPermit(self))
    }

    fn now(&self) -> MutexGuard<'_, ScanCounts> {
        self.now.lock().expect("no panic under the lock")
    }
}

impl Drop for ScanPermit<'_> {
    fn drop(&mut self) {
        self.0.now().running -= 1;
        self.0.ended.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn some_scan_some_wait_and_one_more_is_refused() {
        let scans = Scans::default();
        let (first, _second) = (scans.begin().unwrap(), scans.begin().unwrap());
        thread::scope(|scope| {
            let wait = || scans.begin_within(Duration::MAX).is_some();
            let waiting: Vec<_> = (0..MAX_SCANS_WAITING).map(|_| scope.spawn(wait)).collect();
            while scans.now().waiting < MAX_SCANS_WAITING {
                thread::sleep(Duration::from_millis(1));
            }
            assert!(scans.begin().is_none(), "too many wait");
            // Each request ends its scan at once when it gets one.
            drop(first);
            assert!(waiting.into_iter().all(|thread| thread.join().unwrap()));
        });
        let ScanCounts { running, waiting } = *scans.now();
        assert_eq!((running, waiting), (1, 0));
        let _third = scans.begin().unwrap();
        assert!(scans.begin_within(Duration::ZERO).is_none(), "it takes too long");
    }
}
