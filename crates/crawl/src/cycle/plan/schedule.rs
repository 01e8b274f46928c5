//! Writes a round's schedule: chosen and carried pages and new seeds, in the order of their URLs.

use super::NewSeed;
use super::measure::Standings;
use crate::cycle::carry::Carried;
use crate::failure::Failure;
use crate::parts::traps::Traps;
use crate::progress::figures::RoundProgress;
use recrawl_archive::cap::Bodies;
use recrawl_repository::{Generation, Ranked, ScheduleWriter};
use recrawl_scheduler::visit_order::{DuePage, visit_order};
use recrawl_scheduler::{ChosenPage, PlanError};
use recrawl_types::{CanonicalUrl, Cycle, ScheduleEntry, Share};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::iter::Peekable;

/// The order in which a host's pages are requested.
pub(super) fn in_turn(pages: &[Ranked], cycle: Cycle, traps: &Traps) -> Vec<u32> {
    let due = |Ranked { entry, rank }: &Ranked| DuePage {
        is_suspected: entry.record.visited.is_none() && traps.suspects(&entry.url),
        ..DuePage::new(entry.share, *rank, &entry.record, cycle)
    };
    visit_order(&pages.iter().map(due).collect::<Vec<_>>())
}

/// Writes the chosen pages and the others in URL order.
pub(super) fn write(
    live: &RoundProgress,
    writer: &mut ScheduleWriter<'_>,
    generation: &Generation,
    chosen: impl Iterator<Item = Result<ChosenPage, PlanError>>,
    mut others: Unranked<'_, '_>,
    bodies: &Bodies,
    mut standings: Option<&mut Standings>,
) -> Result<u64, Failure> {
    let mut scheduled = 0;
    let mut push = |mut entry: ScheduleEntry, rank: u64| {
        scheduled += 1;
        bodies.forget_lost(&mut entry.record);
        writer.push_ranked(Ranked { entry, rank }).map_err(Failure::work)
    };
    // The pages requested from `gather` and not yet returned.
    let requested = RefCell::new(VecDeque::new());
    let failed = RefCell::new(None);
    let mut pages = generation.gather(chosen.map_while(|page| match page {
        Ok(page) => {
            requested.borrow_mut().push_back(page);
            Some(page.ordinal)
        }
        Err(error) => {
            failed.replace(Some(error));
            None
        }
    }));
    while let Some((_, url, record)) = pages.next_page().map_err(Failure::work)? {
        live.moved();
        let page = requested.borrow_mut().pop_front().expect("one page for each chosen one");
        let mut is_carried = false;
        while let Some(Ranked { entry, rank }) = others.next_up_to(Some(&url))? {
            is_carried |= entry.url == url;
            push(entry, rank)?;
        }
        if !is_carried {
            let standing = standings.as_mut().and_then(|standings| standings.standing(&page, &url, &record));
            push(ScheduleEntry { url, share: page.share, record, standing }, page.rank)?;
        }
    }
    if let Some(error) = failed.take() {
        return Err(Failure::work(error));
    }
    while let Some(Ranked { entry, rank }) = others.next_up_to(None)? {
        push(entry, rank)?;
    }
    Ok(scheduled)
}

/// Carried pages, which are live, and seeds, which are new or gone, in the order of their URLs.
pub(super) struct Unranked<'g, 's> {
    carried: Peekable<Carried<'g>>,
    seeds: Peekable<std::slice::Iter<'s, NewSeed>>,
}

impl<'g, 's> Unranked<'g, 's> {
    pub(super) fn new(carried: Peekable<Carried<'g>>, seeds: &'s [NewSeed]) -> Unranked<'g, 's> {
        Unranked { carried, seeds: seeds.iter().peekable() }
    }

    /// The next page up to this URL.
    fn next_up_to(&mut self, last: Option<&CanonicalUrl>) -> Result<Option<Ranked>, Failure> {
        let is_in_reach = |url: &CanonicalUrl| last.is_none_or(|last| url <= last);
        if let Some(Err(failure)) = self.carried.next_if(Result::is_err) {
            return Err(failure);
        }
        let carried = self.carried.peek().and_then(|page| page.as_ref().ok()).map(|page| &page.entry.url);
        let is_next = |(url, _): &&NewSeed| is_in_reach(url) && carried.is_none_or(|carried| url < carried);
        if let Some((url, record)) = self.seeds.next_if(is_next) {
            let (url, record) = (url.clone(), record.clone());
            let entry = ScheduleEntry::new(url, Share::Discovery, record);
            return Ok(Some(Ranked { entry, rank: 0 }));
        }
        self.carried.next_if(|page| page.as_ref().is_ok_and(|page| is_in_reach(&page.entry.url))).transpose()
    }
}
