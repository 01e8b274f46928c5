//! Limits the new pages per origin.

use crate::merge::{TrapSign, TrapSigns, TrapsOf};
use recrawl_repository::{Generation, OriginRun, OriginRuns, ReadError};
use recrawl_types::{CanonicalUrl, PageStatus};
use std::cell::OnceCell;

/// Maximum known URLs of an origin, tombstones included, as a multiple of its maximum of live
/// pages. Gone pages and URLs of traps make room for new ones, but an origin whose pages all come and
/// go still has a limit.
const WITH_TOMBSTONES: u64 = 4;

/// The remaining pages of the current origin. Asked in URL order, so no table is needed.
pub(crate) struct HostCap<'g> {
    generation: &'g Generation,
    max_pages: u64,
    traps_of: TrapsOf<'g>,
    known: OriginRuns,
    /// The next known origin.
    ahead: Option<OriginRun>,
    origin: Vec<u8>,
    /// Known URLs of the origin, gone ones included.
    known_pages: u64,
    left: u64,
    /// Its pages before the merge, until its tombstones were counted.
    run: Option<OriginRun>,
    /// Its signs of traps, once they are asked for.
    signs: OnceCell<Option<TrapSigns>>,
}

impl<'g> HostCap<'g> {
    pub fn new(
        generation: &'g Generation,
        max_pages: u64,
        traps_of: TrapsOf<'g>,
    ) -> Result<HostCap<'g>, ReadError> {
        let mut known = generation.origin_runs();
        let ahead = known.next_run()?.cloned();
        Ok(HostCap {
            generation,
            max_pages,
            traps_of,
            known,
            ahead,
            origin: Vec::new(),
            known_pages: 0,
            left: 0,
            run: None,
            signs: OnceCell::new(),
        })
    }

    /// Whether a new URL with this key is inserted. One that is inserted `anyway` counts as well. One that
    /// no page links to (only a sitemap, feed or redirect names it), or that looks like a trap's, is
    /// inserted while fewer URLs than half of the limit are known: else a sitemap that lists addresses
    /// without a page, or a trap, would leave no place for the pages of its host.
    pub fn admits(&mut self, key: &[u8], anyway: bool, is_linked: bool) -> Result<bool, ReadError> {
        let origin = CanonicalUrl::origin_of(key);
        if self.origin != origin {
            self.origin.clear();
            self.origin.extend_from_slice(origin);
            while self.ahead.as_ref().is_some_and(|run| run.key.as_slice() < origin) {
                self.ahead = self.known.next_run()?.cloned();
            }
            self.run = self.ahead.as_ref().filter(|run| run.key == origin).cloned();
            self.known_pages = self.run.as_ref().map_or(0, |run| run.pages);
            self.left = self.max_pages.saturating_sub(self.known_pages);
            self.signs = OnceCell::new();
        }
        let has_place = self.known_pages < self.max_pages.div_ceil(2)
            || is_linked && (anyway || self.signs().is_none_or(|sign| sign(key) == TrapSign::None));
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

    /// The signs of traps of the current origin.
    fn signs(&self) -> Option<&TrapSigns> {
        self.signs.get_or_init(|| (self.traps_of)(&self.origin)).as_ref()
    }

    /// The new pages that the origin may bring in this merge. Reads the states of its pages, and their keys
    /// if some are a trap's, so it is asked only when all places are taken.
    fn allowance(&self, run: &OriginRun) -> Result<u64, ReadError> {
        let all = self.max_pages.saturating_mul(WITH_TOMBSTONES);
        if run.pages >= all {
            return Ok(0);
        }
        let pages = run.first..run.first + run.pages;
        let (mut free, signs) = (0, self.signs());
        let mut states = self.generation.states_from(run.first).with_keys(signs.is_some());
        while let Some((first, columns)) = states.next_block()? {
            if first >= pages.end {
                break;
            }
            for (row, known) in columns.known.iter().enumerate() {
                let is_trapped = || signs.is_some_and(|sign| sign(columns.keys.get(row)) == TrapSign::CutOff);
                let is_of_origin = pages.contains(&(first + row as u64));
                free += u64::from(is_of_origin && (known.status == PageStatus::Gone || is_trapped()));
            }
        }
        let live = run.pages - free;
        Ok(self.max_pages.saturating_sub(live).min(all - run.pages))
    }
}
