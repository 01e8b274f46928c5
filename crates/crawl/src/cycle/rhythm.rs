//! Pages that time makes due, also within a cycle: those with a rhythm of their own (`pages.every`), and seeds that
//! failed. They are requested as by an operator: an urgent round visits them, with all rules of politeness, beyond the
//! budget of the cycle.

use crate::crawl::Crawl;
use crate::cycle::readmission::address_rules;
use crate::failure::Failure;
use crate::operator::control::Mark;
use crate::parts::seed_hosts;
use crate::stored::{keep, kept};
use recrawl_types::CanonicalUrl;
use std::collections::BTreeMap;

/// When each page was last requested, in milliseconds since 1970, in the tables.
const REQUESTED: &str = "rhythm";
/// The name under which the pages are asked for.
const WHO: &str = "pages.every";
/// The same of seeds that failed.
const WHO_RETRIES: &str = "retry of a seed";

impl Crawl {
    /// Requests the pages that are due. Returns when the next one is, in milliseconds since 1970; none without such pages.
    ///
    /// # Errors
    /// When a page or the tables cannot be read, or the request cannot be stored.
    pub fn keep_rhythm(&self) -> Result<Option<u64>, Failure> {
        Ok([self.retry_seeds()?, self.keep_intervals()?].into_iter().flatten().min())
    }

    fn retry_seeds(&self) -> Result<Option<u64>, Failure> {
        let (now, generation) = ((self.clock)(), self.repository.current());
        let (longest, rules) = (self.settings.config.cycle.period.0, address_rules(&self.settings.fetch));
        let due = seed_hosts::take_due(&self.tables, &generation, now, longest, &rules)?;
        for url in due.iter().filter(|url| self.may_request(url)) {
            self.control.ask(url, Mark { who: WHO_RETRIES.into(), at: now })?;
        }
        Ok(seed_hosts::retries(&self.tables)?.values().map(|retry| retry.at).min())
    }

    fn may_request(&self, url: &CanonicalUrl) -> bool {
        self.settings.scope.admits(url) && self.control.blocks().cover(url).is_none()
    }

    fn keep_intervals(&self) -> Result<Option<u64>, Failure> {
        let (mut rhythms, now) = (self.settings.pages.rhythms().peekable(), (self.clock)());
        if rhythms.peek().is_none() {
            return Ok(None);
        }
        let before: BTreeMap<String, u64> = kept(&self.tables, REQUESTED)?.unwrap_or_default();
        let generation = self.repository.current();
        let (mut requested, mut next) = (BTreeMap::new(), None::<u64>);
        for (url, every) in rhythms {
            let is_visited =
                generation.get(url).map_err(Failure::work)?.is_some_and(|(_, page)| page.visited.is_some());
            // A page that was never fetched is visited anyway.
            if !is_visited || !self.may_request(url) {
                continue;
            }
            let name = url.to_string();
            let every = every.as_millis() as u64;
            // If the clock was set back, the page waits for one period at most.
            let last = before.get(&name).map_or(now, |last| (*last).min(now));
            let is_due = now - last >= every;
            if is_due {
                self.control.ask(url, Mark { who: WHO.into(), at: now })?;
            }
            let last = if is_due { now } else { last };
            next = Some(next.map_or(last + every, |next| next.min(last + every)));
            requested.insert(name, last);
        }
        if requested != before {
            keep(&self.tables, REQUESTED, &requested)?;
        }
        Ok(next)
    }
}
