//! Room on the disk of the data directory, looked at before it runs out: a crawl that stops in time stops clearly, with
//! its log whole, and goes on when there is room again.

use crate::failure::Failure;
use crate::units::Size;
use recrawl_repository::Generation;
use recrawl_repository::storage::Storage;
use std::io;
use std::sync::Arc;

/// Recorded pages between two looks. Each has a body of `fetch.max_body` at most.
const PAGES_A_LOOK: u32 = 16;

/// What a batch becomes is at most so many times its log: sorted files, kept visits, and new pages in blocks.
const OF_THE_LOG: u64 = 3;

/// Bytes that are free.
type Free = dyn Fn() -> io::Result<u64> + Send + Sync;

/// Looks at the room on the disk.
#[derive(Clone)]
pub struct Space {
    folder: String,
    /// `storage.reserve`; 0 is no limit, and nothing is looked at.
    reserve: u64,
    free: Arc<Free>,
}

impl Space {
    /// The disk of `storage`.
    pub fn of(storage: &Arc<dyn Storage>, reserve: Size) -> Space {
        let disk = storage.clone();
        Space { folder: storage.locate(""), reserve: reserve.0, free: Arc::new(move || disk.free()) }
    }

    /// Is more than the reserve free?
    ///
    /// # Errors
    /// When it is not, with what to do.
    pub fn check(&self) -> Result<(), Failure> {
        self.need(self.reserve, "and storage.reserve keeps")
    }

    /// Can a merge be written beside what is there, whatever it has to write anew? The reserve is there to be used
    /// for it. A merge writes no more than what the parts in use take, and what the log brings.
    ///
    /// # Errors
    /// When it may not fit, with what to do.
    pub fn check_merge(&self, generation: &Generation, log_bytes: u64) -> Result<(), Failure> {
        let parts = generation.parts();
        let garbage: u64 = parts.iter().map(|part| part.bytes - part.live).sum();
        let in_use = generation.summary().bytes.saturating_sub(garbage);
        self.need(in_use.saturating_add(OF_THE_LOG * log_bytes), "and committing the cycle may take")
    }

    fn need(&self, bytes: u64, what: &str) -> Result<(), Failure> {
        if self.reserve == 0 {
            return Ok(());
        }
        let free =
            (self.free)().map_err(|e| Failure::Work(format!("{}: room on its disk: {e}", self.folder)))?;
        if free >= bytes {
            return Ok(());
        }
        Err(Failure::Work(format!(
            "{}: {} are free, {what} {}: make room and start again, nothing is lost and the cycle goes on",
            self.folder,
            Size(free),
            Size(bytes)
        )))
    }

    /// Looks now and then while pages are recorded.
    pub fn watch(&self) -> Watch<'_> {
        Watch { space: self, recorded: 0 }
    }
}

/// Looks at every so many pages.
pub struct Watch<'s> {
    space: &'s Space,
    recorded: u32,
}

impl Watch<'_> {
    /// Says that a page was recorded.
    ///
    /// # Errors
    /// As [`Space::check`].
    pub fn recorded(&mut self) -> Result<(), Failure> {
        self.recorded += 1;
        if self.recorded.is_multiple_of(PAGES_A_LOOK) { self.space.check() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_repository::storage::MemoryStorage;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    fn disk(reserve: u64) -> (Space, Arc<AtomicU64>) {
        let free = Arc::new(AtomicU64::new(0));
        let told = free.clone();
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let free_now = Arc::new(move || Ok(told.load(Relaxed)));
        (Space { free: free_now, ..Space::of(&storage, Size(reserve)) }, free)
    }

    #[test]
    fn below_the_reserve_it_says_what_to_do_and_above_it_nothing() {
        let (space, free) = disk(1 << 20);
        let error = space.check().unwrap_err();
        assert_eq!(error.exit_code(), 1, "as where the disk is full");
        let text = error.to_string();
        assert!(text.contains("0 B are free") && text.contains("storage.reserve keeps 1 MiB"), "{text}");
        assert!(text.contains("make room and start again"), "{text}");
        free.store(1 << 20, Relaxed);
        assert!(space.check().is_ok());
        let (off, _) = disk(0);
        assert!(off.check().is_ok(), "0 looks at nothing");
    }

    #[test]
    fn while_pages_are_recorded_it_is_noticed_within_a_few() {
        let (space, free) = disk(100);
        free.store(100, Relaxed);
        let mut watch = space.watch();
        assert!((0..100).all(|_| watch.recorded().is_ok()));
        free.store(99, Relaxed);
        let noticed = (1..100).find(|_| watch.recorded().is_err());
        assert!(noticed.is_some_and(|pages| pages <= PAGES_A_LOOK), "{noticed:?}");
    }

    #[test]
    fn a_merge_may_use_the_reserve_and_must_fit() {
        let (space, free) = disk(1 << 30);
        free.store(3_000, Relaxed);
        assert!(space.check_merge(&Generation::default(), 1_000).is_ok());
        let text = space.check_merge(&Generation::default(), 1_001).unwrap_err().to_string();
        assert!(text.contains("committing the cycle may take 3003 B"), "{text}");
    }
}
