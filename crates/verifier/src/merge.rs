//! The merge: one sequential pass over generation g and the batch, both in the order of URLs.

use crate::host_cap::HostCap;
use crate::touch::Touch;
use crate::{MergeError, MergeReport, SortedBatch, lastmod, update};
use recrawl_repository::{Generation, GenerationWriter, KeptVisit};
use recrawl_types::{CanonicalUrl, Change, Content, Cycle, Outcome, PageRecord, Status};
use std::fmt;

/// Says whether a page changed between two visits: the page, what the visit before saw, what this one
/// saw. Contents of different kind are put to it as well.
pub type Judge<'j> = &'j dyn Fn(&CanonicalUrl, &Content, &Content) -> bool;

/// Told of each comparison of a page that a sitemap or feed gave a date: the page, whether the date had moved
/// forward since the visit before, and whether the page had changed.
pub type Watch<'j> = &'j dyn Fn(&CanonicalUrl, bool, bool);

/// Told of each page's first visit, with what it saw, in the order of URLs.
pub type Meet<'j> = &'j dyn Fn(&CanonicalUrl, &Content);

/// What a merge goes by.
#[derive(Clone, Copy)]
pub struct MergeRules<'j> {
    /// The cycle of the batch, and the number of the generation to be.
    pub cycle: Cycle,
    /// URLs to which only a longer chain of redirects leads are not taken up.
    pub max_hops: u8,
    /// An origin (scheme, host, port) with so many pages gets no more, but for seeds and for pages
    /// that were visited already.
    pub max_pages_per_host: u64,
    /// Decides visits that could not be compared when they were made.
    pub judge: Judge<'j>,
    /// Learns how far dates of modification can be trusted.
    pub watch: Watch<'j>,
    /// Learns what pages are like that were never seen before.
    pub meet: Meet<'j>,
}

impl fmt::Debug for MergeRules<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergeRules")
            .field("cycle", &self.cycle)
            .field("max_hops", &self.max_hops)
            .field("max_pages_per_host", &self.max_pages_per_host)
            .finish_non_exhaustive()
    }
}

/// Merges `batch` into `generation` and pushes every record of the next one to `writer`. Same input,
/// same output, however the batch was spilled. The batch's runs are removed at the end.
///
/// # Errors
/// Reading either side or writing failed. `writer` is then to be dropped.
pub fn merge(
    generation: &Generation,
    batch: SortedBatch,
    writer: &mut GenerationWriter,
    rules: &MergeRules<'_>,
) -> Result<MergeReport, MergeError> {
    let mut pass = Pass {
        cap: HostCap::new(generation.origins()?, rules.max_pages_per_host),
        batch,
        writer,
        rules,
        next_cycle: rules.cycle.next(),
        report: MergeReport::default(),
    };
    let mut records = generation.records();
    let mut next = pass.batch.next()?;
    while let Some((_, key, mut record)) = records.next_record()? {
        while let Some((url, touch)) = next.take_if(|(url, _)| url.key() < key) {
            pass.unknown(&url, touch)?;
            next = pass.batch.next()?;
        }
        if let Some((_, touch)) = next.take_if(|(url, _)| url.key() == key) {
            pass.known(&mut record, touch)?;
            next = pass.batch.next()?;
        }
        pass.push(key, &record)?;
    }
    while let Some((url, touch)) = next {
        pass.unknown(&url, touch)?;
        next = pass.batch.next()?;
    }
    pass.batch.remove()?;
    Ok(pass.report)
}

struct Pass<'a> {
    batch: SortedBatch,
    writer: &'a mut GenerationWriter,
    rules: &'a MergeRules<'a>,
    next_cycle: Cycle,
    cap: HostCap,
    report: MergeReport,
}

impl Pass<'_> {
    fn known(&mut self, record: &mut PageRecord, touch: Touch) -> Result<(), MergeError> {
        let before = record.known;
        if let Some(links) = touch.links {
            self.report.links_seen += links.seen;
            if links.hops > self.rules.max_hops {
                self.report.links_over_hops += 1;
            } else {
                self.report.links_known += 1;
                update::apply_links(&mut record.known, &links, &mut self.report);
            }
        }
        self.visit(record, touch)?;
        // Every visit but a skipped one moves the last attempt to this cycle.
        self.report.pages_updated += u64::from(record.known != before);
        Ok(())
    }

    /// What was visited is taken up whatever the limits say: they keep us from pages, not from what
    /// we have seen.
    fn unknown(&mut self, url: &CanonicalUrl, touch: Touch) -> Result<(), MergeError> {
        let is_visited = !touch.visits.is_empty();
        if let Some(links) = touch.links {
            self.report.links_seen += links.seen;
            if links.hops > self.rules.max_hops && !is_visited {
                self.report.links_over_hops += 1;
                return Ok(());
            }
        }
        let is_seed = touch.links.is_some_and(|links| links.seed);
        if !self.cap.admits(url, is_visited || is_seed) {
            self.report.links_over_host_cap += 1;
            return Ok(());
        }
        self.report.links_new += 1;
        self.report.visits_of_unknown += u64::from(is_visited);
        let mut record = update::discover(self.rules.cycle, touch.links.as_ref());
        self.visit(&mut record, touch)?;
        self.push(url.key(), &record)
    }

    /// Visits come in the order of URLs here, and what their comparison said is decided here.
    fn visit(&mut self, record: &mut PageRecord, touch: Touch) -> Result<(), MergeError> {
        let claimed = touch.links.map_or(0, |links| links.lastmod);
        for visit in touch.visits {
            let (url, at, share) = (visit.url.clone(), visit.at / 1000, visit.share);
            let is_dated = record.known.lastmod > 0;
            lastmod::claim_before(record, claimed, visit.at);
            let outcome =
                update::apply_visit(record, visit, self.rules.cycle, self.rules.judge, &mut self.report);
            if let (true, Some(change @ (Change::Changed | Change::Unchanged))) = (is_dated, outcome.change())
            {
                (self.rules.watch)(&url, record.known.is_announced, change == Change::Changed);
            }
            if let (Outcome::Fetched(Change::First), Some(visited)) = (outcome, &record.visited) {
                (self.rules.meet)(&url, &visited.content);
            }
            lastmod::seen(record, outcome);
            self.writer.keep_visit(&KeptVisit { url, at, share, outcome })?;
        }
        lastmod::claim(record, claimed);
        Ok(())
    }

    fn push(&mut self, key: &[u8], record: &PageRecord) -> Result<(), MergeError> {
        let is_visited = record.visited.is_some();
        self.report.pages += 1;
        self.report.visited += u64::from(is_visited);
        self.report.never_fetched += u64::from(!is_visited && record.known.is_due(self.next_cycle));
        self.report.gone_total += u64::from(record.known.status == Status::Gone);
        self.writer.push(key, record)?;
        Ok(())
    }
}
