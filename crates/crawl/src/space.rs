//! Checks the free space on the disk of the data directory, so that a crawl stops early, with a
//! clear message and a complete log, and resumes when there is space again.

use crate::config::units::Size;
use crate::failure::Failure;
use recrawl_repository::Generation;
use recrawl_repository::storage::Storage;
use std::io;
use std::sync::Arc;

/// Recorded pages between two checks. Each has a body of at most `fetch.max_body`.
const PAGES_A_LOOK: u32 = 16;

/// Maximum size of what a batch becomes, as a multiple of its log: sorted files, stored visits, and
/// new pages in blocks.
const OF_THE_LOG: u64 = 3;
/// Maximum size of what a page becomes that a range of the log leaves out: a sorted visit, twice, and a stored one.
const A_SKIPPED_PAGE: u64 = 240;

/// Returns the number of free bytes.
type Free = dyn Fn() -> io::Result<u64> + Send + Sync;

/// Checks the free space on the disk.
#[derive(Clone)]
pub struct Space {
    folder: String,
    /// `storage.reserve`; if 0, nothing is checked.
    reserve: u64,
    free: Arc<Free>,
}

impl Space {
    /// The free space of this storage, of which so much is reserved.
    pub fn new(storage: &Arc<dyn Storage>, reserve: Size) -> Space {
        let disk = storage.clone();
        Space { folder: storage.locate(""), reserve: reserve.0, free: Arc::new(move || disk.free()) }
    }

    /// Checks that more than the reserve is free.
    ///
    /// # Errors
    /// When it is not, with what to do.
    pub fn check(&self) -> Result<(), Failure> {
        self.need(self.reserve, &format!("less than storage.reserve ({})", Size(self.reserve).rounded()))
    }

    /// Checks that a merge fits beside the existing files, even if it rewrites everything; it may
    /// use the reserve. A merge writes at most the size of the parts in use plus the data from the
    /// log, with the pages that its ranges leave out.
    ///
    /// # Errors
    /// When it may not fit, with what to do.
    pub fn check_merge(&self, generation: &Generation, log_bytes: u64, skipped: u64) -> Result<(), Failure> {
        let parts = generation.parts();
        let garbage: u64 = parts.iter().map(|part| part.bytes - part.live).sum();
        let in_use = generation.summary().bytes.saturating_sub(garbage);
        let batch = OF_THE_LOG * log_bytes + A_SKIPPED_PAGE * skipped;
        let bytes = in_use.saturating_add(batch);
        let may_need = Size(bytes).rounded_up();
        self.need(bytes, &format!("less than the {may_need} that committing the cycle may need"))
    }

    fn need(&self, bytes: u64, what: &str) -> Result<(), Failure> {
        if self.reserve == 0 {
            return Ok(());
        }
        let free = (self.free)()
            .map_err(|e| Failure::Work(format!("{}: cannot read the free disk space: {e}", self.folder)))?;
        if free >= bytes {
            return Ok(());
        }
        Err(Failure::Work(format!(
            "{}: {} free, {what}; free disk space and restart, nothing is lost and the cycle resumes",
            self.folder,
            Size(free).below(Size(bytes))
        )))
    }

    /// Checks from time to time while pages are recorded.
    pub fn watch(&self) -> SpaceWatch<'_> {
        SpaceWatch { space: self, recorded: 0 }
    }
}

/// Checks every `PAGES_A_LOOK` pages.
pub struct SpaceWatch<'s> {
    space: &'s Space,
    recorded: u32,
}

impl SpaceWatch<'_> {
    /// Counts a recorded page.
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
        (Space { free: free_now, ..Space::new(&storage, Size(reserve)) }, free)
    }

    #[test]
    fn below_the_reserve_it_says_what_to_do_and_above_it_nothing() {
        let (space, free) = disk(1 << 20);
        let error = space.check().unwrap_err();
        assert!(!error.is_usage(), "as where the disk is full");
        let text = error.to_string();
        assert!(text.contains("0 MiB free") && text.contains("less than storage.reserve (1 MiB)"), "{text}");
        assert!(text.contains("free disk space and restart"), "{text}");
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
        assert!(space.check_merge(&Generation::default(), 1_000, 0).is_ok());
        assert!(space.check_merge(&Generation::default(), 0, 1_000).is_err(), "skipped pages need room, too");
        let text = space.check_merge(&Generation::default(), 1_001, 0).unwrap_err().to_string();
        // 3,000 bytes of 3,003 that are needed.
        assert!(
            text.contains("2.9 KiB free, less than the 3 KiB that committing the cycle may need"),
            "{text}"
        );
        free.store((1 << 30) - 1, Relaxed);
        let text = space.check().unwrap_err().to_string();
        assert!(text.contains("0.9 GiB free, less than storage.reserve (1 GiB)"), "{text}");
    }
}
