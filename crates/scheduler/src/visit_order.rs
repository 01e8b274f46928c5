//! The order in which the chosen pages of one host are visited.
//!
//! A cycle with a deadline or a budget may end before all pages of a host are visited, so the order
//! matters. [Promised](Share::Promised) pages come first, as they must be visited in time. Then it repeats these four
//! positions:
//!
//! | position | page |
//! |---|---|
//! | 1 | the longest wait since its last attempt or its discovery, of any share |
//! | 2, 4 | the next page of the audit sample, in the order drawn |
//! | 3 | the best page: the other shares in proportion to their pages at this host, each in its own order |
//!
//! Explored URLs are in the order of discovery, and the first there.
//!
//! When the audit has no pages left, its positions go to the others in turn. The audit has two of
//! four positions, so that its pages are visited with their recorded probability. It does not have
//! all positions, since a slow host would then visit no other page.
//!
//! Never-fetched URLs that look like a trap's have every fourth position of the whole, in an order of their
//! own, while other pages wait. If there are any, the others have three of four visits each cycle, so r below
//! is three quarters of them.
//!
//! **Bound.** Let a page p that is neither promised nor suspected be due in each cycle. Let at most N pages of its host be due. Consider
//! only cycles that visit the host, and let each visit at least r ≥ 1 of its pages beyond promised ones. Then p is
//! visited at the latest in the ⌈N / ⌈r/4⌉⌉th of them. *Proof.* At least ⌈r/4⌉ of the first r
//! positions are of the first kind. Let A be the pages that have waited at least as long as p,
//! including p: at most N pages. While p is not visited, no page joins A. A page outside A has
//! waited less, and all waits grow by one per cycle. Positions of the first kind go to pages of A
//! while any of them is unvisited in the cycle, and a visited page leaves A. So each cycle removes
//! at least ⌈r/4⌉ pages from A, or empties it. ∎

use recrawl_types::{Cycle, PageRecord, Share};

/// Other pages for each that looks like a trap's.
const SUSPECTED_AFTER: usize = 3;

/// A chosen page of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DuePage {
    /// The share that chose it.
    pub share: Share,
    /// Its position in the order of that share. Lower is earlier.
    pub rank: u64,
    /// Cycles since its last attempt or its discovery.
    pub waiting: u32,
    /// Was it never fetched, and does it look like a trap's?
    pub is_suspected: bool,
}

impl DuePage {
    /// Makes it from a chosen page and its record before the cycle.
    pub fn new(share: Share, rank: u64, record: &PageRecord, cycle: Cycle) -> DuePage {
        let known = &record.known;
        let waiting = cycle.since(known.last_attempt.max(known.discovered));
        DuePage { share, rank, waiting, is_suspected: false }
    }
}

/// The visit order of one host's pages, as indexes into `pages`. Memory: 24 bytes per page.
pub fn visit_order(pages: &[DuePage]) -> Vec<u32> {
    let (suspected, others): (Vec<u32>, Vec<u32>) = (0..pages.len() as u32).partition(|page| {
        let page = pages[*page as usize];
        page.is_suspected && page.share != Share::Promised
    });
    let mut others = in_turns(others, pages).into_iter();
    if suspected.is_empty() {
        return others.collect();
    }
    let mut suspected = in_turns(suspected, pages).into_iter();
    let mut order = Vec::with_capacity(pages.len());
    while order.len() < pages.len() {
        order.extend(others.by_ref().take(SUSPECTED_AFTER));
        order.extend(suspected.next());
    }
    order
}

/// The order of these pages, by the four positions.
fn in_turns(chosen: Vec<u32>, pages: &[DuePage]) -> Vec<u32> {
    let (of, count) = (|page: &u32| pages[*page as usize], chosen.len());
    let (promised, others): (Vec<u32>, Vec<u32>) =
        chosen.into_iter().partition(|page| of(page).share == Share::Promised);
    let (audit, others): (Vec<u32>, Vec<u32>) = others.into_iter().partition(|page| is_drawn(of(page).share));
    let audit = sorted(audit, |page| of(page).rank);
    let best = interleaved(others, pages);
    let longest =
        sorted(best.iter().chain(&audit).copied().collect(), |page| std::cmp::Reverse(of(page).waiting));
    let mut queues = [longest, audit, best].map(Vec::into_iter);
    let mut taken = vec![false; pages.len()];
    let mut order = Vec::with_capacity(count);
    order.extend(sorted(promised, |page| of(page).rank));
    for queue in [0, 1, 2, 1].into_iter().cycle() {
        if order.len() == count {
            break;
        }
        if let Some(page) = queues[queue].find(|page| !taken[*page as usize]) {
            taken[page as usize] = true;
            order.push(page);
        }
    }
    order
}

/// Is the page of a sample? A deadline must not choose among these.
fn is_drawn(share: Share) -> bool {
    matches!(share, Share::Audit(_) | Share::Contested(_) | Share::Panel)
}

/// Sorts by a key. The sort is stable.
fn sorted<K: Ord>(mut pages: Vec<u32>, key: impl Fn(&u32) -> K) -> Vec<u32> {
    pages.sort_by_key(key);
    pages
}

/// Interleaves shares in proportion: the i-th of n pages of a share is at (2i + 1) / 2n of the
/// whole.
fn interleaved(pages: Vec<u32>, all: &[DuePage]) -> Vec<u32> {
    let of = |page: &u32| all[*page as usize];
    let kind = |share: Share| match share {
        Share::Announced => 0,
        Share::Score => 1,
        Share::Warmup => 2,
        Share::Discovery | Share::Explored(_) => 3,
        Share::Audit(_) | Share::Contested(_) | Share::Panel => 4,
        Share::Followed | Share::Asked | Share::Promised => 4,
    };
    let pages = sorted(pages, |page| (kind(of(page).share), of(page).rank));
    let mut placed = Vec::with_capacity(pages.len());
    for share in pages.chunk_by(|a, b| kind(of(a).share) == kind(of(b).share)) {
        let place = |i: usize| (2 * i as u64 + 1) * u64::from(u32::MAX) / (2 * share.len() as u64);
        placed.extend(share.iter().enumerate().map(|(i, page)| (place(i), *page)));
    }
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, page)| page).collect()
}

#[cfg(test)]
mod tests;
