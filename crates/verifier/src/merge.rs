//! The merge: one sequential pass over generation g and the batch, both in the order of URLs.

use crate::pass::Pass;
use crate::workers::Workers;
use crate::{MergeError, MergeReport, SortedBatch};
use recrawl_repository::{Generation, GenerationWriter};
use recrawl_types::{CanonicalUrl, Content, Cycle, Known, Share, Verdict, Visited};
use std::fmt;

/// Decides whether a page changed between two visits, given the page, its state after the earlier visit
/// and the content of the later one, in which it notes a difference within noise. Also gets contents of
/// different kinds.
pub type Judge<'j> = &'j dyn Fn(&CanonicalUrl, &Visited, &mut Content) -> bool;

/// Called for each compared visit. Gets the page; whether its date in a sitemap or feed moved forward since
/// the previous visit, if it has one; and whether the page changed.
pub type OnComparison<'j> = &'j dyn Fn(&CanonicalUrl, Option<bool>, bool);

/// Called for each page's first visit, with its content, in URL order.
pub type OnFirstVisit<'j> = &'j dyn Fn(&CanonicalUrl, &Content);

/// A URL that was visited for the first time, or turned out to be none that can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    /// What was known before this batch, or by its links if nothing was.
    pub known: Known,
    /// Was it known before, and could be visited?
    pub was_pending: bool,
    /// Why it was visited.
    pub share: Share,
    /// What its text showed; none without `[focus]`, and of what is no page: a redirect, a sitemap, a page that is gone.
    pub verdict: Option<Verdict>,
}

/// Called for each page that is [`Tried`], in URL order.
pub type OnTried<'j> = &'j dyn Fn(&CanonicalUrl, &Tried);

/// Called for each new URL that was not visited, by key, in URL order.
pub type OnFound<'j> = &'j dyn Fn(&[u8], &Known);

/// Called for each new URL that was dropped, since its origin has its maximum of pages, by key, in URL order, with
/// whether a page links to it; else only sitemaps, feeds and redirects name it.
pub type OnDropped<'j> = &'j dyn Fn(&[u8], bool);

/// The effect of a trap on a URL's place under the limit of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrapSign {
    /// Nothing.
    None,
    /// It looks like one, with too few visits for a verdict.
    Suspected,
    /// It is cut off, and will not be visited for the first time.
    CutOff,
}

/// The signs of an origin's URLs, by key.
pub type TrapSigns = Box<dyn Fn(&[u8]) -> TrapSign>;

/// Called with the key of an origin whose places run short. None if nothing of it looks like a trap.
pub type TrapsOf<'j> = &'j dyn Fn(&[u8]) -> Option<TrapSigns>;

/// Called for each block with the number of its pages in the old generation.
pub type OnProgress<'j> = &'j dyn Fn(u64);

/// The rules and callbacks of a merge.
#[derive(Clone, Copy)]
pub struct MergeRules<'j> {
    /// The cycle of the batch.
    pub cycle: Cycle,
    /// Links with more consecutive redirects than this are dropped.
    pub max_hops: u8,
    /// An origin (scheme, host, port) with this many pages gets no more, except seeds and visited
    /// pages.
    pub max_pages_per_host: u64,
    /// Which of these are a trap's: they give back their places.
    pub traps_of: TrapsOf<'j>,
    /// Which links may wait for a later merge.
    pub waiting: Waiting,
    /// Pages of a block when it is new, 1 to [`BLOCK_PAGES`](recrawl_repository::BLOCK_PAGES).
    pub block_pages: usize,
    /// Threads that unpack and pack blocks, besides the merging one; below 2 there are none. The
    /// result does not depend on it.
    pub threads: usize,
    /// Decides visits that could not be compared when they were made.
    pub judge: Judge<'j>,
    /// Measures how far modification dates and pings can be trusted.
    pub on_comparison: OnComparison<'j>,
    /// Learns from pages visited for the first time.
    pub on_first_visit: OnFirstVisit<'j>,
    /// Learns from URLs that were tried.
    pub on_tried: OnTried<'j>,
    /// Learns of new URLs.
    pub on_found: OnFound<'j>,
    /// Learns of new URLs that were dropped.
    pub on_dropped: OnDropped<'j>,
    /// Reports progress. The numbers add up to the pages of the old generation.
    pub on_progress: OnProgress<'j>,
}

/// Which links may wait. Rewriting a block costs the same for one link as for hundreds. So links to
/// otherwise untouched blocks wait until there are more, as VEUNI delays links to other servers
/// (Henrique et al., SPIRE 2011).
///
/// Three kinds of links never wait: links to an origin that the batch visits or seeds, to a block
/// that is touched anyway, and to a block in its turn. Each block has its turn once in `max_cycles`
/// cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Maximum cycles that a link waits; with 0 none waits.
    pub max_cycles: u32,
    /// Do blocks have their turn in this round? In one round of a cycle.
    pub has_turns: bool,
    /// Number of URLs waiting for one block at which they are merged.
    pub enough: usize,
}

impl<'j> MergeRules<'j> {
    /// Rules on one thread that drop no link, let none wait, and tell nobody what they find. Callers replace what
    /// they care about.
    pub fn unlimited(cycle: Cycle, judge: Judge<'j>) -> MergeRules<'j> {
        MergeRules {
            cycle,
            max_hops: u8::MAX,
            max_pages_per_host: u64::MAX,
            traps_of: &|_| None,
            waiting: Waiting { max_cycles: 0, has_turns: true, enough: 0 },
            block_pages: recrawl_repository::BLOCK_PAGES,
            threads: 1,
            judge,
            on_comparison: &|_, _, _| {},
            on_first_visit: &|_, _| {},
            on_tried: &|_, _| {},
            on_found: &|_, _| {},
            on_dropped: &|_, _| {},
            on_progress: &|_| {},
        }
    }
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

/// Merges `batch` into `generation` and writes every block of the next generation to `writer`,
/// which was begun from the old one. The result depends neither on runs nor on threads. Removes the
/// batch's runs at the end.
///
/// # Errors
/// If reading either side or writing fails. Drop `writer` then.
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
