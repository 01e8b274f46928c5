//! The limit on the pages of one host.
//!
//! Pages of one host are consecutive, so its candidates are complete when its last page was scanned.
//! Then its warm-up takes places first, up to the limit; what the limit leaves are its *slots*. Of its
//! other candidates only the best few can ever be chosen, and only those go on to compete with the
//! pages of other hosts: the best `slots` by score, the best `slots` for discovery.
//!
//! That is exact: once `slots` candidates of one order were passed, each was either chosen, or stood in
//! the audit sample, or found its host full; in the first two cases it holds a slot.

use crate::chosen::{Choice, ChosenBy};
use crate::pools::Pools;
use crate::runs::Runs;
use crate::{PlanError, TieBreak};
use std::io;

/// The pages of a host, which are consecutive in the scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPages {
    /// How many.
    pub pages: u64,
    /// How many of them a cycle may choose, where that is fewer than `max_per_host` allows. None of them is in the
    /// audit sample: most of those drawn would have no place.
    pub at_most: Option<u64>,
}

impl From<u64> for HostPages {
    fn from(pages: u64) -> HostPages {
        HostPages { pages, at_most: None }
    }
}

/// Divides the scan into hosts.
pub(crate) struct Hosts<H> {
    lengths: H,
    limit: u64,
    /// The candidates of the host that is being scanned.
    pub pools: Pools,
    /// Its first page, and how many of its pages are still to come.
    start: u64,
    left: u64,
    /// Its limit; and is it its own?
    at_most: u64,
    is_audited: bool,
    host_slots: Vec<LimitedHost>,
}

/// A host with more candidates than slots, or a limit of its own: the only kind whose places must be counted. 48 bytes;
/// of the first kind at most one in `max_per_host` pages.
#[derive(Clone, Copy, Debug)]
struct LimitedHost {
    start: u64,
    end: u64,
    slots: u64,
    used: u64,
    drawn: u64,
    /// Are its pages in the audit's population?
    is_audited: bool,
}

impl<H: Iterator<Item: Into<HostPages>>> Hosts<H> {
    /// For hosts of these lengths; `pools` are those of one host.
    pub fn new(lengths: H, limit: u64, pools: Pools) -> Hosts<H> {
        Hosts {
            lengths,
            limit,
            pools,
            start: 0,
            left: 0,
            at_most: limit,
            is_audited: true,
            host_slots: Vec::new(),
        }
    }

    /// How many of the next `rows` pages, the first of which is `ordinal`, are of one host.
    pub fn next_run(&mut self, ordinal: u64, rows: usize) -> Result<usize, PlanError> {
        while self.left == 0 {
            self.start = ordinal;
            let next = self.lengths.next().ok_or(PlanError::Hosts { pages: ordinal, more: false })?;
            let HostPages { pages, at_most } = next.into();
            self.left = pages;
            self.at_most = at_most.map_or(self.limit, |at_most| at_most.min(self.limit));
            self.is_audited = at_most.is_none();
        }
        Ok(usize::try_from(self.left).unwrap_or(usize::MAX).min(rows))
    }

    /// Counts `rows` pages as scanned, and hands the candidates of a host that is complete on to `all`, its warm-up to
    /// `choice`.
    pub fn advance(
        &mut self,
        ordinal: u64,
        rows: usize,
        ties: &TieBreak,
        all: &mut Pools,
        choice: &mut Choice,
        disk: &mut Runs,
    ) -> io::Result<()> {
        self.left -= rows as u64;
        if self.left > 0 {
            return Ok(());
        }
        let own = &mut self.pools;
        let mut slots = self.at_most;
        if let Some(warmup) = &mut own.warmup {
            warmup.drain(self.at_most, disk, |page, disk| {
                slots -= 1;
                choice.push(ties.ordinal(page), ChosenBy::Warmup, page.key, disk)
            })?;
        }
        own.discovery.drain(slots, disk, |page, disk| all.discovery.offer(page, disk))?;
        own.score.drain(slots, disk, |page, disk| all.score.offer(page, disk))?;
        own.announced.drain(slots, disk, |page, disk| all.announced.offer(page, disk))?;
        // A host without slots has no page in the audit sample, so none is eligible for it.
        let is_audited = self.is_audited && slots > 0;
        own.audit
            .drain(if is_audited { u64::MAX } else { 0 }, disk, |image, disk| all.audit.offer(image, disk))?;
        if is_audited {
            all.eligible += own.eligible;
        }
        if slots > 0 && (own.eligible + own.unfetched > slots || !is_audited) {
            let end = ordinal + rows as u64;
            self.host_slots.push(LimitedHost {
                start: self.start,
                end,
                slots,
                used: 0,
                drawn: 0,
                is_audited,
            });
        }
        (own.eligible, own.unfetched) = (0, 0);
        Ok(())
    }

    /// The hosts whose places must be counted, after the last of `pages` pages.
    pub fn finish(mut self, pages: u64) -> Result<HostSlots, PlanError> {
        if self.left > 0 || self.lengths.any(|host| host.into().pages > 0) {
            return Err(PlanError::Hosts { pages, more: true });
        }
        Ok(HostSlots(self.host_slots))
    }
}

/// Counts the places of hosts with more candidates than slots; all other hosts have room for all.
#[derive(Debug, Default)]
pub(crate) struct HostSlots(Vec<LimitedHost>);

impl HostSlots {
    /// Where the page's host stands, if it is here.
    fn place(&self, ordinal: u64) -> Option<usize> {
        let at = self.0.partition_point(|host| host.start <= ordinal).checked_sub(1)?;
        (ordinal < self.0[at].end).then_some(at)
    }

    fn of(&mut self, ordinal: u64) -> Option<&mut LimitedHost> {
        self.place(ordinal).map(|at| &mut self.0[at])
    }

    /// Gives the page a slot of its host, if there is one.
    pub fn admit(&mut self, ordinal: u64) -> bool {
        match self.of(ordinal) {
            Some(host) if host.used == host.slots => false,
            Some(host) => {
                host.used += 1;
                true
            }
            None => true,
        }
    }

    /// Could the page be drawn for the audit sample?
    pub fn is_audited(&self, ordinal: u64) -> bool {
        self.place(ordinal).is_none_or(|at| self.0[at].is_audited)
    }

    /// Notes that the page was drawn for the audit sample.
    pub fn note_drawn(&mut self, ordinal: u64) {
        if let Some(host) = self.of(ordinal) {
            host.drawn += 1;
        }
    }

    /// The share of its host's drawn pages for which there are slots.
    pub fn kept_share(&self, ordinal: u64) -> f64 {
        self.place(ordinal).map_or(1.0, |at| {
            let LimitedHost { drawn, slots, .. } = self.0[at];
            drawn.min(slots) as f64 / drawn as f64
        })
    }
}
