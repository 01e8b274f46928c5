//! Applies a batch to the pages of a block: updates known pages and inserts new ones.

use crate::host_cap::HostCap;
use crate::matched::Matched;
use crate::touch::Touch;
use crate::touched::Touched;
use crate::{MergeError, MergeReport, MergeRules, Tried, lastmod, update};
use recrawl_repository::{
    Changed, Generation, GenerationWriter, KeyPlace, NewPages, OpenBlock, PackedPages, StoredVisit,
    VisitLesson,
};
use recrawl_types::{CanonicalUrl, Change, Known, Outcome, OutcomeEffect, PageRecord, Visit};

pub(crate) struct Editor<'a> {
    rules: &'a MergeRules<'a>,
    cap: HostCap<'a>,
    pub report: MergeReport,
}

/// A block, its new pages, and which parts changed.
pub(crate) struct Edited {
    block: OpenBlock,
    new: NewPages,
    pub changed: Changed,
}

impl Edited {
    /// True if there is no page at all.
    pub fn is_empty(&self) -> bool {
        self.block.is_empty() && self.new.is_empty()
    }

    /// The same block with all parts marked as changed.
    pub fn whole(self) -> Edited {
        Edited { changed: Changed::ALL, ..self }
    }

    pub fn pack(self, block_pages: usize) -> PackedPages {
        self.block.pack(self.new, self.changed, block_pages)
    }
}

impl<'a> Editor<'a> {
    pub fn new(generation: &'a Generation, rules: &'a MergeRules<'a>) -> Result<Editor<'a>, MergeError> {
        let cap = HostCap::new(generation, rules.max_pages_per_host, rules.traps_of)?;
        Ok(Editor { rules, cap, report: MergeReport::default() })
    }

    /// Edits a block. Sends origins and kept visits to `writer` at once, but not the block.
    pub fn edit(
        &mut self,
        matched: Matched,
        writer: &mut GenerationWriter<'_>,
    ) -> Result<Edited, MergeError> {
        let Matched { block, mut touched, places } = matched;
        let mut edited = Edited { block, new: NewPages::default(), changed: Changed::default() };
        for (i, place) in places.into_iter().enumerate() {
            let touch = touched.take(i);
            match place {
                KeyPlace::Known(row) => self.known(&mut edited, row, touched.key(i), touch, writer)?,
                KeyPlace::New(gap) => {
                    if let Some(record) = self.unknown(touched.key(i), touch, writer)? {
                        edited.changed.keys = true;
                        edited.changed.past |= record.visited.is_some();
                        edited.new.push(touched.key(i), gap, record);
                    }
                }
            }
        }
        if edited.block.len() + edited.new.len() > 2 * self.rules.block_pages {
            edited.changed = Changed::ALL;
        }
        Ok(edited)
    }

    /// Keeps the visits of pages that were only skipped: their block stays as it is.
    pub fn keep_skipped(mut touched: Touched, writer: &mut GenerationWriter<'_>) -> Result<(), MergeError> {
        for at in 0..touched.len() {
            for visit in touched.take(at).visits {
                let learned = VisitLesson::from_visit(&visit);
                let Visit { url, at, share, outcome, .. } = visit;
                writer.keep_visit(&StoredVisit {
                    url,
                    at: at / 1000,
                    share,
                    outcome,
                    confirmed: 0,
                    missed: 0,
                    learned,
                })?;
            }
        }
        Ok(())
    }

    fn known(
        &mut self,
        edited: &mut Edited,
        row: usize,
        key: &[u8],
        touch: Touch,
        writer: &mut GenerationWriter<'_>,
    ) -> Result<(), MergeError> {
        let block = &mut edited.block;
        let before = *block.known(row);
        if let Some(links) = &touch.links {
            self.report.links_seen += links.seen;
            if links.hops > self.rules.max_hops {
                self.report.links_over_hops += 1;
            } else {
                self.report.links_known += 1;
                let is_visited = block.is_visited(row);
                update::apply_links(block.known_mut(row), is_visited, links, &mut self.report);
            }
        }
        if touch.visits.is_empty() {
            let (lastmod, is_visited) = (touch.links.map_or(0, |links| links.lastmod), block.is_visited(row));
            lastmod::claim(block.known_mut(row), is_visited, lastmod);
        } else {
            let was_visited = block.is_visited(row);
            let mut record = block.record(row);
            let pending = (!was_visited && before.status.is_live()).then_some(before);
            self.visit(&mut record, pending, touch, writer)?;
            if record.visited.is_some() && !was_visited {
                writer.add_to_origin(CanonicalUrl::origin_of(key), 0, 1)?;
            }
            // A failed visit leaves history and content as they are.
            let seen = record.visited.as_ref().map(|visited| visited.history.last);
            edited.changed.past |= seen == Some(self.rules.cycle);
            block.put_record(row, record);
        }
        // Every visit except a skipped one sets the last attempt to this cycle.
        let is_updated = *block.known(row) != before;
        edited.changed.known |= is_updated;
        self.report.pages_updated += u64::from(is_updated);
        Ok(())
    }

    /// Inserts a URL that is not known. The limits apply only to links: a visited page is always
    /// inserted.
    fn unknown(
        &mut self,
        key: &[u8],
        touch: Touch,
        writer: &mut GenerationWriter<'_>,
    ) -> Result<Option<PageRecord>, MergeError> {
        let is_visited = !touch.visits.is_empty();
        if let Some(links) = &touch.links {
            self.report.links_seen += links.seen;
            if links.hops > self.rules.max_hops && !is_visited {
                self.report.links_over_hops += 1;
                return Ok(None);
            }
        }
        let is_seed = touch.links.is_some_and(|links| links.seed);
        let origin = CanonicalUrl::origin_of(key);
        let is_linked = touch.links.is_none_or(|links| links.hops == 0 && !links.listed);
        if !self.cap.admits(key, is_visited || is_seed, is_linked)? {
            self.report.links_over_host_cap += 1;
            (self.rules.on_dropped)(key, is_linked);
            return Ok(None);
        }
        self.report.links_new += 1;
        self.report.visits_of_unknown += u64::from(is_visited);
        // A link that waited counts as discovered in the cycle that found it.
        let cycle = touch.links.map_or(self.rules.cycle, |links| links.since);
        let mut record = update::discover(cycle, touch.links.as_ref());
        self.visit(&mut record, None, touch, writer)?;
        writer.add_to_origin(origin, 1, u64::from(record.visited.is_some()))?;
        if record.visited.is_none() {
            (self.rules.on_found)(key, &record.known);
        }
        Ok(Some(record))
    }

    /// Applies one visit. Visits come in URL order; a comparison left open is decided here. `pending` is what was known before
    /// this batch of a URL that was never visited and could be.
    fn visit(
        &mut self,
        record: &mut PageRecord,
        pending: Option<Known>,
        touch: Touch,
        writer: &mut GenerationWriter<'_>,
    ) -> Result<(), MergeError> {
        let rules = self.rules;
        let claimed = touch.links.map_or(0, |links| links.lastmod);
        let (was_visited, known) = (record.visited.is_some(), pending.unwrap_or(record.known));
        let mut tried = None;
        for visit in touch.visits {
            let (url, at, share) = (visit.url.clone(), visit.at / 1000, visit.share);
            let (learned, verdict) = (VisitLesson::from_visit(&visit), visit.verdict);
            let is_dated = record.known.lastmod > 0;
            let absences = record.known.not_found;
            let missed = MissedPage::before(record);
            lastmod::claim_before(&mut record.known, record.visited.is_some(), claimed, visit.at);
            let outcome = update::apply_visit(record, visit, rules.cycle, rules.judge, &mut self.report);
            if let Some(change @ (Change::Changed | Change::Unchanged)) = outcome.change() {
                let is_newer = is_dated.then_some(record.known.is_announced);
                (rules.on_comparison)(&url, is_newer, change == Change::Changed);
            }
            if let (Outcome::Fetched(Change::First), Some(visited)) = (outcome, &record.visited) {
                (rules.on_first_visit)(&url, &visited.content);
            }
            let had_verdict = |(_, tried): &(CanonicalUrl, Tried)| tried.verdict.is_some();
            if !was_visited && (verdict.is_some() || !tried.as_ref().is_some_and(had_verdict)) {
                tried = Some((url.clone(), Tried { known, was_pending: pending.is_some(), share, verdict }));
            }
            lastmod::seen(&mut record.known, outcome);
            let confirmed = match outcome {
                Outcome::NotFound(_) => record.known.not_found + u8::from(absences >= Known::GONE_AFTER),
                _ if outcome.change().is_some() => absences,
                _ => 0,
            };
            let missed = missed.kept_with(&record.known, outcome);
            writer.keep_visit(&StoredVisit { url, at, share, outcome, confirmed, missed, learned })?;
        }
        lastmod::claim(&mut record.known, record.visited.is_some(), claimed);
        let is_tried = record.visited.is_some() || !record.known.status.is_live();
        if let Some((url, tried)) = tried.filter(|_| is_tried) {
            (rules.on_tried)(&url, &tried);
        }
        Ok(())
    }
}

/// Tries in a row that did not get a page.
struct MissedPage {
    before: u8,
    /// Only a page that was there once, or that somebody named, is missed: the Web has many dead links.
    is_awaited: bool,
}

impl MissedPage {
    fn before(record: &PageRecord) -> MissedPage {
        let PageRecord { known, visited } = record;
        MissedPage { before: known.failures, is_awaited: visited.is_some() || known.depth == 0 }
    }

    /// [`StoredVisit::missed`]: 0 but for the visits that tell something new, so that the others take no byte more.
    fn kept_with(&self, known: &Known, outcome: Outcome) -> u8 {
        match outcome.effect() {
            _ if !self.is_awaited => 0,
            OutcomeEffect::Absence | OutcomeEffect::Failure
                if known.failures == Known::MISSING_AFTER && known.failures > self.before =>
            {
                known.failures
            }
            OutcomeEffect::Visit if self.before >= Known::MISSING_AFTER => self.before,
            _ => 0,
        }
    }
}
