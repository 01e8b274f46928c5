//! One case for each row of docs/outcomes.md.

use super::*;
use recrawl_types::{Failure, Fingerprint, History, Skip, UrlRules, Validators};

const NOW: Cycle = Cycle(20);
const DAY: u64 = 24 * 3600 * 1000;

fn content(digest: u128) -> Content {
    Content { fingerprint: Fingerprint { simhash: 0, digest }, ..Content::default() }
}

/// A page visited in cycles 3 and 8 and changed at the second. Since then it failed twice and was
/// not found once.
fn visited_page() -> PageRecord {
    let mut history = History::first_fetch(Cycle(3));
    history.record(Cycle(8), true);
    PageRecord {
        known: Known {
            discovered: Cycle(2),
            last_attempt: Cycle(15),
            failures: 2,
            not_found: 1,
            not_found_cycle: Cycle(15),
            not_found_at: 100 * 86_400,
            depth: 3,
            in_links: 5,
            ..Known::default()
        },
        visited: Some(Visited { history, content: content(1) }),
    }
}

fn visit(outcome: Outcome, content: Option<Content>) -> Visit {
    Visit {
        at: 200 * DAY,
        content,
        ..Visit::new(UrlRules::keep_all().canonicalize("http://a.example/p").unwrap(), outcome)
    }
}

fn after(mut record: PageRecord, visit: Visit) -> (PageRecord, MergeReport) {
    let mut report = MergeReport::default();
    let judge = |_: &CanonicalUrl, a: &Visited, b: &mut Content| a.content.fingerprint != b.fingerprint;
    apply_visit(&mut record, visit, NOW, &judge, &mut report);
    (record, report)
}

/// The outcome that is stored for a visit.
fn told(mut record: PageRecord, outcome: Outcome, content: Option<Content>) -> Outcome {
    let judge = |_: &CanonicalUrl, a: &Visited, b: &mut Content| a.content.fingerprint != b.fingerprint;
    apply_visit(&mut record, visit(outcome, content), NOW, &judge, &mut MergeReport::default())
}

#[test]
fn what_is_kept_of_a_visit_is_decided_and_no_more_than_it_brought() {
    let (page, unknown) = (visited_page, || PageRecord::discovered(Cycle(2), 3));
    for (change, digest, expected) in [
        (Change::Undecided, 1, Change::Unchanged),
        (Change::Undecided, 2, Change::Changed),
        (Change::First, 2, Change::Changed),
        (Change::Unchanged, 2, Change::Unchanged),
    ] {
        let seen = || Some(content(digest));
        assert_eq!(told(page(), Outcome::Fetched(change), seen()), Outcome::Fetched(expected));
        assert_eq!(told(page(), Outcome::Redirected(change), seen()), Outcome::Redirected(expected));
    }
    for change in [Change::Undecided, Change::First, Change::Changed] {
        let first = told(unknown(), Outcome::Fetched(change), Some(content(1)));
        assert_eq!(first, Outcome::Fetched(Change::First), "nothing to compare with");
    }
    assert_eq!(told(page(), Outcome::NotModified, None), Outcome::NotModified);
    let nothing = Outcome::Failed(Failure::Protocol);
    assert_eq!(told(unknown(), Outcome::NotModified, None), nothing);
    assert_eq!(told(page(), Outcome::Fetched(Change::Changed), None), nothing);
    for outcome in [Outcome::NotFound(410), Outcome::RobotsDenied, Outcome::Skipped(Skip::Deadline)] {
        assert_eq!(told(page(), outcome, None), outcome);
    }
}

fn counters(record: &PageRecord) -> (u32, u32, u32) {
    let history = record.visited.as_ref().expect("a visited page").history;
    (history.visits, history.changes, NOW.since(history.last))
}

fn assert_live_and_undoubted(known: &Known) {
    assert_eq!((known.status, known.failures, known.last_attempt), (PageStatus::Live, 0, NOW));
    assert_eq!((known.not_found, known.not_found_cycle, known.not_found_at), (0, Cycle(0), 0));
}

#[test]
fn a_first_fetch_starts_the_clock() {
    let page = PageRecord::discovered(Cycle(2), 3);
    for outcome in [Outcome::Fetched(Change::First), Outcome::Redirected(Change::First)] {
        let (record, report) = after(page.clone(), visit(outcome, Some(content(7))));
        assert_eq!(counters(&record), (0, 0, 0));
        assert_eq!(record.visited.as_ref().unwrap().content, content(7));
        assert_live_and_undoubted(&record.known);
        assert_eq!(report, MergeReport::default());
    }
}

#[test]
fn a_compared_visit_counts_and_replaces_the_content() {
    for (change, expected) in [(Change::Unchanged, (2, 1, 0)), (Change::Changed, (2, 2, 0))] {
        for outcome in [Outcome::Fetched(change), Outcome::Redirected(change)] {
            let (record, _) = after(visited_page(), visit(outcome, Some(content(7))));
            assert_eq!(counters(&record), expected, "{outcome:?}");
            assert_eq!(record.visited.as_ref().unwrap().content, content(7));
            assert_live_and_undoubted(&record.known);
            assert_eq!((record.known.depth, record.known.in_links), (3, 5));
        }
    }
}

#[test]
fn not_modified_is_a_visit_without_change_and_may_renew_validators() {
    let (record, _) = after(visited_page(), visit(Outcome::NotModified, None));
    assert_eq!(counters(&record), (2, 1, 0));
    assert_eq!(record.visited.as_ref().unwrap().content, content(1));
    assert_live_and_undoubted(&record.known);

    let renewed = Content { validators: Validators::new(Some("\"e2\""), None), ..content(1) };
    let (record, _) = after(visited_page(), visit(Outcome::NotModified, Some(renewed.clone())));
    assert_eq!(counters(&record), (2, 1, 0));
    assert_eq!(record.visited.unwrap().content, renewed);
}

#[test]
fn an_undecided_visit_is_decided_by_what_the_record_holds() {
    let fetched = Outcome::Fetched(Change::Undecided);
    let never = PageRecord::discovered(Cycle(2), 0);
    let (record, report) = after(never, visit(fetched, Some(content(1))));
    assert_eq!((counters(&record), report.decided_first), ((0, 0, 0), 1));

    let (record, report) = after(visited_page(), visit(fetched, Some(content(1))));
    assert_eq!((counters(&record), report.decided_unchanged), ((2, 1, 0), 1));

    let (record, report) = after(visited_page(), visit(fetched, Some(content(2))));
    assert_eq!((counters(&record), report.decided_changed), ((2, 2, 0), 1));
}

#[test]
fn a_second_first_visit_is_compared_with_the_first() {
    let never = PageRecord::discovered(Cycle(2), 0);
    let first = Outcome::Fetched(Change::First);
    let (record, _) = after(never, visit(first, Some(content(1))));
    let (record, report) = after(record, visit(first, Some(content(2))));
    assert_eq!((counters(&record), report.decided_changed), ((1, 1, 0), 1));
}

#[test]
fn a_failed_try_counts_as_one_and_a_refusal_without_a_request_as_none() {
    for outcome in Outcome::all(500) {
        let mut expected = visited_page();
        match outcome.effect() {
            OutcomeEffect::Visit | OutcomeEffect::Absence => continue,
            OutcomeEffect::Nothing => {}
            OutcomeEffect::Failure => {
                expected.known.failures = 3;
                expected.known.last_attempt = NOW;
            }
            OutcomeEffect::Refusal => {
                // Only its answer tells the media type.
                let is_requested = outcome == Outcome::Skipped(Skip::MediaType);
                expected.known.failures = if is_requested { 3 } else { 2 };
                expected.known.last_attempt = NOW;
                expected.known.status = PageStatus::Refused;
            }
        }
        if let Outcome::RefusedAddress(_) = outcome {
            expected.known.status = PageStatus::AddressRefused;
        }
        assert_eq!(after(visited_page(), visit(outcome, None)).0, expected, "{outcome:?}");
    }
    let mut worn = visited_page();
    worn.known.failures = 255;
    assert_eq!(after(worn, visit(Outcome::RobotsUnreachable(None), None)).0.known.failures, 255);
}

/// An hour of retries of a seed once began a back-off of 32 cycles.
#[test]
fn of_a_page_that_was_never_fetched_one_failure_a_cycle_counts() {
    let failed = |mut record: PageRecord, cycle| {
        let visit = visit(Outcome::Failed(Failure::Connect), None);
        apply_visit(&mut record, visit, Cycle(cycle), &|_, _, _| true, &mut MergeReport::default());
        record
    };
    let often = |record, cycle| (0..7).fold(record, |record, _| failed(record, cycle));
    let mut page = PageRecord::discovered(Cycle(1), 0);
    for (cycle, due) in [(1, 2), (2, 4), (4, 8)] {
        page = often(page, cycle);
        assert!(!page.known.is_due(Cycle(due - 1)) && page.known.is_due(Cycle(due)), "{cycle}: {page:?}");
    }
    assert_eq!(often(visited_page(), 20).known.failures, 9, "a page with a rhythm is told of at the third");
}

#[test]
fn a_visit_that_brought_nothing_counts_as_failed() {
    for outcome in [Outcome::Fetched(Change::First), Outcome::Redirected(Change::First), Outcome::NotModified]
    {
        let (record, _) = after(PageRecord::discovered(Cycle(2), 3), visit(outcome, None));
        assert_eq!((record.visited, record.known.failures), (None, 1), "{outcome:?}");
        assert_eq!(record.known.last_attempt, NOW);
    }
}

#[test]
fn a_refused_page_is_live_again_once_its_server_was_asked_or_a_seed_names_it() {
    let refused = after(visited_page(), visit(Outcome::RobotsDenied, None)).0;
    for outcome in
        [Outcome::NotFound(404), Outcome::Failed(Failure::Timeout), Outcome::RobotsUnreachable(None)]
    {
        let asked = after(refused.clone(), visit(outcome, None)).0;
        assert_eq!((asked.known.status, asked.known.failures), (PageStatus::Live, 3), "{outcome:?}");
    }
    let address = after(refused.clone(), visit(Outcome::RefusedAddress(None), None)).0;
    assert!(address.known.status == PageStatus::AddressRefused && address.known.is_due(Cycle(28)));
    let visited = after(refused.clone(), visit(Outcome::NotModified, None)).0;
    assert_eq!((visited.known.status, visited.known.failures), (PageStatus::Live, 0));
    let mut named = refused.known;
    let links = Links {
        seen: 1,
        counted: 0,
        depth: 9,
        hops: 9,
        listed: false,
        seed: true,
        lastmod: 0,
        since: NOW,
        expectation: None,
    };
    let mut readmitted = address.known;
    for known in [&mut named, &mut readmitted] {
        apply_links(known, false, &links, &mut MergeReport::default());
        assert_eq!((known.status, known.failures), (PageStatus::Live, 0));
    }
    assert_eq!((named.depth, named.hops), (refused.known.depth, refused.known.hops));
    let mut gone = refused;
    gone.known.status = PageStatus::Gone;
    let gone = after(gone, visit(Outcome::RobotsDenied, None)).0;
    assert_eq!(gone.known.status, PageStatus::Gone, "a tombstone stays one");
}

#[test]
fn three_spaced_confirmations_make_a_page_gone() {
    let not_found = |record, day: u64, cycle| {
        let mut record: PageRecord = record;
        let mut report = MergeReport::default();
        let visit = Visit { at: day * DAY, ..visit(Outcome::NotFound(404), None) };
        apply_visit(&mut record, visit, Cycle(cycle), &|_, _, _| true, &mut report);
        (record, report.newly_gone)
    };
    let mut page = visited_page();
    page.known.not_found = 0;
    let expected = [
        // day, cycle, confirmations, gone
        (100, 20, 1, false), // the first
        (106, 30, 1, false), // too few days
        (108, 22, 1, false), // too few cycles
        (107, 23, 2, false),
        (90, 40, 2, false), // the clock went backwards
        (114, 26, 3, true),
        (200, 90, 3, true), // gone for good
    ];
    let mut newly_gone = 0;
    for (i, (day, cycle, confirmations, gone)) in (3u8..).zip(expected) {
        let (next, newly) = not_found(page, day, cycle);
        page = next;
        newly_gone += newly;
        assert_eq!(page.known.not_found, confirmations, "day {day}");
        assert_eq!(page.known.status == PageStatus::Gone, gone, "day {day}");
        assert_eq!((page.known.failures, page.known.last_attempt), (i, Cycle(cycle)));
    }
    assert_eq!(newly_gone, 1);
    assert_eq!(page.visited, visited_page().visited, "record, history and content stay");

    let (back, report) = after(page, visit(Outcome::Fetched(Change::Unchanged), Some(content(1))));
    assert_live_and_undoubted(&back.known);
    assert_eq!(report.revived, 1);
}

#[test]
fn links_lower_depth_and_hops_and_only_a_seed_revives() {
    let gone = Known {
        status: PageStatus::Gone,
        depth: 4,
        hops: 2,
        in_links: u32::MAX - 1,
        failures: 9,
        not_found: 3,
        not_found_cycle: Cycle(9),
        not_found_at: 5,
        ..Known::default()
    };
    let link = Links {
        seen: 9,
        counted: 3,
        depth: 6,
        hops: 0,
        listed: false,
        seed: false,
        lastmod: 0,
        since: Cycle(1),
        expectation: None,
    };
    let mut report = MergeReport::default();
    let mut known = gone;
    apply_links(&mut known, false, &link, &mut report);
    assert_eq!(known, Known { hops: 0, in_links: u32::MAX, ..gone });

    apply_links(&mut known, false, &Links { depth: 0, seed: true, ..link }, &mut report);
    let live = Known { status: PageStatus::Live, depth: 0, hops: 0, failures: 0, in_links: u32::MAX, ..gone };
    assert_eq!(known, live, "confirmations stay until a visit");
    assert_eq!(report.revived, 1);
    let revived = PageRecord { known, ..visited_page() };
    let (back, report) = after(revived.clone(), visit(Outcome::Fetched(Change::Unchanged), Some(content(1))));
    assert_live_and_undoubted(&back.known);
    assert_eq!(report.revived, 0, "it was live");
    // It is gone at the next confirmation, once.
    let (mut record, mut report) = (revived, MergeReport::default());
    for (day, confirmations) in [(0, 3), (8, 4), (16, 4)] {
        let visit = Visit { at: day * DAY, ..visit(Outcome::NotFound(404), None) };
        apply_visit(&mut record, visit, Cycle(20), &|_, _, _| true, &mut report);
        assert_eq!(
            (record.known.not_found, record.known.status == PageStatus::Gone),
            (confirmations, day > 0)
        );
    }
    assert_eq!(report.newly_gone, 1);

    // A seed takes nothing back from a live page.
    let doubted = Known { failures: 2, not_found: 1, ..Known::default() };
    let mut known = doubted;
    apply_links(&mut known, false, &Links { counted: 0, depth: 0, seed: true, ..link }, &mut report);
    assert_eq!(known, doubted);
}
