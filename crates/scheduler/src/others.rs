//! One choice by several planners, each of which has a part of the pages: how they agree.
//!
//! Every order is total, so what all choose is {x ≤ bar}: one bar an order, the item of a rank. Each planner tells of its items
//! how many there are and some of them in even steps; from what all tell, each computes the same narrower bounds. Even steps
//! need no guess where the bar is, and ties and clustered scores do not matter: of n items in all, some n / 2,000 are left
//! after an exchange, and where each planner has at most 4,096 left, all are named and the bar is exact.
//!
//! With a limit on pages per host, a chosen page whose host is full is not replaced: then all choose a few less than one
//! planner would.

mod order;

pub(crate) use order::ItemOrder;

use crate::candidate::RankedPage;
use crate::runs::{Runs, Spillable};
use std::io::{self, ErrorKind};

/// Gives what each planner told, in the order of their pages, for what this one tells. All call it equally often.
pub type Gather<'g> = dyn FnMut(&[u8]) -> io::Result<Vec<Vec<u8>>> + 'g;

/// Items that a planner names at most in an exchange.
const NAMED: usize = 4096;
/// Exchanges after which others do not tell the truth: each leaves a thousandth.
const MAX_EXCHANGES: usize = 16;

/// The other planners.
pub(crate) struct Others<'o, 'g> {
    gather: &'o mut Gather<'g>,
    /// Items named in an exchange at most. With a dozen and more, each exchange leaves fewer items.
    named: usize,
}

/// A planner's account of its items within bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlannerSummary {
    /// Items before them.
    pub below: u64,
    /// Items within.
    pub within: u64,
    /// Every so many-th of these is named.
    pub step: u64,
    pub named: Vec<RankedPage>,
}

/// Where a bar is.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    rank: u64,
    above: Option<RankedPage>,
    up_to: Option<RankedPage>,
    /// Is it `up_to`?
    is_exact: bool,
}

impl<'o, 'g> Others<'o, 'g> {
    pub fn new(gather: &'o mut Gather<'g>) -> Others<'o, 'g> {
        Others { gather, named: NAMED }
    }

    /// The sums of these numbers.
    pub fn sum<const N: usize>(&mut self, own: [u64; N]) -> io::Result<[u64; N]> {
        let mut message = Vec::new();
        own.into_iter().for_each(|number| number.put(&mut message));
        let mut sums = [0u64; N];
        for (planner, told) in (self.gather)(&message)?.iter().enumerate() {
            let mut rest = &told[..];
            for sum in &mut sums {
                let number = u64::read(&mut rest).map_err(|_| untrue(planner))?;
                *sum = sum.checked_add(number).ok_or_else(|| untrue(planner))?;
            }
        }
        Ok(sums)
    }

    /// The items of these ranks among those of all, counted from 1; none for rank 0. As many items must be there.
    pub fn bars<const N: usize>(
        &mut self,
        ranks: [u64; N],
        mut own: [&mut ItemOrder; N],
        disk: &mut Runs,
    ) -> io::Result<[Option<RankedPage>; N]> {
        let mut all = ranks.map(|rank| Bounds { rank, above: None, up_to: None, is_exact: rank == 0 });
        for _ in 0..MAX_EXCHANGES {
            if all.iter().all(|bounds| bounds.is_exact) {
                return Ok(all.map(|bounds| bounds.up_to));
            }
            let mut message = Vec::new();
            for (bounds, order) in all.iter().zip(&mut own).filter(|(bounds, _)| !bounds.is_exact) {
                order.summary(bounds.above, bounds.up_to, self.named, disk)?.put(&mut message);
            }
            let told = (self.gather)(&message)?;
            let mut rests: Vec<&[u8]> = told.iter().map(|told| &told[..]).collect();
            for bounds in all.iter_mut().filter(|bounds| !bounds.is_exact) {
                let take = |(planner, rest): (usize, &mut &[u8])| {
                    PlannerSummary::take(rest)
                        .and_then(|told| told.check(bounds))
                        .ok_or_else(|| untrue(planner))
                };
                let told =
                    rests.iter_mut().enumerate().map(take).collect::<io::Result<Vec<PlannerSummary>>>()?;
                *bounds = bounds.narrowed(&told).ok_or_else(|| untrue(0))?;
            }
        }
        Err(untrue(0))
    }
}

/// Says that others told what cannot be.
fn untrue(planner: usize) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("planner {planner} of a shared plan tells what cannot be"))
}

impl PlannerSummary {
    fn put(&self, out: &mut Vec<u8>) {
        let PlannerSummary { below, within, step, named } = self;
        [*below, *within, *step, named.len() as u64].into_iter().for_each(|number| number.put(out));
        named.iter().for_each(|item| item.put(out));
    }

    fn take(rest: &mut &[u8]) -> Option<PlannerSummary> {
        let mut number = || u64::read(rest).ok();
        let (below, within, step, count) = (number()?, number()?, number()?, number()?);
        if count > NAMED as u64 || count.checked_mul(step)? > within || within - count * step >= step {
            return None;
        }
        let named: Option<Vec<RankedPage>> = (0..count).map(|_| RankedPage::read(rest).ok()).collect();
        Some(PlannerSummary { below, within, step, named: named? })
    }

    /// Are its items in order, and within these bounds?
    fn check(self, bounds: &Bounds) -> Option<PlannerSummary> {
        let is_within = |item: &RankedPage| {
            bounds.above.is_none_or(|above| above < *item) && bounds.up_to.is_none_or(|up_to| *item <= up_to)
        };
        let is_sound = self.named.iter().all(is_within) && self.named.is_sorted_by(|a, b| a < b);
        is_sound.then_some(self)
    }
}

impl Bounds {
    /// Closer bounds, from what all tell; none if there are no such.
    ///
    /// Let L(x) be the steps of the items up to x that are named. At least L(x) items are up to x, and fewer than L(x) + S,
    /// where S is the sum of all steps − 1, and 1.
    fn narrowed(self, told: &[PlannerSummary]) -> Option<Bounds> {
        let sum = |of: &dyn Fn(&PlannerSummary) -> u64| {
            told.iter().map(of).try_fold(0u64, |sum, number| sum.checked_add(number))
        };
        let (below, within) = (sum(&|told| told.below)?, sum(&|told| told.within)?);
        let slack = sum(&|told| told.step - 1)?;
        let rank = self.rank.checked_sub(below).filter(|rank| (1..=within).contains(rank))?;
        let steps = told.iter().flat_map(|told| told.named.iter().map(|item| (*item, told.step)));
        let mut named: Vec<(RankedPage, u64)> = steps.collect();
        named.sort_unstable();
        let (mut next, mut counted) = (self, 0u64);
        for (item, step) in named {
            counted += step;
            if counted >= rank {
                next.up_to = Some(item);
                break;
            }
            if counted.checked_add(slack)? < rank {
                next.above = Some(item);
            }
        }
        next.is_exact = slack == 0;
        (!next.is_exact || next.up_to.is_some()).then_some(next)
    }
}

#[cfg(test)]
mod tests;
