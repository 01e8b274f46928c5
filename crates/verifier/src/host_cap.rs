//! How many new pages each origin may still bring.

use recrawl_repository::{OriginRun, OriginRuns, ReadError};

/// The allowance of the origin that the merge is at. Asked in the order of URLs, it holds no table.
pub(crate) struct HostCap {
    max_pages: u64,
    known: OriginRuns,
    /// The next origin that is known.
    ahead: Option<OriginRun>,
    origin: Vec<u8>,
    left: u64,
}

impl HostCap {
    pub fn new(mut known: OriginRuns, max_pages: u64) -> Result<HostCap, ReadError> {
        let ahead = known.next_run()?;
        Ok(HostCap { max_pages, known, ahead, origin: Vec::new(), left: 0 })
    }

    /// May a new URL of this origin enter? One that enters `anyway` uses the allowance up too.
    pub fn admits(&mut self, origin: &[u8], anyway: bool) -> Result<bool, ReadError> {
        if self.origin != origin {
            self.origin.clear();
            self.origin.extend_from_slice(origin);
            while self.ahead.as_ref().is_some_and(|run| run.key.as_slice() < origin) {
                self.ahead = self.known.next_run()?;
            }
            let pages = self.ahead.as_ref().filter(|run| run.key == origin).map_or(0, |run| run.pages);
            self.left = self.max_pages.saturating_sub(pages);
        }
        let admitted = anyway || self.left > 0;
        if admitted {
            self.left = self.left.saturating_sub(1);
        }
        Ok(admitted)
    }
}
