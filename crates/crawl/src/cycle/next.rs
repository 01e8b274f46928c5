//! Which round of a crawl is next.

use crate::clock::{self, RoundToPlan, RoundToRun};
use crate::crawl::Crawl;
use crate::cycle::plan::unavailable;
use crate::failure::Failure;
use crate::parts::requisites;
use crate::report::RoundReport;
use crate::report::facts::Facts;
use crate::round::RoundKind;
use recrawl_fetcher::asked_again_at;
use recrawl_repository::ScheduleFile;
use recrawl_types::{HostTable, Origin};
use std::collections::BTreeMap;

impl Crawl {
    /// The next round; none until the next cycle is due, which the caller's timer tells, or something
    /// urgent comes. `has_seeds`: seeds wait that no round has got yet.
    ///
    /// # Errors
    /// When the schedule of a begun round cannot be read.
    pub fn next_round(&self, is_cycle_due: bool, has_seeds: bool) -> Result<Option<RoundToRun>, Failure> {
        if self.is_begun
            && let Some(begun) = self.begun()?
        {
            let begins_cycle = begun.round.cycle > self.repository.current().cycle();
            return Ok(Some(RoundToRun { kind: begun.kind, begins_cycle }));
        }
        let is_cycle_due = is_cycle_due || self.is_called();
        let next = clock::next(&self.so_far, &self.waiting(is_cycle_due, has_seeds)?);
        // What the last round left in flight belongs to its cycle. An urgent round takes the answers in, and plans nothing.
        if self.fetcher.has_left() && next.is_none_or(|next| next.begins_cycle) {
            return Ok(Some(RoundToRun { kind: RoundKind::Urgent, begins_cycle: false }));
        }
        Ok(next)
    }

    /// When a crawl whose due pages cannot be asked for now tries again, in milliseconds since 1970; none if
    /// there are no such pages.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn stalled_until(&self) -> Result<Option<u64>, Failure> {
        let waiting = self.waiting(false, false)?;
        let back_off = unavailable(&self.tables)?.first_end(waiting.now);
        let until =
            self.so_far.stalled_until(&waiting).map(|until| back_off.map_or(until, |end| end.min(until)));
        let latest = waiting.now.saturating_add(waiting.stall);
        let back_off = back_off.filter(|end| self.nothing_due_at.is_some() && *end < latest);
        // Beyond the deadline, a page that waited for its host is one of the next cycle.
        let held = if waiting.is_past_deadline { None } else { self.held_until()? };
        Ok(until.or(back_off).into_iter().chain(held).min())
    }

    /// When the first back-off ends that a requested page was skipped for, in milliseconds since 1970. It is in the past
    /// only until the next round, which requests the page or skips it for a later one.
    fn held_until(&self) -> Result<Option<u64>, Failure> {
        let mut held = BTreeMap::<Origin, u64>::new();
        for (url, at) in self.control.held() {
            held.entry(Origin::from_url(&url)).and_modify(|first| *first = at.min(*first)).or_insert(at);
        }
        let mut ends = Vec::new();
        for (origin, at) in held {
            let state = self.tables.load(&origin)?.unwrap_or_default();
            ends.extend(Some(asked_again_at(&state, &self.settings.fetch)).filter(|end| *end >= at));
        }
        Ok(ends.into_iter().min())
    }

    fn waiting(&self, is_cycle_due: bool, has_seeds: bool) -> Result<clock::WaitingWork, Failure> {
        let config = &self.settings.config.cycle;
        let now = (self.clock)();
        let stall = self.settings.config.round.max.0.as_millis() as u64;
        // Pages become due when a back-off ends, or a page that was planned is not reached.
        let is_over = |at: u64| !(at..at.saturating_add(stall)).contains(&now);
        let may_be_due = self.nothing_due_at.is_none_or(is_over);
        let ran = self.so_far.started.map_or(0, |started| now.saturating_sub(started));
        let is_asked = self.has_requests()?;
        Ok(clock::WaitingWork {
            cycle: is_cycle_due,
            is_past_deadline: config.deadline.is_some_and(|deadline| deadline.0.as_millis() <= ran.into()),
            urgent: has_seeds || self.control.has_seeds() || is_asked,
            fill: config.fill && may_be_due,
            fill_pages: config.fill_pages,
            now,
            stall,
            // That other hosts stall does not hold up a page that was asked for since.
            has_new_work: self.has_new_work || is_asked,
        })
    }

    /// Do pages or key files wait for an urgent round that no round has tried yet, or that a back-off held up which has
    /// ended?
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn has_requests(&self) -> Result<bool, Failure> {
        if self.control.has_untried() || self.pings.is_urgent() {
            return Ok(true);
        }
        Ok(self.held_until()?.is_some_and(|end| end <= (self.clock)()))
    }

    /// The round after the current generation, if it is planned. If the tables lost its facts, it is taken
    /// for a revisit of the next cycle, as every round was once.
    ///
    /// # Errors
    /// When its schedule or the tables cannot be read.
    pub fn begun(&self) -> Result<Option<RoundToPlan>, Failure> {
        let last = self.repository.current().dated();
        if ScheduleFile::open(&*self.storage, last.round.next()).map_err(Failure::work)?.is_none() {
            return Ok(None);
        }
        let facts = Facts::last(&self.tables)?.filter(|facts| facts.round().round == last.round.next());
        Ok(Some(facts.as_ref().map_or(RoundToPlan::revisit(last.in_next_cycle()), RoundToPlan::begun)))
    }

    /// Gets ready for the round after a committed one.
    pub(super) fn begin_next(&mut self, report: &RoundReport) {
        self.survey.forget();
        self.so_far.add(report);
        self.is_begun = false;
        (self.nothing_due_at, self.has_new_work) = (None, false);
        self.pings.end_round();
        if let Err(failure) = requisites::remove_unnamed(&self.tables, self.repository.current().cycle()) {
            tracing::warn!("rows of requisites that no page names any more are not removed: {failure}");
        }
        self.make_room();
    }
}
