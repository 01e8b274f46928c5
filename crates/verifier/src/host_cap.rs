//! How many new pages each origin may still bring.

use recrawl_repository::OriginRun;
use recrawl_types::CanonicalUrl;
use std::iter::Peekable;
use std::vec::IntoIter;

/// The allowance of the origin that the merge is at. Asked in the order of URLs, it holds no table.
pub(crate) struct HostCap {
    max_pages: u64,
    known: Peekable<IntoIter<OriginRun>>,
    origin: Vec<u8>,
    left: u64,
}

impl HostCap {
    pub fn new(known: Vec<OriginRun>, max_pages: u64) -> HostCap {
        HostCap { max_pages, known: known.into_iter().peekable(), origin: Vec::new(), left: 0 }
    }

    /// May this new URL enter? One that enters `anyway` uses the allowance up too.
    pub fn admits(&mut self, url: &CanonicalUrl, anyway: bool) -> bool {
        let origin = url.origin_key();
        if self.origin != origin {
            self.origin.clear();
            self.origin.extend_from_slice(origin);
            while self.known.next_if(|run| run.key.as_slice() < origin).is_some() {}
            let pages = self.known.peek().filter(|run| run.key == origin).map_or(0, |run| run.pages);
            self.left = self.max_pages.saturating_sub(pages);
        }
        let admitted = anyway || self.left > 0;
        if admitted {
            self.left = self.left.saturating_sub(1);
        }
        admitted
    }
}
