//! The stream of visits and links that every contender gets, as a visit log.

use crate::mix::{mix, zipf};
use crate::web::{Web, content};
use recrawl_repository::storage::Storage;
use recrawl_repository::{LogError, VisitLog, WriteError};
use recrawl_types::{CanonicalUrl, Change, Link, LogRecord, Outcome, Round, Share, Visit};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Percentage of links within the page's own site.
const WITHIN_SITE: u64 = 78;
/// Percentage of links to pages that were initially unknown.
const UNKNOWN: u64 = 10;
/// No site gets more than one visit in this many of a cycle.
const VISITS_A_SITE: u64 = 20;
/// Depth of uncounted links, which changes no known page.
const DEPTH: u16 = 9;

mod purpose {
    pub const SITE: u64 = 11;
    pub const PAGE: u64 = 12;
    pub const SEEN: u64 = 13;
    pub const LINK: u64 = 14;
    pub const TARGET: u64 = 15;
}

/// A stream of cycles over a web.
#[derive(Clone, Copy, Debug)]
pub struct LinkStream<'w> {
    /// The web.
    pub web: &'w Web,
    /// Links per cycle.
    pub checks: u64,
    /// Links of a visited page.
    pub links_a_page: u64,
    /// Share of a visited site's pages that a cycle visits: the lower, the more sites.
    pub visited_share: f64,
}

/// Totals of a cycle's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Visits.
    pub visits: u64,
    /// Links, which are the checks of the cycle.
    pub links: u64,
    /// Of these, links within the site.
    pub within: u64,
    /// Of these, links to initially known pages.
    pub known: u64,
}

impl LinkStream<'_> {
    /// Writes the log of cycle number `turn` of the stream as that of `round`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_log(&self, storage: &dyn Storage, turn: u64, round: Round) -> Result<Written, LogError> {
        let (mut log, _) = VisitLog::open(storage, round)?;
        let written = self.each_visit(turn, |visit, _| log.append(&LogRecord::Visit(Box::new(visit))))?;
        log.sync()?;
        Ok(written)
    }

    /// Makes the visits of a cycle, site by site, like a schedule. Passes each to `take`, with a
    /// flag per link: whether it leads to an initially unknown page.
    ///
    /// # Errors
    /// The first error of `take`.
    pub fn each_visit(
        &self,
        turn: u64,
        mut take: impl FnMut(Visit, &[bool]) -> Result<(), WriteError>,
    ) -> Result<Written, WriteError> {
        let (mut written, mut unknown) = (Written::default(), Vec::new());
        for (site, visits) in self.visits_by_site(turn) {
            let apart = self.web.sites()[site].pages / visits;
            for i in 0..visits {
                let page = self.visited_page(turn, site, i * apart, apart);
                unknown.clear();
                let visit = self.visit(turn, site, page, &mut written, &mut unknown);
                take(visit, &unknown)?;
            }
        }
        Ok(written)
    }

    /// Random sites and their numbers of visits, until all visits are assigned.
    fn visits_by_site(&self, turn: u64) -> BTreeMap<usize, u64> {
        let sites = self.web.sites();
        let all = (self.checks / self.links_a_page).max(1);
        let (mut drawn, mut left) = (BTreeMap::new(), all);
        let offset = mix(self.web.seed(), purpose::SITE, turn, 0);
        // Draws that hit a site again are skipped. After this many, about one site in fifty is
        // left.
        for i in 0..4 * sites.len() as u64 {
            if left == 0 {
                break;
            }
            let site = (mix(offset, purpose::SITE, i, 1) % sites.len() as u64) as usize;
            let share = (sites[site].pages as f64 * self.visited_share).ceil() as u64;
            let visits = share.clamp(1, (all / VISITS_A_SITE).max(1)).min(sites[site].pages).min(left);
            if let Entry::Vacant(entry) = drawn.entry(site) {
                entry.insert(visits);
                left -= visits;
            }
        }
        drawn
    }

    /// One of `apart` pages from `first` on; every other time a previously visited one, if there is
    /// one.
    fn visited_page(&self, turn: u64, site: usize, first: u64, apart: u64) -> u64 {
        let chance = mix(self.web.seed(), purpose::PAGE, turn << 32 | site as u64, first);
        let any = first + (chance >> 1) % apart;
        let again = || (any..first + apart).chain(first..any).find(|&page| self.web.is_visited(site, page));
        if chance & 1 == 1 { again().unwrap_or(any) } else { any }
    }

    fn visit(
        &self,
        turn: u64,
        site: usize,
        page: u64,
        written: &mut Written,
        unknown: &mut Vec<bool>,
    ) -> Visit {
        let seed = mix(self.web.seed(), purpose::SEEN, turn << 32 | site as u64, page);
        let was_visited = self.web.is_visited(site, page);
        let change = match (was_visited, seed % 5) {
            // An earlier cycle of the stream may have visited it first; the verifier decides that.
            (false, _) => Change::Undecided,
            (true, 0) => Change::Changed,
            (true, _) => Change::Unchanged,
        };
        let mut key = Vec::new();
        let links = (0..self.links_a_page).map(|i| {
            let (chance, target) = (mix(seed, purpose::LINK, i, 0), mix(seed, purpose::TARGET, i, 0));
            let is_within = chance % 100 < WITHIN_SITE;
            let is_known = (chance >> 32) % 100 >= UNKNOWN;
            let sites = self.web.sites();
            let to = if is_within { site } else { self.web.of_rank(zipf(chance >> 8, sites.len() as u64)) };
            if is_known {
                self.web.known_key(to, self.web.popular(to, zipf(target, sites[to].pages)), &mut key);
            } else {
                self.web.unknown_key(to, target % sites[to].pages, target >> 40, &mut key);
            }
            unknown.push(!is_known);
            written.within += u64::from(is_within);
            written.known += u64::from(is_known);
            let url = CanonicalUrl::from_key(&key).expect("the Web has sound keys");
            // As in a crawl, in-links are counted at the first visit of the page that has them.
            Link { counted: !was_visited, ..Link::to(url, DEPTH) }
        });
        let links: Vec<Link> = links.collect();
        self.web.known_key(site, page, &mut key);
        (written.visits, written.links) = (written.visits + 1, written.links + self.links_a_page);
        Visit {
            index: Some(written.visits - 1),
            share: if was_visited { Share::Score } else { Share::Discovery },
            at: 1_790_000_000_000 + turn * 86_400_000,
            content: Some(content(seed)),
            links,
            bytes: 10_000 + seed % 50_000,
            ..Visit::new(
                CanonicalUrl::from_key(&key).expect("the Web has sound keys"),
                Outcome::Fetched(change),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visits(stream: &LinkStream<'_>, turn: u64) -> (Vec<Visit>, Written) {
        let mut visits = Vec::new();
        let written = stream.each_visit(turn, |visit, _| {
            visits.push(visit);
            Ok(())
        });
        (visits, written.unwrap())
    }

    #[test]
    fn a_cycle_is_in_order_and_the_same_again_and_another_cycle_is_another() {
        let web = Web::new(30_000, 1);
        let stream = LinkStream { web: &web, checks: 12_000, links_a_page: 60, visited_share: 0.05 };
        let (first, written) = visits(&stream, 0);
        assert!(first.windows(2).all(|pair| pair[0].url < pair[1].url));
        assert_eq!(visits(&stream, 0), (first.clone(), written));
        assert_ne!(visits(&stream, 1).0, first);
        assert_eq!(
            (first.len() as u64, written.links),
            (written.visits, written.visits * stream.links_a_page)
        );
        assert!(written.links > 11_000, "{written:?}");
    }

    #[test]
    fn most_links_stay_on_the_site_and_most_are_known() {
        let web = Web::new(50_000, 2);
        let stream = LinkStream { web: &web, checks: 60_000, links_a_page: 60, visited_share: 0.05 };
        let (all, written) = visits(&stream, 3);
        let percent = |part: u64| part * 100 / written.links;
        assert!((75..=80).contains(&percent(written.within)), "{written:?}");
        assert!((89..=91).contains(&percent(written.known)), "{written:?}");
        let links = || all.iter().flat_map(|visit| visit.links.iter().map(move |link| (visit, link)));
        let same = links().filter(|(visit, link)| visit.url.same_origin(&link.url)).count() as u64;
        assert!(same >= written.within, "{same} of {written:?}");
    }

    #[test]
    fn a_small_share_of_each_site_spreads_a_cycle_over_more_sites() {
        let web = Web::new(100_000, 3);
        let sites = |visited_share| {
            LinkStream { web: &web, checks: 60_000, links_a_page: 60, visited_share }.visits_by_site(0).len()
        };
        assert!(2 * sites(0.1) < sites(0.02), "{} and {}", sites(0.1), sites(0.02));
    }
}
