//! Limits the new pages per origin.

use recrawl_repository::{Generation, OriginRun, OriginRuns, ReadError};
use recrawl_types::Status;

/// Maximum known URLs of an origin, tombstones included, as a multiple of its maximum of live
/// pages. Gone pages make room for new ones, but an origin whose pages all come and go still has a
/// limit.
const WITH_TOMBSTONES: u64 = 4;

/// The remaining pages of the current origin. Asked in URL order, so no table is needed.
pub(crate) struct HostCap<'g> {
    generation: &'g Generation,
    max_pages: u64,
    known: OriginRuns,
    /// The next known origin.
    ahead: Option<OriginRun>,
    origin: Vec<u8>,
    /// Known URLs of the origin, gone ones included.
    known_pages: u64,
    left: u64,
    /// Its pages before the merge, until its tombstones were counted.
    run: Option<OriginRun>,
}

impl<'g> HostCap<'g> {
    pub fn new(generation: &'g Generation, max_pages: u64) -> Result<HostCap<'g>, ReadError> {
        let mut known = generation.origin_runs();
        let ahead = known.next_run()?.cloned();
        Ok(HostCap {
            generation,
            max_pages,
            known,
            ahead,
            origin: Vec::new(),
            known_pages: 0,
            left: 0,
            run: None,
        })
    }

    /// Whether a new URL of this origin is inserted. One that is inserted `anyway` counts as well. One that
    /// no page links to (only a sitemap, feed or redirect names it) is inserted while fewer URLs than
    /// half of the limit are known: else a sitemap that lists addresses without a page would leave no
    /// place for the pages of its host.
    pub fn admits(&mut self, origin: &[u8], anyway: bool, is_linked: bool) -> Result<bool, ReadError> {
        if self.origin != origin {
            self.origin.clear();
            self.origin.extend_from_slice(origin);
            while self.ahead.as_ref().is_some_and(|run| run.key.as_slice() < origin) {
                self.ahead = self.known.next_run()?.cloned();
            }
            self.run = self.ahead.as_ref().filter(|run| run.key == origin).cloned();
            self.known_pages = self.run.as_ref().map_or(0, |run| run.pages);
            self.left = self.max_pages.saturating_sub(self.known_pages);
        }
        let has_place = is_linked || self.known_pages < self.max_pages.div_ceil(2);
        if !anyway
            && has_place
            && self.left == 0
            && let Some(run) = self.run.take()
        {
            self.left = self.allowance(&run)?.saturating_sub(self.known_pages - run.pages);
        }
        let admitted = anyway || self.left > 0 && has_place;
        if admitted {
            self.known_pages += 1;
            self.left = self.left.saturating_sub(1);
        }
        Ok(admitted)
    }

    /// The new pages that the origin may bring in this merge. Reads the states of its pages, so it is asked
    /// only when all places are taken, if those of gone pages count.
    fn allowance(&self, run: &OriginRun) -> Result<u64, ReadError> {
        let all = self.max_pages.saturating_mul(WITH_TOMBSTONES);
        if run.pages >= all {
            return Ok(0);
        }
        let pages = run.first..run.first + run.pages;
        let mut gone = 0;
        let mut states = self.generation.states_from(run.first);
        while let Some((first, columns)) = states.next_block()? {
            if first >= pages.end {
                break;
            }
            let statuses = (first..).zip(columns.known.iter().map(|known| known.status));
            let of_origin = statuses.filter(|(ordinal, _)| pages.contains(ordinal));
            gone += of_origin.filter(|(_, status)| *status == Status::Gone).count() as u64;
        }
        let live = run.pages - gone;
        Ok(self.max_pages.saturating_sub(live).min(all - run.pages))
    }
}
