//! The hosts of a plan in scan order, read while the plan scans their pages; and the arms of a trial that they are
//! divided into.

use crate::failure::Failure;
use crate::parts::improve::arms::Division;
use recrawl_fetcher::Unavailable;
use recrawl_repository::{Generation, OriginRun, OriginRuns, ReadError};
use recrawl_scheduler::{ArmRuns, DueFirst, HostPages, PlanError};
use recrawl_types::{Origin, Site};
use std::sync::Arc;

/// Arms of a trial, and all other sites.
const ARMS: usize = 3;

/// The hosts of a generation, or those of one arm.
pub(super) struct PlanHosts<'c> {
    runs: OriginRuns,
    unavailable: &'c Unavailable,
    now: u64,
    /// The arm whose hosts these are, and the arms of the origins that come.
    of_arm: Option<(usize, OriginArms)>,
}

impl<'c> PlanHosts<'c> {
    /// All hosts; `now` decides how many pages of unavailable ones may be planned.
    pub fn new(generation: &Generation, unavailable: &'c Unavailable, now: u64) -> PlanHosts<'c> {
        PlanHosts { runs: generation.origin_runs(), unavailable, now, of_arm: None }
    }
}

impl Iterator for PlanHosts<'_> {
    type Item = Result<HostPages, PlanError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let run = match self.runs.next_run() {
                Ok(run) => run?,
                Err(error) => return Some(Err(unread(error))),
            };
            if self.of_arm.as_mut().is_none_or(|(arm, arms)| arms.next() == Some(*arm)) {
                return Some(Ok(pages_of(run, self.unavailable, self.now)));
            }
        }
    }
}

/// The pages of an origin, and how many of them may be planned now.
fn pages_of(origin: &OriginRun, unavailable: &Unavailable, now: u64) -> HostPages {
    let named = if unavailable.is_empty() { None } else { origin.home().ok() };
    let at_most = named.and_then(|home| unavailable.at_most(&Origin::from_url(&home), now));
    HostPages { pages: origin.pages, at_most }
}

fn unread(error: ReadError) -> PlanError {
    PlanError::Read(Box::new(error))
}

/// The arms of origins in order.
#[derive(Clone)]
struct OriginArms {
    all: Arc<[u8]>,
    next: usize,
}

impl Iterator for OriginArms {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let arm = self.all.get(self.next)?;
        self.next += 1;
        Some(usize::from(*arm))
    }
}

/// All origins, divided into the arms of a trial. Memory: a byte an origin.
pub(super) struct Divided {
    pub division: Division,
    arms: OriginArms,
    /// Pages of each arm.
    pages: [u64; ARMS],
}

impl Divided {
    /// Divides the origins of a generation by their sites.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn read(division: Division, generation: &Generation) -> Result<Divided, Failure> {
        let mut all = Vec::with_capacity(generation.summary().origins as usize);
        let (mut pages, mut runs) = ([0; ARMS], generation.origin_runs());
        while let Some(run) = runs.next_run()? {
            let arm = division.arm(&Site::from_url(&run.home().map_err(Failure::work)?)).index();
            pages[arm] += run.pages;
            all.push(arm as u8);
        }
        Ok(Divided { division, arms: OriginArms { all: all.into(), next: 0 }, pages })
    }

    /// The pages of each origin, and its arm.
    pub fn runs(&self, generation: &Generation) -> ArmRuns {
        let (mut runs, mut arms) = (generation.origin_runs(), self.arms.clone());
        Box::new(std::iter::from_fn(move || match runs.next_run() {
            Ok(run) => Some(Ok((run?.pages, arms.next()?))),
            Err(error) => Some(Err(unread(error))),
        }))
    }

    /// The part of all pages that each arm has.
    pub fn parts(&self) -> [f64; ARMS] {
        let all = self.pages.iter().sum::<u64>().max(1) as f64;
        self.pages.map(|pages| pages as f64 / all)
    }

    /// The hosts of each arm.
    pub fn hosts<'c>(&self, all: impl Fn() -> PlanHosts<'c>) -> [PlanHosts<'c>; ARMS] {
        std::array::from_fn(|arm| PlanHosts { of_arm: Some((arm, self.arms.clone())), ..all() })
    }

    /// The pages of each arm that are due first, of all in order.
    ///
    /// # Errors
    /// When the origins cannot be read.
    pub fn first(
        &self,
        generation: &Generation,
        first: &[DueFirst],
    ) -> Result<[Vec<DueFirst>; ARMS], PlanError> {
        let mut of_arm: [Vec<DueFirst>; ARMS] = Default::default();
        let (mut runs, mut end, mut arm) = (self.runs(generation), 0, 0);
        for page in first {
            while end <= page.ordinal {
                let next = runs.next().unwrap_or(Err(PlanError::Hosts { pages: end, more: false }))?;
                (end, arm) = (end + next.0, next.1);
            }
            of_arm[arm].push(*page);
        }
        Ok(of_arm)
    }
}
