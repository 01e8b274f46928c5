//! The limit on the pages of one host.
//!
//! Pages of one host are consecutive, so its candidates are complete when its last page was scanned.
//! Then its warm-up takes places first, up to the limit; what the limit leaves are its *slots*. Of its
//! other candidates only the best few can ever be chosen, and only those go on to compete with the
//! pages of other hosts: the best `slots` by score, the best `slots` for discovery.
//!
//! That is exact: once `slots` candidates of one order were passed, each was either chosen, or stood in
//! the audit sample, or found its host full; in the first two cases it holds a slot.

use crate::PlanError;
use crate::pools::Pools;

/// Divides the scan into hosts.
#[derive(Debug)]
pub(crate) struct Hosts<H> {
    lengths: H,
    limit: u64,
    /// The candidates of the host that is being scanned.
    pub pools: Pools,
    /// Its first page, and how many of its pages are still to come.
    start: u64,
    left: u64,
    crowds: Vec<Crowd>,
}

/// A host with more candidates than slots: the only kind whose places must be counted. 40 bytes, for at
/// most one in `max_per_host` pages.
#[derive(Clone, Copy, Debug)]
struct Crowd {
    start: u64,
    end: u64,
    slots: u64,
    used: u64,
    drawn: u64,
}

impl<H: Iterator<Item = u64>> Hosts<H> {
    /// For hosts of these lengths; `pools` are those of one host.
    pub fn new(lengths: H, limit: u64, pools: Pools) -> Hosts<H> {
        Hosts { lengths, limit, pools, start: 0, left: 0, crowds: Vec::new() }
    }

    /// How many of the next `rows` pages, the first of which is `ordinal`, are of one host.
    pub fn next_run(&mut self, ordinal: u64, rows: usize) -> Result<usize, PlanError> {
        while self.left == 0 {
            self.start = ordinal;
            self.left = self.lengths.next().ok_or(PlanError::Hosts { pages: ordinal, more: false })?;
        }
        Ok(usize::try_from(self.left).unwrap_or(usize::MAX).min(rows))
    }

    /// Counts `rows` pages as scanned, and hands the candidates of a host that is complete on to `all`.
    pub fn advance(&mut self, ordinal: u64, rows: usize, all: &mut Pools) {
        self.left -= rows as u64;
        if self.left > 0 {
            return;
        }
        let own = &mut self.pools;
        let mut slots = self.limit;
        for page in own.warmup.drain(self.limit) {
            all.warmup.offer(page);
            slots -= 1;
        }
        own.discovery.drain(slots).for_each(|page| all.discovery.offer(page));
        own.score.drain(slots).for_each(|page| all.score.offer(page));
        own.announced.drain(slots).for_each(|page| all.announced.offer(page));
        // A host without slots has no page in the audit sample, so none is eligible for it.
        own.audit.drain(if slots > 0 { u64::MAX } else { 0 }).for_each(|page| all.audit.offer(page));
        if slots > 0 {
            all.eligible += own.eligible;
            if own.eligible + own.unfetched > slots {
                let end = ordinal + rows as u64;
                self.crowds.push(Crowd { start: self.start, end, slots, used: 0, drawn: 0 });
            }
        }
        (own.eligible, own.unfetched) = (0, 0);
    }

    /// The hosts whose places must be counted, after the last of `pages` pages.
    pub fn finish(mut self, pages: u64) -> Result<Crowds, PlanError> {
        if self.left > 0 || self.lengths.any(|length| length > 0) {
            return Err(PlanError::Hosts { pages, more: true });
        }
        Ok(Crowds(self.crowds))
    }
}

/// Counts the places of hosts with more candidates than slots; all other hosts have room for all.
#[derive(Debug, Default)]
pub(crate) struct Crowds(Vec<Crowd>);

impl Crowds {
    fn of(&mut self, ordinal: u64) -> Option<&mut Crowd> {
        let after = self.0.partition_point(|crowd| crowd.start <= ordinal);
        self.0[..after].last_mut().filter(|crowd| ordinal < crowd.end)
    }

    /// Has the page's host a free slot?
    pub fn has_room(&mut self, ordinal: u64) -> bool {
        self.of(ordinal).is_none_or(|crowd| crowd.used < crowd.slots)
    }

    /// Gives the page a slot of its host, if there is one.
    pub fn admit(&mut self, ordinal: u64) -> bool {
        match self.of(ordinal) {
            Some(crowd) if crowd.used == crowd.slots => false,
            Some(crowd) => {
                crowd.used += 1;
                true
            }
            None => true,
        }
    }

    /// Notes that the page was drawn for the audit sample.
    pub fn note_drawn(&mut self, ordinal: u64) {
        if let Some(crowd) = self.of(ordinal) {
            crowd.drawn += 1;
        }
    }

    /// The share of its host's drawn pages for which there are slots.
    pub fn kept_share(&mut self, ordinal: u64) -> f64 {
        self.of(ordinal).map_or(1.0, |crowd| crowd.drawn.min(crowd.slots) as f64 / crowd.drawn as f64)
    }
}
