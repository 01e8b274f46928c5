//! Applies links and visits to records: the rules of docs/outcomes.md.

use crate::touch::Links;
use crate::{Judge, MergeReport};
use recrawl_types::{
    CanonicalUrl, Change, Content, Cycle, Expectation, Failure, Known, Outcome, OutcomeEffect, PageRecord,
    PageStatus, Visit, VisitRequest, Visited,
};

/// The record of a new URL. A visit without a link is that of a seed.
pub(crate) fn discover(cycle: Cycle, links: Option<&Links>) -> PageRecord {
    let mut record = PageRecord::discovered(cycle, links.map_or(0, |l| l.depth));
    if let Some(links) = links {
        record.known.hops = links.hops;
        record.known.in_links = links.counted;
        record.known.expectation = links.expectation;
    }
    record
}

/// Applies new links to a known page. What they let expect matters until it is visited.
pub(crate) fn apply_links(known: &mut Known, is_visited: bool, links: &Links, report: &mut MergeReport) {
    if !is_visited {
        known.expectation = Expectation::combined(known.expectation, links.expectation);
    }
    known.depth = known.depth.min(links.depth);
    known.hops = known.hops.min(links.hops);
    known.in_links = known.in_links.saturating_add(links.counted);
    if links.seed && known.status != PageStatus::Live {
        known.failures = 0;
        report.revived += u64::from(known.status == PageStatus::Gone);
        // The next visit tells whether a gone page is back: until then, its confirmations stay.
        known.status = PageStatus::Live;
    }
}

/// Applies a visit to a page. Returns its outcome after the decision; a visit that should have
/// content but has none becomes a failure.
pub(crate) fn apply_visit(
    record: &mut PageRecord,
    visit: Visit,
    cycle: Cycle,
    judge: Judge<'_>,
    report: &mut MergeReport,
) -> Outcome {
    let Visit { url, outcome, content, at, verdict, .. } = visit;
    match outcome.effect() {
        OutcomeEffect::Visit => match (outcome, content) {
            (Outcome::NotModified, content) if record.visited.is_some() => {
                let visited = record.visited.as_mut().expect("checked just before");
                visited.history = Change::Unchanged.fold(Some(visited.history), cycle);
                if let Some(renewed) = content {
                    visited.content = renewed;
                }
                succeed(&mut record.known, cycle, report);
            }
            (Outcome::Fetched(change) | Outcome::Redirected(change), Some(mut content)) => {
                let is_first = record.visited.is_none();
                let change = decide(&url, change, record.visited.as_ref(), &mut content, judge, report);
                let history = change.fold(record.visited.take().map(|v| v.history), cycle);
                record.visited = Some(Visited { history, content });
                // A redirect has no text of its own. A crawl that is no longer focused leaves what was known.
                let is_redirect = matches!(outcome, Outcome::Redirected(_));
                record.known.verdict = if is_redirect { None } else { verdict.or(record.known.verdict) };
                succeed(&mut record.known, cycle, report);
                let change = if is_first { Change::First } else { change };
                return match outcome {
                    Outcome::Redirected(_) => Outcome::Redirected(change),
                    _ => Outcome::Fetched(change),
                };
            }
            // The fetcher attaches content to every page, and accepts a 304 only for a page requested
            // with validators. Anything else is a failure.
            _ => {
                fail(record, cycle, PageStatus::Live, true);
                return Outcome::Failed(Failure::Protocol);
            }
        },
        OutcomeEffect::Absence => {
            fail(record, cycle, PageStatus::Live, true);
            confirm_absence(&mut record.known, at, cycle, report);
        }
        OutcomeEffect::Failure => match outcome {
            Outcome::RefusedAddress(_) => fail(record, cycle, PageStatus::AddressRefused, true),
            _ => fail(record, cycle, PageStatus::Live, true),
        },
        // The next visit would be refused too, so the page is no candidate until the rule admits it.
        OutcomeEffect::Refusal => {
            fail(record, cycle, PageStatus::Refused, outcome.request() == VisitRequest::Page);
        }
        OutcomeEffect::Nothing => {}
    }
    outcome
}

/// Compares a visit that the fetcher could not compare: it had no record, or an earlier visit of
/// the same batch was the first.
fn decide(
    url: &CanonicalUrl,
    change: Change,
    before: Option<&Visited>,
    after: &mut Content,
    judge: Judge<'_>,
    report: &mut MergeReport,
) -> Change {
    match (change, before) {
        (Change::Changed | Change::Unchanged, _) | (Change::First, None) => change,
        (Change::Undecided, None) => {
            report.decided_first += 1;
            Change::First
        }
        (Change::Undecided | Change::First, Some(before)) => {
            if judge(url, before, after) {
                report.decided_changed += 1;
                Change::Changed
            } else {
                report.decided_unchanged += 1;
                Change::Unchanged
            }
        }
    }
}

fn succeed(known: &mut Known, cycle: Cycle, report: &mut MergeReport) {
    known.last_attempt = cycle;
    known.failures = 0;
    revive(known, report);
}

/// The page exists, or is believed to: clears all doubts.
fn revive(known: &mut Known, report: &mut MergeReport) {
    report.revived += u64::from(known.status == PageStatus::Gone);
    known.status = PageStatus::Live;
    known.not_found = 0;
    known.not_found_cycle = Cycle(0);
    known.not_found_at = 0;
}

/// One more attempt without the page, after which it has this status, unless it is gone. Without a request, it is no try
/// of the page.
///
/// The back-off counts cycles, and the seeds of a host that is down are tried several times in one. So of a page that
/// was never fetched one attempt a cycle counts. Of another each does: with `pages.every` it has no back-off, and its
/// third failure is told.
fn fail(record: &mut PageRecord, cycle: Cycle, status: PageStatus, is_try: bool) {
    let known = &mut record.known;
    let is_counted = record.visited.is_none() && known.failures > 0 && known.last_attempt == cycle;
    known.last_attempt = cycle;
    known.failures = known.failures.saturating_add(u8::from(is_try && !is_counted));
    if known.status != PageStatus::Gone {
        known.status = status;
    }
}

/// `at` is in milliseconds since 1970. If the clock went backwards, no time has passed.
fn confirm_absence(known: &mut Known, at: u64, cycle: Cycle, report: &mut MergeReport) {
    let at = u32::try_from(at / 1000).unwrap_or(u32::MAX);
    let spaced = at.saturating_sub(known.not_found_at) >= Known::GONE_SPACING_SECONDS
        && cycle.since(known.not_found_cycle) >= Known::GONE_SPACING_CYCLES;
    if known.status == PageStatus::Gone || !(known.not_found == 0 || spaced) {
        return;
    }
    // A page that a seed revived in vain was confirmed before.
    known.not_found = (known.not_found + 1).min(Known::GONE_AFTER + 1);
    known.not_found_cycle = cycle;
    known.not_found_at = at;
    if known.not_found >= Known::GONE_AFTER {
        known.status = PageStatus::Gone;
        report.newly_gone += 1;
    }
}

#[cfg(test)]
mod tests;
