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
    left: u64,
}

impl<'g> HostCap<'g> {
    pub fn new(generation: &'g Generation, max_pages: u64) -> Result<HostCap<'g>, ReadError> {
        let mut known = generation.origin_runs();
        let ahead = known.next_run()?;
        Ok(HostCap { generation, max_pages, known, ahead, origin: Vec::new(), left: 0 })
    }

    /// Whether a new URL of this origin is inserted. One that is inserted `anyway` counts as well.
    pub fn admits(&mut self, origin: &[u8], anyway: bool) -> Result<bool, ReadError> {
        if self.origin != origin {
            self.origin.clear();
            self.origin.extend_from_slice(origin);
            while self.ahead.as_ref().is_some_and(|run| run.key.as_slice() < origin) {
                self.ahead = self.known.next_run()?;
            }
            self.left = match self.ahead.as_ref().filter(|run| run.key == origin) {
                Some(run) => self.allowance(run)?,
                None => self.max_pages,
            };
        }
        let admitted = anyway || self.left > 0;
        if admitted {
            self.left = self.left.saturating_sub(1);
        }
        Ok(admitted)
    }

    /// Counts tombstones only if all pages together exceed the limit, since this takes a pass over
    /// the origin.
    fn allowance(&self, run: &OriginRun) -> Result<u64, ReadError> {
        if run.pages < self.max_pages {
            return Ok(self.max_pages - run.pages);
        }
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
