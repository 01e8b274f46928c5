//! In which order a host is asked for the pages that were chosen there.
//!
//! A cycle with a deadline or a budget may end before a host's pages do, so the order decides who is left out. Four places
//! in a row are dealt like this:
//!
//! | place | the page |
//! |---|---|
//! | 1 | that has waited longest since its last attempt, or since it was discovered, whatever its share |
//! | 2, 4 | of the audit sample that was drawn first |
//! | 3 | that is best: the other shares in proportion to their pages at this host, each in its own order |
//!
//! Where the audit has none left, its places go to the others in turn. The audit has two places of four, so that its pages
//! come out with the probability that they are recorded with; it does not have all, since a slow host would never reach
//! a page that was not drawn.
//!
//! **Bound.** A page that is due in each cycle, at a host of which at most N pages are due and at least r ≥ 1 are visited
//! in each cycle that gives it a turn, is visited at the latest in the ⌈N / ⌈r/4⌉⌉th of those cycles. *Proof.* Of the
//! first r places at least ⌈r/4⌉ are of the first kind. Let A be the pages that have waited at least as long as page p; it
//! has at most N members, p among them. While p is not visited, nobody enters A: who is not in it has waited less, and
//! waiting grows by one a cycle for all. The places of the first kind go to pages of A as long as there are any that
//! were not visited in the cycle, and a visit ends a page's membership. So A loses at least ⌈r/4⌉ pages in each such
//! cycle, or is empty after it. ∎

use recrawl_types::{Cycle, PageRecord, Share};

/// A page that was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DuePage {
    /// Which share chose it.
    pub share: Share,
    /// Its place in the order of that share: the lower the earlier.
    pub rank: u64,
    /// For how many cycles it has waited.
    pub waiting: u32,
}

impl DuePage {
    /// A page that was chosen for this cycle, with the record that it has before it.
    pub fn of(share: Share, rank: u64, record: &PageRecord, cycle: Cycle) -> DuePage {
        let known = &record.known;
        DuePage { share, rank, waiting: cycle.since(known.last_attempt.max(known.discovered)) }
    }
}

/// The order in which pages of one host are asked for, as places in `pages`. Memory: 24 bytes a page.
pub fn visit_order(pages: &[DuePage]) -> Vec<u32> {
    let (audit, others): (Vec<u32>, Vec<u32>) =
        (0..pages.len() as u32).partition(|&page| matches!(pages[page as usize].share, Share::Audit(_)));
    let of = |page: &u32| pages[*page as usize];
    let audit = sorted(audit, |page| of(page).rank);
    let best = in_proportion(others, pages);
    let longest =
        sorted(best.iter().chain(&audit).copied().collect(), |page| std::cmp::Reverse(of(page).waiting));
    let mut queues = [longest, audit, best].map(Vec::into_iter);
    let mut dealt = vec![false; pages.len()];
    let mut order = Vec::with_capacity(pages.len());
    for turn in [0, 1, 2, 1].into_iter().cycle() {
        if order.len() == pages.len() {
            break;
        }
        if let Some(page) = queues[turn].find(|page| !dealt[*page as usize]) {
            dealt[page as usize] = true;
            order.push(page);
        }
    }
    order
}

/// Sorted by a key; pages with equal keys keep their order.
fn sorted<K: Ord>(mut pages: Vec<u32>, key: impl Fn(&u32) -> K) -> Vec<u32> {
    pages.sort_by_key(key);
    pages
}

/// Shares in proportion: the i-th of n pages of a share stands at (2i + 1) / 2n of the whole.
fn in_proportion(pages: Vec<u32>, all: &[DuePage]) -> Vec<u32> {
    let of = |page: &u32| all[*page as usize];
    let kind = |share: Share| match share {
        Share::Announced => 0,
        Share::Score => 1,
        Share::Warmup => 2,
        Share::Discovery => 3,
        Share::Audit(_) | Share::Followed | Share::Asked => 4,
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
