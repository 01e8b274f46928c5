//! The merge: one sequential pass over generation g and the batch, both in the order of URLs.

use crate::pass::Pass;
use crate::workers::Workers;
use crate::{MergeError, MergeReport, SortedBatch};
use recrawl_repository::{Generation, GenerationWriter};
use recrawl_types::{CanonicalUrl, Content, Cycle};
use std::fmt;

/// Says whether a page changed between two visits: the page, what the visit before saw, what this one
/// saw. Contents of different kind are put to it as well.
pub type Judge<'j> = &'j dyn Fn(&CanonicalUrl, &Content, &Content) -> bool;

/// Told of each comparison of a page that a sitemap or feed gave a date: the page, whether the date had moved
/// forward since the visit before, and whether the page had changed.
pub type Watch<'j> = &'j dyn Fn(&CanonicalUrl, bool, bool);

/// Told of each page's first visit, with what it saw, in the order of URLs.
pub type Meet<'j> = &'j dyn Fn(&CanonicalUrl, &Content);

/// Told, once a block, of how many pages of the generation before the merge has come past with it.
pub type Passed<'j> = &'j dyn Fn(u64);

/// What a merge goes by.
#[derive(Clone, Copy)]
pub struct MergeRules<'j> {
    /// The cycle of the batch, and the number of the generation to be.
    pub cycle: Cycle,
    /// URLs to which only a longer chain of redirects leads are not taken up.
    pub max_hops: u8,
    /// An origin (scheme, host, port) with so many pages gets no more, but for seeds and for pages
    /// that were visited already.
    pub max_pages_per_host: u64,
    /// Which links may wait for a later merge.
    pub waiting: Waiting,
    /// Pages of a block when it is new, 1 to [`BLOCK_PAGES`](recrawl_repository::BLOCK_PAGES).
    pub block_pages: usize,
    /// Threads that unpack and pack blocks beside the one that merges; below 2 none. The result is the same.
    pub threads: usize,
    /// Decides visits that could not be compared when they were made.
    pub judge: Judge<'j>,
    /// Learns how far dates of modification can be trusted.
    pub watch: Watch<'j>,
    /// Learns what pages are like that were never seen before.
    pub meet: Meet<'j>,
    /// Learns how far the merge is; together as much as the generation before has pages.
    pub passed: Passed<'j>,
}

/// Which links may wait. Reading and writing a block again costs the same for one link as for hundreds, so links
/// to blocks that nothing else touches wait until there are more, as VEUNI lets those to other servers wait (Henrique
/// et al., SPIRE 2011).
///
/// A link never waits that leads to an origin which the batch visits or seeds, or to a block which is touched anyway, or
/// to one that has its turn: once in `max_cycles` cycles nothing waits for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// No link waits longer than this many cycles; with 0 none waits.
    pub max_cycles: u32,
    /// So many URLs linked to in one block make its merge pay.
    pub enough: usize,
}

impl fmt::Debug for MergeRules<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergeRules")
            .field("cycle", &self.cycle)
            .field("max_hops", &self.max_hops)
            .field("max_pages_per_host", &self.max_pages_per_host)
            .field("waiting", &self.waiting)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// Merges `batch` into `generation` and gives `writer`, begun from it, every block of the next one. Same input,
/// same output, however the batch was spilled and however many threads there are. The batch's runs are removed at
/// the end.
///
/// # Errors
/// Reading either side or writing failed. `writer` is then to be dropped.
pub fn merge(
    generation: &Generation,
    batch: SortedBatch,
    writer: &mut GenerationWriter<'_>,
    rules: &MergeRules<'_>,
) -> Result<MergeReport, MergeError> {
    let batch = match generation.waiting() {
        Some(links) => batch.with_waiting(links)?,
        None => batch,
    };
    std::thread::scope(|scope| {
        let workers = Workers::start(scope, rules.threads);
        Pass::new(generation, batch, writer, rules, workers)?.run()
    })
}
