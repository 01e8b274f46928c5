//! Modification dates that sitemaps and feeds give a page, compared with visits.
//!
//! Only whether a date *moved* counts, not its value, so clocks, time zones and dates without a
//! time do no harm. One case needs the value: a sitemap and the page itself were visited in one
//! cycle. A date not after the visit was then known, or could have been, when the page was visited.

use recrawl_types::{Known, Outcome};

/// A sitemap or feed dates a page, visited before or not. The first date is the baseline of later
/// ones.
pub(crate) fn claim(known: &mut Known, is_visited: bool, lastmod: u32) {
    if lastmod > known.lastmod {
        known.is_announced |= known.lastmod > 0 && is_visited;
        known.lastmod = lastmod;
    }
}

/// Like [`claim`], for a date that is not after a visit that ended at `at` (milliseconds since
/// 1970).
pub(crate) fn claim_before(known: &mut Known, is_visited: bool, lastmod: u32, at: u64) {
    if u64::from(lastmod) <= at / 1000 {
        claim(known, is_visited, lastmod);
    }
}

/// A visit has seen the announced change.
pub(crate) fn seen(known: &mut Known, outcome: Outcome) {
    known.is_announced &= !outcome.is_visit();
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Change, Failure};

    #[test]
    fn only_a_date_that_moves_forward_announces_a_change() {
        let mut page = Known::default();
        for (date, lastmod, is_announced) in [
            (0, 0, false),
            (500, 500, false),
            (500, 500, false),
            (400, 500, false),
            (501, 501, true),
            (501, 501, true),
            (0, 501, true),
        ] {
            claim(&mut page, true, date);
            assert_eq!((page.lastmod, page.is_announced), (lastmod, is_announced), "{date}");
        }
        seen(&mut page, Outcome::Failed(Failure::Timeout));
        assert!(page.is_announced, "no visit saw the change");
        seen(&mut page, Outcome::Fetched(Change::Unchanged));
        assert!(!page.is_announced);
    }

    #[test]
    fn a_page_never_visited_needs_no_announcement() {
        let mut page = Known::default();
        claim(&mut page, false, 500);
        claim(&mut page, false, 600);
        assert_eq!((page.lastmod, page.is_announced), (600, false));
    }

    #[test]
    fn a_date_after_the_visit_was_not_known_to_it() {
        let mut page = Known::default();
        claim(&mut page, true, 500);
        claim_before(&mut page, true, 701, 700_999);
        assert!(!page.is_announced);
        claim_before(&mut page, true, 700, 700_999);
        assert!(page.is_announced);
    }
}
