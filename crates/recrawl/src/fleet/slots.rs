//! A thread that keeps the turns of a partition at addresses that it shares.

use recrawl_crawl::failure::Failure;
use recrawl_crawl::partition::boot_clock;
use recrawl_fleet::{Partition, SlotKeeper};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Wait after a store that did not answer.
const RETRY: Duration = Duration::from_secs(1);
/// How often the end is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The thread. It ends when this is dropped: then there are no more turns.
pub struct SlotThread {
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl SlotThread {
    /// Begins; none of a partition that shares no addresses.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn begin(partition: &Partition) -> Result<Option<SlotThread>, Failure> {
        let Some(keeper) = partition.slot_keeper() else { return Ok(None) };
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let thread = thread::Builder::new().name("slots".into()).spawn(move || keep(keeper, &stopped))?;
        Ok(Some(SlotThread { stop, thread: Some(thread) }))
    }
}

impl Drop for SlotThread {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            tracing::error!("the thread that keeps the turns at addresses panicked");
        }
    }
}

fn keep(mut keeper: SlotKeeper, stop: &CancellationToken) {
    let mut has_told = false;
    while !stop.is_cancelled() {
        let wait = match keeper.step(&boot_clock) {
            Ok(wait) => {
                has_told = false;
                Duration::from_millis(wait)
            }
            Err(error) => {
                if !std::mem::replace(&mut has_told, true) {
                    tracing::warn!("cannot keep the turns at addresses that the fleet shares: {error}");
                }
                RETRY
            }
        };
        let until = boot_clock() + wait.as_millis() as u64;
        while boot_clock() < until && !stop.is_cancelled() {
            thread::sleep(LOOK_EVERY.min(wait));
        }
    }
}
