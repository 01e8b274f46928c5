//! The memory of a browser: what the kernel allows each of its processes, and what all of them may take together.
//!
//! A page can fill gigabytes between two looks at it. So each process has a limit of the kernel (`RLIMIT_DATA`), under
//! which an allocation fails: a script gets an error, or its page ends. The limit of all processes together is kept by
//! looking. `RLIMIT_AS` cannot be used, because a page reserves a terabyte of addresses that it never fills. A control
//! group would count all processes together, but few crawls may make one.

use crate::browser::Browser;
use crate::pool::RenderCounters;
use crate::processes;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How often the memory of all processes is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long an ended page has to give back its memory, before another one is ended for it.
const END: Duration = Duration::from_millis(500);

const MIB: u64 = 1 << 20;
/// What the limit counts of a page without scripts: stacks of threads, tables, the first heap.
const EMPTY: u64 = 160 * MIB;
/// Below this no page starts in browsers that reserve 512 MiB for compiled code, whatever the limit is. Newer ones
/// reserve an eighth of the limit.
const LEAST: u64 = 768 * MIB;
/// The browser derives sizes from the limit, and does not start if they are no multiples of its own units.
const UNIT: u64 = 16 * MIB;

/// The limit of each process's data, for a browser that may take this many bytes.
pub fn process_limit(memory: u64) -> u64 {
    let with_code = (memory.saturating_add(EMPTY) / 7).saturating_mul(8);
    with_code.max(LEAST).div_ceil(UNIT).saturating_mul(UNIT)
}

/// Ends the largest page while the browser takes too much memory; the whole browser if no page is there to end.
pub async fn watch(browser: Weak<Browser>, limit: u64, counters: Arc<RenderCounters>) {
    let mut wait = LOOK_EVERY;
    loop {
        tokio::time::sleep(wait).await;
        wait = LOOK_EVERY;
        let Some(browser) = browser.upgrade() else { return };
        let processes = browser.processes();
        let memory: u64 = processes.iter().map(|process| process.memory).sum();
        if memory <= limit {
            continue;
        }
        counters.too_large.fetch_add(1, Relaxed);
        let largest = processes.iter().filter(|process| process.is_page).max_by_key(|process| process.memory);
        match largest {
            Some(page) => {
                tracing::warn!(memory, limit, "the browser takes too much memory: its largest page is ended");
                processes::end(page.pid);
            }
            None => browser.kill(),
        }
        wait = END;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_take_what_the_browser_may_and_what_is_reserved() {
        for (memory, limit) in [(256, 768), (500, 768), (700, 992), (1024, 1360), (8192, 9552)] {
            assert_eq!(process_limit(memory * MIB), limit * MIB, "{memory} MiB");
        }
        assert!(process_limit(u64::MAX) > u64::MAX / 2);
    }
}
