//! Dates of modification that sitemaps and feeds give a page, beside what visits find.
//!
//! What counts is whether a date *moved*, not what it says: clocks, time zones and dates without a time then
//! do no harm. Only where a sitemap and the page itself were visited in one cycle the date says which came
//! first: one that is not after the visit was known, or could have been, when the page was visited.

use recrawl_types::{Outcome, PageRecord};

/// A sitemap or feed dates the page. The first date is where later ones are counted from.
pub(crate) fn claim(record: &mut PageRecord, lastmod: u32) {
    let known = &mut record.known;
    if lastmod > known.lastmod {
        known.is_announced |= known.lastmod > 0 && record.visited.is_some();
        known.lastmod = lastmod;
    }
}

/// As [`claim`], where the date is not after a visit that ended at `at` (milliseconds since 1970).
pub(crate) fn claim_before(record: &mut PageRecord, lastmod: u32, at: u64) {
    if u64::from(lastmod) <= at / 1000 {
        claim(record, lastmod);
    }
}

/// A visit has seen what was announced.
pub(crate) fn seen(record: &mut PageRecord, outcome: Outcome) {
    record.known.is_announced &= !outcome.is_visit();
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Change, Content, Cycle, Failure, History, Visited};

    fn visited() -> PageRecord {
        let (history, content) = (History::first_fetch(Cycle(1)), Content::default());
        PageRecord { visited: Some(Visited { history, content }), ..PageRecord::discovered(Cycle(1), 0) }
    }

    #[test]
    fn only_a_date_that_moves_forward_announces_a_change() {
        let mut page = visited();
        for (date, lastmod, is_announced) in [
            (0, 0, false),
            (500, 500, false),
            (500, 500, false),
            (400, 500, false),
            (501, 501, true),
            (501, 501, true),
            (0, 501, true),
        ] {
            claim(&mut page, date);
            assert_eq!((page.known.lastmod, page.known.is_announced), (lastmod, is_announced), "{date}");
        }
        seen(&mut page, Outcome::Failed(Failure::Timeout));
        assert!(page.known.is_announced, "nothing was seen");
        seen(&mut page, Outcome::Fetched(Change::Unchanged));
        assert!(!page.known.is_announced);
    }

    #[test]
    fn a_page_never_visited_needs_no_announcement() {
        let mut page = PageRecord::discovered(Cycle(1), 0);
        claim(&mut page, 500);
        claim(&mut page, 600);
        assert_eq!((page.known.lastmod, page.known.is_announced), (600, false));
    }

    #[test]
    fn a_date_after_the_visit_was_not_known_to_it() {
        let mut page = visited();
        claim(&mut page, 500);
        claim_before(&mut page, 701, 700_999);
        assert!(!page.known.is_announced);
        claim_before(&mut page, 700, 700_999);
        assert!(page.known.is_announced);
    }
}
