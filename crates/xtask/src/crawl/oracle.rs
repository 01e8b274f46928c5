//! The ChangeRate of a crawler that knows the truth, with the same number of visits.

use crate::truth::TruthPage;

/// At every turn, visits only pages that differ from its last visit.
///
/// New pages are seen as soon as they exist, at no cost: the ChangeRate of the crawler does not
/// include its first visits either.
pub struct Oracle<'a> {
    /// Page, and the version seen last; none while the page was not there yet.
    pages: Vec<(&'a TruthPage, Option<u32>)>,
}

impl<'a> Oracle<'a> {
    /// An oracle that has just seen every page at `clock`, the end of the warm-up.
    pub fn new(pages: &'a [TruthPage], clock: u32) -> Oracle<'a> {
        Oracle { pages: pages.iter().map(|p| (p, p.version_at(clock))).collect() }
    }

    /// Makes `visits` visits at `clock` and returns how many find a change. If more pages differ,
    /// it takes them in the order of the truth.
    pub fn turn(&mut self, clock: u32, visits: u64) -> u64 {
        let mut met = 0;
        for (page, seen) in &mut self.pages {
            let Some(now) = page.version_at(clock) else { continue };
            match *seen {
                None => *seen = Some(now),
                Some(version) if version != now && met < visits => {
                    *seen = Some(now);
                    met += 1;
                }
                Some(_) => {}
            }
        }
        met
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(first: u32, changes: &[(u32, u32)]) -> TruthPage {
        TruthPage { url: String::new(), first, last: Some(9), changes: changes.into() }
    }

    #[test]
    fn it_meets_what_is_pending_and_no_more() {
        let pages =
            [page(0, &[(1, 1), (3, 2)]), page(0, &[(3, 1)]), page(0, &[(4, 1), (5, 0)]), page(0, &[])];
        let mut oracle = Oracle::new(&pages, 2);
        assert_eq!(oracle.turn(3, 1), 1, "two are pending, one may be visited");
        assert_eq!(oracle.turn(4, 1), 1, "the other of them");
        assert_eq!(oracle.turn(5, 9), 0, "a page that changed back is as it was seen");
        assert_eq!(oracle.turn(9, 9), 0);
    }

    #[test]
    fn a_new_page_is_no_change_until_it_changes() {
        let pages = [page(4, &[(6, 1)])];
        let mut oracle = Oracle::new(&pages, 2);
        assert_eq!((3..8).map(|clock| oracle.turn(clock, 5)).collect::<Vec<_>>(), [0, 0, 0, 1, 0]);
    }

    #[test]
    fn a_page_that_is_no_longer_there_cannot_be_visited() {
        let pages = [TruthPage { last: Some(3), ..page(0, &[(3, 1)]) }];
        assert_eq!(Oracle::new(&pages, 2).turn(4, 5), 0);
        assert_eq!(Oracle::new(&pages, 2).turn(3, 5), 1);
    }
}
