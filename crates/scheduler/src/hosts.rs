//! The limit on pages per host.
//!
//! Pages of one host are consecutive, so its candidates are complete after its last page. Its
//! warm-up pages come first, up to the limit. The rest of the limit are its *slots*. Only its best
//! candidates can be chosen: the best `slots` by score and the best `slots` for discovery. Only
//! these compete with pages of other hosts.
//!
//! This is exact. Let `slots` candidates of one order be rejected or chosen before another. Each of
//! them was chosen, was in the audit sample, or found its host full. In the first two cases it
//! holds a slot, so the host is full by then.

use crate::chosen::{ChosenBy, ChosenEntry};
use crate::expected::ExpectedChanges;
use crate::pools::Pools;
use crate::runs::Runs;
use crate::{PlanError, TieBreak};
use std::io;

/// The pages of a host, which are consecutive in the scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPages {
    /// Number of pages.
    pub pages: u64,
    /// Limit of this host in a cycle, if it is lower than `max_per_host`. Its pages are not in the
    /// audit sample, since most drawn pages would get no slot.
    pub at_most: Option<u64>,
}

impl From<u64> for HostPages {
    fn from(pages: u64) -> HostPages {
        HostPages { pages, at_most: None }
    }
}

/// So hosts can be read from a file while they are scanned.
impl TryFrom<Result<HostPages, PlanError>> for HostPages {
    type Error = PlanError;

    fn try_from(read: Result<HostPages, PlanError>) -> Result<HostPages, PlanError> {
        read
    }
}

/// Hosts in scan order: their pages, or an error if they cannot be read.
pub trait ScanHosts: Iterator<Item: TryInto<HostPages, Error: Into<PlanError>>> {
    /// The next host; none at the end.
    ///
    /// # Errors
    /// When it cannot be read.
    fn next_host(&mut self) -> Result<Option<HostPages>, PlanError> {
        self.next().map(|host| host.try_into().map_err(Into::into)).transpose()
    }
}

impl<H: Iterator<Item: TryInto<HostPages, Error: Into<PlanError>>>> ScanHosts for H {}

/// Divides the scan into hosts.
pub(crate) struct HostDivider<H> {
    lengths: H,
    limit: u64,
    /// Limit in this round alone.
    in_round: u64,
    /// Candidates of the current host.
    pub pools: Pools,
    /// Its first page, and the number of its pages still to come.
    start: u64,
    left: u64,
    /// Its limit, and whether its pages are in the audit's population.
    at_most: u64,
    is_audited: bool,
    limited_hosts: Vec<LimitedHost>,
}

/// A host with more candidates than slots, or with its own limit. Only its slots must be counted.
/// 48 bytes; there is at most one of the first kind per `max_per_host` pages.
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

impl<H: ScanHosts> HostDivider<H> {
    /// `lengths` are the hosts in order; `pools` are those of one host.
    pub fn new(lengths: H, limit: u64, in_round: u64, pools: Pools) -> HostDivider<H> {
        HostDivider {
            lengths,
            limit,
            in_round,
            pools,
            start: 0,
            left: 0,
            at_most: limit,
            is_audited: true,
            limited_hosts: Vec::new(),
        }
    }

    /// How many of the next `rows` pages, from `ordinal` on, belong to one host.
    pub fn next_run(&mut self, ordinal: u64, rows: usize) -> Result<usize, PlanError> {
        while self.left == 0 {
            self.start = ordinal;
            let next = self.lengths.next_host()?;
            let HostPages { pages, at_most } =
                next.ok_or(PlanError::Hosts { pages: ordinal, more: false })?;
            self.left = pages;
            self.at_most = at_most.map_or(self.limit, |at_most| at_most.min(self.limit));
            self.is_audited = at_most.is_none();
        }
        Ok(usize::try_from(self.left).unwrap_or(usize::MAX).min(rows))
    }

    /// Counts `rows` pages as scanned. If the host is complete, moves its candidates to `all` and
    /// its warm-up to `choice`.
    pub fn advance(
        &mut self,
        ordinal: u64,
        rows: usize,
        ties: &TieBreak,
        all: &mut Pools,
        choice: &mut ChosenEntry,
        disk: &mut Runs,
    ) -> io::Result<()> {
        self.left -= rows as u64;
        if self.left > 0 {
            return Ok(());
        }
        let own = &mut self.pools;
        // Pages that earlier rounds of the cycle tried count against the limit as well.
        let limit = self.at_most.saturating_sub(own.tried).min(self.in_round);
        let mut slots = limit;
        if let Some(warmup) = &mut own.warmup {
            warmup.drain(limit, disk, |page, disk| {
                slots -= 1;
                choice.push(ties.ordinal(page), ChosenBy::Warmup, page.key, f32::NAN, disk)
            })?;
        }
        if let Some(first) = &mut own.first {
            for page in first.drain(..).take(usize::try_from(slots).unwrap_or(usize::MAX)) {
                slots -= 1;
                page.choose(choice, disk)?;
            }
        }
        // No candidate of the host behind the best `slots` can be chosen: see the head of this file.
        own.discovery.drain(slots, disk, |page, disk| all.discovery.offer(page, disk))?;
        own.score.drain(slots, disk, |page, disk| all.score.offer(page, disk))?;
        own.announced.drain(slots, disk, |page, disk| all.announced.offer(page, disk))?;
        // A host without slots has no audit pages, so none of its pages is eligible.
        let is_audited = self.is_audited && slots > 0;
        own.audit
            .drain(if is_audited { u64::MAX } else { 0 }, disk, |page, disk| all.audit.offer(page, disk))?;
        if is_audited {
            all.eligible += own.eligible;
            all.expected += own.expected;
        }
        // Only a host with more candidates than slots can become full: of others, nothing needs to be stored.
        if slots > 0 && (own.eligible + own.unfetched > slots || !is_audited) {
            let end = ordinal + rows as u64;
            self.limited_hosts.push(LimitedHost {
                start: self.start,
                end,
                slots,
                used: 0,
                drawn: 0,
                is_audited,
            });
        }
        (own.eligible, own.unfetched, own.tried) = (0, 0, 0);
        own.expected = ExpectedChanges::default();
        Ok(())
    }

    /// The hosts whose slots must be counted, after the last of `pages` pages.
    pub fn finish(mut self, pages: u64) -> Result<HostSlots, PlanError> {
        let mut left = self.left;
        while left == 0
            && let Some(host) = self.lengths.next_host()?
        {
            left = host.pages;
        }
        if left > 0 {
            return Err(PlanError::Hosts { pages, more: true });
        }
        Ok(HostSlots(self.limited_hosts))
    }
}

/// Counts the slots of hosts with more candidates than slots. All other hosts have enough.
#[derive(Debug, Default)]
pub(crate) struct HostSlots(Vec<LimitedHost>);

impl HostSlots {
    /// Index of the page's host, if its slots are counted.
    fn index(&self, ordinal: u64) -> Option<usize> {
        let at = self.0.partition_point(|host| host.start <= ordinal).checked_sub(1)?;
        (ordinal < self.0[at].end).then_some(at)
    }

    fn host_mut(&mut self, ordinal: u64) -> Option<&mut LimitedHost> {
        self.index(ordinal).map(|at| &mut self.0[at])
    }

    /// Takes a slot of the page's host; false if there is none.
    pub fn admit(&mut self, ordinal: u64) -> bool {
        match self.host_mut(ordinal) {
            Some(host) if host.used == host.slots => false,
            Some(host) => {
                host.used += 1;
                true
            }
            None => true,
        }
    }

    pub fn is_audited(&self, ordinal: u64) -> bool {
        self.index(ordinal).is_none_or(|at| self.0[at].is_audited)
    }

    /// Records that the page was drawn for the audit sample.
    pub fn note_drawn(&mut self, ordinal: u64) {
        if let Some(host) = self.host_mut(ordinal) {
            host.drawn += 1;
        }
    }

    /// The share of the host's drawn pages that get a slot.
    pub fn share_with_slots(&self, ordinal: u64) -> f64 {
        self.index(ordinal).map_or(1.0, |at| {
            let LimitedHost { drawn, slots, .. } = self.0[at];
            drawn.min(slots) as f64 / drawn as f64
        })
    }
}
